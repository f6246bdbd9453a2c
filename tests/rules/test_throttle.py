"""Rules on heat and power, branch by branch."""

from typing import Any

from rules.hand import one, says
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.gpu import GpuClock, GpuClockReasons, GpuLoad, GpuTemperature
from steadygpu.evidence.source import Source
from steadygpu.rules import clock as clocks
from steadygpu.rules import throttle
from steadygpu.verdict.rule import Fine, NotHere, Unclear

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
    assert "HW thermal" in says(one(rule, reasons(hw_thermal=True), None, None, None))
    assert "0 C left" in says(one(rule, reasons(hw_slowdown=True), hot, None, None))
    assert isinstance(one(rule, reasons(hw_slowdown=True), cool, None, None), Fine)
    assert isinstance(one(rule, reasons(hw_slowdown=True), None, None, None), Unclear)
    assert isinstance(one(rule, reasons(hw_thermal=None), cool, None, None), Unclear)
    assert isinstance(one(rule, reasons(), None, None, None), Fine)


def test_the_lost_clock_of_a_working_card_is_said() -> None:
    clock, busy = make(GpuClock, sm_mhz=1200, sm_limit_mhz=2000), make(GpuLoad, busy_ratio=0.98)
    hot, rule = reasons(hw_thermal=True), throttle.hw_thermal
    assert "clock 1200 of 2000 MHz while 98% busy, 40% below" in says(
        one(rule, hot, None, clock, busy)
    )
    plain = says(one(rule, hot, None, None, None))
    for other, load in (
        (clock, None), (clock, make(GpuLoad, busy_ratio=0.2)), (clock, make(GpuLoad)), (None, busy),
        (make(GpuClock, sm_mhz=1200), busy), (make(GpuClock, sm_mhz=2000, sm_limit_mhz=2000), busy),
    ):  # fmt: skip
        assert says(one(rule, hot, None, other, load)) == plain
    graphics = make(GpuClock, graphics_mhz=900, graphics_limit_mhz=1000)
    assert "10% below" in says(one(rule, hot, None, graphics, busy))


def test_hw_power_brake_tells_chassis_from_card() -> None:
    rule = throttle.hw_power_brake
    all_of = tuple(reasons(i, hw_power_brake=True) for i in range(4))
    assert "4 of 4 cards" in says(one(rule, all_of[0], all_of, None, None))
    alone = (reasons(0), reasons(1, hw_power_brake=True))
    assert "this one of 2 cards" in says(one(rule, alone[1], alone, None, None))
    assert isinstance(one(rule, alone[0], alone, None, None), Fine)
    assert isinstance(one(rule, reasons(hw_power_brake=None), (), None, None), Unclear)


def test_sw_thermal_needs_a_temperature_that_agrees() -> None:
    rule, active = throttle.sw_thermal, reasons(sw_thermal=True)
    assert "84 C" in says(one(rule, active, make(GpuTemperature, gpu_c=84), None, None))
    assert "3 C left" in says(
        one(rule, active, make(GpuTemperature, gpu_c=70, margin_c=3), None, None)
    )
    assert "of 78 C" in says(
        one(rule, active, make(GpuTemperature, gpu_c=75, target_c=78), None, None)
    )
    memory = make(GpuTemperature, gpu_c=60, memory_c=94, memory_max_operating_c=95)
    assert "memory" in says(one(rule, active, memory, None, None))
    assert isinstance(
        one(rule, active, make(GpuTemperature, gpu_c=39, margin_c=48), None, None), Unclear
    )
    assert isinstance(one(rule, active, None, None, None), Unclear)


def test_sw_thermal_rules_throttling_out_only_for_a_working_card_with_nothing_active() -> None:
    rule = throttle.sw_thermal
    free, idle = (
        one(rule, reasons(), None, None, None),
        one(rule, reasons(idle=True), None, None, None),
    )
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


def test_margin_small_is_silent_once_the_card_throttles() -> None:
    rule, near = throttle.margin_small, make(GpuTemperature, gpu_c=93, slowdown_c=97)
    assert "4 C left" in says(one(rule, near, reasons()))
    assert isinstance(one(rule, near, reasons(hw_thermal=True)), NotHere)
    assert isinstance(one(rule, near, None), Unclear)
    assert isinstance(one(rule, make(GpuTemperature, margin_c=24), None), Fine)
    assert isinstance(one(rule, make(GpuTemperature, gpu_c=93), reasons()), Unclear)
