"""Reads Chrome traces of the PyTorch profiler, as a pasted text or as a file of any size, gzipped or not.

Covers torch 1.8.1 to 2.13 with kineto: CUDA and HIP names, categories in capitals (to 1.12) or not, times
in microseconds since 1970 or since `baseTimeNanoseconds` (from 2.3). A trace of processors alone has no
card. Where `ProfilerStep#n` ranges are there, the span is from the first step to the last; else it is that
of all events.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Absent, Gap, Source, cut_quote
from steadygpu.evidence.text import Lines
from steadygpu.evidence.trace import TraceCard, TraceGap, TraceHost
from steadygpu.readers.trace_scan import Scan, text_of
from steadygpu.readers.trace_sums import US, Card, Place
from steadygpu.readers.trace_tally import Tally

GAPS = 3  # HOUSE.md: a trace names the three longest waits of a card
EPOCH_US = 1e14  # 1973 in microseconds since 1970; a smaller time stamp counts from a base
_PROPERTY = re.compile(r'"id"\s*:\s*(\d{1,4})\s*,\s*"name"\s*:\s*"([^"\\]{1,100})"')
_HOST = re.compile(r'"host_?name"\s*:\s*"([\w.-]{1,253})"')
_BASE = re.compile(r'"baseTimeNanoseconds"\s*:\s*(\d{1,20})')
_CONTAINER_ID = re.compile(r"[0-9a-f]{12}")


def _facts(trace: Tally, head: str, cite: "_Citing") -> tuple[Fact, ...]:
    first, last = trace.first_us, trace.last_us
    if trace.steps:
        first, last = trace.first_step, trace.last_step
    if not last > first:
        return ()
    found = _HOST.search(head)
    host = found.group(1) if found and not _CONTAINER_ID.fullmatch(found.group(1)) else None
    at = _moment(head, first)
    facts: list[Fact] = _host_facts(trace, host, at, first, last, cite)
    labels = {int(n): name for n, name in _PROPERTY.findall(head)}
    for number, card in sorted(trace.cards.items()):
        device = DeviceRef(
            kind="card",
            host=host,
            label=labels.get(number),
            index=number,
            text=cite.name,
        )
        facts.append(_card_fact(card, trace, device, at, (first, last), cite))
        facts += _gap_facts(card, trace, device, at, (first, last), cite)
    return tuple(facts)


def _moment(head: str, first_us: float) -> Moment:
    base = _BASE.search(head)
    if base is not None and first_us < EPOCH_US:
        wall = int(base.group(1)) / 1e9 + first_us * US
    elif first_us >= EPOCH_US:
        wall = first_us * US
    else:
        return UNKNOWN
    return Moment(wall=wall, zone_known=True) if wall < 1e11 else UNKNOWN


def _host_facts(
    trace: Tally, host: str | None, at: Moment, first: float, last: float, cite: "_Citing"
) -> list[Fact]:
    places = trace.places
    if "host" not in places:
        return []
    us = last - first
    span_of = places["steps"] if trace.steps else places["host"]
    sources = [cite(span_of, "span_s", *(("steps",) if trace.steps else ()))]
    values: dict[str, Any] = {
        "span_s": us * US,
        "cards": len(trace.cards),
        "steps": trace.steps or None,
    }
    if trace.ops.count:
        ops = trace.ops
        long_ops, longest = trace.long_ops()
        values |= {
            "op_count": ops.count, "short_op_ratio": ops.short / ops.count,
            "long_op_ratio": _share(long_ops.within(first, last), us),
            "item_count": trace.counts["item"],
        }  # fmt: skip
        if longest is not None:
            inner = trace.host.during(longest[0], longest[1])
            values["longest_op"] = inner[0] if inner else longest[2]
        fields = ("op_count", "short_op_ratio", "long_op_ratio", "longest_op", "item_count")
        sources.append(cite(places["ops"], *fields))
    # What a trace of this process did not record did not happen in it: none is none, not unknown.
    values["loader_wait_ratio"] = _share(trace.loader.within(first, last), us)
    sources.append(cite(places.get("loader", span_of), "loader_wait_ratio"))
    if trace.cards:
        values |= {
            "sync_ratio": _share(trace.sync.within(first, last), us), "sync_count": trace.counts["sync"],
            "launch_ratio": _share(trace.launch_us, us), "launch_count": trace.counts["launch"],
            "alloc_ratio": _share(trace.alloc_us, us), "alloc_count": trace.counts["alloc"],
        }  # fmt: skip
        sources += [
            cite(places.get(what, span_of), f"{what}_ratio", f"{what}_count")
            for what in ("sync", "launch", "alloc")
        ]
        one = next(iter(trace.cards.values()))
        sources.append(cite(one.place, "cards"))
    else:
        sources[0] = cite(span_of, "span_s", "cards", *(("steps",) if trace.steps else ()))
    return [TraceHost(device=host_ref(host), at=at, sources=tuple(sources), **values)]


def _share(part: float, whole: float) -> float:
    return min(1.0, part / whole)


def _card_fact(
    card: Card,
    trace: Tally,
    device: DeviceRef,
    at: Moment,
    window: tuple[float, float],
    cite: "_Citing",
) -> Fact:
    us = window[1] - window[0]
    lengths, sorts = card.lengths, card.by_sort_us
    values: dict[str, Any] = {
        "span_s": us * US, "busy_ratio": _share(card.busy.within(*window), us),
        "kernel_ratio": _share(card.kernels.within(*window), us), "kernel_count": lengths.count,
        "h2d_ratio": _share(card.copies_us["HtoD"], us), "d2h_ratio": _share(card.copies_us["DtoH"], us),
        "d2d_ratio": _share(card.copies_us["DtoD"], us),
    }  # fmt: skip
    copies: tuple[str, ...] = ("h2d_ratio", "d2h_ratio", "d2d_ratio")
    if card.copies_us["HtoD"] > 0:
        values["pageable_ratio"] = _share(card.pageable_us, card.copies_us["HtoD"])
        values["h2d_bytes"] = card.h2d_bytes or None
        copies = (*copies, "pageable_ratio", "h2d_bytes")
    kernels: tuple[str, ...] = ()
    if lengths.count and lengths.total_us > 0:
        values |= {
            "short_kernel_ratio": lengths.short / lengths.count,
            "short_kernel_time_ratio": _share(lengths.short_us, lengths.total_us),
            "median_kernel_s": lengths.median_s(),
            "matrix_ratio": _share(sorts["matrix"], lengths.total_us),
            "streaming_ratio": _share(sorts["streaming"], lengths.total_us),
            "comm_ratio": _share(sorts["comm"], lengths.total_us),
        }  # fmt: skip
        if card.occupancy_us > 0:
            values["occupancy_ratio"] = _share(card.occupied, card.occupancy_us)
        kernels = ("short_kernel_ratio", "short_kernel_time_ratio", "median_kernel_s", "matrix_ratio",
                   "streaming_ratio", "comm_ratio", "occupancy_ratio")  # fmt: skip
    span = trace.places["steps"] if trace.steps else trace.places.get("host", card.place)
    sources = [
        cite(
            card.place,
            "busy_ratio",
            "kernel_ratio",
            "kernel_count",
            *(() if card.copy_place.last >= 0 else copies),
        ),
        cite(span, "span_s"),
    ]
    if kernels:
        sources.append(cite(card.kernel_place, *kernels))
    if card.copy_place.last >= 0:
        sources.append(cite(card.copy_place, *copies))
    return TraceCard(device=device, at=at, sources=tuple(sources), **values)


def _gap_facts(
    card: Card,
    trace: Tally,
    device: DeviceRef,
    at: Moment,
    window: tuple[float, float],
    cite: "_Citing",
) -> list[Fact]:
    facts: list[Fact] = []
    for rank, (start, end) in enumerate(card.busy.gaps(*window, GAPS), 1):
        sources = [cite(card.place, "start_s", "length_s")]
        what = trace.host.during(start, end)
        if what is not None:
            sources.append(cite(what[1] or trace.places["host"], "during"))
        facts.append(
            TraceGap(
                device=device, at=at, rank=rank, start_s=(start - window[0]) * US,
                length_s=(end - start) * US, during=what[0] if what else None, sources=tuple(sources),
            )
        )  # fmt: skip
    return facts


class _Citing:
    """Turns places into sources: of a pasted text by its lines, of a file by its name."""

    def __init__(self, name: str, lines: Lines | None = None) -> None:
        self.name, self.lines = name, lines

    def __call__(self, place: Place, *fields: str) -> Source:
        if self.lines is not None:
            last = len(self.lines) - 1
            return self.lines.cite(min(place.first, last), min(place.last, last), *fields)
        rows = [row.removesuffix("\r") for row in place.quote.split("\n")]
        return Source(
            name=self.name,
            first=place.first + 1,
            last=place.last + 1,
            quote=cut_quote(rows),
            fields=fields,
        )


def _read(scan: Scan, cite: _Citing) -> tuple[Fact, ...]:
    trace = Tally()
    for event in scan.events():
        trace.take(event)
    facts = _facts(trace, scan.head, cite)
    return (
        facts if scan.ended else tuple(_cut_fact(f) for f in facts if not isinstance(f, TraceGap))
    )


_CUT_CARD = ("busy_ratio", "kernel_ratio", "kernel_count", "h2d_ratio", "d2h_ratio", "d2d_ratio", "h2d_bytes",
             "pageable_ratio")  # fmt: skip
_CUT_HOST = (
    "sync_ratio",
    "sync_count",
    "launch_ratio",
    "launch_count",
    "alloc_ratio",
    "alloc_count",
)


def _cut_fact(fact: Fact) -> Fact:
    """Return the record without what the missing end of its trace would change: cards come last in a file."""
    gone: tuple[str, ...] = _CUT_CARD
    if isinstance(fact, TraceHost):
        gone = _CUT_HOST if fact.cards else (*_CUT_HOST, "cards")
    gone = tuple(name for name in gone if getattr(fact, name) is not None)
    left = ((s, tuple(n for n in s.fields if n not in gone)) for s in fact.sources)
    return replace(
        fact,  # type: ignore[type-var]
        sources=tuple(replace(s, fields=fields) for s, fields in left if fields),
        absent=tuple(Absent(field=name, reason="cut") for name in gone),
        **dict.fromkeys(gone),
    )


def read_torch_trace(lines: Lines) -> Reading:
    """Return the host's side, a record a card, and its three longest waits."""
    scan = Scan(("\n".join(lines.clean),))
    facts = _read(scan, _Citing(lines.name, lines))
    if not scan.line and not facts and scan.stopped:
        return Reading()
    to = scan.line + (not scan.stopped or not scan.line)
    gaps = () if scan.ended else (_cut(lines.cite(min(to, len(lines)) - 1)),)
    return Reading(facts=facts, gaps=gaps if facts else (), read_to=min(len(lines), to))


def read_torch_trace_blocks(
    blocks: Iterable[bytes],
    name: str,
    host: str | None,  # noqa: ARG001 - a trace names its own host, and the judge knows the others
) -> Reading:
    """Return the same of a file that is read in blocks."""
    scan = Scan(text_of(blocks))
    facts = _read(scan, _Citing(name))
    line = scan.line + 1
    where = Source(name=name, first=line, last=line)
    gaps: tuple[Gap, ...] = ()
    if not scan.ended:
        gaps = (_cut(where),)
    elif scan.rest():
        why = "more text follows the trace and was not read"
        gaps = (Gap(where=where, why=why, ask="give it as a file of its own"),)
    return Reading(facts=facts, gaps=gaps, read_to=line)


def _cut(where: Source) -> Gap:
    return Gap(
        where=where,
        why="the trace breaks off before its end",
        ask="export the trace again, or give it whole",
    )
