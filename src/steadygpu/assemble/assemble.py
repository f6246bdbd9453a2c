"""Many readings -> the evidence of each host."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from steadygpu.assemble.clock import with_wall_times
from steadygpu.assemble.devices import join
from steadygpu.assemble.hosts import HostPile, piles
from steadygpu.assemble.merge import merge
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact, HostEvidence, Reading
from steadygpu.evidence.text import Text

DAY_ONLY_S = 3600.0  # our choice: a moment less certain than an hour came from a date alone


def assemble(
    read: Sequence[tuple[Text, Reading]], gives: Callable[[str], Iterable[str]]
) -> tuple[HostEvidence, ...]:
    """Return the evidence of each host. `gives` names the record classes that a text kind can hold.

    The order of `read` changes nothing but the order of gaps.
    """
    return tuple(_one_host(pile, gives) for pile in piles(_sorted(read)))


def _sorted(read: Sequence[tuple[Text, Reading]]) -> list[tuple[Text, Reading]]:
    def where(item: tuple[Text, Reading]) -> tuple[str, int]:
        facts = item[1].facts
        return item[0].name, facts[0].sources[0].first if facts and facts[0].sources else 0

    return sorted(read, key=where)


def _one_host(pile: HostPile, gives: Callable[[str], Iterable[str]]) -> HostEvidence:
    names, gaps = join(pile.outputs, pile.host)
    numbered = [
        (number, _renamed(fact, number, names))
        for number, facts in pile.outputs.items()
        for fact in facts
    ]
    walled = with_wall_times(fact for _, fact in numbered)
    facts = merge(zip((number for number, _ in numbered), walled, strict=True))
    return HostEvidence(
        host=pile.host,
        host_from=pile.host_from,
        taken=_latest(facts),
        facts=tuple(facts),
        given=frozenset(name for kind in pile.kinds for name in gives(kind)),
        kinds=tuple(sorted(pile.kinds)),
        gaps=(*pile.gaps, *gaps),
    )


def _renamed(fact: Fact, number: int, names: dict[tuple[int, DeviceRef], DeviceRef]) -> Fact:
    changes: dict[str, Any] = {"device": names[(number, fact.device)]}
    peer = getattr(fact, "peer", None)
    if isinstance(peer, DeviceRef):
        changes["peer"] = names[(number, peer)]
    return replace(fact, **changes)  # type: ignore[type-var]


def _latest(facts: Sequence[Fact]) -> Moment:
    known = [f.at for f in facts if f.at.wall is not None]
    # A text that names only its day says less than one that names the second.
    known = [at for at in known if at.error_s < DAY_ONLY_S] or known
    known = [at for at in known if at.year_known] or known
    return max(known, key=lambda at: at.wall or 0.0, default=UNKNOWN)
