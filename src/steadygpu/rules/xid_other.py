"""Fault numbers without a rule of their own, and codes that one card alone repeats."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from steadygpu.catalog.nvlink5 import CODES as NVLINK5
from steadygpu.catalog.nvlink5 import decode
from steadygpu.catalog.xid import xid_row
from steadygpu.catalog.xid_tools import xid_tools
from steadygpu.evidence.derive import span
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.gpu import CardListing, GpuIdentity
from steadygpu.evidence.kernel_log import XidEvent
from steadygpu.evidence.link import PciDevice
from steadygpu.evidence.moment import UNKNOWN, seconds_between
from steadygpu.evidence.reading import Fact
from steadygpu.rules.lost import DECISIONS, WEIGHTS
from steadygpu.rules.nvlink_fatal import is_fatal
from steadygpu.rules.xid import CATALOGUE, none_seen, seen_codes, sources_of, subject_of
from steadygpu.verdict.rule import (
    ACTIONS,
    SEVERITIES,
    Action,
    All,
    Finding,
    Fine,
    Log,
    Seen,
    Severity,
    Unclear,
    Whole,
    rule,
)

OWN_RULE = {13, 31, 43, 45, 74, 79, 94, 119, 120}  # the rules of steadygpu.rules.xid
Weight = tuple[Severity, Action, str]
PLUGIN = "The device plugin of Kubernetes ignores this code unless it is told otherwise."
REPEATS = 5  # our choice: a program that fails now and then on a card stays below this
EPISODE_S = 60.0  # our choice: one crash prints a line for each unit of the card within seconds


def _weight(event: XidEvent) -> Weight:
    """Return severity, action and words of one event; a code that needs decoding weighs a warning."""
    row = xid_row(event.code)
    if row is None:
        return "warning", "watch", "a code that no catalogue names"
    if event.code in NVLINK5 and event.grade is not None:
        fault = decode(event.code, event.says)
        where = " ".join(
            part
            for part in (
                fault.unit or "",
                f"on link {fault.link}" if fault.link is not None else "",
            )
            if part
        )
        if (known := fault.row) is not None:
            words = f"{where}: {known.meaning.rstrip('.')}. {known.decision.rstrip('.')}"
            return known.severity, known.action, words
        return "warning", "watch", f"{row.meaning.rstrip('.')}; the line says {event.grade} {where}"
    words = f"{row.meaning.rstrip('.')}. {row.decision.rstrip('.')}"
    if row.depends_on_decode:
        return "warning", "watch", words
    return row.severity, row.action, words


def _rank(weight: Weight) -> tuple[int, int]:
    return SEVERITIES.index(weight[0]), ACTIONS.index(weight[1])


def _asked(events: Sequence[XidEvent]) -> Weight:
    """Return what Xid 154 asks for: the last word that was read counts, earlier ones are named."""
    words = [e.recovery for e in events if e.recovery in WEIGHTS]
    if not words:
        return _weight(events[-1])
    severity, action = WEIGHTS[words[-1]]
    says = f"the driver asks for {words[-1].replace('_', ' ')}"
    before = dict.fromkeys(w.replace("_", " ") for w in words if w != words[-1])
    return severity, action, says + (f", after {', '.join(before)}" if before else "")


def _texts(code: int, events: Sequence[XidEvent]) -> tuple[str | None, str | None]:
    """Return meaning and decision of the worst code, None where the rule's own words must do."""
    row = xid_row(code)
    if code == 154:
        asked = next((e.recovery for e in reversed(events) if e.recovery in WEIGHTS), None)
        words = (asked or "a recovery that was not read").replace("_", " ")
        return "The driver itself says what this card needs.", DECISIONS.get(
            asked or "", f"Follow the driver: {words}."
        )
    if code in NVLINK5:
        faults = [decode(code, e.says).row for e in sorted(events, key=lambda e: _rank(_weight(e)))]
        if faults and (known := faults[-1]) is not None:
            return known.meaning, known.decision
    if row is None:
        return (
            "No catalogue that we know names this code.",
            "Keep a bug report, look the code up in newer notes of NVIDIA, and watch the card.",
        )
    tools = xid_tools().get(code)
    ignored = tools is not None and tools.says.get("k8s_device_plugin") == "ignored"
    note = f" {PLUGIN}" if ignored and row.action in ("reset-gpu", "reboot", "drain") else ""
    return row.meaning, row.decision + note


