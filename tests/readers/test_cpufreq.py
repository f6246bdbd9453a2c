from typing import Any

import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.cpufreq import read_cpufreq

TOOL = """analyzing CPU 7:
  driver: acpi-cpufreq
  CPUs which run at the same hardware frequency: 7
  hardware limits: 800 MHz - 4.20 GHz
  available frequency steps:  2.20 GHz, 800 MHz
  current policy: frequency should be within 900 MHz and 3600000 kHz.
                  The governor "schedutil" may decide which speed to use
                  within this range.
  current CPU frequency: 1.20 GHz (asserted by call to hardware)
  boost state support:
    Supported: yes
    Active: no
"""
ROOT = "/sys/devices/system/cpu/"


def facts(text: str) -> Any:
    return read_cpufreq(lines_of("c", text)).facts


def test_cpupower_speaks_in_sentences_and_units() -> None:
    (one,) = facts(TOOL)
    assert (one.cpu, one.driver, one.governor) == (7, "acpi-cpufreq", "schedutil")
    assert (one.min_mhz, one.max_mhz, one.hardware_max_mhz, one.current_mhz) == (
        900,
        3600,
        4200,
        1200,
    )
    assert one.boost_active is False
    flat = "\n".join(line.strip() for line in TOOL.split("\n"))
    assert facts(flat)[0].governor == "schedutil"


def test_sysfs_counts_in_khz() -> None:
    one, two = facts(
        f"{ROOT}cpu0/cpufreq/scaling_cur_freq:1500000\n{ROOT}cpu0/cpufreq/scaling_governor:ondemand\n"
        f"==> {ROOT}cpufreq/policy4/scaling_driver <==\nintel_pstate\n"
    )
    assert (one.cpu, one.current_mhz, one.governor, one.driver) == (0, 1500, "ondemand", None)
    assert (two.cpu, two.driver) == (4, "intel_pstate")


@pytest.mark.parametrize(
    ("text", "count", "read_to"),
    [
        ("", 0, 0),
        (TOOL + "see also\n", 1, 12),
        (TOOL + TOOL, 1, 12),
        ("analyzing CPU 3:\n  no or unknown cpufreq driver is active on this CPU\n", 0, 2),
        (f"{ROOT}cpu0/cpufreq/scaling_governor:\n", 0, 1),
        (f"{ROOT}cpu0/cpufreq/scaling_cur_freq:{'9' * 50}\n", 0, 1),
        (f"{ROOT}cpu0/cpufreq/scaling_cur_freq:<unknown>\n", 1, 1),
        (f"==> {ROOT}cpu0/cpufreq/scaling_governor <==\nhello world\n", 0, 1),
        ("  driver: acpi-cpufreq\n", 0, 0),
    ],
)
def test_damage_and_other_lines(text: str, count: int, read_to: int) -> None:
    reading = read_cpufreq(lines_of("c", text))
    assert (len(reading.facts), reading.read_to) == (count, read_to)
