"""Rules on how a card is set, branch by branch."""

from typing import Any

from rules.hand import one, says
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import GpuFabric, GpuLoad, GpuMemory, GpuMode, GpuProcess
from steadygpu.evidence.setting import Setting
from steadygpu.evidence.source import Source
from steadygpu.evidence.units import MIB
from steadygpu.rules import card_mode
from steadygpu.verdict.rule import Finding, Fine, NotHere, Unclear

CARD = DeviceRef(kind="card", bdf="0000:41:00.0")
PROOF = (Source(name="a.txt", quote="a line"),)


def make(cls: type[Any], device: DeviceRef | None = None, **fields: Any) -> Any:
    return cls(device=device or host_ref(), sources=PROOF, **fields)


def test_exclusive_mode_is_critical_only_while_an_idle_card_is_held() -> None:
    rule, mode = (
        card_mode.compute_mode_exclusive,
        make(GpuMode, CARD, compute_mode="exclusive_process"),
    )
    idle = make(GpuLoad, CARD, busy_ratio=0.0, has_process=True)
    held = one(rule, mode, None, make(GpuMemory, CARD, used_bytes=74 * MIB), ())
    listed = one(rule, mode, idle, None, ())
    assert "74 MiB" in says(held)
    assert "process" in says(listed)
    assert held.severity is None
    assert listed.severity is None
    free = one(rule, mode, None, None, ())
    works = one(rule, mode, make(GpuLoad, CARD, busy_ratio=0.9, has_process=True), None, ())
    screen = make(GpuProcess, CARD, pid=1, name="Xorg", kind="G")
    shown = one(rule, mode, idle, None, (screen,))
    for seen in (free, works, shown):
        assert isinstance(seen, Finding)
        assert seen.severity == "info"
    served = make(GpuProcess, CARD, pid=1, name="nvidia-cuda-mps-server", kind="C")
    assert isinstance(one(rule, mode, idle, None, (served,)), NotHere)
    client = make(GpuProcess, CARD, pid=2, name="python", kind="M+C")
    assert isinstance(one(rule, mode, idle, None, (client,)), NotHere)
    assert isinstance(one(rule, make(GpuMode, CARD, compute_mode="default"), None, None, ()), Fine)
    assert isinstance(one(rule, make(GpuMode, CARD), None, None, ()), Unclear)


def test_a_fabric_that_completed_without_success_is_not_up() -> None:
    rule = card_mode.fabric_manager_not_running
    bad = make(GpuFabric, CARD, state="completed", status="failure")
    assert "failure" in says(one(rule, bad))
    ill = make(GpuFabric, CARD, state="completed", status="success", healthy=False)
    assert "unhealthy" in says(one(rule, ill))
    assert isinstance(one(rule, make(GpuFabric, CARD, state="completed", status="success")), Fine)


def test_persistence_off_on_linux_only() -> None:
    rule = card_mode.persistence_off
    assert says(one(rule, make(GpuMode, CARD, persistence_on=False)))
    assert isinstance(one(rule, make(GpuMode, CARD, persistence_on=True)), Fine)
    assert isinstance(one(rule, make(GpuMode, CARD, driver_model="WDDM")), NotHere)
    off = make(GpuMode, CARD, persistence_on=False)
    for kind, outcome in (
        ("wsl", NotHere),
        ("jetson", NotHere),
        ("vm", Finding),
        ("container", Finding),
    ):
        assert isinstance(one(rule, off, (make(Setting, CARD, kind=kind, by="uname"),)), outcome)
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
