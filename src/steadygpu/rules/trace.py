"""Rules on what a card waited for while a profiler watched: launches, synchronisation, the loader, copies."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from steadygpu.evidence.source import Source
from steadygpu.evidence.trace import CallStat, TraceCard, TraceGap, TraceHost
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    NotHere,
    One,
    Seen,
    Unclear,
    cite,
    fine,
    lacking,
    rule,
    tell,
)

IDLE = 0.3  # our choice: a card that waits less than this would gain little from a better feed
MOST = 0.5  # our choice: what explains at least half of a wait is its reason
MANY_SYNCS = 0.1  # our choice: one wait of the host for every ten kernels empties the card's queue
LOADER = 0.3  # our choice: the loop waits this share of its time for the next batch
COPIES = 0.3  # our choice: the share of time in which only copies run on the card
LONG_OPS = 0.2  # our choice: where long operations take this share, the short ones do not matter
ENOUGH_KERNELS = 1000  # our choice: fewer kernels tell of no loop
ENOUGH_OPS = 1000  # our choice: fewer operations tell of no loop
PROFILER = "PyTorch documentation: torch.profiler"
STACK = "Profile ten steps again: torch.profiler.profile(with_stack=True)"

_LAUNCH = re.compile(r"(?:cuda|hip|cu)(?:Launch|GraphLaunch|ModuleLaunch)")
_SYNC = re.compile(r"(?:cuda|hip|cu)(?:Stream|Device|Event|Ctx)Synchronize")

Part = TypeVar("Part", TraceHost, TraceCard, TraceGap)


def of_trace(record: TraceCard | TraceHost, others: Iterable[Part]) -> list[Part]:
    """Return those of `others` that come from the same trace as `record`."""
    names = {source.name for source in record.sources}
    return [o for o in others if o.at == record.at and any(s.name in names for s in o.sources)]


def length(seconds: float) -> str:
    """Return a length of time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _waits(card: TraceCard, gaps: Sequence[TraceGap]) -> tuple[str, tuple[Source, ...]]:
    """Return the longest waits of the card in words, with what the host did in them."""
    own = sorted(
        (g for g in of_trace(card, gaps) if g.device == card.device and g.length_s is not None),
        key=lambda g: g.rank,
    )
    if not own:
        return "", ()
    during = [g.during and g.during[:80] for g in own]
    told = [length(g.length_s or 0.0) for g in own]
    if len(set(during)) > 1:
        told = [
            f"{t} in {d}" if d else f"{t} without a long event"
            for t, d in zip(told, during, strict=True)
        ]
    elif during[0]:
        told[-1] += f" in {during[0]}"
    sources = tuple(s for g in own for s in cite(g, "length_s", *(("during",) if g.during else ())))
    return "longest waits " + ", ".join(told), sources


def _few_long(card: TraceCard, gaps: Sequence[TraceGap]) -> bool | None:
    """Say whether three waits make up most of the idle time; None where a wait has no length."""
    own = [g for g in of_trace(card, gaps) if g.device == card.device]
    if any(g.length_s is None for g in own):
        return None
    assert card.busy_ratio is not None
    assert card.span_s is not None
    idle = (1 - card.busy_ratio) * card.span_s
    return sum(g.length_s or 0.0 for g in own) >= MOST * idle and len(own) > 2