@rule(
    id="silent.xid-other",
    title="The driver reported faults of the card",
    severity="critical",
    action="drain",  # the strongest that a row asks for; each finding has the action of its row
    meaning="The driver printed fault numbers; the catalogue tells what each one means and asks for.",
    decision="Do what the finding names for its worst code.",
    next_step="nvidia-bug-report.sh, then follow the action of the finding",
    references=(CATALOGUE,),
)
def xid_other(events: Log[XidEvent], whole: Whole) -> Iterator[Seen]:
    """Severity and action come from the worst code of the card."""
    hits = [e for e in events if e.code not in OWN_RULE and not is_fatal(e)]
    # A clean-up may name a cause whose own line is not in the text.
    printed = {e.code for e in events}
    named = [
        replace(e, code=e.previous, says="", recovery=None)
        for e in events
        if e.code == 45
        and e.previous is not None
        and e.previous not in OWN_RULE | printed
        and not is_fatal(e)
    ]
    hits += named
    if not hits:
        yield none_seen(subject_of(events), whole, "other Xid")
        return
    weights: dict[int, Weight] = {}
    for event in hits:
        if event.code != 154:
            weight = _weight(event)
            weights[event.code] = max(weights.get(event.code, weight), weight, key=_rank)
    if asked := [e for e in hits if e.code == 154]:
        weights[154] = _asked(asked)
    ordered = sorted(sorted(weights.items()), key=lambda w: _rank(w[1]), reverse=True)
    severity, action, _ = ordered[0][1]
    by_45 = {e.code for e in named}
    says = "; ".join(
        f"Xid {code}{' (named by Xid 45)' if code in by_45 else ''}: {words}"
        for code, (_, _, words) in ordered
    )
    meaning, decision = _texts(ordered[0][0], [e for e in hits if e.code == ordered[0][0]])
    yield replace(
        seen_codes(hits, says), severity=severity, action=action, meaning=meaning, decision=decision
    )


@rule(
    id="silent.xid-repeated",
    title="One card alone repeats an application fault",
    severity="warning",
    action="watch",
    meaning="The same application code came back many times on one card while no other card of the host printed it.",
    decision="Run the same job on another card. If the fault stays with the card, test the card.",
    next_step="CUDA_VISIBLE_DEVICES=OTHER PROGRAM; then dcgmi diag -r 3 -i INDEX",
    references=(CATALOGUE + ", workflows of Xid 13 and 31",),
)
def xid_repeated(
    events: Log[XidEvent],
    everywhere: All[XidEvent],
    pci: All[PciDevice],
    cards: All[GpuIdentity],
    listed: All[CardListing],
    whole: Whole,
) -> Iterator[Seen]:
    """A fault that follows one card among several is no longer only the program's."""
    device = subject_of(events)
    codes = [c for c in dict.fromkeys(e.code for e in events) if _is_application(c)]
    often = {c: n for c in codes if (n := _episodes([e for e in events if e.code == c])) >= REPEATS}
    if not often:
        yield none_seen(device, whole, f"application code {REPEATS} times")
        return
    alone = [c for c in often if not any(e.code == c and e.device != device for e in everywhere)]
    if not alone:
        yield Fine(
            subject=device,
            because="other cards print the same code",
            sources=sources_of([e for e in everywhere if e.code in often and e.device != device]),
        )
        return
    other = _other_card(device, everywhere, pci, cards, listed)
    if other is None:
        yield Unclear(
            subject=device, why="no text shows another card beside this one", ask="nvidia-smi -L"
        )
        return
    hits = [e for e in events if e.code in alone]
    says = ", ".join(f"Xid {c} in {often[c]} episodes" for c in alone)
    first, last = span(hits)
    yield Finding(
        subject=device, says=f"{says} on this card only", first=first, last=last,
        sources=(*other.sources[:1], *sources_of(hits)), count=sum(e.count for e in hits),
    )  # fmt: skip


def _is_application(code: int) -> bool:
    row = xid_row(code)
    return row is not None and row.action == "restart-job" and code != 94


def _episodes(events: Sequence[XidEvent]) -> int:
    """Return how many crashes the lines show at least: lines within a minute are one."""
    episodes, last = 0, UNKNOWN
    for event in events:
        apart = seconds_between(last, event.at) if episodes else None
        if not episodes or (apart is not None and apart > EPISODE_S):
            episodes += 1
        end = event.at if event.last_at == UNKNOWN else event.last_at
        span = seconds_between(event.at, end) or 0.0
        if event.count > 1:
            episodes += min(event.count - 1, int(span / EPISODE_S))
        last = end
    return episodes


def _other_card(
    device: DeviceRef,
    xids: Sequence[XidEvent],
    pci: Sequence[PciDevice],
    cards: Sequence[GpuIdentity],
    listed: Sequence[CardListing],
) -> Fact | None:
    """Return a record that shows a second card on the host."""
    facts: list[Fact] = [*cards, *xids, *(p for p in pci if p.role == "card")]
    named = next((f for f in facts if f.device.kind == "card" and f.device != device), None)
    return named or next((c for c in listed if c.listed > 1), None)
