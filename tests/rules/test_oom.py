"""Rules on messages of full card memory, branch by branch."""

from typing import Any

import pytest

from rules.hand import cited, found, one, says, weight
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.process_log import OomMessage
from steadygpu.evidence.source import Absent, Source
from steadygpu.evidence.units import GIB
from steadygpu.rules import oom
from steadygpu.verdict.rule import Fine, Unclear


def message(
    tried: float | None, free: float | None, held: float | None, unused: float | None, **more: Any
) -> OomMessage:
    sizes = [None if one is None else round(one * GIB) for one in (tried, free, held, unused)]
    names = ("tried_bytes", "free_bytes", "allocated_bytes", "unallocated_bytes")
    return OomMessage(
        device=DeviceRef(kind="card", index=0), sources=(Source(name="o.txt", quote="a line"),),
        **dict(zip(names, sizes, strict=True)), **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("figures", "pieces"),
    [
        ((1, 0.5, 20, 1), True),
        ((1, 0.5, 20, 0.9), False),  # less than asked for, and a small share
        ((3, 0.5, 20, 2.7), True),  # a large share that would do with what is free
        ((9, 0.5, 20, 4), False),  # a large share that would not do
        ((1, 1, 5, 8), False),  # as much free as was asked for
        ((1, 0, 5, 0), False),
    ],
)
def test_the_figures_of_the_message_decide(figures: tuple[float, ...], pieces: bool) -> None:
    both = (message(*figures),)
    yes, no = oom.oom_fragmentation, oom.oom_not_fragmentation
    if not pieces:
        yes, no = no, yes
    seen = found(one(yes, both))
    assert weight(yes, seen) == ("warning", "restart-job" if pieces else "watch")
    assert cited(seen) == {"o"}
    assert isinstance(one(no, both), Fine)


def test_it_says_who_holds_the_memory() -> None:
    rule = oom.oom_not_fragmentation
    assert "in use by the job itself" in says(one(rule, (message(2, 1, 20, 0.1),)))
    others = message(2, 1, 5, 0.1, others_bytes=30 * GIB)
    assert "other processes hold 30 GiB" in says(one(rule, (others,)))
    free = found(one(rule, (message(1, 9, 5, 0.1, allowed_bytes=6 * GIB),)))
    assert "may have 6 GiB" in free.says
    assert free.meaning
    assert "Windows" in free.meaning


def test_figures_that_miss_leave_it_open_unless_another_message_has_them() -> None:
    rule = oom.oom_fragmentation
    gone = Absent(field="free_bytes", reason="cut")
    cut = message(1, None, 5, 8, absent=(gone,))
    assert isinstance(one(rule, (cut,)), Unclear)
    seen = found(one(rule, (message(1, 0.5, 5, 8), cut, message(2, 0.5, 5, 8))))
    assert seen.count == 2
    assert isinstance(one(rule, ()), Unclear)
