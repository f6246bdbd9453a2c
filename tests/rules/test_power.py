"""Rules on power, branch by branch."""

from typing import Any

from rules.hand import one, says
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.gpu import CardListing, GpuClockReasons, GpuLoad, GpuPower
from steadygpu.evidence.power_supply import PowerSupplies
from steadygpu.evidence.source import Source
from steadygpu.rules import clock as clocks
from steadygpu.rules import power
from steadygpu.verdict.rule import Fine, NotHere, Unclear

CARD = DeviceRef(kind="card", bdf="0000:41:00.0", index=0)


def make(cls: type[Any], device: DeviceRef = CARD, **fields: Any) -> Any:
    proof = (Source(name=f"{cls.__name__}.txt", quote=f"{cls.__name__} line"),)
    return cls(device=device, sources=proof, **fields)


def reasons(**fields: Any) -> Any:
    return make(GpuClockReasons, **{**dict.fromkeys(clocks.EVERY_REASON, False), **fields})


def test_sw_power_cap_is_information_at_the_limit_only() -> None:
    rule, capped = power.sw_power_cap, reasons(sw_power_cap=True)
    full, near = make(GpuPower, draw_w=446, limit_w=450), make(GpuPower, draw_w=420, limit_w=450)
    assert rule.severity == "info"
    assert "446 W of 450 W: normal" in says(one(rule, full, capped, None, None))
    assert "power sets its pace" in says(one(rule, full, None, None, None))
    assert "420 W of 450 W: normal" in says(one(rule, near, capped, None, None))
    assert isinstance(one(rule, near, reasons(), None, None), Fine)
    assert isinstance(one(rule, near, None, None, None), Unclear)
    assert isinstance(one(rule, near, reasons(sw_power_cap=None), None, None), Unclear)
    assert isinstance(one(rule, make(GpuPower, draw_w=100, limit_w=450), capped, None, None), Fine)
    assert isinstance(one(rule, make(GpuPower, limit_w=450), capped, None, None), Unclear)


def test_sw_cap_below_limit_needs_load() -> None:
    rule, capped = power.sw_cap_below_limit, reasons(sw_power_cap=True)
    low, busy = make(GpuPower, draw_w=180, limit_w=450), make(GpuLoad, busy_ratio=0.97)
    assert "180 W of 450 W" in says(one(rule, capped, low, busy, None))
    assert isinstance(one(rule, capped, low, make(GpuLoad, busy_ratio=0.0), None), NotHere)
    assert isinstance(one(rule, capped, low, None, None), Unclear)
    assert isinstance(one(rule, capped, make(GpuPower, draw_w=440, limit_w=450), busy, None), Fine)


def test_limits_that_the_supplies_cannot_carry() -> None:
    rule, host = power.power_budget_exceeded, DeviceRef(kind="host")
    two = tuple(make(GpuPower, DeviceRef(kind="card", index=i), limit_w=300) for i in range(2))
    tight, wide = (make(PowerSupplies, host, total_w=w, fitted=1) for w in (690.0, 700.0))
    seen = one(rule, tight, two, ())
    assert "600 W" in says(seen)
    assert isinstance(one(rule, wide, two, ()), Fine)
    listed = make(CardListing, host, tool="x", listed=3)
    unread = make(GpuPower)
    for case in ((tight, two, (listed,)), (tight, (*two, unread), ()), (tight, (), ())):
        assert isinstance(one(rule, *case), Unclear)
    assert isinstance(one(rule, make(PowerSupplies, host), two, ()), Unclear)
