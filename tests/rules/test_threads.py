"""The rule on processes of one thread, branch by branch."""

from typing import Any

import pytest

from rules.hand import cited, found, one, weight
from steadygpu.evidence.cpu import CpuLoad
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import GpuLoad
from steadygpu.evidence.process_log import ThreadSetting
from steadygpu.evidence.source import Source
from steadygpu.rules.threads import omp_threads_one as rule
from steadygpu.verdict.rule import Fine, Unclear


def make(cls: Any, device: DeviceRef, **fields: Any) -> Any:
    return cls(device=device, sources=(Source(name=f"{cls.__name__}.txt"),), **fields)


def setting(threads: int | None) -> Any:
    return make(ThreadSetting, host_ref(), variable="OMP_NUM_THREADS", threads=threads)


def cpu(idle: float | None, **more: Any) -> Any:
    return make(CpuLoad, host_ref(), idle_ratio=idle, **more)


def card(busy: float | None) -> Any:
    return make(GpuLoad, DeviceRef(kind="card", index=0), busy_ratio=busy)


@pytest.mark.parametrize(
    ("threads", "loads", "cards", "outcome"),
    [
        (None, (cpu(0.9),), (card(0.2),), Unclear),
        (4, (cpu(0.9),), (card(0.2),), Fine),
        (1, (), (card(0.2),), Unclear),
        (1, (cpu(0.9, since_boot=True),), (card(0.2),), Unclear),
        (1, (cpu(None),), (card(0.2),), Unclear),
        (1, (cpu(0.1),), (card(0.2),), Fine),
        (1, (cpu(0.9),), (), Unclear),
        (1, (cpu(0.9),), (card(None),), Unclear),
        (1, (cpu(0.9),), (card(0.9),), Fine),
        (1, (cpu(0.9),), (card(0.0),), Fine),
    ],
)
def test_all_three_witnesses_are_needed(
    threads: Any, loads: Any, cards: Any, outcome: type[Any]
) -> None:
    assert isinstance(one(rule, setting(threads), loads, cards), outcome)


def test_one_thread_beside_idle_processors_and_a_waiting_card_is_a_warning() -> None:
    seen = found(one(rule, setting(1), (cpu(0.9),), (card(0.2),)))
    assert weight(rule, seen) == ("warning", "fix-feed")
    assert cited(seen) == {"ThreadSetting", "CpuLoad", "GpuLoad"}
