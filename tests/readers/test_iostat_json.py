import json
from datetime import UTC, datetime

import pytest

from shared import SHARED, needs_shared
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Body, Text, lines_of
from steadygpu.readers.iostat_json import read_iostat_json
from steadygpu.readers.paste import read_text

DISK = {"disk_device": "sda", "r/s": 190.0, "w/s": 1.0, "rkB/s": 1520.0, "wkB/s": 8.0, "r_await": 40.0,
        "rareq-sz": 8.0, "aqu-sz": 7.5, "util": 99.0}  # fmt: skip
CPU = {"user": 3.0, "nice": 0.0, "system": 2.0, "iowait": 41.0, "steal": 0.0, "idle": 54.0}
LOG = {"sysstat": {"hosts": [{"nodename": "st05", "sysname": "Linux", "release": "6.1.0", "machine": "x86_64",
       "number-of-cpus": 8, "date": "03/11/2026",
       "statistics": [{"avg-cpu": CPU, "disk": [DISK]}, {"avg-cpu": CPU, "disk": [DISK]}]}]}}  # fmt: skip


def test_it_is_recognised_however_it_is_broken_into_lines() -> None:
    for indent in (None, 1, 4, "\t"):
        body = json.dumps(LOG, indent=indent).encode()
        ((text, reading),) = read_text(Text(name="x", body=Body(data=body)))
        assert text.kind == "iostat-json"
        disks = [f for f in reading.facts if type(f).__name__ == "DiskLoad"]
        assert [d.busy_ratio for d in disks] == [0.99]
        assert disks[0].read_bytes_per_s == 1520 * 1024


def log(*reports: dict, **more: object) -> str:
    host = {"nodename": "st05", "date": "03/11/2026", "statistics": reports} | more
    return json.dumps({"sysstat": {"hosts": [host]}}, indent=1)


def read(text: str) -> Reading:
    return read_iostat_json(lines_of("io.json", text))


def facts(text: str, name: str) -> list:
    return [f for f in read(text).facts if type(f).__name__ == name]


BOOT = {"avg-cpu": CPU | {"iowait": 1.0}, "disk": [DISK | {"util": 2.0}]}
BUSY = {"avg-cpu": CPU, "disk": [DISK]}


def test_the_first_report_is_left_out() -> None:
    (disk,) = facts(log(BOOT, BUSY, BUSY), "DiskLoad")
    (cpu,) = facts(log(BOOT, BUSY, BUSY), "CpuLoad")
    assert (disk.samples, disk.since_boot, disk.busy_ratio) == (2, False, pytest.approx(0.99))
    assert (cpu.samples, cpu.since_boot, cpu.iowait_ratio) == (2, False, pytest.approx(0.41))
    assert facts(log(BOOT), "DiskLoad")[0].since_boot
    assert facts(log(BOOT), "CpuLoad")[0].since_boot


def test_host_day_and_lines_of_a_disk() -> None:
    text = log(BUSY)
    (disk,) = facts(text, "DiskLoad")
    assert (disk.device.host, disk.device.label) == ("st05", "sda")
    assert disk.at.wall == datetime(2026, 3, 11, 12, tzinfo=UTC).timestamp()
    (source,) = disk.sources
    lines = text.split("\n")
    assert '"disk_device": "sda"' in lines[source.first - 1]
    assert '"util": 99.0' in lines[source.last - 1]
    assert read(text).read_to == len(lines)


def test_a_time_stamp_counts_before_the_day() -> None:
    stamped = {"timestamp": "03/11/2026 10:20:30 PM"} | BUSY
    (disk,) = facts(log(BUSY, stamped), "DiskLoad")
    assert disk.at.wall == datetime(2026, 3, 11, 22, 20, 30, tzinfo=UTC).timestamp()
    assert disk.at.error_s == 0.5


def test_disks_alone() -> None:
    text = log({"disk": [DISK | {"util": 2.0}]}, {"disk": [DISK, DISK | {"disk_device": "sdb"}]})
    assert not facts(text, "CpuLoad")
    assert [(d.device.label, d.busy_ratio) for d in facts(text, "DiskLoad")] == [
        ("sda", pytest.approx(0.99)), ("sdb", pytest.approx(0.99)),
    ]  # fmt: skip


