"""NVLink errors since Blackwell that end the use of a card, told once for the card where they began."""

from collections.abc import Iterator, Sequence

from steadygpu.catalog.nvlink5 import CODES, Nvlink5Row, decode, ends_programs_only_when_fatal
from steadygpu.evidence.derive import span
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.kernel_log import XidEvent
from steadygpu.evidence.moment import seconds_between
from steadygpu.rules.xid import CATALOGUE, none_seen, sources_of
from steadygpu.verdict.rule import All, Finding, Seen, Whole, rule

LINK = (
    149,
    150,
)  # NVIDIA Xid catalogue: link firmware and link manager; the others suffer from them
EPISODE_S = 600.0  # our choice: jobs on the other cards run into the dead link within minutes

DISORDER_S = 10.0  # our choice: the two ends of a link print in any order


def is_fatal(event: XidEvent) -> bool:
    """Say whether the event is a fatal NVLink error, by its row or else by its own word.

    An Xid 45 that names as its cause a code whose errors end programs only when they are fatal proves
    one as well.
    """
    if event.code == 45:
        cause = event.previous
        return cause is not None and cause in CODES and ends_programs_only_when_fatal(cause)
    if event.code not in CODES or event.grade != "Fatal":
        return False
    row = _row(event)
    return row is None or row.severity == "critical"


def _row(event: XidEvent) -> Nvlink5Row | None:
    return decode(event.code, event.says).row if event.code in CODES else None


def _code(event: XidEvent) -> int:
    return event.previous if event.code == 45 and event.previous is not None else event.code


def _began_elsewhere(event: XidEvent) -> bool:
    """Say whether the line itself blames the device at the other end of the link."""
    row = _row(event)
    return row is not None and row.other_end


def _words(event: XidEvent) -> str:
    if event.code == 45:
        return f"Xid {event.previous}, which only Xid 45 names as its cause"
    fault = decode(event.code, event.says)
    link = f" on link {fault.link}" if fault.link is not None else ""
    meaning = f": {fault.row.meaning.rstrip('.')}" if fault.row is not None else ""
    return f"Xid {event.code} {fault.unit or 'NVLink'} Fatal{link}{meaning}"


def _began_here(events: Sequence[XidEvent]) -> bool:
    """Say whether a line of this card tells that its link failed and does not blame the other end."""
    return any(e.code in LINK and not _began_elsewhere(e) for e in events)


def _may_follow(cause: Sequence[XidEvent], events: Sequence[XidEvent]) -> bool:
    """Say whether `events` are not known to have come well before `cause` or long after it."""
    apart = seconds_between(span(cause)[0], span(events)[0])
    return apart is None or -DISORDER_S <= apart <= EPISODE_S


def _start(events: Sequence[XidEvent]) -> tuple[float, float]:
    first, none = span(events)[0], float("inf")
    return (
        none if first.wall is None else first.wall,
        none if first.boot_s is None else first.boot_s,
    )


def _roots(fatal: dict[DeviceRef, list[XidEvent]]) -> dict[DeviceRef, list[DeviceRef]]:
    """Return the cards where it began, each with the cards that suffered from it.

    It began where a line tells that the link itself failed and does not blame the other end; where
    no such line is there, on every card whose link failed, else on every card with a fatal line.
    """
    failed = [c for c, events in fatal.items() if any(_code(e) in LINK for e in events)]
    began = [c for c in failed if _began_here(fatal[c])] or failed or list(fatal)
    began.sort(key=lambda c: (_start(fatal[c]), c.bdf or ""))
    roots: dict[DeviceRef, list[DeviceRef]] = {card: [] for card in began}
    for card, events in fatal.items():
        if card not in roots:
            root = next((r for r in began if _may_follow(fatal[r], events)), None)
            if root is None:
                roots[card] = []
            else:
                roots[root].append(card)
    return roots


@rule(
    id="silent.nvlink-fatal",
    title="An NVLink failed and took jobs with it",
    severity="critical",
    action="drain",
    scope="fabric",
    meaning="An NVLink of this card failed in a way that it cannot recover from; programs on it and on its peers end.",
    decision="Drain the host, then reset the card. Look at the link and at the device at its other end if it comes back.",
    next_step="nvidia-smi nvlink -s; nvidia-smi nvlink -e; then nvidia-bug-report.sh",
    references=(
        CATALOGUE + ", Xid 144 to 150",
        "leptonai/gpud components/accelerator/nvidia/xid/catalog_generated.go",
    ),
    points_to="hardware",
)
def nvlink_fatal(events: All[XidEvent], whole: Whole) -> Iterator[Seen]:
    """One finding for the card where it began; peers that print a fatal error after it are named in it."""
    fatal: dict[DeviceRef, list[XidEvent]] = {}
    for event in events:
        if is_fatal(event):
            fatal.setdefault(event.device, []).append(event)
    for card, lines in fatal.items():
        # A line of its own says more than the Xid 45 of the programs that end with it.
        fatal[card] = [e for e in lines if e.code != 45] or lines
    touched = dict.fromkeys(e.device for e in events if _code(e) in CODES)
    roots = _roots(fatal)
    told = set(roots)
    for card, others in roots.items():
        told.update(others)
        all_of = [*fatal[card], *(e for other in others for e in fatal[other])]
        peers = f"; fatal errors followed on {counted(len(others))}" if others else ""
        first, last = span(all_of)
        row = next((r for e in fatal[card] if (r := _row(e)) is not None), None)
        yield Finding(
            subject=card,
            says=_what(fatal[card]) + peers,
            sources=sources_of(all_of),
            first=first,
            last=last,
            count=sum(e.count for e in all_of),
            touches=tuple(d for d in touched if d != card),
            meaning=row.meaning if row is not None else None,
            decision=row.decision if row is not None else None,
        )
    for device in dict.fromkeys(e.device for e in events):
        if device not in told:
            yield none_seen(device, whole, "fatal NVLink error")
    if not events:
        yield none_seen(host_ref(), whole, "fatal NVLink error")


def counted(cards: int) -> str:
    """Return how many other cards, in words."""
    return f"{cards} other card{'' if cards == 1 else 's'}"


def _what(events: Sequence[XidEvent]) -> str:
    """Return what the lines say, two of them in full."""
    told = list(dict.fromkeys(_words(e) for e in events))
    return "; ".join(told[:2]) + (f"; and {len(told) - 2} more" if len(told) > 2 else "")
