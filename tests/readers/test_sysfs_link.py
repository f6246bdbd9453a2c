import pytest

from steadygpu.evidence.link import PcieLink
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Body, Text, lines_of
from steadygpu.readers.paste import read_text
from steadygpu.readers.sysfs_link import read_sysfs_link

ROOT = "/sys/bus/pci/devices/0000:5e:00.0/"
GREP = f"""{ROOT}current_link_speed:2.5 GT/s PCIe
{ROOT}current_link_width:8
{ROOT}max_link_speed:16.0 GT/s PCIe
{ROOT}max_link_width:16
"""


def read(text: str) -> Reading:
    return read_sysfs_link(lines_of("links.txt", text))


def one(text: str) -> PcieLink:
    (fact,) = read(text).facts
    assert isinstance(fact, PcieLink)
    return fact


def values(link: PcieLink) -> tuple[float | None, float | None, int | None, int | None]:
    return link.speed_gts, link.max_speed_gts, link.width, link.max_width


def test_four_files_are_one_link() -> None:
    reading = read(GREP)
    (link,) = reading.facts
    assert values(link) == (2.5, 16.0, 8, 16)
    assert (link.device.kind, link.device.bdf, link.device.text) == (
        "pci", "0000:5e:00.0", "links.txt",
    )  # fmt: skip
    assert isinstance(link.width, int)
    assert link.downgraded is None
    assert not link.absent
    assert not reading.gaps
    assert reading.read_to == 4


def test_each_file_is_cited_for_its_field() -> None:
    assert [(s.first, s.last, s.fields, s.quote) for s in one(GREP).sources] == [
        (1, 1, ("speed_gts",), f"{ROOT}current_link_speed:2.5 GT/s PCIe"),
        (2, 2, ("width",), f"{ROOT}current_link_width:8"),
        (3, 3, ("max_speed_gts",), f"{ROOT}max_link_speed:16.0 GT/s PCIe"),
        (4, 4, ("max_width",), f"{ROOT}max_link_width:16"),
    ]


@pytest.mark.parametrize(
    "start",
    [
        "/sys/bus/pci/devices/0000:5e:00.0/",
        "/sys/bus/pci/drivers/nvidia/0000:5e:00.0/",
        "/sys/bus/pci/devices/0000:5d:02.0/0000:5e:00.0/",
        "/sys/kernel/iommu_groups/31/devices/0000:5e:00.0/",
        "./0000:5e:00.0/",
        "0000:5e:00.0/",
    ],
)
@pytest.mark.parametrize("between", [":", ": ", " ", "\t"])
def test_paths_and_what_stands_behind_them(start: str, between: str) -> None:
    link = one(
        f"{start}current_link_width{between}16\n{start}max_link_speed{between}32.0 GT/s PCIe\n"
    )
    assert values(link) == (None, 32.0, 16, None)
    assert link.device.bdf == "0000:5e:00.0"


@pytest.mark.parametrize(
    ("printed", "speed"),
    [
        ("2.5 GT/s", 2.5),
        ("8 GT/s", 8.0),
        ("16 GT/s", 16.0),
        ("5.0 GT/s PCIe", 5.0),
        ("16.0 GT/s PCIe", 16.0),
        ("32.0 GT/s PCIe", 32.0),
        ("64.0 GT/s PCIe", 64.0),
    ],
)
def test_speeds_of_old_and_new_kernels(printed: str, speed: float) -> None:
    assert one(f"{ROOT}current_link_speed:{printed}\n").speed_gts == speed
    assert one(f"==> {ROOT}max_link_speed <==\n{printed}\n").max_speed_gts == speed


