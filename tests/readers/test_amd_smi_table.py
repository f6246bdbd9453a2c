"""The table of amd-smi."""

import pytest

from pipeline import read
from shared import SHARED, needs_shared
from steadygpu.evidence.amd import AmdRasCounters
from steadygpu.evidence.gpu import GpuLoad, GpuMemory, GpuPower, GpuTemperature
from steadygpu.evidence.text import lines_of
from steadygpu.readers.amd_smi_table import read_amd_smi_table

ROWS = """| 0000:0d:00.0    AMD Instinct MI355X | 7 %      51 °C   2          610/1400 W |
|   3       1       7        SPX/NPS1 | 88 %     %s        1024/294896 MB |
"""


@pytest.mark.parametrize(("fan", "ratio"), [("N/A  ", None), ("51.76", 0.5176), ("29.8 %", 0.298)])
def test_a_card_of_two_lines(fan: str, ratio: float | None) -> None:
    facts = {type(f): f for f in read_amd_smi_table(lines_of("a", ROWS.replace("%s", fan))).facts}
    load, memory, power = facts[GpuLoad], facts[GpuMemory], facts[GpuPower]
    heat, errors = facts[GpuTemperature], facts[AmdRasCounters]
    assert isinstance(load, GpuLoad)
    assert isinstance(memory, GpuMemory)
    assert isinstance(power, GpuPower)
    assert isinstance(heat, GpuTemperature)
    assert isinstance(errors, AmdRasCounters)
    assert (load.busy_ratio, load.memory_busy_ratio) == (0.88, 0.07)
    assert memory.used_bytes == 1 << 30
    assert (power.draw_w, power.limit_w, errors.uncorrectable) == (610.0, 1400.0, 2)
    assert (heat.gpu_c, heat.fan_ratio) == (51, ratio)
    assert (load.device.bdf, load.device.index) == ("0000:0d:00.0", 3)


@pytest.mark.parametrize("usage", ["  N/A/0 W", "      N/A"])
def test_a_power_that_is_not_told_is_none(usage: str) -> None:
    line = f"| 0000:c2:00.0    AMD Radeon Graphics | N/A        N/A   0           {usage} |\n"
    facts = read_amd_smi_table(lines_of("a", line)).facts
    assert not [f for f in facts if isinstance(f, GpuPower) and (f.draw_w or f.limit_w)]
    assert [f.uncorrectable for f in facts if isinstance(f, AmdRasCounters)] == [0]


@pytest.mark.parametrize("text", ["| some | table |\n", "+----+\n", "| NVIDIA-SMI 550.1 |\n", ""])
def test_other_tables_are_left(text: str) -> None:
    assert read_amd_smi_table(lines_of("a", text)).read_to == 0


@needs_shared
def test_the_specimen_is_read_whole() -> None:
    (file,) = (SHARED / "evidence/composed/files").glob("amd-smi-table--*")
    parts = read({file.name: file.read_bytes()})
    assert {text.kind for text, _ in parts} == {"amd-smi-table"}
    assert not [gap for _, reading in parts for gap in reading.gaps]
