from typing import Any

import pytest

from steadygpu.evidence.gpu import CardListing
from steadygpu.evidence.text import lines_of
from steadygpu.readers.dcgmi_dmon import read_dcgmi_dmon
from steadygpu.readers.dcgmi_list import read_dcgmi_discovery, read_dcgmi_nvlink


def dmon(text: str) -> dict[str, Any]:
    return {type(f).__name__: f for f in read_dcgmi_dmon(lines_of("d", text)).facts}


@pytest.mark.parametrize(
    ("column", "word", "record", "field", "value"),
    [
        ("SMACT", "0.500", "GpuProfile", "sm_active_ratio", 0.5),
        ("GPUTL", "97", "GpuLoad", "busy_ratio", 0.97),
        ("FBUSD", "9120", "GpuMemory", "used_bytes", 9120 << 20),
        ("PCIRX", "612331441", "GpuProfile", "pcie_rx_bytes_s", 612331441.0),
        ("TMPTR", "64", "GpuTemperature", "gpu_c", 64),
        ("SMCLK", "1410", "GpuClock", "sm_mhz", 1410),
        ("SMACT", "N/A", "GpuProfile", "sm_active_ratio", None),
        ("SMACT", "7.5", "GpuProfile", "sm_active_ratio", None),
        ("SMACT", "9" * 5000, "GpuProfile", "sm_active_ratio", None),
        ("POWER", "ERR!", "GpuPower", "draw_w", None),
    ],
)
def test_a_column_and_its_unit(
    column: str, word: str, record: str, field: str, value: object
) -> None:
    found = dmon(f"#Entity   {column}\nID\nGPU 0     {word}\n").get(record)
    assert getattr(found, field, None) == value


def test_samples_are_folded_and_a_slice_has_its_profile_alone() -> None:
    text = "# Entity  SMACT  GPUTL\n      Id\n   GPU 0  0.2  10\n   GPU-I 1  0.9  50\n   GPU 0  0.4  30\n"
    facts = read_dcgmi_dmon(lines_of("d", text)).facts
    assert [(type(f).__name__, f.device.kind) for f in facts] == [
        ("GpuProfile", "card"), ("GpuLoad", "card"), ("GpuProfile", "mig"),
    ]  # fmt: skip
    found: Any = facts[1]
    assert (found.busy_ratio, found.busy_max_ratio, found.samples) == (0.2, 0.3, 2)
    assert [s.first for s in facts[0].sources] == [3, 5]


def test_a_damaged_sample_is_a_gap_and_another_head_another_output() -> None:
    text = "#Entity   SMACT  TENSO\nID\nGPU 0  0.2  0.1\nGPU 0  0.4\n#Entity   POWER\n"
    read = read_dcgmi_dmon(lines_of("d", text))
    assert read.read_to == 4
    assert len(read.gaps) == 1
    assert read_dcgmi_dmon(lines_of("d", "#Entity of a program\n")).read_to == 0


def test_the_cards_that_dcgm_knows_and_those_it_only_counts() -> None:
    row = "| 0      | Name: NVIDIA L4   |\n|        | PCI Bus ID: 00000000:38:00.0 |\n"
    read = read_dcgmi_discovery(
        lines_of("d", "4 GPUs found.\n" + row + "| 1 | Name: NVIDIA L4 |\n")
    )
    (listing,) = (f for f in read.facts if isinstance(f, CardListing))
    assert (listing.listed, listing.attached, listing.complete) == (2, 4, False)
    assert read.facts[0].device.bdf == "0000:38:00.0"
    assert read_dcgmi_discovery(lines_of("d", "many GPUs found.\n")).read_to == 0


def test_signs_of_links() -> None:
    text = "GPUs:\n    gpuId 2:\n        U D X _\nNvSwitches:\n    physicalId 8:\n        U U\nKey: Up=U, Down=D, Disabled=X, Not Supported=_\nx\n"
    read = read_dcgmi_nvlink(lines_of("d", text))
    found: list[Any] = list(read.facts)
    assert [(f.device.index, f.link, f.active) for f in found] == [
        (2, 0, True), (2, 1, False), (2, 2, None), (2, 3, None),
    ]  # fmt: skip
    assert read.read_to == 7