@rule(
    id="busy.launch-bound",
    title="The card waits for the host to launch work",
    severity="warning",
    action="watch",
    points_to="launch",
    meaning="The card is idle for much of the time between kernels that are over at once, or each time the host "
    "waits for a result: calling the work takes longer than doing it.",
    decision="Do not buy a card: give each launch more work (larger batches, fused or captured kernels) and fetch "
    "results seldom.",
    next_step=STACK,
    references=(PROFILER, "CUDA C++ Best Practices Guide, asynchronous work and CUDA graphs"),
)
def launch_bound(
    hosts: All[TraceHost], cards: All[TraceCard], gaps: All[TraceGap], calls: All[CallStat]
) -> Iterator[Seen]:
    """From a trace: the card idles, its kernels are tiny or the host waits often, and no loader explains it."""
    for card in cards:
        yield _launches(card, of_trace(card, hosts), gaps)
    for host in hosts:
        if host.cards is None:
            yield lacking(host, "cards") or Unclear(subject=host.device, why="cards are not known")
        elif host.cards == 0:
            yield _small_operations(host)
    runs: dict[tuple[str, str | None], list[CallStat]] = {}
    for call in calls:
        runs.setdefault((call.sources[0].name, call.run), []).append(call)
    for own in runs.values():
        yield _summed(own)


def _summed(calls: Sequence[CallStat]) -> Seen:
    """Of a summary: launching, at its median, takes the host longer than the card takes to run it all.

    The median leaves out what the first launch loads. A full queue makes launches wait, but never longer
    than the kernels run.
    """
    kernels = [c for c in calls if c.table == "kernel"]
    launches = [c for c in calls if c.table == "api" and _LAUNCH.match(c.name)]
    device = calls[0].device
    if not kernels or not launches:
        gone = "launches" if kernels else "kernels"
        return Unclear(subject=device, why=f"the summary does not hold {gone}", record="CallStat")
    if any(c.total_s is None or c.count is None for c in (*kernels, *launches)):
        return Unclear(
            subject=device, why="a time or a count of the summary was not read", record="CallStat"
        )
    run_s, count = sum(c.total_s or 0.0 for c in kernels), sum(c.count or 0 for c in kernels)
    launch_s = sum(
        min(
            c.total_s or 0.0,
            (c.count or 0) * (c.median_s if c.median_s is not None else c.mean_s or 0.0),
        )
        for c in launches
    )
    proof = (
        *(s for c in launches for s in cite(c, "total_s", "count", "median_s")),
        *(s for c in kernels for s in cite(c, "total_s", "count")),
    )
    told = (
        f"{count} kernels run {length(run_s)} in all, and launching them takes {length(launch_s)}"
    )
    if launch_s < run_s or count < ENOUGH_KERNELS:
        return Fine(subject=device, because=told, sources=proof)
    waits = [c for c in calls if c.table == "api" and _SYNC.match(c.name) and c.total_s and c.count]
    for call in waits:
        told += f"; {call.name} {call.count} times, {length(call.total_s or 0.0)}"
        proof = (*proof, *cite(call, "total_s", "count"))
    return Finding(subject=device, says=told, sources=proof)


def _launches(card: TraceCard, hosts: Sequence[TraceHost], gaps: Sequence[TraceGap]) -> Seen:
    if missing := lacking(card, "busy_ratio", "span_s"):
        return missing
    assert card.busy_ratio is not None
    idle = 1 - card.busy_ratio
    if idle < IDLE:
        return fine(card, f"busy {card.busy_ratio:.0%} of the trace", "busy_ratio")
    if missing := lacking(card, "kernel_count", "short_kernel_ratio"):
        return missing
    assert card.short_kernel_ratio is not None
    host = hosts[0] if hosts else None
    if host is None:
        why = "the trace holds nothing of the host, so nothing tells what the card waits for"
        return Unclear(subject=card.device, why=why, ask=STACK)
    if host.loader_wait_ratio is None or host.sync_count is None:
        return Unclear(subject=card.device, why="the host's waits were not read", ask=STACK)
    if host.loader_wait_ratio >= MOST * idle:
        because = f"the loop waits for its loader {host.loader_wait_ratio:.0%} of the time"
        return Fine(
            subject=card.device, because=because,
            sources=(*cite(card, "busy_ratio"), *cite(host, "loader_wait_ratio")),
        )  # fmt: skip
    waits, proof = _waits(card, gaps)
    kernels = card.kernel_count or 0
    tiny = card.short_kernel_ratio >= MOST
    syncs = host.sync_count >= max(1, kernels * MANY_SYNCS)
    few = _few_long(card, gaps)
    if few is None or few or not (tiny or syncs):
        why = f"idle {idle:.0%} of the trace, and neither small kernels nor synchronisation explain it"
        if few:
            why = f"idle {idle:.0%} of the trace, most of it in a few waits"
        return Unclear(subject=card.device, why=f"{why}: {waits}" if waits else why, ask=STACK)
    says = (
        f"idle {idle:.0%} of {length(card.span_s or 0.0)}; {card.short_kernel_ratio:.0%} of {kernels} kernels "
        f"under 10 µs; host waits for the card {host.sync_count} times{_ratio(host.sync_ratio)}; loader wait "
        f"{host.loader_wait_ratio:.0%}{_copies(card)}" + (f"; {waits}" if waits else "")
    )
    return tell(
        card, says, "busy_ratio", "span_s", "short_kernel_ratio", "kernel_count", "h2d_ratio",
        also=(*cite(host, "sync_count", "sync_ratio", "loader_wait_ratio"), *proof),
    )  # fmt: skip