def test_units_are_those_of_the_table() -> None:
    (disk,) = facts(log({"disk": [DISK]}), "DiskLoad")
    assert (disk.read_bytes_per_s, disk.write_bytes_per_s) == (1520 * 1024, 8 * 1024)
    assert (disk.read_await_ms, disk.queue, disk.read_request_bytes) == (40.0, 7.5, 8 * 1024)
    assert disk.write_await_ms is None


def test_a_disk_without_values_and_shares_without_values_are_none() -> None:
    text = log({"avg-cpu": {}, "disk": [{"disk_device": "sda"}, DISK | {"disk_device": "sdb"}]})
    assert not facts(text, "CpuLoad")
    assert [d.device.label for d in facts(text, "DiskLoad")] == ["sdb"]


def test_no_number_is_an_error_of_that_field() -> None:
    (disk,) = facts(log({"disk": [DISK]}).replace("99.0", "-nan"), "DiskLoad")
    assert (disk.busy_ratio, disk.queue) == (None, 7.5)
    assert [(a.field, a.reason) for a in disk.absent] == [("busy_ratio", "error")]


def test_keys_that_nobody_knows_are_passed_over() -> None:
    extra = {'quote"d': "x", "note": "disk", "load": 3}
    text = log(BUSY | extra, kernel={"release": "6.1", "disk": "none"})
    (disk,) = facts(text, "DiskLoad")
    assert disk.queue == 7.5


def test_a_cut_text_keeps_its_whole_reports() -> None:
    text = "\n".join(log(BOOT, BUSY, BUSY).split("\n")[:-5])
    reading = read(text)
    (gap,) = reading.gaps
    assert (gap.why, gap.where.first) == ("the JSON is cut", len(text.split("\n")))
    (disk,) = facts(text, "DiskLoad")
    assert (disk.samples, disk.busy_ratio) == (2, pytest.approx(0.99))


def test_it_ends_with_its_last_bracket() -> None:
    whole = log(BUSY)
    reading = read(whole + "\n\nroot@st05:~# uptime\n")
    assert reading.read_to == len(whole.split("\n"))
    assert not reading.gaps
    assert read(whole + "\n" + whole).read_to == reading.read_to


def test_prose_ends_a_cut_text() -> None:
    cut = "\n".join(log(BUSY).split("\n")[:-4])
    reading = read(cut + "\n\nI stopped it here.\n")
    assert reading.read_to == len(cut.split("\n"))
    assert [g.why for g in reading.gaps] == ["the JSON is cut"]


@pytest.mark.parametrize(
    "text", ["", "\n", "prose\n", "{}\n", '{"hosts": [{"disk": []}]}\n', "[1, 2]\n", '"sysstat"\n']
)
def test_other_texts_give_nothing(text: str) -> None:
    assert read(text) == Reading()


@needs_shared
def test_a_real_log_of_three_samples() -> None:
    name = "iostat_busy_own.json"
    text = (SHARED / "evidence/files" / name).read_text()
    reading = read(text)
    assert not reading.gaps
    disks = {d.device.label: d for d in reading.facts if type(d).__name__ == "DiskLoad"}
    assert (disks["vda"].samples, disks["vda"].since_boot) == (2, False)
    assert disks["vda"].write_bytes_per_s > 0


def test_json_cut_within_a_list_or_a_number_counts_nothing_that_is_not_there() -> None:
    two = [DISK, {**DISK, "disk_device": "sdb"}]
    body = json.dumps({"sysstat": {"hosts": [{"nodename": "a", "date": "03/11/2026", "statistics": [
        {"avg-cpu": CPU, "disk": two}, {"avg-cpu": CPU, "disk": two}, {"avg-cpu": CPU, "disk": two},
    ]}]}})  # fmt: skip
    cut = body[: body.rindex('{"disk_device": "sdb"')]
    for text in (cut, body[: body.rindex("99.0") + 1]):
        facts = read_iostat_json(lines_of("x", text)).facts
        (sdb,) = [f for f in facts if f.device.label == "sdb"]
        assert sdb.busy_ratio == 0.99
