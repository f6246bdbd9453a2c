"""Lowers findings on events that are over: of an earlier boot, or before the driver said that all is well."""

from collections.abc import Sequence
from dataclasses import replace

from steadygpu.evidence.moment import UNKNOWN, before
from steadygpu.evidence.reading import Fact, HostEvidence
from steadygpu.verdict.rule import Finding, Rule, Stage

AFTERWARDS = "Watch whether it comes back. Note it for the next maintenance of this host."


def lowered_if_past(rule: Rule, finding: Finding, evidence: HostEvidence) -> Finding:
    """Return the finding, lowered by one step where what it tells of is over.

    What happened in an earlier boot, or before the driver withdrew its request for a recovery, takes no
    host away today: it is a warning to watch in place of a drain. Times must prove the order.
    """
    events = any(n.record is not None and n.record.nature == "event" for n in rule.needs)
    if rule.stage is not Stage.SILENT or not events or finding.last == UNKNOWN:
        return finding
    severity = finding.severity or rule.severity
    why = _over(finding, evidence.facts)
    if why is None or severity == "info":
        return finding
    return replace(
        finding,
        says=f"{finding.says}; {why}",
        severity="warning" if severity == "critical" else "info",
        action="watch" if severity == "critical" else "none",
        decision=AFTERWARDS,
    )


def _over(finding: Finding, facts: Sequence[Fact]) -> str | None:
    last = finding.last
    for fact in facts:
        kind = type(fact).__name__
        if kind == "KernelLogSpan":
            begins = getattr(fact, "whole", None) is True or getattr(fact, "boot", 0) > 0
            same = last.boot_id is not None and fact.at.boot_id == last.boot_id
            if begins and not same and _later_boot(finding, fact):
                return "the host has started anew since"
        elif kind == "XidEvent" and fact.device == finding.subject:
            none = getattr(fact, "code", None) == 154 and getattr(fact, "recovery", None) == "none"
            if none and before(last, fact.at):
                return "the driver asked for no recovery afterwards"
    return None


def _later_boot(finding: Finding, span: Fact) -> bool:
    """Say whether a boot of the log began after the event: by time, or by its place in the same text."""
    if before(finding.last, getattr(span, "first", UNKNOWN)):
        return True
    if finding.last.boot_id is None or span.at.boot_id is None or not finding.sources:
        return False
    last = max(finding.sources, key=lambda source: source.last)
    began = span.sources[0]
    return began.name == last.name and began.first > last.last
