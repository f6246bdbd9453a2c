"""Rules on the messages of the amdgpu driver."""

from typing import Any

import pytest

from rules.hand import at, found, one, says, weight
from steadygpu.evidence.amd import AmdgpuEvent
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.kernel_log import KernelEvent
from steadygpu.evidence.source import Source
from steadygpu.rules import amdgpu
from steadygpu.verdict.rule import Fine, Unclear

CARD = DeviceRef(kind="card", bdf="0000:43:00.0")


def event(what: str, line: int = 1, device: DeviceRef = CARD, **fields: Any) -> AmdgpuEvent:
    source = Source(name="dmesg.txt", first=line, last=line, quote=what)
    return AmdgpuEvent(device=device, at=at(line / 10), what=what, sources=(source,), **fields)


def test_the_process_below_the_timeout_is_named_and_no_other() -> None:
    hung = event("ring_timeout", 1, ring="comp_1.0.0")
    near, far = event("process", 2, process="near", pid=7), event("process", 90, process="far")
    told = says(one(amdgpu.amdgpu_ring_reset, (hung, near, far), False))
    assert "compute ring comp_1.0.0" in told
    assert "near (pid 7)" in told
    assert "far" not in told


@pytest.mark.parametrize(
    ("ends", "word"),
    [
        ((), "no recovery"), (("ring_reset",), "reset of the ring"),
        (("reset_begin", "reset_succeeded"), "reset of the card"),
        (("reset_begin", "vram_lost", "reset_succeeded"), "lost the card's memory"),
        (("reset_begin", "reset_failed"), "the reset failed"),
    ],
)  # fmt: skip
def test_how_a_timeout_ended_is_said(ends: tuple[str, ...], word: str) -> None:
    rest = tuple(event(what, 2 + n) for n, what in enumerate(ends))
    assert word in says(one(amdgpu.amdgpu_ring_reset, (event("ring_timeout"), *rest), False))


def test_a_message_without_an_address_belongs_to_the_only_card() -> None:
    hung = event("ring_timeout", device=host_ref(), ring="gfx")
    seen = found(one(amdgpu.amdgpu_ring_reset, (hung, event("reset_begin", 2)), False))
    assert seen.subject == CARD


def test_of_two_cards_it_stays_with_the_host() -> None:
    other = DeviceRef(kind="card", bdf="0000:83:00.0")
    events = (
        event("ring_timeout", device=host_ref()),
        event("fence_timer"),
        event("fence_timer", device=other),
    )
    seen = list(amdgpu.amdgpu_ring_reset.check(events, False))
    assert [s.subject.kind for s in seen if not isinstance(s, Unclear)] == ["host"]


def test_a_reset_after_a_timeout_is_told_once() -> None:
    events = (event("ring_timeout"), event("reset_begin", 2))
    assert isinstance(one(amdgpu.gpu_reset, events, (), False), Unclear)


def test_a_fault_of_the_driver_itself_is_no_program() -> None:
    assert isinstance(
        one(amdgpu.amdgpu_vm_fault, (event("vm_fault", vmid=0, pasid=0),), True), Fine
    )


def test_an_engine_that_an_intel_driver_reset_is_milder_and_built_in_graphics_are_no_matter() -> (
    None
):
    def reset(bdf: str) -> KernelEvent:
        source = Source(name="k.txt", first=1, last=1, quote="xe: Engine reset")
        return KernelEvent(
            device=DeviceRef(kind="card", bdf=bdf), what="gpu_reset", says="Engine reset", sources=(source,)
        )  # fmt: skip

    rule = amdgpu.gpu_reset
    seen = found(one(rule, (), (reset("0000:4d:00.0"),), True))
    assert weight(rule, seen) == ("warning", "restart-job")
    own = found(one(rule, (), (reset("0000:00:02.0"),), True))
    assert weight(rule, own) == ("info", "none")
