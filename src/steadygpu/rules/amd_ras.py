"""Memory and other hardware errors that AMD cards report (RAS), and counts that are none."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.amd import AmdBadPages, AmdgpuEvent, AmdPeer, AmdRasCounters
from steadygpu.evidence.derive import span
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.rules.amdgpu import by_card
from steadygpu.rules.xid import none_seen, sources_of
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    NotHere,
    One,
    Seen,
    Unclear,
    Whole,
    cite,
    fine,
    lacking,
    rule,
    tell,
)

DRIVER = (
    "Linux kernel, drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c and amdgpu_ras_eeprom.c, read 2026-12"
)
DOCS = "Linux kernel documentation, AMDGPU RAS Support, read 2026-12"
NO_COUNT = 1_048_560  # public reports: counts rise by exactly this at each query, 20 bits without the last four
TWICE = "amd-smi metric --ecc --json, twice"
NO_NUMBER = f"the count of {{}} errors is unread or a multiple of {NO_COUNT}, which is no count"
KINDS = ("correctable", "uncorrectable", "deferred")
REACH = 2  # our choice: two cards that reach each other by XGMI show that the host has it


def _no_count(event: AmdgpuEvent) -> bool:
    """Say whether the count printed is none; an event whose form prints no count is believed."""
    if event.errors is None:
        return any(a.field == "errors" for a in event.absent)
    return event.errors > 0 and event.errors % NO_COUNT == 0


def _found(device: DeviceRef, events: Sequence[AmdgpuEvent], says: str) -> Finding:
    first, last = span(events)
    return Finding(
        subject=device, says=says, sources=sources_of(events), first=first, last=last,
        count=sum(e.count for e in events),
    )  # fmt: skip


def _blocks(events: Sequence[AmdgpuEvent]) -> str:
    """Return the highest count of each block: the driver prints sums, so lines must not be added."""
    top: dict[str, int] = {}
    for event in events:
        name = event.block or "a block that is not named"
        top[name] = max(top.get(name, 0), event.errors or 0)
    return ", ".join(f"{n} ({c} counted)" if c else n for n, c in list(top.items())[:4])


def _told(counters: AmdRasCounters, kind: str) -> Seen:
    """Return what the card's own count of a kind of errors says."""
    if said := lacking(counters, kind):
        return said
    count = getattr(counters, kind)
    if count and count % NO_COUNT == 0:
        return Unclear(subject=counters.device, why=NO_NUMBER.format(kind), ask=TWICE)
    if count:
        return tell(counters, f"{count} {kind} errors since the driver was loaded", kind)
    return fine(counters, f"0 {kind} errors since the driver was loaded", kind)


def _errors(
    events: Sequence[AmdgpuEvent], counters: Sequence[AmdRasCounters], whole: bool, kind: str,
    also: str | None = None,
) -> Iterator[Seen]:  # fmt: skip
    """Yield one thing for each card about its errors of this kind: of the log, else of its counters."""
    cards = by_card(events)
    latest = {c.device: c for c in counters}
    for device, own in cards.items():
        told = [e for e in own if e.what == f"ras_{kind}"]
        hits = [e for e in told if not _no_count(e)]
        more = [e for e in own if e.what == also]
        if hits:
            says = f"{kind} hardware errors in {_blocks(hits)}"
            says += "; damaged data was used" if more else ""
            yield _found(device, (*hits, *more), says)
        elif more:
            yield _found(device, more, "damaged data (poison) was used on the card")
        elif device in latest:
            continue
        elif told:
            yield Unclear(subject=device, why=NO_NUMBER.format(kind), ask=TWICE)
        else:
            yield none_seen(device, whole, f"{kind} hardware error")
    in_log = {d for d, own in cards.items() if any(e.what in (f"ras_{kind}", also) for e in own)}
    for device, record in latest.items():
        seen = _told(record, kind)
        if device not in in_log or isinstance(seen, Finding):
            yield seen
        elif all(_no_count(e) for e in cards[device] if e.what == f"ras_{kind}"):
            yield Unclear(subject=device, why=NO_NUMBER.format(kind), ask=TWICE)
    if not cards and not latest:
        yield none_seen(host_ref(), whole, f"{kind} hardware error")


