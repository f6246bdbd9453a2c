"""The finding that says a check could not be made: it is made from gaps, no rule yields it."""

from collections.abc import Iterable, Iterator

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.source import Gap
from steadygpu.verdict.rule import Finding, Rule, Seen, Stage

MANY_GAPS = 3  # our choice: the rest stands in the list of gaps


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


def from_gaps(gaps: Iterable[Gap]) -> tuple[Rule, Finding] | None:
    """Return the one finding for the gaps of a host that name what to run; None where none does."""
    named = list(dict.fromkeys(gap for gap in gaps if gap.ask and gap.where.quote))
    if not named:
        return None
    says = "; ".join(f"{gap.where.name}: {gap.why}; run: {gap.ask}" for gap in named[:MANY_GAPS])
    says += f"; and {len(named) - MANY_GAPS} more" if len(named) > MANY_GAPS else ""
    sources = tuple(dict.fromkeys(gap.where for gap in named))
    finding = Finding(subject=host_ref(), says=says, sources=sources, count=len(named))
    return CHECK_NOT_EVALUATED, finding