def _ratio(share: float | None) -> str:
    return "" if share is None else f" ({share:.0%} of the time)"


def _copies(card: TraceCard) -> str:
    parts = (("to", card.h2d_ratio), ("from", card.d2h_ratio), ("on", card.d2d_ratio))
    told = [f"{share:.0%} {way} it" for way, share in parts if share is not None and share >= 0.005]
    return f"; copies {', '.join(told)}" if told else ""


def _small_operations(host: TraceHost) -> Seen:
    """A trace of processors alone: many small operations, at most good to know."""
    if missing := lacking(
        host, "op_count", "short_op_ratio", "long_op_ratio", "loader_wait_ratio", "span_s"
    ):
        return missing
    assert host.op_count is not None
    assert host.short_op_ratio is not None
    assert host.long_op_ratio is not None
    assert host.loader_wait_ratio is not None
    told = f"{host.short_op_ratio:.0%} of {host.op_count} operations under 10 µs"
    fields = ("op_count", "short_op_ratio", "long_op_ratio", "loader_wait_ratio", "span_s")
    if host.loader_wait_ratio >= LOADER:
        return fine(host, "the loop waits for its loader", "loader_wait_ratio")
    if host.short_op_ratio < MOST or host.long_op_ratio >= LONG_OPS or host.op_count < ENOUGH_OPS:
        return fine(host, told, *fields)
    return tell(
        host, f"{told} in {length(host.span_s or 0.0)}, on processors alone: no card is in the trace",
        *fields, severity="info", action="none",
        meaning="Calling the operations takes longer than doing them. The trace holds no card.",
        decision="Give each operation more work (larger batches, fused or compiled operations).",
    )  # fmt: skip