@pytest.mark.parametrize(
    ("file", "printed", "field"),
    [
        ("current_link_speed", "Unknown", "speed_gts"),
        ("current_link_speed", "Unknown speed", "speed_gts"),
        ("max_link_speed", "Unknown speed", "max_speed_gts"),
        ("current_link_width", "0", "width"),
        ("current_link_width", "63", "width"),
        ("current_link_width", "255", "width"),
        ("max_link_width", "33", "max_width"),
        ("max_link_width", "255", "max_width"),
    ],
)
@pytest.mark.parametrize("form", ["{}{}:{}\n", "==> {}{} <==\n{}\n"])
def test_a_value_of_a_device_that_is_gone_is_an_error(
    file: str, printed: str, field: str, form: str
) -> None:
    text = form.format(ROOT, file, printed)
    link = one(text)
    assert values(link) == (None, None, None, None)
    (absent,) = link.absent
    assert (absent.field, absent.reason) == (field, "error")
    assert absent.source.quote == text.rstrip("\n")
    assert link.sources == (absent.source,)


@pytest.mark.parametrize("width", [1, 2, 4, 8, 12, 16, 32])
def test_widths_that_exist(width: int) -> None:
    assert one(f"{ROOT}current_link_width:{width}\n").width == width


@pytest.mark.parametrize("printed", ["GT/s", "16.0", "fast", "16.0 GT/s PCI", "x16", "-1"])
def test_damaged_values_are_errors_and_the_rest_stands(printed: str) -> None:
    link = one(f"{ROOT}current_link_speed:{printed}\n{ROOT}current_link_width:16\n")
    assert (link.speed_gts, link.width) == (None, 16)
    assert [(a.field, a.reason) for a in link.absent] == [("speed_gts", "error")]
    wide = one(f"{ROOT}max_link_width:{printed}x\n{ROOT}max_link_speed:8.0 GT/s PCIe\n")
    assert (wide.max_width, wide.max_speed_gts) == (None, 8.0)


def test_many_devices_in_the_order_of_their_files() -> None:
    text = "".join(
        f"/sys/bus/pci/devices/{bdf}/current_link_{what}:{value}\n"
        for what, row in (("speed", ["8.0 GT/s PCIe", "Unknown"]), ("width", ["4", "16"]))
        for bdf, value in zip(("0000:01:00.0", "0003:c1:1f.7"), row, strict=True)
    )
    first, second = read(text).facts
    assert (first.device.bdf, first.speed_gts, first.width) == ("0000:01:00.0", 8.0, 4)
    assert (second.device.bdf, second.speed_gts, second.width) == ("0003:c1:1f.7", None, 16)
    assert [s.first for s in second.sources] == [2, 4]


def test_blocks_of_head_and_tail() -> None:
    text = "".join(
        f"==> {ROOT}{file} <==\n{value}\n\n"
        for file, value in (
            ("current_link_speed", "8.0 GT/s PCIe"),
            ("current_link_width", "16"),
            ("max_link_speed", "32.0 GT/s PCIe"),
            ("max_link_width", "16"),
        )
    )
    reading = read(text)
    (link,) = reading.facts
    assert values(link) == (8.0, 32.0, 16, 16)
    assert [(s.first, s.last, s.fields) for s in link.sources] == [
        (1, 2, ("speed_gts",)),
        (4, 5, ("width",)),
        (7, 8, ("max_speed_gts",)),
        (10, 11, ("max_width",)),
    ]
    assert link.sources[0].quote == f"==> {ROOT}current_link_speed <==\n8.0 GT/s PCIe"
    assert reading.read_to == 11


def test_a_block_without_its_value_gives_nothing() -> None:
    text = f"==> {ROOT}current_link_speed <==\n\n==> {ROOT}current_link_width <==\n16\n"
    assert values(one(text)) == (None, None, 16, None)
    cut = read(f"==> {ROOT}max_link_width <==\n16\n\n==> {ROOT}current_link_width <==\n")
    assert values(cut.facts[0]) == (None, None, None, 16)
    assert cut.read_to == 4


def test_other_files_of_the_device_are_passed_over() -> None:
    text = (
        f"{ROOT}numa_node:1\n{ROOT}current_link_width:16\n{ROOT}vendor:0x10de\n"
        f"==> {ROOT}numa_node <==\n1\n==> {ROOT}max_link_width <==\n16\n"
    )
    reading = read(text)
    (link,) = reading.facts
    assert values(link) == (None, None, 16, 16)
    assert len(link.sources) == 2
    assert reading.read_to == 7
    assert read(f"{ROOT}numa_node:1\n").facts == ()


