"""Seconds since boot become wall time where the log says when the boot was."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from steadygpu.evidence.kernel_log import ClockAnchor
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.reading import Fact

_BEST = ("rtc", "audit", "journal", "btime")  # HOUSE.md, Moment: in this order


def _rank(anchor: ClockAnchor) -> tuple[int, float]:
    found = next((i for i, word in enumerate(_BEST) if word in anchor.by), len(_BEST))
    return found, anchor.boot_s


def with_wall_times(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts; those in seconds since an anchored boot have wall times as well."""
    facts = list(facts)
    anchors: dict[str, ClockAnchor] = {}
    for anchor in facts:
        if isinstance(anchor, ClockAnchor) and anchor.at.boot_id:
            best = anchors.get(anchor.at.boot_id)
            if best is None or _rank(anchor) < _rank(best):
                anchors[anchor.at.boot_id] = anchor
    if not anchors:
        return facts
    return [_anchored(fact, anchors) for fact in facts]


def _anchored(fact: Fact, anchors: dict[str, ClockAnchor]) -> Fact:
    changes: dict[str, Any] = {}
    for name in ("at", "last_at", "first", "last"):
        moment = getattr(fact, name, None)
        if isinstance(moment, Moment):
            walled = _walled(moment, anchors)
            if walled is not moment:
                changes[name] = walled
    return replace(fact, **changes) if changes else fact  # type: ignore[type-var]


def _walled(moment: Moment, anchors: dict[str, ClockAnchor]) -> Moment:
    anchor = anchors.get(moment.boot_id or "")
    if anchor is None or moment.boot_s is None or moment.wall is not None:
        return moment
    wall = anchor.wall + moment.boot_s - anchor.boot_s
    return replace(moment, wall=wall, error_s=anchor.error_s, zone_known=True)