@rule(
    id="silent.amd-ras-uncorrectable",
    title="The card reports errors that it could not correct",
    severity="critical",
    action="drain",
    meaning="Data on the card was damaged beyond repair. What was computed with it is wrong or was stopped.",
    decision="Drain the card, start its work anew from a checkpoint elsewhere, and have it tested before it returns.",
    next_step="amd-smi metric --ecc --json; amd-smi bad-pages; cat /sys/class/drm/card*/device/ras/umc_err_count",
    references=(DRIVER, DOCS),
    points_to="hardware",
)
def ras_uncorrectable(
    events: All[AmdgpuEvent], counters: All[AmdRasCounters], whole: Whole
) -> Iterator[Seen]:
    """The use of poisoned data is part of it; a count that is none proves nothing."""
    yield from _errors(events, counters, whole, "uncorrectable", "poison")


@rule(
    id="silent.amd-ras-deferred",
    title="Damaged data on the card was marked and not used yet",
    severity="warning",
    action="watch",
    meaning="The card found data that it could not correct and marked it as poison. Nothing has read it so far; who "
    "reads it will be stopped.",
    decision="Keep the card at work and look whether the count grows; plan a test of the card if it does.",
    next_step="amd-smi metric --ecc --json, now and in an hour; amd-smi bad-pages",
    references=(DRIVER, DOCS),
    points_to="hardware",
)
def ras_deferred(
    events: All[AmdgpuEvent], counters: All[AmdRasCounters], whole: Whole
) -> Iterator[Seen]:
    """Deferred errors are neither corrected nor consumed."""
    yield from _errors(events, counters, whole, "deferred")


@rule(
    id="silent.amd-ras-implausible-counter",
    title="An error count that is no count",
    severity="info",
    action="none",
    meaning=f"The count is a multiple of {NO_COUNT}, a full counter register: a fault of the reporting, not of the memory.",
    decision="Do not drain the card for it; bring driver and firmware up to date and read the count again.",
    next_step="cat /sys/class/drm/card*/device/ras/umc_err_count",
    references=(DRIVER,),
)
def ras_implausible_counter(
    events: All[AmdgpuEvent], counters: All[AmdRasCounters], whole: Whole
) -> Iterator[Seen]:
    """Said of every kind of error, so that nobody takes the number for a wave of errors."""
    cards = by_card(events)
    done = set()
    for device, own in cards.items():
        hits = [e for e in own if e.what.startswith("ras_") and e.errors and _no_count(e)]
        if hits:
            kinds = dict.fromkeys(e.what.removeprefix("ras_") for e in hits)
            says = f"{hits[0].errors} {' and '.join(kinds)} errors in {hits[0].block or 'a block'}: no count"
            yield _found(device, hits, says)
            done.add(device)
    latest = {c.device: c for c in counters if c.device not in done}
    for record in latest.values():
        full = [k for k in KINDS if (n := getattr(record, k)) and n % NO_COUNT == 0]
        if full:
            says = ", ".join(f"{getattr(record, k)} {k} errors" for k in full) + ": no count"
            yield tell(record, says, *full)
        else:
            yield lacking(record, *KINDS) or fine(record, "the counts are plausible", *KINDS)
    for device in cards:
        if device not in done and device not in latest:
            yield none_seen(device, whole, "implausible count of errors")
    if not cards and not counters:
        yield none_seen(host_ref(), whole, "implausible count of errors")


