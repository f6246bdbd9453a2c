"""Rules on how a card is set, branch by branch."""

from typing import Any

from rules.hand import one, says
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import GpuFabric, GpuLoad, GpuMemory, GpuMode
from steadygpu.evidence.source import Source
from steadygpu.evidence.units import MIB
from steadygpu.rules import card_mode
from steadygpu.verdict.rule import Finding, Fine, NotHere, Unclear

CARD = DeviceRef(kind="card", bdf="0000:41:00.0")
PROOF = (Source(name="a.txt", quote="a line"),)


def make(cls: type[Any], device: DeviceRef | None = None, **fields: Any) -> Any:
    return cls(device=device or host_ref(), sources=PROOF, **fields)


def test_exclusive_mode_is_critical_only_while_held() -> None:
    rule, mode = (
        card_mode.compute_mode_exclusive,
        make(GpuMode, CARD, compute_mode="exclusive_process"),
    )
    held = one(rule, mode, None, make(GpuMemory, CARD, used_bytes=74 * MIB))
    listed = one(rule, mode, make(GpuLoad, CARD, has_process=True), None)
    free = one(rule, mode, None, None)
    assert "74 MiB" in says(held)
    assert "process" in says(listed)
    assert isinstance(free, Finding)
    assert free.severity == "info"
    assert isinstance(one(rule, make(GpuMode, CARD, compute_mode="default"), None, None), Fine)
    assert isinstance(one(rule, make(GpuMode, CARD), None, None), Unclear)


def test_persistence_off_on_linux_only() -> None:
    rule = card_mode.persistence_off
    assert says(one(rule, make(GpuMode, CARD, persistence_on=False)))
    assert isinstance(one(rule, make(GpuMode, CARD, persistence_on=True)), Fine)
    assert isinstance(one(rule, make(GpuMode, CARD, driver_model="WDDM")), NotHere)
    assert isinstance(one(rule, make(GpuMode, CARD)), Unclear)


def test_mig_pending_reset_compares_modes() -> None:
    rule = card_mode.mig_pending_reset
    assert "pending on" in says(one(rule, make(GpuMode, CARD, mig_on=False, mig_pending_on=True)))
    assert isinstance(one(rule, make(GpuMode, CARD, mig_on=True, mig_pending_on=True)), Fine)
    assert isinstance(one(rule, make(GpuMode, CARD, mig_on=True)), Unclear)


def test_fabric_state() -> None:
    rule = card_mode.fabric_manager_not_running
    assert "in progress" in says(one(rule, make(GpuFabric, CARD, state="in progress")))
    assert isinstance(one(rule, make(GpuFabric, CARD, state="completed")), Fine)
    assert isinstance(one(rule, make(GpuFabric, CARD, state="odd")), Unclear)
    assert isinstance(one(rule, make(GpuFabric, CARD)), Unclear)
