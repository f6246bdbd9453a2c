"""The rule on memory of NUMA nodes, branch by branch."""

from typing import Any

import pytest

from rules.hand import cited, found, weight
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.memory import HostMemory
from steadygpu.evidence.source import Source
from steadygpu.evidence.topology import GpuAffinity
from steadygpu.evidence.units import GIB
from steadygpu.rules.host_memory import numa_node_exhausted as rule
from steadygpu.verdict.rule import Fine, NotHere, Seen, Unclear


def memory(
    node: int | None, free: float | None, cached: float | None = 0, total: float = 100, **more: Any
) -> HostMemory:
    return HostMemory(
        device=host_ref(), node=node, total_bytes=round(total * GIB), shmem_bytes=more.get("shmem", 0) * GIB,
        free_bytes=None if free is None else round(free * GIB),
        cached_bytes=None if cached is None else round(cached * GIB), sources=(Source(name="m.txt", quote="a"),),
    )  # fmt: skip


def card(index: int, node: int | None) -> GpuAffinity:
    ref = DeviceRef(kind="card", index=index)
    return GpuAffinity(device=ref, numa_node=node, sources=(Source(name="t.txt", quote="a"),))


def first(one: HostMemory, *cards: GpuAffinity) -> Seen:
    return next(iter(rule.check((one, memory(1, 90)), cards, ())))


def test_a_full_node_under_a_card_is_a_warning() -> None:
    seen = found(first(memory(0, 1, 1), card(0, 0), card(1, None)))
    assert weight(rule, seen) == ("warning", "fix-feed")
    assert cited(seen) == {"m", "t"}
    assert seen.subject.index == 0
    assert found(first(memory(0, 1, 50, shmem=49), card(0, 0)))


@pytest.mark.parametrize(
    ("one", "cards", "outcome"),
    [
        (memory(0, 6), (card(0, 0),), Fine),
        (memory(0, 1, 50), (card(0, 0),), Fine),
        (memory(0, 1, None), (card(0, 0),), Unclear),
        (memory(0, None), (card(0, 0),), Unclear),
        (memory(0, 1), (), Unclear),
        (memory(0, 1), (card(0, None), card(1, 1)), Unclear),
        (memory(0, 1), (card(0, 1),), NotHere),
        (memory(0, 0, total=0), (card(0, 0),), NotHere),
    ],
)
def test_other_nodes(one: HostMemory, cards: tuple[GpuAffinity, ...], outcome: type[Any]) -> None:
    assert isinstance(first(one, *cards), outcome)


def test_hosts_of_one_node_or_none_listed() -> None:
    assert isinstance(next(iter(rule.check((memory(0, 1),), (card(0, 0),), ()))), NotHere)
    assert isinstance(next(iter(rule.check((memory(None, 1),), (card(0, 0),), ()))), Unclear)
