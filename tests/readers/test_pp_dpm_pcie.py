"""The link states of amdgpu."""

import pytest

from steadygpu.evidence.amd import DpmLink
from steadygpu.evidence.text import lines_of
from steadygpu.readers.pp_dpm_pcie import read_pp_dpm_pcie

CAT = "0: 2.5GT/s, x8 250Mhz\n1: 16.0GT/s, x8 1143Mhz *\n"


def links(text: str) -> list[DpmLink]:
    return [f for f in read_pp_dpm_pcie(lines_of("p", text)).facts if isinstance(f, DpmLink)]


@pytest.mark.parametrize(
    ("text", "speed", "width"),
    [
        (CAT, 16.0, 8),
        ("0: 2.5GT/s, x1 310Mhz *\n1: 8.0GT/s, x16 619Mhz \n", 2.5, 1),
        ("0: 8.0GT/s x16\n1: 8.0GT/s x16 *\n", 8.0, 16),
    ],
)
def test_the_state_with_a_star_is_the_link(text: str, speed: float, width: int) -> None:
    (link,) = links(text)
    assert (link.speed_gts, link.width) == (speed, width)


def test_paths_tell_cards_apart() -> None:
    paths = ("/sys/class/drm/card0/device", "/sys/bus/pci/devices/0000:0d:00.0")
    text = "".join(f"{p}/pp_dpm_pcie:1: 8.0GT/s, x{n} 619Mhz *\n" for n, p in enumerate(paths, 1))
    assert [(one.device.minor, one.device.bdf, one.width) for one in links(text)] == [
        (0, None, 1), (None, "0000:0d:00.0", 2),
    ]  # fmt: skip
    assert (
        len(links(f"==> {paths[0]}/pp_dpm_pcie <==\n{CAT}\n==> {paths[1]}/pp_dpm_pcie <==\n{CAT}"))
        == 2
    )


def test_no_star_no_link_and_other_lines_are_left() -> None:
    assert links("0: 2.5GT/s, x8 250Mhz\n") == []
    assert read_pp_dpm_pcie(lines_of("p", CAT + CAT)).read_to == 3
    assert read_pp_dpm_pcie(lines_of("p", "1: 500Mhz *\n")).read_to == 0
