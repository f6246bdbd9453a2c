"""Rules on switches and on the host around the cards, branch by branch."""

from typing import Any

import pytest

from rules.hand import at, found, one, weight
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.kernel_log import (
    DiskEvent,
    KernelEvent,
    MemoryErrorEvent,
    NicEvent,
    SxidEvent,
)
from steadygpu.evidence.setting import Setting
from steadygpu.evidence.source import Source
from steadygpu.rules import aer, host_fault, sxid
from steadygpu.verdict.rule import Finding, Fine, Unclear

SWITCH = DeviceRef(kind="switch", bdf="0000:c5:00.0")
MODULE = DeviceRef(kind="dimm", label="DIMM_A1")
PORT = DeviceRef(kind="nic", bdf="0000:3b:00.0")
HOST = host_ref()


def make(cls: type[Any], device: DeviceRef, **fields: Any) -> Any:
    return cls(device=device, sources=(Source(name="k.log", quote=f"{fields}"),), **fields)


@pytest.mark.parametrize(
    ("code", "fatal", "fatally"),
    [
        (20034, True, True), (20034, None, True), (20034, False, False), (23001, None, True),
        (12028, None, False), (12028, False, False), (28003, None, False), (28003, True, True),
    ],
)  # fmt: skip
def test_the_word_of_the_switch_decides_then_the_catalogue(
    code: int, fatal: bool | None, fatally: bool
) -> None:
    events = (make(SxidEvent, SWITCH, code=code, fatal=fatal, link=3),)
    hard, mild = one(sxid.sxid_fatal, events, True), one(sxid.sxid_nonfatal, events, True)
    assert isinstance(hard, Finding if fatally else Fine)
    assert isinstance(mild, Fine if fatally else Finding)
    hit = found(hard if fatally else mild)
    assert f"SXid {code} on link 3" in hit.says
    assert weight(sxid.sxid_fatal if fatally else sxid.sxid_nonfatal, hit) == (
        ("critical", "drain") if fatally else ("warning", "watch")
    )


def test_what_the_switch_corrected_is_for_the_record() -> None:
    mild = make(SxidEvent, SWITCH, code=11021, fatal=False)
    assert weight(sxid.sxid_nonfatal, found(one(sxid.sxid_nonfatal, (mild,), False))) == (
        "info", "none",
    )  # fmt: skip
    both = (mild, make(SxidEvent, SWITCH, code=10004, fatal=False))
    seen = found(one(sxid.sxid_nonfatal, both, False))
    assert weight(sxid.sxid_nonfatal, seen) == ("warning", "watch")
    assert "cooling" in str(seen.decision)


@pytest.mark.parametrize(
    ("kind", "errors", "hours", "expected"),
    [
        ("uncorrected", 1, 0, ("critical", "drain")), ("corrected", 9, 1, ("info", "none")),
        ("corrected", 10, 1, ("warning", "watch")), ("corrected", 100, 1, ("critical", "drain")),
        ("corrected", 120, 48, ("warning", "watch")), ("corrected", 15, 48, ("info", "none")),
    ],
)  # fmt: skip
def test_memory_errors_weigh_by_kind_and_by_day(
    kind: str, errors: int, hours: int, expected: tuple[str, str]
) -> None:
    first = make(MemoryErrorEvent, MODULE, kind=kind, by="edac", errors=errors - 1 or 1, at=at(0))
    last = make(MemoryErrorEvent, MODULE, kind=kind, by="edac", errors=1, at=at(hours * 3600))
    events = (first, last) if errors > 1 else (first,)
    seen = found(one(host_fault.host_memory_error, events, False))
    assert weight(host_fault.host_memory_error, seen) == expected
    assert (seen.count, seen.subject) == (errors, MODULE)


def test_two_reporters_of_one_error_count_once_and_a_nameless_module_is_milder() -> None:
    events = (
        make(MemoryErrorEvent, MODULE, kind="corrected", by="edac", errors=3),
        make(MemoryErrorEvent, MODULE, kind="corrected", by="firmware", count=2),
        make(MemoryErrorEvent, HOST, kind="corrected", by="edac", errors=400),
    )
    named, nameless = list(host_fault.host_memory_error.check(events, False))
    assert found(named).count == 3
    assert weight(host_fault.host_memory_error, found(nameless))[0] == "warning"