@pytest.mark.parametrize(
    "line",
    [
        f"grep: {ROOT}current_link_speed: Invalid argument",
        f"cat: {ROOT}max_link_width: Permission denied",
        "grep: /sys/bus/pci/devices/0000:00:1f.0/max_link_speed: No such file or directory",
    ],
)
def test_a_file_that_could_not_be_read_is_a_gap(line: str) -> None:
    reading = read(f"{GREP}{line}\n{ROOT.replace('5e', '5f')}max_link_width:8\n")
    (gap,) = reading.gaps
    assert (gap.where.first, gap.where.quote) == (5, line)
    assert gap.why == "the link file could not be read"
    assert [f.max_width for f in reading.facts] == [16, 8]
    assert reading.read_to == 6


def test_blank_lines_and_windows_line_ends_do_no_harm() -> None:
    text = "\n" + GREP.replace("\n", "\r\n\r\n")
    assert values(one(text)) == (2.5, 16.0, 8, 16)
    assert one(text).sources[0].first == 2


def test_the_last_value_of_a_file_counts() -> None:
    link = one(f"{ROOT}current_link_width:8\n{ROOT}current_link_width:16\n")
    assert link.width == 16
    assert [s.first for s in link.sources] == [1, 2]


def test_it_stops_at_the_next_text() -> None:
    reading = read(f"{GREP}\nLinux node3 6.8.0\n{ROOT}max_link_width:1\n")
    assert reading.read_to == 4
    assert one(GREP + "16\n").max_width == 16


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "16.0 GT/s PCIe\n",
        "/sys/class/drm/card0/device/current_link_speed:16.0 GT/s PCIe\n",
        "/sys/bus/pci/devices/0000:5e:00/current_link_speed:16.0 GT/s PCIe\n",
        "/sys/bus/pci/devices/0000:5e:00.9/current_link_width:16\n",
        "==> /proc/version <==\nLinux\n",
        "grep: /sys/class/net: Is a directory\n",
        f"{ROOT}current_link_width\n",
        f"{ROOT}current_link_width:\n",
    ],
)
def test_other_texts_give_nothing(text: str) -> None:
    assert read(text) == Reading()


def test_a_cut_at_any_line_keeps_what_came_before() -> None:
    lines = GREP.splitlines(keepends=True)
    whole = (2.5, 8, 16.0, 16)
    for end in range(1, len(lines)):
        link = one("".join(lines[:end]) + lines[end][:60].split(":5e:00.0/")[0])
        got = (link.speed_gts, link.width, link.max_speed_gts, link.max_width)
        assert got == whole[:end] + (None,) * (4 - end)


def test_a_paste_is_recognised_by_its_paths() -> None:
    for text in (GREP, f"==> {ROOT}current_link_width <==\n8\n"):
        ((found, reading),) = read_text(Text(name="p", body=Body(data=text.encode())))
        assert found.kind == "sysfs-pci-link"
        assert reading.facts[0].width == 8


def test_a_domain_of_five_digits_and_paths_below_a_root() -> None:
    for path, bdf in (
        ("/sys/bus/pci/devices/10000:e1:00.0", "10000:e1:00.0"),
        ("/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0", "0000:3b:00.0"),
    ):
        text = f"{path}/current_link_width:8\n"
        assert one(text).device.bdf == bdf
        ((kind, reading),) = read_text(Text(name="x", body=Body(data=text.encode())))
        assert kind.kind == "sysfs-pci-link"
        assert reading.read_to == 1


def test_errors_of_tail_and_head_are_gaps_and_the_rest_is_read() -> None:
    for line in (
        f"tail: error reading '{ROOT}current_link_speed': Invalid argument",
        f"head: cannot open '{ROOT}current_link_speed' for reading: Permission denied",
    ):
        reading = read(f"{line}\n{GREP}")
        assert len(reading.gaps) == 1
        assert values(reading.facts[0])[2] == 8


def test_a_width_that_was_read_later_is_not_absent() -> None:
    link = one(f"{ROOT}current_link_width:255\n{ROOT}current_link_width:16\n")
    assert link.width == 16
    assert not link.absent
