"""Traces that the installed torch records itself, on processors, against the bottleneck they must lead to."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline import report
from steadygpu.verdict.answer import HostAnswer

torch = pytest.importorskip("torch", reason="torch is not installed: make torch-deps")
pytestmark = pytest.mark.torch


def recorded(path: Path, work: Callable[[Any], None], **how: Any) -> HostAnswer:
    """Return the answer on a trace of `work`, which gets the profiler."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, **how) as profiler:
        work(profiler)
    profiler.export_chrome_trace(str(path))
    (answer,) = report({path.name: path.read_bytes()}).hosts
    return answer


class Slow:
    """A data set that takes its time."""

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.01)
        return torch.ones(8)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("how", [{}, {"with_stack": True}])
def test_a_starved_loader_is_late_and_its_reason_undecided(
    tmp_path: Path, workers: int, how: dict[str, Any]
) -> None:
    model = torch.nn.Linear(8, 8)

    def train(profiler: Any) -> None:
        for batch in torch.utils.data.DataLoader(Slow(), batch_size=4, num_workers=workers):
            model(batch).sum().backward()
            profiler.step()

    answer = recorded(tmp_path / "starved.json", train, **how)
    assert [f.rule.id for f in answer.findings] == ["feed.loader-late"]
    assert answer.answer.bottleneck.kind == "undecided"
    assert "iostat" in (answer.answer.bottleneck.ask or "")


def test_many_tiny_operations_are_launches(tmp_path: Path) -> None:
    def loop(_: Any) -> None:
        x = torch.ones(4)
        for _ in range(2000):
            x = x * 1.0001 + 0.1

    answer = recorded(tmp_path / "tiny.json", loop)
    assert answer.answer.bottleneck.kind == "launch"


@pytest.mark.parametrize("name", ["long.json", "long.json.gz"])
def test_one_long_operation_is_compute(tmp_path: Path, name: str) -> None:
    a = torch.rand(1600, 1600)
    a @ a

    answer = recorded(tmp_path / name, lambda _: a @ a)
    assert answer.answer.bottleneck.kind == "compute"
    assert "aten::mm" in answer.findings[0].finding.says


def test_steps_of_a_schedule_bound_the_span(tmp_path: Path) -> None:
    path = tmp_path / "steps.json"
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=3)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(
        activities=activities,
        schedule=schedule,
        on_trace_ready=lambda p: p.export_chrome_trace(str(path)),
    ) as profiler:
        for batch in torch.utils.data.DataLoader(Slow(), batch_size=2):
            batch.sum()
            profiler.step()
    (answer,) = report({"steps.json": path.read_bytes()}).hosts
    assert [f.rule.id for f in answer.findings] == ["feed.loader-late"]
