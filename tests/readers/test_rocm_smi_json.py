"""The JSON of rocm-smi."""

import pytest

from pipeline import read
from shared import SHARED, needs_shared
from steadygpu.evidence.gpu import GpuClock, GpuLoad
from steadygpu.evidence.text import lines_of
from steadygpu.readers.rocm_smi_json import read_rocm_smi_json

ONE = '{"card3": {"%s": "%s", "GPU use (%%)": "98"}, "system": {"GPU use (%%)": "1"}}\n'


@pytest.mark.parametrize(
    ("key", "value"), [("sclk clock speed:", "(1502Mhz)"), ("sclk clock level", "7 (1502Mhz)")]
)
def test_the_clock_of_both_forms(key: str, value: str) -> None:
    clock, load = (
        f for f in read_rocm_smi_json(lines_of("r", ONE % (key, value))).facts if isinstance(f, GpuClock | GpuLoad)
    )  # fmt: skip
    assert isinstance(clock, GpuClock)
    assert (clock.sm_mhz, clock.device.index) == (1502, 3)
    assert isinstance(load, GpuLoad)
    assert load.busy_ratio == 0.98


def test_a_serial_of_zero_names_no_card() -> None:
    text = '{"card0": {"Serial Number": "0"}, "card1": {"Serial Number": "0"}}\n'
    facts = read_rocm_smi_json(lines_of("r", text)).facts
    assert [f.device.serial for f in facts] == [None, None]


def test_a_cut_text_says_so_and_other_text_is_left() -> None:
    cut = read_rocm_smi_json(lines_of("r", '{"card0": {"GPU use (%)": "5",\n'))
    assert [g.why for g in cut.gaps] == ["the JSON is cut"]
    assert len(cut.facts) == 2
    for other in ('{"system": {"a": "b"}}\n', "[]\n", "card0\n", ""):
        assert read_rocm_smi_json(lines_of("r", other)).facts == ()


@needs_shared
def test_real_texts_are_read_whole() -> None:
    files = sorted((SHARED / "evidence/files").glob("rocm-smi_*.json"))
    assert files
    for file in files:
        parts = read({file.name: file.read_bytes()})
        assert {text.kind for text, _ in parts} == {"rocm-smi-json"}
        assert not [gap for _, reading in parts for gap in reading.gaps]
