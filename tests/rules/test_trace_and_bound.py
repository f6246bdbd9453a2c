"""Rules on traces and profiling counters, branch by branch; and the bottleneck that each composed trace leads to."""

from dataclasses import replace
from typing import Any

import pytest

import traces
from pipeline import report
from rules.hand import found, one, says, weight
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import GpuLoad, GpuPower
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.profile import GpuProfile
from steadygpu.evidence.reading import HostEvidence
from steadygpu.evidence.source import Source
from steadygpu.evidence.trace import CallStat, TraceCard, TraceGap, TraceHost
from steadygpu.rules import bound, trace
from steadygpu.verdict.judge import judge
from steadygpu.verdict.playbook import answer_host
from steadygpu.verdict.rule import Fine, NotHere, Unclear
from traces import event, kernel

CARD = DeviceRef(kind="card", index=0)
PROOF = (Source(name="a.txt", quote="a line"),)


def make(cls: type[Any], device: DeviceRef = CARD, **values: Any) -> Any:
    return cls(device=device, sources=PROOF, **values)


def card(**values: Any) -> TraceCard:
    base = {
        "span_s": 1.0, "busy_ratio": 0.3, "kernel_ratio": 0.3, "kernel_count": 900, "short_kernel_ratio": 0.9,
        "h2d_ratio": 0.0, "d2h_ratio": 0.0, "d2d_ratio": 0.0, "median_kernel_s": 4e-6, "matrix_ratio": 0.1,
        "streaming_ratio": 0.8,
    }  # fmt: skip
    made: TraceCard = make(TraceCard, **(base | values))
    return made


def host(**values: Any) -> TraceHost:
    base = {
        "span_s": 1.0,
        "cards": 1,
        "loader_wait_ratio": 0.01,
        "sync_count": 2,
        "sync_ratio": 0.01,
    }
    made: TraceHost = make(TraceHost, host_ref(), **(base | values))
    return made


def gap(rank: int, length: float | None, during: str | None = None) -> TraceGap:
    made: TraceGap = make(TraceGap, rank=rank, start_s=0.1, length_s=length, during=during)
    return made


GAPS = (gap(1, 0.03, "aten::item"), gap(2, 0.02), gap(3, 0.01))


def launch(card: TraceCard, host: TraceHost | None, gaps: tuple[TraceGap, ...] = GAPS) -> Any:
    return one(trace.launch_bound, (host,) if host else (), (card,), gaps, ())


def test_tiny_kernels_on_an_idle_card_are_launch_bound() -> None:
    told = says(launch(card(), host()))
    assert "idle 70% of 1 s" in told
    assert "90% of 900 kernels under 10 µs" in told
    assert "longest waits 30 ms in aten::item, 20 ms without a long event" in told
    assert isinstance(launch(card(busy_ratio=0.8), host()), Fine)
    assert isinstance(launch(card(), host(loader_wait_ratio=0.4)), Fine)
    assert isinstance(launch(card(short_kernel_ratio=0.2), host()), Unclear)
    assert "400 times" in says(launch(card(short_kernel_ratio=0.2), host(sync_count=400)))


def test_what_is_not_known_decides_nothing() -> None:
    assert isinstance(launch(card(), None), Unclear)
    assert isinstance(launch(card(), host(sync_count=None)), Unclear)
    assert isinstance(launch(card(busy_ratio=None), host()), Unclear)
    assert isinstance(launch(card(short_kernel_ratio=None), host()), Unclear)
    assert isinstance(launch(card(), host(), (gap(1, None), *GAPS[1:])), Unclear)


def test_a_few_long_waits_are_no_launches() -> None:
    seen = launch(card(), host(), (gap(1, 0.5, "cudaMalloc"), *GAPS[1:]))
    assert isinstance(seen, Unclear)
    assert "cudaMalloc" in seen.why


