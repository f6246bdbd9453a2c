"""Lowers findings on events that are over: of an earlier boot, or before the driver said that all is well."""

from collections.abc import Sequence
from dataclasses import replace

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, before
from steadygpu.evidence.reading import Fact
from steadygpu.verdict.rule import Finding, Rule, Stage

AFTERWARDS = "Watch whether it comes back. Note it for the next maintenance of this host."


class Past:
    """What of one host's evidence tells that something is over, laid out once for all findings."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        """Lay out the beginnings of boots and, for each device, the withdrawn recoveries."""
        self._boots: list[Fact] = []
        self._withdrawn: dict[DeviceRef, list[Fact]] = {}
        for fact in facts:
            kind = type(fact).__name__
            if kind == "KernelLogSpan" and _begins_a_boot(fact):
                self._boots.append(fact)
            elif kind == "XidEvent" and _withdraws(fact):
                self._withdrawn.setdefault(fact.device, []).append(fact)

    def over(self, finding: Finding) -> str | None:
        """Return why what the finding tells of is over, None where nothing shows that."""
        last = finding.last
        for boot in self._boots:
            same = last.boot_id is not None and boot.at.boot_id == last.boot_id
            if not same and _later_boot(finding, boot):
                return "the host has started anew since"
        if any(before(last, event.at) for event in self._withdrawn.get(finding.subject, ())):
            return "the driver asked for no recovery afterwards"
        return None


def lowered_if_past(rule: Rule, finding: Finding, past: Past) -> Finding:
    """Return the finding, lowered by one step where what it tells of is over.

    What happened in an earlier boot, or before the driver withdrew its request for a recovery, takes no
    host away today: it is a warning to watch in place of a drain. Times must prove the order.
    """
    events = any(n.record is not None and n.record.nature == "event" for n in rule.needs)
    if rule.stage is not Stage.SILENT or not events or finding.last == UNKNOWN:
        return finding
    severity = finding.severity or rule.severity
    why = past.over(finding)
    if why is None or severity == "info":
        return finding
    return replace(
        finding,
        says=f"{finding.says}; {why}",
        severity="warning" if severity == "critical" else "info",
        action="watch" if severity == "critical" else "none",
        decision=AFTERWARDS,
    )


def _begins_a_boot(span: Fact) -> bool:
    return getattr(span, "whole", None) is True or getattr(span, "boot", 0) > 0


def _withdraws(xid: Fact) -> bool:
    return getattr(xid, "code", None) == 154 and getattr(xid, "recovery", None) == "none"


def _later_boot(finding: Finding, span: Fact) -> bool:
    """Say whether a boot of the log began after the event: by time, or by its place in the same text."""
    if before(finding.last, getattr(span, "first", UNKNOWN)):
        return True
    if finding.last.boot_id is None or span.at.boot_id is None or not finding.sources:
        return False
    last = max(finding.sources, key=lambda source: source.last)
    began = span.sources[0]
    return began.name == last.name and began.first > last.last
