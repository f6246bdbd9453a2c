"""Rules on the memory of a card, branch by branch."""

from typing import Any

from rules.hand import one, says
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.gpu import CardListing, GpuLoad, GpuMemory, GpuMode, GpuProcess
from steadygpu.evidence.setting import Setting
from steadygpu.evidence.source import Source
from steadygpu.evidence.units import GIB
from steadygpu.rules import card_memory
from steadygpu.verdict.rule import Finding, Fine, NotHere, Unclear

CARD = DeviceRef(kind="card", index=0)
PROOF = (Source(name="a.txt", quote="a line"),)


def make(cls: type[Any], device: DeviceRef = CARD, **fields: Any) -> Any:
    return cls(device=device, sources=PROOF, **fields)


def test_memory_near_full_above_95_percent() -> None:
    rule = card_memory.memory_near_full
    assert "39 " not in says(one(rule, make(GpuMemory, used_bytes=39 * GIB, total_bytes=40 * GIB)))
    assert isinstance(one(rule, make(GpuMemory, used_bytes=30 * GIB, total_bytes=40 * GIB)), Fine)
    assert isinstance(one(rule, make(GpuMemory, used_bytes=39 * GIB)), Unclear)


def test_memory_without_visible_process_not_on_mig_or_wddm() -> None:
    rule, used = card_memory.memory_without_visible_process, make(GpuMemory, used_bytes=9 * GIB)
    empty = make(GpuLoad, has_process=False)
    linux = make(GpuMode, mig_on=False, persistence_on=True)
    assert "9216 MiB" in says(one(rule, empty, used, linux))
    assert isinstance(one(rule, empty, used, make(GpuMode, mig_on=True)), NotHere)
    wddm = make(GpuMode, mig_on=False, driver_model="WDDM")
    assert isinstance(one(rule, empty, used, wddm), NotHere)
    assert isinstance(one(rule, empty, used, make(GpuMode, mig_on=False)), Unclear)
    assert isinstance(one(rule, empty, used, make(GpuMode, persistence_on=True)), Unclear)
    assert isinstance(one(rule, empty, used, None), Unclear)
    for kind, outcome in (("wsl", NotHere), ("container", NotHere), ("vm", Finding)):
        assert isinstance(
            one(rule, empty, used, linux, (make(Setting, kind=kind, by="x"),)), outcome
        )
    assert isinstance(one(rule, make(GpuLoad), used, linux), Unclear)
    assert isinstance(one(rule, make(GpuLoad, has_process=True), used, linux), Fine)


def test_duplicate_model_copies_share_name_and_size() -> None:
    rule = card_memory.duplicate_model_copies

    def process(pid: int, gib: float | None, name: str | None = "python3") -> Any:
        return make(
            GpuProcess, pid=pid, name=name, used_bytes=None if gib is None else int(gib * GIB)
        )

    assert "3 processes" in says(one(rule, (process(1, 9), process(2, 9.1), process(3, 9.2)), None))
    assert isinstance(one(rule, (process(1, 9), process(2, 12)), None), Fine)
    assert isinstance(one(rule, (process(1, 9), process(2, 9, "vllm")), None), Fine)
    assert isinstance(one(rule, (process(1, 0.1), process(2, 0.1)), None), Fine)
    assert isinstance(one(rule, (process(1, 9), process(2, None)), None), Unclear)
    two = (process(1, 9), process(2, 9.1))
    assert one(rule, two, None).severity == "info"
    roomy = make(GpuMemory, used_bytes=20 * GIB, total_bytes=80 * GIB)
    assert one(rule, two, roomy).severity == "info"
    short = make(GpuMemory, used_bytes=19 * GIB, total_bytes=20 * GIB)
    assert one(rule, two, short).severity is None


def test_an_empty_list_in_a_container_says_nothing_of_the_host() -> None:
    rule = card_memory.pid_namespace
    inside = (make(CardListing, tool="nvidia-smi", listed=1, container=True),)
    outside = (make(CardListing, tool="nvidia-smi", listed=1),)
    linux = make(GpuMode, mig_on=False, persistence_on=True)
    used = make(GpuMemory, used_bytes=9 * GIB)
    little = make(GpuMemory, used_bytes=1)
    idle = make(GpuLoad, has_process=False, busy_ratio=0.0)
    works = make(GpuLoad, has_process=False, busy_ratio=0.5)
    assert "9216 MiB" in says(one(rule, idle, used, linux, inside))
    assert "50% busy" in says(one(rule, works, None, linux, inside))
    assert isinstance(one(rule, idle, used, linux, outside), NotHere)
    assert isinstance(one(rule, idle, used, make(GpuMode, mig_on=True), inside), NotHere)
    assert isinstance(one(rule, idle, little, linux, inside), Fine)
    assert isinstance(one(rule, make(GpuLoad, has_process=True), used, linux, inside), Fine)
    assert isinstance(one(rule, make(GpuLoad), used, linux, inside), Unclear)
    assert isinstance(one(rule, idle, None, linux, inside), Unclear)
    blank = make(GpuLoad, has_process=False)
    assert isinstance(one(rule, blank, little, linux, inside), Unclear)