def test_another_trace_does_not_speak_for_this_card() -> None:
    other = replace(host(loader_wait_ratio=0.9), sources=(Source(name="b.txt", quote="x"),))
    assert isinstance(launch(card(), other), Unclear)
    later = replace(host(loader_wait_ratio=0.9), at=Moment(wall=5.0, zone_known=True))
    assert isinstance(launch(card(), later), Unclear)


def test_small_operations_on_processors_are_good_to_know() -> None:
    small = host(cards=0, op_count=9000, short_op_ratio=0.9, long_op_ratio=0.05)
    seen = one(trace.launch_bound, (small,), (), (), ())
    assert weight(trace.launch_bound, found(seen)) == ("info", "none")
    for change in (
        {"op_count": 40},
        {"long_op_ratio": 0.7},
        {"short_op_ratio": 0.2},
        {"loader_wait_ratio": 0.6},
    ):
        assert isinstance(one(trace.launch_bound, (replace(small, **change),), (), (), ()), Fine)
    assert isinstance(one(trace.launch_bound, (replace(small, cards=None),), (), (), ()), Unclear)
    assert isinstance(
        one(trace.launch_bound, (replace(small, op_count=None),), (), (), ()), Unclear
    )


def summed(**values: Any) -> tuple[CallStat, CallStat]:
    kern = {"table": "kernel", "name": "k", "total_s": 0.1, "count": 5000, "mean_s": 2e-5}
    calls = {
        "table": "api",
        "name": "cudaLaunchKernel",
        "total_s": 0.4,
        "count": 5000,
        "mean_s": 8e-5,
        "median_s": 6e-5,
    }
    return make(CallStat, host_ref(), **kern), make(CallStat, host_ref(), **(calls | values))


def test_launching_longer_than_running_is_launch_bound() -> None:
    def seen(*calls: CallStat) -> Any:
        return one(trace.launch_bound, (), (), (), calls)

    told = says(seen(*summed()))
    assert told == "5000 kernels run 100 ms in all, and launching them takes 300 ms"
    assert isinstance(seen(*summed(median_s=5e-6)), Fine)
    assert isinstance(seen(*summed(total_s=None)), Unclear)
    assert isinstance(seen(*summed(name="cudaMalloc")), Unclear)
    assert isinstance(seen(summed()[1]), Unclear)
    sync = make(
        CallStat, host_ref(), table="api", name="cudaStreamSynchronize", total_s=0.05, count=300
    )
    assert "cudaStreamSynchronize 300 times, 50 ms" in says(seen(*summed(), sync))
    few = tuple(replace(c, count=20) for c in summed(median_s=None, mean_s=0.02))
    assert isinstance(seen(*few), Fine)


def test_two_recordings_are_judged_apart() -> None:
    kern, calls = summed()
    seen = list(
        trace.launch_bound.check((), (), (), (replace(kern, run="a"), replace(calls, run="b")))
    )
    assert [type(s) for s in seen] == [Unclear, Unclear]


def test_a_late_loader_is_late_only_where_the_card_waits() -> None:
    rule, late = trace.loader_late, host(loader_wait_ratio=0.8)
    assert "80% of 1 s while the card idles 70%" in says(one(rule, late, (card(),), GAPS))
    assert isinstance(one(rule, late, (card(busy_ratio=0.9),), GAPS), Fine)
    assert isinstance(one(rule, late, (card(busy_ratio=None),), GAPS), Unclear)
    assert isinstance(one(rule, late, (), GAPS), Unclear)
    assert isinstance(one(rule, host(loader_wait_ratio=0.1), (card(),), GAPS), Fine)
    assert isinstance(one(rule, host(loader_wait_ratio=None), (card(),), GAPS), Unclear)
    assert "no card" in says(one(rule, host(loader_wait_ratio=0.8, cards=0), (), ()))


