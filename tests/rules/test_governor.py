"""The rule on the governor of processors, branch by branch."""

from typing import Any

import pytest

from rules.hand import found, one, says, weight
from steadygpu.evidence.cpu import CpuFrequency
from steadygpu.evidence.device import host_ref
from steadygpu.evidence.source import Source
from steadygpu.rules.governor import cpu_governor as rule
from steadygpu.verdict.rule import Fine, Unclear


def cpu(number: int, governor: str | None, driver: str | None, **more: Any) -> CpuFrequency:
    return CpuFrequency(
        device=host_ref(), cpu=number, governor=governor, driver=driver,
        sources=(Source(name="c.txt", first=number + 1),), **more,
    )  # fmt: skip


@pytest.mark.parametrize("governor", ["ondemand", "powersave", "conservative"])
@pytest.mark.parametrize("driver", ["acpi-cpufreq", "intel_cpufreq", "amd-pstate"])
def test_slow_governors_are_a_warning_where_software_chooses(governor: str, driver: str) -> None:
    seen = found(
        one(rule, (cpu(0, governor, driver, current_mhz=1500.0), cpu(1, "performance", driver)))
    )
    assert weight(rule, seen) == ("warning", "fix-feed")
    assert "1 of 2" in seen.says
    assert "1500 MHz" in seen.says
    assert len(seen.sources) == 1


@pytest.mark.parametrize(
    ("governor", "driver", "outcome"),
    [
        ("powersave", "intel_pstate", Fine),
        ("powersave", "amd-pstate-epp", Fine),
        ("performance", None, Fine),
        ("schedutil", "acpi-cpufreq", Fine),
        ("powersave", None, Unclear),
        ("userspace", "acpi-cpufreq", Unclear),
        (None, "acpi-cpufreq", Unclear),
    ],
)
def test_the_driver_tells_what_the_word_means(
    governor: str | None, driver: str | None, outcome: type[Any]
) -> None:
    assert isinstance(one(rule, (cpu(0, governor, driver),)), outcome)


def test_ondemand_needs_no_driver() -> None:
    assert "governor ondemand on 2 of 2" in says(
        one(rule, (cpu(0, "ondemand", None), cpu(1, "ondemand", None)))
    )
