"""The tables and sections of rocm-smi."""

from typing import Any

import pytest

from pipeline import read
from shared import SHARED, needs_shared
from steadygpu.evidence.gpu import (
    GpuClock,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuPower,
    GpuTemperature,
)
from steadygpu.evidence.text import lines_of
from steadygpu.readers.rocm_smi import read_rocm_smi

OLD = """GPU  Temp   AvgPwr  SCLK    MCLK     Fan     Perf  PwrCap  VRAM%  GPU%
0    38.0c  41.0W   852Mhz  167Mhz   14.9%   auto  264.0W    1%   0%
"""


def facts(text: str, cls: type[Any]) -> list[Any]:
    return [f for f in read_rocm_smi(lines_of("r", text)).facts if isinstance(f, cls)]


def test_an_old_table_is_read_by_its_head() -> None:
    (clock,), (power,), (heat,) = (
        facts(OLD, GpuClock),
        facts(OLD, GpuPower),
        facts(OLD, GpuTemperature),
    )
    assert (clock.sm_mhz, clock.memory_mhz, clock.performance_level) == (852, 167, "auto")
    assert (power.draw_w, power.limit_w) == (41.0, 264.0)
    assert (heat.gpu_c, heat.fan_ratio) == (38, 0.149)
    assert facts(OLD, GpuLoad)[0].busy_ratio == 0
    assert facts(OLD, GpuIdentity)[0].vendor == "amd"
    assert clock.sources[0].first == 2


@pytest.mark.parametrize(
    ("head", "row", "mhz"),
    [
        ("Device  SCLK    MCLK    Power  GPU%", "2       44Mhz   96Mhz   31W    100%", 44),
        ("GPU  Temp (DieEdge)  AvgPwr  SCLK     GPU%", "2    40.0c           30.0W   1100Mhz  7%", 1100),
        ("Device  Node  IDs              Temp        Power     Partitions          SCLK    GPU%",
         "2       4     0x74a0,   50375  48.0°C      110.0W    NPS1, SPX, 0        98Mhz   0%", 98),
    ],
)  # fmt: skip
def test_columns_differ_from_release_to_release(head: str, row: str, mhz: int) -> None:
    (clock,) = facts(f"{head}\n{row}\n", GpuClock)
    assert (clock.sm_mhz, clock.device.index) == (mhz, 2)


@pytest.mark.parametrize(
    ("rest", "cls", "field", "value"),
    [
        ("sclk clock level: 15 (1502Mhz)", GpuClock, "sm_mhz", 1502),
        ("mclk clock level: 1: (600Mhz)", GpuClock, "memory_mhz", 600),
        ("Temperature (Sensor mem) (C): 68.0", GpuTemperature, "memory_c", 68),
        ("Temperature (Sensor junction) (C): 76.0", GpuTemperature, "gpu_c", 76),
        ("Fan Level: 79 (30%)", GpuTemperature, "fan_ratio", 0.3),
        ("Current Socket Graphics Package Power (W): 18.029", GpuPower, "draw_w", 18.029),
        ("Max Graphics Package Power (W): 220.0", GpuPower, "limit_w", 220.0),
        ("GPU use (%): 99", GpuLoad, "busy_ratio", 0.99),
        ("VRAM Total Memory (B): 34208743424", GpuMemory, "total_bytes", 34208743424),
        ("Card series: \t\tAMD INSTINCT MI250", GpuIdentity, "name", "AMD INSTINCT MI250"),
        ("GPU ID: 0x731f", GpuIdentity, "pci_id", "1002:731f"),
    ],
)
def test_a_section_line_gives_its_field(
    rest: str, cls: type[Any], field: str, value: object
) -> None:
    (fact,) = facts(f"GPU[3]\t\t: {rest}\n", cls)
    assert (getattr(fact, field), fact.device.index) == (value, 3)


@pytest.mark.parametrize(
    "rest", ["Average Graphics Package Power (W): N/A", "Max Graphics Package Power (W): 0.0"]
)
def test_an_absent_value_is_no_zero(rest: str) -> None:
    (power,) = facts(f"GPU[0]\t\t: {rest}\n", GpuPower)
    assert (power.draw_w, power.limit_w) == (None, None)
    assert power.absent[0].reason == "not_supported"


def test_the_steps_give_the_top_clock_of_their_own_list() -> None:
    steps = ("Supported fclk frequencies on GPU0", "0: 9000Mhz *", "1: 9500Mhz",
             "Supported sclk frequencies on GPU0", "S: 90Mhz *", "0: 500Mhz", "1: 2100Mhz")  # fmt: skip
    (clock,) = facts("".join(f"GPU[0]\t\t: {s}\n" for s in steps), GpuClock)
    assert (clock.sm_mhz, clock.sm_limit_mhz, clock.memory_limit_mhz) == (90, 2100, None)


def test_a_card_is_named_once_by_all_it_tells() -> None:
    text = "GPU[0]\t\t: GPU use (%): 3\nGPU[0]\t\t: PCI Bus: 0000:C3:00.0\nGPU[0]\t\t: Serial Number: 77\n"
    (load,) = facts(text, GpuLoad)
    assert (load.device.bdf, load.device.serial) == ("0000:c3:00.0", "77")


@pytest.mark.parametrize(
    "text",
    [
        "GPU stopped working\n",
        "Device  SCLK  Colour  GPU%\n0 1 2 3\n",
        "GPU[x] : a: b\n",
        "y" * 9000,
        "",
    ],
)
def test_other_text_is_not_taken(text: str) -> None:
    assert read_rocm_smi(lines_of("r", text)).read_to == 0


def test_a_second_output_and_other_lines_are_left() -> None:
    assert read_rocm_smi(lines_of("r", OLD + OLD)).read_to == 2
    assert read_rocm_smi(lines_of("r", OLD + "a word\n")).read_to == 2


@needs_shared
@pytest.mark.parametrize("name", ["rocm-smi_watch_rx6700xt.txt", "rocm-smi_mi300a_4x.txt"])
def test_a_real_text_is_read_whole(name: str) -> None:
    parts = read({name: (SHARED / "evidence/files" / name).read_bytes()})
    assert {text.kind for text, _ in parts} == {"rocm-smi"}
    assert not [gap for _, reading in parts for gap in reading.gaps]