def test_copies_count_where_no_kernel_hides_them() -> None:
    rule = trace.copies_late
    slow = card(
        busy_ratio=0.9, kernel_ratio=0.4, h2d_ratio=0.5, h2d_bytes=3_000_000_000, pageable_ratio=0.9
    )
    assert "6 GB/s to it, 90% of that from pageable memory" in says(one(rule, (slow,), ()))
    assert isinstance(one(rule, (replace(slow, kernel_ratio=0.8),), ()), Fine)
    assert isinstance(one(rule, (replace(slow, h2d_ratio=0.0, d2d_ratio=0.5),), ()), Fine)
    assert isinstance(one(rule, (replace(slow, kernel_ratio=None),), ()), Unclear)
    assert isinstance(one(rule, (), (host(cards=0),)), NotHere)


def profile(**values: Any) -> GpuProfile:
    made: GpuProfile = make(GpuProfile, **values)
    return made


def test_memory_activity_tells_of_memory() -> None:
    rule = bound.memory_bound
    told = says(one(rule, (profile(dram_active_ratio=0.88, sm_active_ratio=0.35),), (), ()))
    assert told == "DRAM active 88%, SM active 35%"
    assert isinstance(one(rule, (profile(dram_active_ratio=0.2),), (), ()), Fine)
    assert isinstance(one(rule, (profile(sm_active_ratio=0.2),), (), ()), Unclear)
    busy = card(kernel_ratio=0.95)
    assert "medium confidence" in says(one(rule, (), (busy,), ()))
    assert isinstance(one(rule, (), (card(),), ()), Fine)
    assert isinstance(one(rule, (), (replace(busy, streaming_ratio=0.1),), ()), Fine)
    assert isinstance(one(rule, (), (replace(busy, streaming_ratio=None),), ()), Unclear)


def compute(**kinds: Any) -> Any:
    names = ("loads", "powers", "profiles", "cards", "hosts")
    return one(bound.compute_bound, *(kinds.get(n, ()) for n in names))


FULL = profile(sm_active_ratio=0.91, dram_active_ratio=0.3, tensor_active_ratio=0.55)


def test_counters_tell_of_compute() -> None:
    assert "SM active 91%" in says(compute(profiles=(FULL,)))
    assert isinstance(compute(profiles=(replace(FULL, sm_active_ratio=0.4),)), Fine)
    assert isinstance(compute(profiles=(replace(FULL, dram_active_ratio=0.8),)), Fine)
    assert isinstance(compute(profiles=(replace(FULL, dram_active_ratio=None),)), Unclear)
    assert isinstance(compute(profiles=(replace(FULL, tensor_active_ratio=None),)), Unclear)
    assert isinstance(compute(profiles=(replace(FULL, tensor_active_ratio=0.02),)), Unclear)
    none = dict.fromkeys(bound.PIPES, 0.01)
    assert isinstance(compute(profiles=(replace(FULL, **none),)), Fine)


def test_load_and_power_tell_with_medium_confidence() -> None:
    full, near = make(GpuLoad, busy_ratio=0.98), make(GpuPower, draw_w=650, limit_w=700)
    assert "medium" in says(compute(loads=(full,), powers=(near,)))
    assert isinstance(
        compute(loads=(full,), powers=(make(GpuPower, draw_w=300, limit_w=700),)), Fine
    )
    assert isinstance(compute(loads=(full,)), Unclear)
    assert isinstance(compute(loads=(make(GpuLoad),), powers=(near,)), Unclear)
    assert isinstance(compute(loads=(make(GpuLoad, busy_ratio=0.5),), powers=(near,)), Fine)


def test_of_several_power_readings_the_nearest_counts() -> None:
    def at(s: float) -> Moment:
        return Moment(wall=s, zone_known=True)

    load = make(GpuLoad, busy_ratio=0.98, at=at(100))
    far, near = (make(GpuPower, draw_w=w, limit_w=700, at=at(s)) for w, s in ((100, 0), (650, 90)))
    assert "650 W" in says(compute(loads=(load,), powers=(far, near)))
    same = make(GpuPower, draw_w=690, limit_w=700, at=at(100))
    assert "690 W" in says(compute(loads=(load,), powers=(far, near, same)))


