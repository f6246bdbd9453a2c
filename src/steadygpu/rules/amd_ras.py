"""Memory and other hardware errors that AMD cards report (RAS), and counts that are none."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.amd import AmdgpuEvent
from steadygpu.evidence.derive import span
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.rules.amdgpu import by_card
from steadygpu.rules.xid import none_seen, sources_of
from steadygpu.verdict.rule import All, Finding, Seen, Unclear, Whole, rule

DRIVER = (
    "Linux kernel, drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c and amdgpu_ras_eeprom.c, read 2026-12"
)
DOCS = "Linux kernel documentation, AMDGPU RAS Support, read 2026-12"
NO_COUNT = 1_048_560  # public reports: counts rise by exactly this at each query, 20 bits without the last four


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


def _errors(
    events: Sequence[AmdgpuEvent], whole: bool, kind: str, also: str | None = None
) -> Iterator[Seen]:
    """Yield one thing for each card about its errors of this kind."""
    cards = by_card(events)
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
        elif told:
            yield Unclear(
                subject=device,
                why=f"the count of {kind} errors is unread or a multiple of {NO_COUNT}, which is no count",
                ask="amd-smi metric --ecc --json, twice",
            )
        else:
            yield none_seen(device, whole, f"{kind} hardware error")
    if not cards:
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
def ras_uncorrectable(events: All[AmdgpuEvent], whole: Whole) -> Iterator[Seen]:
    """The use of poisoned data is part of it; a count that is none proves nothing."""
    yield from _errors(events, whole, "uncorrectable", "poison")


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
def ras_deferred(events: All[AmdgpuEvent], whole: Whole) -> Iterator[Seen]:
    """Deferred errors are neither corrected nor consumed."""
    yield from _errors(events, whole, "deferred")


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
def ras_implausible_counter(events: All[AmdgpuEvent], whole: Whole) -> Iterator[Seen]:
    """Said of every kind of error, so that nobody takes the number for a wave of errors."""
    cards = by_card(events)
    for device, own in cards.items():
        hits = [e for e in own if e.what.startswith("ras_") and e.errors and _no_count(e)]
        if hits:
            kinds = dict.fromkeys(e.what.removeprefix("ras_") for e in hits)
            says = f"{hits[0].errors} {' and '.join(kinds)} errors in {hits[0].block or 'a block'}: no count"
            yield _found(device, hits, says)
        else:
            yield none_seen(device, whole, "implausible count of errors")
    if not cards:
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
def bad_pages(events: All[AmdgpuEvent], whole: Whole) -> Iterator[Seen]:
    """The driver prints the pages with its threshold, also where they are far below it."""
    cards = by_card(events)
    for device, own in cards.items():
        hits = [e for e in own if e.what == "bad_page_threshold" and e.errors]
        if not hits:
            yield none_seen(device, whole, "bad page")
            continue
        last = max(hits, key=lambda e: e.errors or 0)
        says = f"{last.errors} bad pages are kept in the card"
        if last.limit:
            reached = (last.errors or 0) >= last.limit
            says += f", {'at or above' if reached else 'below'} its threshold of {last.limit}"
        yield _found(device, hits, says)
    if not cards:
        yield none_seen(host_ref(), whole, "bad page")
