"""Runs rules over the evidence of one host. What a rule raises makes it broken, never the others."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.moment import UNKNOWN, Moment, before, seconds_between
from steadygpu.evidence.reading import Fact, HostEvidence
from steadygpu.evidence.source import Source, cut_quote
from steadygpu.verdict.rule import (
    ACTIONS,
    SEVERITIES,
    Finding,
    Fine,
    NotHere,
    Outcome,
    Rule,
    Seen,
    Unclear,
    Verdict,
)

MANY_SOURCES = 12  # our choice: beyond this a finding cites ranges, since nobody opens more lines
MANY_FACTS = 32  # our choice: of more facts only those around a moment are compared with it

Ask = Callable[[str], str | None]


class Desk:
    """The evidence of one host, laid out by record class and device."""

    def __init__(self, evidence: HostEvidence) -> None:
        """Lay out `evidence`."""
        self.evidence = evidence
        self.by_class: dict[str, list[Fact]] = {}
        self.by_device: dict[tuple[str, DeviceRef], list[Fact]] = {}
        self.by_moment: dict[tuple[str, DeviceRef, Moment], list[Fact]] = {}
        for fact in evidence.facts:
            name = type(fact).__name__
            self.by_class.setdefault(name, []).append(fact)
            self.by_device.setdefault((name, fact.device), []).append(fact)
            self.by_moment.setdefault((name, fact.device, fact.at), []).append(fact)
        spans = self.by_class.get("KernelLogSpan", ())
        self.whole = bool(spans) and all(getattr(s, "whole", None) is True for s in spans)

    def of(self, record: type[Any], device: DeviceRef | None = None) -> list[Fact]:
        """Return the records of a class, of one device where it is named."""
        if device is None:
            return self.by_class.get(record.__name__, [])
        return self.by_device.get((record.__name__, device), [])

    def beside(
        self, record: type[Any], device: DeviceRef | None, other: Fact | None
    ) -> Fact | None:
        """Return the record of the moment of `other`: same text and moment first, then the nearest.

        The last one where `other` is None.
        """
        facts = self.of(record, device)
        if not facts or other is None:
            return facts[-1] if facts else None
        if device is not None and (same := self.by_moment.get((record.__name__, device, other.at))):
            names = {s.name for s in other.sources}
            return min(same, key=lambda fact: not any(s.name in names for s in fact.sources))
        return _nearest(facts, other.at)


def judge(rules: Sequence[Rule], evidence: HostEvidence, ask: Ask) -> tuple[Verdict, ...]:
    """Return one verdict for each rule. `ask` gives the command that shows a record class."""
    desk = Desk(evidence)
    return tuple(_judge_one(rule, desk, ask) for rule in rules)


def _judge_one(rule: Rule, desk: Desk, ask: Ask) -> Verdict:
    if not rule.about() & desk.evidence.given:
        return Verdict(rule=rule, outcome="not asked")
    try:
        seen = [_checked(rule, one, ask) for call in _calls(rule, desk, ask) for one in call]
    except Exception as error:  # noqa: BLE001 - reported as broken, see CONVENTIONS.md, Errors
        return Verdict(rule=rule, outcome="broken", error=f"{type(error).__name__}: {error}")
    folded = _fold(seen)
    return Verdict(rule=rule, outcome=_outcome(folded), seen=folded)


def _checked(rule: Rule, seen: Seen, ask: Ask) -> Seen:
    """Return what was seen; raises ValueError where a finding raises the rule's defaults."""
    if isinstance(seen, Unclear) and seen.ask is None and seen.record is not None:
        return replace(seen, ask=ask(seen.record))
    if isinstance(seen, Finding):
        if not seen.sources:
            raise ValueError("a finding without a source")
        if seen.severity and SEVERITIES.index(seen.severity) > SEVERITIES.index(rule.severity):
            raise ValueError(f"severity {seen.severity} above {rule.severity}")
        if seen.action and ACTIONS.index(seen.action) > ACTIONS.index(rule.action):
            raise ValueError(f"action {seen.action} above {rule.action}")
    return seen


def _calls(rule: Rule, desk: Desk, ask: Ask) -> Iterator[Iterator[Seen]]:
    head, *rest = rule.needs
    assert head.record is not None
    if head.how in ("all", "maybe"):
        bound = _bind(rest, desk, None, None, ask)
        if isinstance(bound, Unclear):
            yield iter((bound,))
        else:
            facts = desk.of(head.record)
            yield rule.check(tuple(facts) if head.how == "all" else next(iter(facts), None), *bound)
        return
    devices = list(dict.fromkeys(f.device for f in desk.of(head.record)))
    if not devices and head.how == "log":
        devices = [host_ref(desk.evidence.host)]
    for device in devices:
        facts = desk.of(head.record, device)
        # A gauge is judged at each of its moments; of a counter only the latest reading counts.
        firsts: list[Any] = facts[-1:] if head.record.nature == "counter" else list(facts)
        if head.how in ("log", "mine"):
            firsts = [tuple(facts)]
        elif head.how == "trend":
            firsts = [tuple(f for f in facts if f.at.wall is not None or f.at.boot_s is not None)]
        for one in firsts:
            bound = _bind(rest, desk, device, one if head.how == "one" else None, ask)
            yield iter((bound,)) if isinstance(bound, Unclear) else rule.check(one, *bound)


