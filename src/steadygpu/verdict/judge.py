"""Runs rules over the evidence of one host. What a rule raises makes it broken, never the others."""

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

Ask = Callable[[str], str | None]


class Desk:
    """The evidence of one host, laid out by record class and device."""

    def __init__(self, evidence: HostEvidence) -> None:
        """Lay out `evidence`."""
        self.evidence = evidence
        self.by_class: dict[str, list[Fact]] = {}
        for fact in evidence.facts:
            self.by_class.setdefault(type(fact).__name__, []).append(fact)
        spans = self.by_class.get("KernelLogSpan", ())
        self.whole = bool(spans) and all(getattr(s, "whole", None) is True for s in spans)

    def of(self, record: type[Any], device: DeviceRef | None = None) -> list[Fact]:
        """Return the records of a class, of one device where it is named."""
        facts = self.by_class.get(record.__name__, [])
        return facts if device is None else [f for f in facts if f.device == device]


def judge(rules: Sequence[Rule], evidence: HostEvidence, ask: Ask) -> tuple[Verdict, ...]:
    """Return one verdict for each rule. `ask` gives the command that shows a record class."""
    desk = Desk(evidence)
    return tuple(_judge_one(rule, desk, ask) for rule in rules)


def _judge_one(rule: Rule, desk: Desk, ask: Ask) -> Verdict:
    if not rule.about() & desk.evidence.given:
        return Verdict(rule=rule, outcome="not asked")
    try:
        seen = [_checked(rule, one) for call in _calls(rule, desk, ask) for one in call]
    except Exception as error:  # noqa: BLE001 - reported as broken, see CONVENTIONS.md, Errors
        return Verdict(rule=rule, outcome="broken", error=f"{type(error).__name__}: {error}")
    folded = _fold(seen)
    return Verdict(rule=rule, outcome=_outcome(folded), seen=folded)


def _checked(rule: Rule, seen: Seen) -> Seen:
    """Return what was seen; raises ValueError where a finding raises the rule's defaults."""
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
            best = _beside(facts, beside)
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


def _beside(facts: Sequence[Fact], beside: Fact | None) -> Fact | None:
    """Return the record of the moment of `beside`: same text and moment first, then the nearest."""
    if not facts or beside is None:
        return facts[-1] if facts else None
    names = {s.name for s in beside.sources}

    def distance(fact: Fact) -> tuple[bool, bool, float]:
        apart = seconds_between(beside.at, fact.at)
        same = fact.at == beside.at
        return (
            not (same and any(s.name in names for s in fact.sources)),
            not same,
            abs(apart) if apart is not None else float("inf"),
        )

    return min(facts, key=distance)


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
    """Return at most a dozen sources: the first ones, then one range for the rest of each text."""
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
