"""Rules on low clocks, branch by branch."""

from typing import Any

import pytest

from rules.hand import one, says
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.gpu import (
    GpuClock,
    GpuClockReasons,
    GpuIdentity,
    GpuLoad,
    GpuMode,
    GpuPower,
    GpuTemperature,
)
from steadygpu.evidence.source import Source
from steadygpu.rules import clock as clocks
from steadygpu.verdict.rule import Finding, Fine, NotHere, Unclear

QUIET = dict.fromkeys(clocks.EVERY_REASON, False)


def card(index: int = 0) -> DeviceRef:
    return DeviceRef(kind="card", bdf=f"0000:{index + 1:02x}:00.0", index=index)


def make(cls: type[Any], index: int = 0, line: int = 1, **fields: Any) -> Any:
    proof = (Source(name="a.txt", first=line, last=line, quote=f"{cls.__name__} line"),)
    return cls(device=card(index), sources=proof, **fields)


def reasons(index: int = 0, **fields: Any) -> Any:
    return make(GpuClockReasons, index, **{**QUIET, **fields})


def stuck(clock: Any, load: Any, reasons: Any, *rest: Any) -> Any:
    return one(clocks.clock_stuck_low, clock, load, reasons, *(rest or (None, None, None)))


def test_clock_stuck_low_needs_load_state_and_every_reason_denied() -> None:
    rule, busy = stuck, make(GpuLoad, busy_ratio=1.0)
    low = make(GpuClock, sm_mhz=210, sm_limit_mhz=2100, pstate=0)
    assert "210 of 2100" in says(rule(low, busy, reasons()))
    assert isinstance(rule(low, busy, reasons(sw_power_cap=True)), NotHere)
    assert isinstance(rule(low, busy, reasons(sync_boost=None)), Unclear)
    assert isinstance(rule(low, make(GpuLoad, busy_ratio=0.0), reasons()), NotHere)
    fast = make(GpuClock, sm_mhz=1980, sm_limit_mhz=2100, pstate=0)
    assert isinstance(rule(fast, None, None), Fine)
    slow_state = make(GpuClock, sm_mhz=210, sm_limit_mhz=2100, pstate=8)
    assert isinstance(rule(slow_state, busy, reasons()), NotHere)


AMD = make(GpuIdentity, vendor="amd")


@pytest.mark.parametrize(
    ("clock", "load", "power", "heat", "seen"),
    [
        ({"sm_mhz": 60}, 1.0, {"draw_w": 45.0}, {}, Finding),
        ({"sm_mhz": 60, "sm_limit_mhz": 2400, "performance_level": "auto"}, 0.95, {}, {}, Finding),
        ({"sm_mhz": 60}, 0.5, {}, {}, NotHere),
        ({"sm_mhz": 60}, None, {}, {}, Unclear),
        ({"sm_mhz": 60, "performance_level": "low"}, 1.0, {}, {}, NotHere),
        ({"sm_mhz": 60, "performance_level": "profile_min_sclk"}, 1.0, {}, {}, NotHere),
        ({"sm_mhz": 60}, 1.0, {"draw_w": 290.0, "limit_w": 300.0}, {}, Unclear),
        ({"sm_mhz": 60}, 1.0, {}, {"gpu_c": 101}, Unclear),
        ({"sm_mhz": 700}, 1.0, {}, {}, Unclear),
        ({"sm_mhz": 500, "sm_limit_mhz": 2400}, 1.0, {}, {}, Fine),
        ({}, 1.0, {}, {}, Unclear),
    ],
)  # fmt: skip
def test_an_amd_card_is_stuck_only_where_nothing_else_explains_it(
    clock: dict[str, Any], load: float | None, power: dict[str, Any], heat: dict[str, Any], seen: type
) -> None:  # fmt: skip
    busy = make(GpuLoad, busy_ratio=load)
    drawn, warm = make(GpuPower, **power), make(GpuTemperature, **heat)
    assert isinstance(stuck(make(GpuClock, **clock), busy, None, AMD, drawn, warm), seen)


def test_vgpu_unlicensed_is_no_matter_for_pass_through() -> None:
    rule = clocks.vgpu_unlicensed
    said = "Unlicensed (Restricted)"
    assert "Restricted" in says(one(rule, make(GpuMode, virtualization="VGPU", vgpu_license=said)))
    assert "Unlicensed" in says(one(rule, make(GpuMode, vgpu_license="Unlicensed")))
    through = make(GpuMode, virtualization="Pass-Through", vgpu_license="Unlicensed")
    assert isinstance(one(rule, through), NotHere)
    assert isinstance(one(rule, make(GpuMode, vgpu_license="Licensed (Expiry: N/A)")), Fine)
    assert isinstance(one(rule, make(GpuMode, virtualization="VGPU")), Unclear)


def test_none_abnormal_says_so_for_a_cap_with_room_left() -> None:
    rule, capped = clocks.none_abnormal, reasons(sw_power_cap=True)
    warm, p2 = make(GpuTemperature, gpu_c=77, slowdown_c=97), make(GpuClock, pstate=2)
    text = says(one(rule, capped, warm, None, p2))
    assert "P2" in text
    assert "20 C" in text
    far = make(GpuPower, draw_w=100, limit_w=450)
    assert isinstance(one(rule, capped, warm, far, p2), NotHere)
    assert isinstance(one(rule, capped, None, None, None), Unclear)
    assert isinstance(one(rule, reasons(hw_slowdown=True), warm, None, p2), NotHere)
    assert isinstance(one(rule, reasons(), warm, None, p2), Fine)
