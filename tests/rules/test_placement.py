"""The rule on memory of processes far from their cards, branch by branch."""

from typing import Any

import pytest

from rules.hand import cited, found, one, weight
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import GpuProcess
from steadygpu.evidence.placement import ProcessPlacement
from steadygpu.evidence.source import Source
from steadygpu.evidence.topology import GpuAffinity
from steadygpu.evidence.units import GIB
from steadygpu.rules.placement import numa_remote_memory as rule
from steadygpu.verdict.rule import Fine, NotHere, Unclear


def ref(index: int) -> DeviceRef:
    return DeviceRef(kind="card", index=index)


def process(sizes: tuple[float, float] | None, nodes: str | None = None) -> ProcessPlacement:
    held = None if sizes is None else tuple((n, round(size * GIB)) for n, size in enumerate(sizes))
    return ProcessPlacement(
        device=host_ref(), pid=7, node_bytes=held, nodes=nodes, sources=(Source(name="n.txt"),)
    )


def holder(pid: int, index: int) -> GpuProcess:
    return GpuProcess(device=ref(index), pid=pid, sources=(Source(name="s.txt"),))


def card(index: int, node: int | None) -> GpuAffinity:
    return GpuAffinity(device=ref(index), numa_node=node, sources=(Source(name="t.txt"),))


CARDS = (card(0, 0), card(1, 1), card(2, None))


@pytest.mark.parametrize(
    ("mine", "holders", "outcome"),
    [
        (process((1, 4)), (holder(7, 0),), None),
        (process(None, "1"), (holder(7, 0),), None),
        (process((4, 1)), (holder(7, 0),), Fine),
        (process((2, 2)), (holder(7, 0),), Fine),
        (process((0, 0.5)), (holder(7, 0),), Fine),
        (process((1, 4)), (holder(7, 0), holder(7, 1)), Fine),
        (process(None, "0-1"), (holder(7, 0),), Unclear),
        (process(None, None), (holder(7, 0),), Unclear),
        (process((1, 4)), (holder(7, 2),), Unclear),
        (process((1, 4)), (), Unclear),
        (process((1, 4)), (holder(8, 0),), NotHere),
    ],
)
def test_memory_is_judged_against_the_node_of_the_card(
    mine: Any, holders: Any, outcome: Any
) -> None:
    seen = one(rule, mine, holders, CARDS, ())
    if outcome is not None:
        assert isinstance(seen, outcome)
        return
    assert weight(rule, found(seen)) == ("warning", "fix-feed")
    assert cited(found(seen)) == {"n", "s", "t"}
    assert found(seen).subject.index == 7
