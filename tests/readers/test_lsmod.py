import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.lsmod import read_lsmod

LSMOD = """Module                  Size  Used by
nvidia_uvm           1540096  0
nvidia_drm             77824  4
nvidia_modeset       1306624  2 nvidia_drm
nvidia              56717312  84 nvidia_uvm,nvidia_modeset
"""
PROC = "nvidia 56717312 84 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (POE)\n"


def facts(text: str, name: str) -> list:
    return [f for f in read_lsmod(lines_of("l", text)).facts if type(f).__name__ == name]


def test_each_module_has_its_users_and_its_line() -> None:
    modules = {m.name: m for m in facts(LSMOD, "KernelModule")}
    assert modules["nvidia"].used_by == ("nvidia_uvm", "nvidia_modeset")
    assert modules["nvidia"].size_bytes == 56717312
    assert modules["nvidia_uvm"].used_by == ()
    assert modules["nvidia"].sources[0].first == 5


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        (LSMOD, True),
        (LSMOD.split("\n", 1)[1], False),
        (PROC, False),
        ("".join(PROC.replace("nvidia ", f"m{i} ", 1) for i in range(30)), True),
    ],
)
def test_only_a_whole_listing_proves_absence(text: str, complete: bool) -> None:
    assert [listing.complete for listing in facts(text, "ModuleListing")] == [complete]


def test_it_stops_at_the_next_text_and_reads_a_state() -> None:
    reading = read_lsmod(lines_of("l", LSMOD + "Linux gpu 6.8.0 #1 SMP\n"))
    assert reading.read_to == 5
    assert facts(PROC, "KernelModule")[0].state == "live"
    assert read_lsmod(lines_of("l", "something else\n")).read_to == 0
    assert read_lsmod(lines_of("l", LSMOD + LSMOD)).read_to == 5
