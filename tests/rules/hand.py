"""What tests of rules share: to run a rule on hand-built records and to look at what it saw."""

from typing import Any

from steadygpu.evidence.moment import Moment
from steadygpu.verdict.rule import ACTIONS, SEVERITIES, Finding, Fine, Rule, Seen


def at(seconds: float) -> Moment:
    """A moment on the wall."""
    return Moment(wall=seconds)


def one(rule: Rule, *records: Any) -> Seen:
    """What the rule saw, where it saw one thing."""
    (seen,) = rule.check(*records)
    return seen


def found(seen: Seen) -> Finding:
    """The finding, which has its proof."""
    assert isinstance(seen, Finding)
    assert seen.sources
    return seen


def says(seen: Seen) -> str:
    """What the finding says."""
    return found(seen).says


def weight(rule: Rule, finding: Finding) -> tuple[str, str]:
    """Severity and action of a finding; it may lower those of its rule, never raise them."""
    severity, action = finding.severity or rule.severity, finding.action or rule.action
    assert SEVERITIES.index(severity) <= SEVERITIES.index(rule.severity)
    assert ACTIONS.index(action) <= ACTIONS.index(rule.action)
    return severity, action


def cited(seen: Finding | Fine) -> set[str]:
    """The texts that a finding cites: in these tests each record comes from a text of its own name."""
    return {source.name.removesuffix(".txt") for source in seen.sources}
