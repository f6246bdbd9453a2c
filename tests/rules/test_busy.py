"""Rules on load and memory, branch by branch."""

from typing import Any

from rules.hand import one, says
from steadygpu.evidence.cpu import CpuLoad
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import GpuLoad, GpuMemory, GpuMode, GpuPower
from steadygpu.evidence.source import Absent, Source
from steadygpu.evidence.storage import DiskLoad
from steadygpu.evidence.units import GIB
from steadygpu.rules import busy
from steadygpu.verdict.rule import Fine, NotHere, Unclear

CARD = DeviceRef(kind="card", index=0)
PROOF = (Source(name="a.txt", quote="a line"),)
NO_UTIL = (Absent(field="busy_ratio", reason="not_supported", source=PROOF[0]),)


def make(cls: type[Any], device: DeviceRef = CARD, **fields: Any) -> Any:
    return cls(device=device, sources=PROOF, **fields)


def test_card_idle_needs_no_kernel_and_no_process() -> None:
    rule = busy.card_idle
    assert says(one(rule, make(GpuLoad, busy_ratio=0.0, has_process=False), None))
    assert isinstance(one(rule, make(GpuLoad, busy_ratio=0.0, has_process=True), None), Fine)
    assert isinstance(one(rule, make(GpuLoad, busy_ratio=0.0), None), Unclear)
    assert isinstance(one(rule, make(GpuLoad, busy_ratio=0.5), None), Fine)
    assert isinstance(one(rule, make(GpuLoad, absent=NO_UTIL), None), NotHere)
    quiet = make(GpuLoad, busy_ratio=0.0, has_process=False)
    assert isinstance(one(rule, quiet, make(GpuMemory, used_bytes=70 * GIB)), NotHere)
    assert isinstance(one(rule, quiet, make(GpuMemory)), Unclear)
    assert says(one(rule, quiet, make(GpuMemory, used_bytes=4 * 2**20)))


def test_card_starved_needs_both_sides_at_once() -> None:
    rule = busy.card_starved
    low = make(GpuLoad, busy_ratio=0.18, has_process=True)
    waiting = make(CpuLoad, host_ref(), iowait_ratio=0.098, samples=9)
    calm = make(CpuLoad, host_ref(), iowait_ratio=0.001, samples=9)
    boot = make(CpuLoad, host_ref(), iowait_ratio=0.2, since_boot=True)
    sda = DeviceRef(kind="disk", label="sda")
    full = make(DiskLoad, sda, busy_ratio=0.99, queue=12.0, samples=9)
    free = make(DiskLoad, sda, busy_ratio=0.02, queue=0.1, samples=9)
    assert "iowait is 9.8%" in says(one(rule, low, (waiting,), ()))
    assert "sda" in says(one(rule, low, (calm,), (full,)))
    assert isinstance(one(rule, low, (calm,), (free,)), Fine)
    assert isinstance(one(rule, low, (boot,), ()), Unclear)
    assert isinstance(one(rule, low, (calm,), ()), Unclear)
    assert isinstance(one(rule, make(GpuLoad, busy_ratio=0.9), (waiting,), (full,)), Fine)
    idle = make(GpuLoad, busy_ratio=0.0, has_process=False)
    assert isinstance(one(rule, idle, (waiting,), (full,)), NotHere)


def test_full_utilisation_with_low_draw_is_residency() -> None:
    rule, full = busy.util_is_residency, make(GpuLoad, busy_ratio=1.0)
    assert "150 W of 700 W" in says(one(rule, full, make(GpuPower, draw_w=150, limit_w=700)))
    assert isinstance(one(rule, full, make(GpuPower, draw_w=650, limit_w=700)), Fine)
    assert isinstance(one(rule, full, make(GpuPower, draw_w=650)), Unclear)
    assert isinstance(one(rule, make(GpuLoad, busy_ratio=0.4), None), Fine)


def test_mig_is_said_and_makes_utilisation_unavailable_only_where_the_tool_says_so() -> None:
    on, off = make(GpuMode, mig_on=True), make(GpuMode, mig_on=False)
    assert says(one(busy.mig_on, on))
    assert isinstance(one(busy.mig_on, off), Fine)
    assert isinstance(one(busy.mig_on, make(GpuMode)), Unclear)
    rule, silent = busy.util_not_available_mig, make(GpuLoad, absent=NO_UTIL)
    assert "174 W" in says(one(rule, on, silent, make(GpuPower, draw_w=174)))
    assert isinstance(one(rule, on, make(GpuLoad), None), Unclear)
    assert isinstance(one(rule, on, make(GpuLoad, busy_ratio=0.2), None), Fine)
    assert isinstance(one(rule, off, silent, None), NotHere)
