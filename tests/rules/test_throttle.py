"""Rules on heat and power, branch by branch."""

from typing import Any

from rules.hand import one, says
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.gpu import (
    GpuClockReasons,
    GpuLoad,
    GpuPower,
    GpuTemperature,
)
from steadygpu.evidence.source import Source
from steadygpu.rules import clock as clocks
from steadygpu.rules import throttle
from steadygpu.verdict.rule import Finding, Fine, NotHere, Unclear

QUIET = dict.fromkeys(clocks.EVERY_REASON, False)


def card(index: int = 0) -> DeviceRef:
    return DeviceRef(kind="card", bdf=f"0000:{index + 1:02x}:00.0", index=index)


def make(cls: type[Any], index: int = 0, line: int = 1, **fields: Any) -> Any:
    proof = (Source(name="a.txt", first=line, last=line, quote=f"{cls.__name__} line"),)
    return cls(device=card(index), sources=proof, **fields)


def reasons(index: int = 0, **fields: Any) -> Any:
    return make(GpuClockReasons, index, **{**QUIET, **fields})


def test_hw_thermal_by_its_own_reason_or_by_the_parent_at_slowdown() -> None:
    rule, hot = throttle.hw_thermal, make(GpuTemperature, gpu_c=97, slowdown_c=97)
    cool = make(GpuTemperature, gpu_c=50, slowdown_c=97)
    assert "HW thermal" in says(one(rule, reasons(hw_thermal=True), None))
    assert "0 C left" in says(one(rule, reasons(hw_slowdown=True), hot))
    assert isinstance(one(rule, reasons(hw_slowdown=True), cool), Fine)
    assert isinstance(one(rule, reasons(hw_slowdown=True), None), Unclear)
    assert isinstance(one(rule, reasons(hw_thermal=None), cool), Unclear)
    assert isinstance(one(rule, reasons(), None), Fine)


def test_hw_power_brake_tells_chassis_from_card() -> None:
    rule = throttle.hw_power_brake
    all_of = tuple(reasons(i, hw_power_brake=True) for i in range(4))
    assert "4 of 4 cards" in says(one(rule, all_of[0], all_of))
    alone = (reasons(0), reasons(1, hw_power_brake=True))
    assert "this one of 2 cards" in says(one(rule, alone[1], alone))
    assert isinstance(one(rule, alone[0], alone), Fine)
    assert isinstance(one(rule, reasons(hw_power_brake=None), ()), Unclear)


def test_sw_thermal_needs_a_temperature_that_agrees() -> None:
    rule, active = throttle.sw_thermal, reasons(sw_thermal=True)
    assert "84 C" in says(one(rule, active, make(GpuTemperature, gpu_c=84)))
    assert "3 C left" in says(one(rule, active, make(GpuTemperature, gpu_c=70, margin_c=3)))
    assert "of 78 C" in says(one(rule, active, make(GpuTemperature, gpu_c=75, target_c=78)))
    memory = make(GpuTemperature, gpu_c=60, memory_c=94, memory_max_operating_c=95)
    assert "memory" in says(one(rule, active, memory))
    assert isinstance(one(rule, active, make(GpuTemperature, gpu_c=39, margin_c=48)), Unclear)
    assert isinstance(one(rule, active, None), Unclear)


def test_sw_thermal_rules_throttling_out_only_for_a_working_card_with_nothing_active() -> None:
    rule = throttle.sw_thermal
    free, idle = one(rule, reasons(), None), one(rule, reasons(idle=True), None)
    assert isinstance(free, Fine)
    assert free.sources
    assert isinstance(idle, Fine)
    assert not idle.sources


def test_memory_thermal_compares_with_the_printed_limit() -> None:
    rule = throttle.memory_thermal
    assert "96 C of 95 C" in says(
        one(rule, make(GpuTemperature, memory_c=96, memory_max_operating_c=95))
    )
    assert isinstance(one(rule, make(GpuTemperature, memory_c=80, memory_max_operating_c=95)), Fine)
    assert isinstance(one(rule, make(GpuTemperature, memory_c=96)), Unclear)


def test_sw_power_cap_is_information_at_the_limit_only() -> None:
    rule, capped = throttle.sw_power_cap, reasons(sw_power_cap=True)
    assert rule.severity == "info"
    assert "446 W of 450 W" in says(one(rule, capped, make(GpuPower, draw_w=446, limit_w=450)))
    assert isinstance(one(rule, capped, make(GpuPower, draw_w=100, limit_w=450)), Fine)
    assert isinstance(one(rule, capped, make(GpuPower, limit_w=450)), Unclear)
    assert isinstance(one(rule, reasons(), None), Fine)


def test_sw_cap_below_limit_needs_load() -> None:
    rule, capped = throttle.sw_cap_below_limit, reasons(sw_power_cap=True)
    low, busy = make(GpuPower, draw_w=180, limit_w=450), make(GpuLoad, busy_ratio=0.97)
    assert "180 W of 450 W" in says(one(rule, capped, low, busy))
    assert isinstance(one(rule, capped, low, make(GpuLoad, busy_ratio=0.0)), NotHere)
    assert isinstance(one(rule, capped, low, None), Unclear)
    assert isinstance(one(rule, capped, make(GpuPower, draw_w=440, limit_w=450), busy), Fine)


def test_operating_limit_low_is_a_warning_only_while_it_holds_the_card() -> None:
    rule = throttle.operating_limit_low
    idle = one(rule, make(GpuPower, draw_w=27, limit_w=200, default_limit_w=350))
    held = one(rule, make(GpuPower, draw_w=199, limit_w=200, default_limit_w=350))
    assert isinstance(idle, Finding)
    assert idle.severity == "info"
    assert isinstance(held, Finding)
    assert held.severity == "warning"
    assert isinstance(one(rule, make(GpuPower, limit_w=350, default_limit_w=350)), Fine)
    assert isinstance(one(rule, make(GpuPower, limit_w=200)), Unclear)


def test_margin_small_is_silent_once_the_card_throttles() -> None:
    rule, near = throttle.margin_small, make(GpuTemperature, gpu_c=93, slowdown_c=97)
    assert "4 C left" in says(one(rule, near, reasons()))
    assert isinstance(one(rule, near, reasons(hw_thermal=True)), NotHere)
    assert isinstance(one(rule, near, None), Unclear)
    assert isinstance(one(rule, make(GpuTemperature, margin_c=24), None), Fine)
    assert isinstance(one(rule, make(GpuTemperature, gpu_c=93), reasons()), Unclear)