@rule(
    id="feed.loader-late",
    title="The loop waits for its data loader",
    severity="warning",
    action="fix-feed",
    scope="job",
    meaning="For much of each step the main thread waits for the next batch. That proves that the loader is late, "
    "not why: disks, decoding, too few workers and locks look alike from here.",
    decision="Do not buy a card: find out what keeps the loader, and mend that first.",
    next_step="iostat -xz 1 30, and py-spy top --pid LOADER, while the job runs",
    references=(PROFILER, "PyTorch documentation: torch.utils.data"),
)
def loader_late(host: One[TraceHost], cards: All[TraceCard], gaps: All[TraceGap]) -> Iterator[Seen]:
    """A wait that a busy card hides is none: launched work may run on while the loop waits."""
    if missing := lacking(host, "loader_wait_ratio", "cards", "span_s"):
        yield missing
        return
    assert host.loader_wait_ratio is not None
    if host.loader_wait_ratio < LOADER:
        yield fine(
            host,
            f"the loop waits for its loader {host.loader_wait_ratio:.0%} of the time",
            "loader_wait_ratio",
        )
        return
    says = f"the loop waits for its loader {host.loader_wait_ratio:.0%} of {length(host.span_s or 0.0)}"
    fields = ("loader_wait_ratio", "span_s", "cards")
    own = of_trace(host, cards)
    if not host.cards:
        yield tell(host, f"{says}; no card is in the trace", *fields)
        return
    known = [c for c in own if c.busy_ratio is not None]
    if not known or len(known) < len(own):
        yield Unclear(
            subject=host.device, why="the load of a card in the trace was not read", ask=STACK
        )
        return
    idlest = min(known, key=lambda c: (c.busy_ratio or 0.0, c.device.index or 0))
    idle = 1 - (idlest.busy_ratio or 0.0)
    if idle < IDLE:
        yield Fine(
            subject=host.device, because=f"the loop waits, but the card is busy {1 - idle:.0%} of the time",
            sources=cite(idlest, "busy_ratio"),
        )  # fmt: skip
        return
    waits, proof = _waits(idlest, gaps)
    yield tell(
        host, f"{says} while the card idles {idle:.0%}" + (f"; {waits}" if waits else ""), *fields,
        also=(*cite(idlest, "busy_ratio"), *proof),
    )  # fmt: skip


@rule(
    id="feed.copies-late",
    title="The card waits for copies from and to the host",
    severity="warning",
    action="fix-feed",
    points_to="pcie",
    meaning="For much of the time only copies run on the card: work and copies take turns.",
    decision="Do not buy a card: pin the memory, copy the next batch while the card computes, and copy less.",
    next_step="sudo lspci -vvnn for the link, and nvidia-smi dmon -s ut -c 30 while the job runs",
    references=(PROFILER, "CUDA C++ Best Practices Guide, pinned memory and overlapped copies"),
)
def copies_late(cards: All[TraceCard], hosts: All[TraceHost]) -> Iterator[Seen]:
    """Only copies that no kernel hides, and only those that cross to the host and back."""
    for card in cards:
        yield _copies_alone(card)
    yield from without_cards(hosts)


def without_cards(hosts: Iterable[TraceHost]) -> Iterator[Seen]:
    """Yield what to say of traces in which no card did anything."""
    for host in hosts:
        if host.cards is None:
            yield lacking(host, "cards") or Unclear(subject=host.device, why="cards are not known")
        elif host.cards == 0:
            yield NotHere(subject=host.device, because="no card is in the trace")


def _copies_alone(card: TraceCard) -> Seen:
    if missing := lacking(card, "busy_ratio", "kernel_ratio", "h2d_ratio", "d2h_ratio", "span_s"):
        return missing
    assert card.busy_ratio is not None
    assert card.kernel_ratio is not None
    assert card.h2d_ratio is not None
    assert card.d2h_ratio is not None
    assert card.span_s is not None
    alone = card.busy_ratio - card.kernel_ratio
    crossing = card.h2d_ratio + card.d2h_ratio
    if alone < COPIES or crossing < MOST * alone:
        because = f"only copies run {max(0.0, alone):.0%} of the time"
        return fine(card, because, "busy_ratio", "kernel_ratio")
    says = f"only copies run {alone:.0%} of {length(card.span_s)}{_copies(card)}"
    fields = ["busy_ratio", "kernel_ratio", "h2d_ratio", "d2h_ratio", "span_s"]
    if card.h2d_bytes and card.h2d_ratio > 0:
        says += f", {card.h2d_bytes / (card.h2d_ratio * card.span_s) / 1e9:.3g} GB/s to it"
        fields.append("h2d_bytes")
    if card.pageable_ratio:
        says += f", {card.pageable_ratio:.0%} of that from pageable memory"
        fields.append("pageable_ratio")
    return tell(card, says, *fields)