@rule(
    id="silent.amd-bad-pages",
    title="The card has taken memory pages out of use",
    severity="warning",
    action="watch",
    meaning="Pages of the card's memory went bad and are not used any more. A card has a limit of them, above which "
    "it should be replaced.",
    decision="Go on, watch the number, and ask for a new card when it reaches the limit or grows from week to week.",
    next_step="amd-smi bad-pages; amd-smi metric --ecc",
    references=(DRIVER, DOCS),
    points_to="hardware",
)
def bad_pages(events: All[AmdgpuEvent], pages: All[AmdBadPages], whole: Whole) -> Iterator[Seen]:
    """The driver prints the pages with its threshold, also where they are far below it; the tool lists them."""
    cards = by_card(events)
    listed = {p.device: p for p in pages}
    for device, own in cards.items():
        hits = [e for e in own if e.what == "bad_page_threshold" and e.errors]
        if not hits:
            if device not in listed:
                yield none_seen(device, whole, "bad page")
            continue
        last = max(hits, key=lambda e: e.errors or 0)
        says = f"{last.errors} bad pages are kept in the card"
        if last.limit:
            reached = (last.errors or 0) >= last.limit
            says += f", {'at or above' if reached else 'below'} its threshold of {last.limit}"
        yield _found(device, hits, says)
    for record in listed.values():
        if record.retired:
            yield tell(record, f"pages out of use: {record.retired}", "retired")
        else:
            yield lacking(record, "retired") or fine(record, "no page is out of use", "retired")
    if not cards and not listed:
        yield none_seen(host_ref(), whole, "bad page")


@rule(
    id="silent.amd-bad-pages-pending",
    title="Bad pages of the card wait for a reset",
    severity="warning",
    action="reset-gpu",
    meaning="Pages of the card's memory are known to be bad and are still in use until the card is reset.",
    decision="End the work on this card and reset it; then look whether the pages are out of use.",
    next_step="sudo amd-smi reset --gpureset --gpu INDEX; then amd-smi bad-pages",
    references=(DRIVER, DOCS),
    points_to="hardware",
)
def bad_pages_pending(pages: One[AmdBadPages]) -> Iterator[Seen]:
    """N/A says that nobody looked, which is no health."""
    if pages.pending:
        yield tell(pages, f"bad pages still in use: {pages.pending}", "pending")
    else:
        yield lacking(pages, "pending") or fine(pages, "no page waits", "pending")


@rule(
    id="silent.xgmi-missing",
    title="One card reaches its peers by PCIe only",
    severity="warning",
    action="drain",
    meaning="The other cards of the host reach each other by XGMI and this one does not: its links are down or were "
    "never trained. Jobs that span the cards run at the speed of PCIe or stop.",
    decision="Take the card out of multi-card jobs, reset or boot the host, and have board and bridge looked at.",
    next_step="amd-smi xgmi; amd-smi topology; dmesg | grep -i xgmi",
    references=("amd-smi documentation, topology, read 2026-12",),
    points_to="hardware",
)
def xgmi_missing(links: All[AmdPeer]) -> Iterator[Seen]:
    """A host without any XGMI has none to miss; one pair of joined cards is enough to expect it of all."""
    rows: dict[DeviceRef, list[AmdPeer]] = {}
    for link in links:
        rows.setdefault(link.device, []).append(link)
    joined = [d for d, own in rows.items() if any(link.link_type == "XGMI" for link in own)]
    if len(joined) < REACH:
        unread = any(link.link_type is None for link in links)
        none = "no two cards are joined by XGMI"
        yield (
            Unclear(subject=host_ref(), why=none, ask="amd-smi topology --json")
            if (unread or not links)
            else NotHere(subject=host_ref(), because=none)
        )
        return
    for device, own in rows.items():
        proof = tuple(dict.fromkeys(s for link in own for s in cite(link, "link_type")))
        if device in joined:
            yield Fine(subject=device, because="joined by XGMI", sources=proof[:2])
        elif said := next((x for link in own if (x := lacking(link, "link_type"))), None):
            yield said
        else:
            others = next(iter(links_of(rows, joined)))
            yield Finding(
                subject=device, first=own[0].at, last=own[0].at,
                says=f"reaches {len(own)} peers by {own[0].link_type} only; {len(joined)} cards are joined by XGMI",
                sources=tuple(dict.fromkeys((*proof, *cite(others, "link_type")))),
            )  # fmt: skip


def links_of(
    rows: dict[DeviceRef, list[AmdPeer]], joined: Sequence[DeviceRef]
) -> Iterator[AmdPeer]:
    """Yield the XGMI links of the cards that are joined."""
    yield from (link for d in joined for link in rows[d] if link.link_type == "XGMI")
