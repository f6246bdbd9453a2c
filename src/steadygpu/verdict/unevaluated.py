"""The finding that says a check could not be made: it is made from gaps, no rule yields it."""

from collections.abc import Iterator

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.source import Gap
from steadygpu.verdict.rule import Finding, Rule, Seen, Stage


def _never(*_: object) -> Iterator[Seen]:
    """Yield nothing: the judge does not call this rule."""
    return iter(())


CHECK_NOT_EVALUATED = Rule(
    id="silent.check-not-evaluated",
    title="A check could not be made",
    stage=Stage.SILENT,
    severity="info",
    action="none",
    scope="host",
    meaning="A text was given but could not be read, in whole or in part: it proves nothing.",
    decision="Take the text again in the way named; do not read its silence as health.",
    next_step="run what the gap names",
    references=("HOUSE.md: unread is not fine",),
    needs=(),
    check=_never,
)


def from_gap(gap: Gap) -> tuple[Rule, Finding]:
    """Return the finding for a gap. The subject is the text in which it stands."""
    text = host_ref()
    says = f"{gap.where.name}: {gap.why}; run: {gap.ask}"
    return CHECK_NOT_EVALUATED, Finding(subject=text, says=says, sources=(gap.where,))