def test_counters_overrule_load_and_power() -> None:
    full, near = make(GpuLoad, busy_ratio=0.98), make(GpuPower, draw_w=650, limit_w=700)
    low = replace(FULL, sm_active_ratio=0.4)
    assert isinstance(compute(loads=(full,), powers=(near,), profiles=(low,)), Fine)


def test_kernels_by_name_tell_of_compute() -> None:
    busy = card(kernel_ratio=0.95, matrix_ratio=0.8, streaming_ratio=0.1)
    assert "80% of that in matrix products" in says(compute(cards=(busy,)))
    assert isinstance(compute(cards=(card(),)), Fine)
    assert isinstance(compute(cards=(card(kernel_ratio=None),)), Unclear)


def test_long_operations_on_processors_are_compute() -> None:
    long = host(cards=0, long_op_ratio=0.9, longest_op="aten::mm")
    assert "aten::mm" in says(compute(hosts=(long,)))
    assert isinstance(compute(hosts=(replace(long, long_op_ratio=0.2),)), Fine)
    assert isinstance(compute(hosts=(replace(long, loader_wait_ratio=0.6),)), Fine)
    assert isinstance(compute(hosts=(replace(long, long_op_ratio=None),)), Unclear)
    assert isinstance(compute(hosts=(replace(long, cards=None),)), Unclear)


@pytest.mark.parametrize(
    ("events", "kind", "confidence", "by"),
    [
        (traces.tiny_kernels(), "launch", "high", "busy.launch-bound"),
        (traces.synchronising(), "launch", "high", "busy.launch-bound"),
        (traces.matrix(), "compute", "medium", "busy.compute-bound"),
        (traces.streaming(), "memory-bandwidth", "medium", "busy.memory-bound"),
        (traces.copying(), "pcie", "high", "feed.copies-late"),
        (traces.starved(), "undecided", "low", None),
        (traces.starved(card=False), "undecided", "low", None),
        (traces.cpu_tiny(), "launch", "medium", "busy.launch-bound"),
        (traces.cpu_long(), "compute", "medium", "busy.compute-bound"),
        ([event("cuda_runtime", "cudaLaunchKernel", 1, 5), kernel("my_kernel", 5, 900)], "undecided", "low", None),
    ],
)  # fmt: skip
def test_a_trace_leads_to_its_bottleneck(
    events: list[traces.Event], kind: str, confidence: str, by: str | None
) -> None:
    (answer,) = report({"t.json": traces.trace(events)}).hosts
    bottleneck = answer.answer.bottleneck
    assert (bottleneck.kind, bottleneck.confidence) == (kind, confidence)
    assert bottleneck.because == ((by,) if by else ())


def test_a_late_loader_is_undecided_and_asks_what_keeps_it() -> None:
    (answer,) = report({"t.json": traces.trace(traces.starved())}).hosts
    assert "iostat" in (answer.answer.bottleneck.ask or "")
    assert "Do not buy a card" in answer.answer.decision


def test_counters_make_the_bottleneck_certain() -> None:
    evidence = HostEvidence(
        host=None, taken=Moment(), facts=(FULL,), given=frozenset({"GpuProfile"}), kinds=()
    )
    answer = answer_host(evidence, judge((bound.compute_bound,), evidence, lambda _: None), ())
    assert (answer.answer.bottleneck.kind, answer.answer.bottleneck.confidence) == (
        "compute",
        "high",
    )


def test_a_cut_trace_says_nothing_of_its_card() -> None:
    whole = traces.trace(traces.tiny_kernels())
    for end in range(len(whole) - 200, 600, -211):
        (answer,) = report({"t.json": whole[:end]}).hosts
        assert {f.rule.id for f in answer.findings} <= {"silent.check-not-evaluated"}
        assert "busy.launch-bound" in {o.rule.id for o in answer.unclear}