@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        (["host"], ("critical", "fix-feed")), (["memcg"], ("info", "none")),
        (["numa", "memcg"], ("warning", "fix-feed")), (["memcg", None, "host"], ("critical", "fix-feed")),
    ],
)  # fmt: skip
def test_kills_weigh_by_whose_memory_ran_short(
    scopes: list[str | None], expected: tuple[str, str]
) -> None:
    rule = host_fault.host_ram_exhausted
    events = tuple(make(KernelEvent, HOST, what="oom_kill", scope=s, process="a") for s in scopes)
    assert weight(rule, found(one(rule, events, False))) == expected


def test_free_swap_is_told_and_an_unknown_scope_is_unclear() -> None:
    rule = host_fault.host_ram_exhausted
    kill = make(KernelEvent, HOST, what="oom_kill", scope="host", swap_free_bytes=3 << 30)
    assert "3.0 GiB of swap were free: what filled" in found(one(rule, (kill,), True)).says
    assert isinstance(one(rule, (make(KernelEvent, HOST, what="oom_kill"),), True), Unclear)
    assert isinstance(one(rule, (make(KernelEvent, HOST, what="oops"),), True), Fine)


@pytest.mark.parametrize(
    ("what", "process", "inside", "expected"),
    [
        ("hung_task", "python", "nvidia_uvm", "critical"), ("hung_task", "python", "amdgpu", "critical"),
        ("hung_task", "nvidia-smi", None, "critical"), ("soft_lockup", "python", "nvidia", "warning"),
        ("rcu_stall", None, "nvidia", "warning"), ("hung_task", "python", "nfs", "fine"),
        ("hung_task", "python", "kernel", "fine"), ("hung_task", "python", None, "unclear"),
        ("oops", "python", "nvidia", "fine"),
    ],
)  # fmt: skip
def test_stalls_count_inside_a_driver_only(
    what: str, process: str | None, inside: str | None, expected: str
) -> None:
    rule = host_fault.query_stall
    seen = one(rule, (make(KernelEvent, HOST, what=what, process=process, inside=inside),), True)
    if expected == "fine":
        assert isinstance(seen, Fine)
    elif expected == "unclear":
        assert isinstance(seen, Unclear)
    else:
        assert weight(rule, found(seen))[0] == expected


def test_disk_names_of_one_controller_are_one_disk() -> None:
    disks = [DeviceRef(kind="disk", label=name) for name in ("nvme1", "nvme1n1", "nvme10n1")]
    events = tuple(make(DiskEvent, d, what="io_error") for d in disks)
    assert len(list(host_fault.disk_errors.check(events, False))) == 2
    alone = found(one(host_fault.disk_errors, (make(DiskEvent, disks[0], what="timeout"),), False))
    assert weight(host_fault.disk_errors, alone) == ("info", "none")


@pytest.mark.parametrize(
    ("hours", "flaps"), [([0, 1], False), ([0, 1, 2], True), ([0, 30, 60], False), ([0, 30, 31, 53], True)]
)  # fmt: skip
def test_links_that_go_down_thrice_within_a_day(hours: list[int], flaps: bool) -> None:
    events = tuple(make(NicEvent, PORT, what="link_down", at=at(h * 3600)) for h in hours)
    seen = one(host_fault.nic_link_flaps, events, True)
    assert isinstance(seen, Finding if flaps else Fine)
    assert isinstance(one(host_fault.nic_health, events, True), Fine)


def test_reports_that_the_firmware_keeps_leave_the_question_open() -> None:
    kept = make(KernelEvent, HOST, what="aer_firmware", says="platform does not support [AER]")
    rules = (aer.aer_corrected_on_gpu_path, aer.aer_corrected_elsewhere, aer.aer_uncorrected)
    for rule in rules:
        nothing = [()] * (len(rule.needs) - 3)
        assert isinstance(one(rule, *nothing, True, ()), Fine)
        seen = one(rule, *nothing, True, (kept,))
        assert isinstance(seen, Unclear)
        assert "platform does not support [AER]" in seen.why


@pytest.mark.parametrize(("kind", "open_"), [("vm", True), ("wsl", True), ("container", False)])
def test_a_guest_does_not_see_the_ports_above_its_cards(kind: Any, open_: bool) -> None:
    setting = make(Setting, HOST, kind=kind, by="uname")
    for rule in (aer.aer_corrected_on_gpu_path, aer.aer_corrected_elsewhere, aer.aer_uncorrected):
        nothing = [()] * (len(rule.needs) - 3)
        seen = one(rule, *nothing, True, (), (setting,))
        assert isinstance(seen, Unclear if open_ else Fine)
