"""Faults of NVSwitches: what the switch says is the cause, what its cards print is the consequence."""

from collections.abc import Iterator, Sequence

from steadygpu.catalog.sxid import sxid_row, sxid_unit
from steadygpu.evidence.derive import span
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.kernel_log import SxidEvent
from steadygpu.rules.xid import none_seen, sources_of
from steadygpu.verdict.rule import All, Finding, Fine, Seen, Whole, rule

GUIDE = "NVIDIA Fabric Manager User Guide, appendix on NVSwitch errors"


def _fatal(event: SxidEvent) -> bool:
    """Return whether the switch could not go on: by its own word, else by the catalogue."""
    if event.fatal is not None:
        return event.fatal
    row = sxid_row(event.code)
    return row is not None and row.severity != "nonfatal"


def _words(events: Sequence[SxidEvent], code: int) -> str:
    mine = [e for e in events if e.code == code]
    row, unit = sxid_row(code), sxid_unit(code)
    links = sorted({e.link for e in mine if e.link is not None})
    where = f" on link {', '.join(map(str, links[:6]))}" if links else ""
    more = f" and {len(links) - 6} more" if len(links) > 6 else ""
    about = row.meaning if row is not None else f"not in the guide ({unit or 'unit not known'})"
    count = sum(e.count for e in mine)
    times = f", {count} times" if count > 1 else ""
    return f"SXid {code}{where}{more}{times}: {about.rstrip('.')}"


def _by_switch(events: Sequence[SxidEvent]) -> dict[DeviceRef, list[SxidEvent]]:
    found: dict[DeviceRef, list[SxidEvent]] = {}
    for event in events:
        found.setdefault(event.device, []).append(event)
    return found


def _says(events: Sequence[SxidEvent], codes: Sequence[int]) -> str:
    more = f"; and {len(codes) - 4} more codes" if len(codes) > 4 else ""
    return "; ".join(_words(events, code) for code in codes[:4]) + more


@rule(
    id="silent.sxid-fatal",
    title="An NVSwitch met a fatal fault",
    severity="critical",
    action="drain",
    scope="fabric",
    meaning="A switch between the cards lost a link or a part of itself. Jobs that use NVLink through it fail or hang; "
    "the Xids of the cards that follow are consequences.",
    decision="Drain the host; reset the cards and switches together, and look at the switch board if it comes back.",
    next_step="sudo nvidia-smi -q | grep -iA3 fabric; journalctl -u nvidia-fabricmanager; then restart the host",
    references=(GUIDE + ", fatal and always fatal",),
    points_to="hardware",
)
def sxid_fatal(events: All[SxidEvent], whole: Whole) -> Iterator[Seen]:
    """The driver's own word decides; the worst code of the switch gives meaning and decision."""
    switches = _by_switch(events)
    for device, mine in switches.items():
        hits = [e for e in mine if _fatal(e)]
        if not hits:
            yield none_seen(device, whole, "fatal fault of this switch")
            continue
        codes = list(dict.fromkeys(e.code for e in hits))
        rows = [row for code in codes if (row := sxid_row(code)) is not None]
        worst = next((row for row in rows if row.severity == "always-fatal"), None)
        first, last = span(hits)
        yield Finding(
            subject=device, says=_says(hits, codes), sources=sources_of(hits), first=first, last=last,
            count=sum(e.count for e in hits), decision=worst.decision if worst is not None else None,
        )  # fmt: skip
    if not switches:
        yield none_seen(host_ref(), whole, "fatal fault of an NVSwitch")


@rule(
    id="silent.sxid-nonfatal",
    title="An NVSwitch met a fault and goes on",
    severity="warning",
    action="watch",
    scope="fabric",
    meaning="A switch between the cards reported a fault that did not stop it. Some of these still end the jobs of "
    "one card; others are corrected and harm nobody.",
    decision="Do what the finding names, and watch whether it comes back.",
    next_step="journalctl -k -b | grep SXid; nvidia-smi nvlink -e",
    references=(GUIDE + ", non-fatal and other notable errors",),
)
def sxid_nonfatal(events: All[SxidEvent], whole: Whole) -> Iterator[Seen]:
    """What the switch corrected by itself is for the record; a code that no source names weighs a warning."""
    switches = _by_switch(events)
    for device, mine in switches.items():
        hits = [e for e in mine if not _fatal(e)]
        if not hits:
            yield Fine(
                subject=device,
                because="what this switch reported is fatal",
                sources=sources_of(mine),
            )
            continue
        codes = list(dict.fromkeys(e.code for e in hits))
        rows = [sxid_row(code) for code in codes]
        worst = next((row for row in rows if row is not None and row.action != "none"), None)
        mild = all(row is not None and row.action == "none" for row in rows)
        chosen = worst or rows[0]
        first, last = span(hits)
        yield Finding(
            subject=device, says=_says(hits, codes), sources=sources_of(hits), first=first, last=last,
            count=sum(e.count for e in hits), severity="info" if mild else None,
            action="none" if mild else None, meaning=chosen.meaning if chosen is not None else None,
            decision=chosen.decision if chosen is not None else None,
        )  # fmt: skip
    if not switches:
        yield none_seen(host_ref(), whole, "fault of an NVSwitch")