def _bind(
    needs: Sequence[Any], desk: Desk, device: DeviceRef | None, beside: Fact | None, ask: Ask
) -> list[Any] | Unclear:
    """Return the other arguments, or what is unclear where one that must be there is missing."""
    bound: list[Any] = []
    for need in needs:
        if need.how == "whole":
            bound.append(desk.whole)
            continue
        facts = desk.of(need.record, None if need.how == "all" else device)
        if need.how == "one" or need.how == "maybe":
            best = desk.beside(need.record, device, beside)
            if best is None and need.how == "one":
                name = need.record.__name__
                return Unclear(
                    subject=device or host_ref(desk.evidence.host),
                    why=f"no text tells {_words(name)} of this device", ask=ask(name),
                )  # fmt: skip
            bound.append(best)
        else:
            bound.append(tuple(facts))
    return bound


def _nearest(facts: Sequence[Fact], at: Moment) -> Fact:
    """Return the fact nearest to `at`, the first where none can be compared. `facts` is in order of wall time."""

    def apart(fact: Fact) -> float:
        seconds = seconds_between(at, fact.at)
        return float("inf") if seconds is None else abs(seconds)

    if len(facts) > MANY_FACTS and at.wall is not None:
        place = bisect_left(
            facts, at.wall, key=lambda f: float("inf") if f.at.wall is None else f.at.wall
        )
        facts = facts[max(0, place - MANY_FACTS) : place + MANY_FACTS]
    return min(facts, key=apart)


def _words(name: str) -> str:
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()


def _name(device: DeviceRef) -> tuple[str, ...]:
    return tuple(
        str(v or "")
        for v in (
            device.kind,
            device.uuid,
            device.bdf,
            device.serial,
            device.index,
            device.label,
            device.text,
        )
    )


def _fold(seen: Sequence[Seen]) -> tuple[Seen, ...]:
    """Fold what was seen of one subject at several moments into one: the worst counts."""
    out: list[Seen] = []
    ordered = sorted(seen, key=lambda s: _name(s.subject))
    for _, group in groupby(ordered, key=lambda s: s.subject):
        items = list(group)
        findings = [s for s in items if isinstance(s, Finding)]
        if findings:
            out.append(_fold_findings(findings))
            continue
        unclear = [s for s in items if isinstance(s, Unclear)]
        fine = [s for s in items if isinstance(s, Fine)]
        # A rule about one moment that another moment could not tell stays fine only if none is open.
        out.append(unclear[0] if unclear else fine[0] if fine else items[0])
    return tuple(out)


def _fold_findings(findings: list[Finding]) -> Finding:
    def rank(finding: Finding) -> int:
        return SEVERITIES.index(finding.severity) if finding.severity else len(SEVERITIES)

    worst = max(findings, key=rank)
    if len(findings) == 1:
        return replace(worst, sources=fewer_sources(worst.sources))
    says = list(dict.fromkeys(f.says for f in findings if rank(f) == rank(worst)))
    text = "; ".join(says[:3]) + (f"; and {len(says) - 3} more" if len(says) > 3 else "")
    moments = [m for f in findings for m in (f.first, f.last) if m != UNKNOWN]
    return replace(
        worst,
        says=text,
        sources=fewer_sources(tuple(dict.fromkeys(s for f in findings for s in f.sources))),
        first=_earliest(moments),
        last=_latest(moments),
        count=sum(f.count for f in findings),
        touches=tuple(dict.fromkeys(d for f in findings for d in f.touches)),
    )


def _earliest(moments: list[Moment]) -> Moment:
    best = moments[0] if moments else UNKNOWN
    for moment in moments:
        if before(moment, best):
            best = moment
    return best


def _latest(moments: list[Moment]) -> Moment:
    best = moments[0] if moments else UNKNOWN
    for moment in moments:
        if before(best, moment):
            best = moment
    return best


def fewer_sources(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    """Return at most a dozen sources, each place once: the first ones, then a range for the rest of each text."""
    places: dict[tuple[object, ...], Source] = {}
    for source in sources:
        place = (source.name, source.unit, source.first, source.last)
        before_it = places.get(place, source)
        fields = dict.fromkeys((*before_it.fields, *source.fields))
        places[place] = replace(before_it, fields=tuple(fields))
    sources = tuple(places.values())
    if len(sources) <= MANY_SOURCES:
        return sources
    kept, rest = sources[: MANY_SOURCES - 1], sources[MANY_SOURCES - 1 :]
    ranges = []
    for name in dict.fromkeys(s.name for s in rest):
        own = [s for s in rest if s.name == name]
        ranges.append(
            replace(
                own[0],
                first=min(s.first for s in own),
                last=max(s.last for s in own),
                quote=cut_quote([line for s in own[:8] for line in s.quote.split("\n")]),
            )
        )
    return (*kept, *ranges)


def _outcome(seen: Sequence[Seen]) -> Outcome:
    if any(isinstance(s, Finding) for s in seen):
        return "fail"
    if not seen or any(isinstance(s, Unclear) for s in seen):
        return "unknown"
    return "n/a" if all(isinstance(s, NotHere) for s in seen) else "pass"
