"""Rules on what sets the pace of a card that works: its multiprocessors or its memory."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from steadygpu.evidence.gpu import GpuLoad, GpuPower
from steadygpu.evidence.moment import may_be_within, seconds_between
from steadygpu.evidence.profile import GpuProfile
from steadygpu.evidence.trace import TraceCard, TraceHost
from steadygpu.rules.power import power_share
from steadygpu.rules.throttle import missing
from steadygpu.rules.trace import LOADER, length, without_cards
from steadygpu.verdict.rule import (
    All,
    Fine,
    Seen,
    cite,
    fine,
    lacking,
    rule,
    tell,
)

BUSY = 0.9  # our choice: the card is seldom without a kernel
NEAR_LIMIT = 0.8  # our choice: matrix kernels draw this share of the limit and more
SM_BUSY = 0.8  # DCGM user guide, Profiling Metrics: SM activity that effective use needs at least
DRAM_BUSY = (
    0.6  # our choice: three quarters of the 0.8 that DCGM's guide gives as the practical peak
)
PIPE_BUSY = 0.2  # our choice: a pipe this busy computes; below, resident warps mostly wait
KERNELS = 0.8  # our choice: kernels run nearly all the time, so their kind sets the pace
MOST = 0.5  # our choice: a kind of kernel that takes half of kernel time
LONG_OPS = 0.5  # our choice: operations of a millisecond and more take half of the time
TOGETHER_S = 300.0  # our choice: samples further apart do not tell of one job
UTIL = "nvidia-smi(1), GPU Utilization: share of time in which one or more kernels ran"
DCGM = "NVIDIA DCGM user guide, Profiling Metrics"
PIPES = ("tensor_active_ratio", "fp64_active_ratio", "fp32_active_ratio", "fp16_active_ratio")


@rule(
    id="busy.memory-bound",
    title="The card's memory sets the pace",
    severity="info",
    action="none",
    points_to="memory-bandwidth",
    meaning="The card's memory is driven as hard as it goes in practice, or most kernel time goes to work that only "
    "moves data. More multiprocessors would not help.",
    decision="The feed keeps up; faster means fused kernels, lower precision, or a card with more memory bandwidth.",
    next_step="Make sure with counters: dcgmi dmon -e 1002,1004,1005 -d 1000 -c 30",
    references=(DCGM, "PyTorch documentation: torch.profiler"),
)
def memory_bound(
    profiles: All[GpuProfile], cards: All[TraceCard], hosts: All[TraceHost]
) -> Iterator[Seen]:
    """By the counter of memory activity, else by the names of kernels in a trace."""
    for profile in profiles:
        if said := lacking(profile, "dram_active_ratio"):
            yield said
            continue
        assert profile.dram_active_ratio is not None
        told, fields = f"DRAM active {profile.dram_active_ratio:.0%}", ["dram_active_ratio"]
        if profile.sm_active_ratio is not None:
            told += f", SM active {profile.sm_active_ratio:.0%}"
            fields.append("sm_active_ratio")
        if profile.dram_active_ratio >= DRAM_BUSY:
            yield tell(profile, told, *fields)
        else:
            yield fine(profile, told, *fields)
    for card in cards:
        yield _by_names(card, "streaming_ratio", "element-wise work, reductions and copies")
    yield from without_cards(hosts)


def _by_names(card: TraceCard, field: str, words: str) -> Seen:
    """Return what a trace says: kernels run nearly all the time, and most of that time is of one kind."""
    if said := lacking(card, "kernel_ratio"):
        return said
    assert card.kernel_ratio is not None
    if card.kernel_ratio < KERNELS:
        return fine(card, f"kernels run {card.kernel_ratio:.0%} of the trace", "kernel_ratio")
    if said := lacking(card, field, "span_s", "median_kernel_s"):
        return said
    share = getattr(card, field)
    told = (
        f"kernels run {card.kernel_ratio:.0%} of {length(card.span_s or 0.0)}, {share:.0%} of that in {words}; "
        f"median kernel {length(card.median_kernel_s or 0.0)}"
    )
    fields = ("kernel_ratio", field, "span_s", "median_kernel_s")
    if share < MOST:
        return fine(card, told, *fields)
    return tell(card, f"{told} (by the names of kernels: medium confidence)", *fields)


@rule(
    id="busy.compute-bound",
    title="The card itself sets the pace",
    severity="info",
    action="none",
    meaning="The card computes nearly all the time. SM activity tells for certain; a draw near the limit and "
    "the names of kernels in a trace tell with medium confidence.",
    decision="The feed keeps up; faster means better kernels, lower precision, or more cards.",
    next_step="Make sure with SM activity: dcgmi dmon -e 1002,1004,1005 -d 1000 -c 30",
    references=(UTIL, DCGM),
    points_to="compute",
)
def compute_bound(
    loads: All[GpuLoad],
    powers: All[GpuPower],
    profiles: All[GpuProfile],
    cards: All[TraceCard],
    hosts: All[TraceHost],
) -> Iterator[Seen]:
    """Counters decide where they are; else load with power, and of a trace the names of its kernels."""
    for profile in profiles:
        yield _by_counters(profile)
    of_card: dict[object, list[GpuPower]] = {}
    for power in powers:
        of_card.setdefault(power.device, []).append(power)
    for load in loads:
        counted = (p for p in profiles if p.device == load.device)
        if not any(may_be_within(load.at, p.at, TOGETHER_S) for p in counted):
            yield _by_power(load, _beside(load, of_card.get(load.device, [])))
    for card in cards:
        yield _by_names(card, "matrix_ratio", "matrix products")
    for host in hosts:
        if host.cards is None:
            yield from without_cards((host,))
        elif host.cards == 0:
            yield _on_processors(host)


def _by_counters(profile: GpuProfile) -> Seen:
    if said := lacking(profile, "sm_active_ratio"):
        return said
    assert profile.sm_active_ratio is not None
    told = f"SM active {profile.sm_active_ratio:.0%}"
    if profile.sm_active_ratio < SM_BUSY:
        return fine(profile, told, "sm_active_ratio")
    if said := lacking(profile, "dram_active_ratio"):
        return said
    assert profile.dram_active_ratio is not None
    told += f", DRAM active {profile.dram_active_ratio:.0%}"
    if profile.dram_active_ratio >= DRAM_BUSY:
        return fine(profile, told, "sm_active_ratio", "dram_active_ratio")
    known = {f: v for f in PIPES if (v := getattr(profile, f)) is not None}
    if not known:
        return lacking(profile, "tensor_active_ratio") or fine(profile, told, "sm_active_ratio")
    pipe = max(known, key=lambda f: known[f])
    fields = ("sm_active_ratio", "dram_active_ratio", pipe)
    told += f", {pipe.partition('_')[0]} pipe active {known[pipe]:.0%}"
    if known[pipe] >= PIPE_BUSY:
        return tell(profile, told, *fields)
    if len(known) < len(PIPES):
        gone = next(f for f in PIPES if f not in known)
        return lacking(profile, gone) or fine(profile, told, *fields)
    return fine(profile, told, *fields)


def _beside(load: GpuLoad, powers: Sequence[GpuPower]) -> GpuPower | None:
    """Return the power reading of the moment of the load: of the same text first, then the nearest."""
    names = {s.name for s in load.sources}
    same = [p for p in powers if p.at == load.at]
    if same:
        return min(same, key=lambda p: not any(s.name in names for s in p.sources))

    def apart(power: GpuPower) -> float:
        seconds = seconds_between(load.at, power.at)
        return float("inf") if seconds is None else abs(seconds)

    return min(powers, key=apart, default=None)


def _by_power(load: GpuLoad, power: GpuPower | None) -> Seen:
    """Busy at least 90 % and more than 80 % of the power limit."""
    share = power_share(power)
    if load.busy_ratio is None:
        return missing(load, load, "load", "busy_ratio")
    if load.busy_ratio < BUSY:
        return fine(load, f"{load.busy_ratio:.0%} busy", "busy_ratio")
    if share is None or power is None:
        return missing(power, load, "power draw", "draw_w", "limit_w")
    proof = cite(power, "draw_w", "limit_w")
    if share <= NEAR_LIMIT:
        return Fine(subject=load.device, because=f"draw is {share:.0%} of the limit", sources=proof)
    says = f"{load.busy_ratio:.0%} busy at {power.draw_w:g} W of {power.limit_w:g} W (medium confidence)"
    return tell(load, says, "busy_ratio", also=proof)


def _on_processors(host: TraceHost) -> Seen:
    """A trace without a card: operations of a millisecond and more take most of the time."""
    if said := lacking(host, "long_op_ratio", "loader_wait_ratio", "span_s"):
        return said
    assert host.long_op_ratio is not None
    assert host.loader_wait_ratio is not None
    told = (
        f"operations of 1 ms and more take {host.long_op_ratio:.0%} of {length(host.span_s or 0.0)}"
    )
    fields: tuple[str, ...] = ("long_op_ratio", "loader_wait_ratio", "span_s", "cards")
    if host.long_op_ratio < LONG_OPS or host.loader_wait_ratio >= LOADER:
        return fine(host, told, *fields)
    if host.longest_op:
        told += f", the longest {host.longest_op[:60]}"
        fields = (*fields, "longest_op")
    found = tell(
        host, f"{told}, on processors alone: no card is in the trace", *fields,
        meaning="The processors compute nearly all the time. The trace holds no card.",
        decision="The feed keeps up; a card, or faster processors, would speed this job up.",
    )  # fmt: skip
    return replace(found, next_step="Profile the job again where nvidia-smi -L lists a card")
