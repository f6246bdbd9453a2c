"""Folds findings that one cause explains. Knows no id: what causes what comes in as rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import before, seconds_between
from steadygpu.verdict.answer import Incident, Ruled


class Cause(Protocol):
    """A row of the catalogue: findings of id `cause` explain those of id `consequence`."""

    @property
    def cause(self) -> str:
        """Return the id of the cause."""
        ...

    @property
    def consequence(self) -> str:
        """Return the id of what follows."""
        ...

    @property
    def relation(self) -> str:
        """Return how their subjects lie: same-card, port-above, same-host, nvlink-peer."""
        ...

    @property
    def window_s(self) -> float | None:
        """Return how long after the cause the consequence may come, or None for any time."""
        ...


def fold(
    found: Sequence[Ruled], causes: Iterable[Cause], parents: Mapping[str, str]
) -> tuple[tuple[Ruled, ...], tuple[Incident, ...]]:
    """Return the findings with `caused_by` and `consequences` set, and one incident for each root.

    `parents` maps a BDF to the BDF of the port above it. A finding has one cause: of the
    first row that fits, the one nearest before it. The relation is acyclic, so each chain has a root.
    """
    by_id: dict[str, list[Ruled]] = {}
    for one in found:
        by_id.setdefault(one.rule.id, []).append(one)
    up: dict[str, tuple[str, bool]] = {}
    best: dict[str, tuple[Any, ...]] = {}
    for place, row in enumerate(causes):
        for effect in by_id.get(row.consequence, ()):
            for cause in by_id.get(row.cause, ()):
                order = _follows(cause, effect, row, parents)
                if order is None or cause.key == effect.key:
                    continue
                apart = seconds_between(cause.finding.first, effect.finding.last)
                near = float("inf") if apart is None else abs(apart)
                rank = (place, not order, near, cause.key)
                if effect.key not in best or rank < best[effect.key]:
                    best[effect.key], up[effect.key] = rank, (cause.key, order)
    downs: dict[str, list[str]] = {}
    for effect_key, (cause_key, _) in up.items():
        downs.setdefault(cause_key, []).append(effect_key)
    out = tuple(
        replace(
            one,
            caused_by=up[one.key][0] if one.key in up else None,
            consequences=tuple(sorted(downs.get(one.key, ()))),
        )
        for one in found
    )
    roots = [one.key for one in out if one.consequences and one.caused_by is None]
    return out, tuple(_incident(root, downs, up) for root in roots)


def _incident(
    root: str, downs: Mapping[str, list[str]], up: Mapping[str, tuple[str, bool]]
) -> Incident:
    keys: list[str] = []
    todo = list(downs.get(root, ()))
    while todo:
        key = todo.pop(0)
        if key not in keys:
            keys.append(key)
            todo.extend(downs.get(key, ()))
    return Incident(
        cause=root, consequences=tuple(keys), order_known=all(up[key][1] for key in keys)
    )


def _follows(cause: Ruled, effect: Ruled, row: Cause, parents: Mapping[str, str]) -> bool | None:
    """Return whether times prove the order; None where this cause cannot explain the effect."""
    if not _related(cause, effect, row.relation, parents) or _other_boot(cause, effect):
        return None
    first, then = cause.finding.first, effect.finding.last
    order = before(first, then)
    if order is False:
        return None
    if row.window_s is not None and not _within(cause, effect, row.window_s):
        return None
    return order is True


def _within(cause: Ruled, effect: Ruled, window_s: float) -> bool:
    """Say whether some print of the cause may have come within the window before some of the effect."""
    spans = [
        apart
        for c in (cause.finding.first, cause.finding.last)
        for e in (effect.finding.first, effect.finding.last)
        if (apart := seconds_between(c, e)) is not None
    ]
    return not spans or any(0 <= apart <= window_s for apart in spans)


def _other_boot(cause: Ruled, effect: Ruled) -> bool:
    """Say whether the two are known to be of different boots: nothing folds across one."""
    left, right = (
        {at.boot_id for at in (one.finding.first, one.finding.last)} for one in (cause, effect)
    )
    return None not in left | right and left.isdisjoint(right)


def _related(cause: Ruled, effect: Ruled, relation: str, parents: Mapping[str, str]) -> bool:
    left, right = cause.finding.subject, effect.finding.subject
    if relation == "same-host":
        return left.host == right.host
    if left == right:
        return True
    if relation == "nvlink-peer":
        return left.kind == right.kind == "card"
    involved: tuple[DeviceRef, ...] = (*cause.finding.touches, *effect.finding.touches)
    if left in involved or right in involved:
        return True
    if relation == "port-above" and left.bdf and right.bdf:
        above, seen = parents.get(right.bdf), 0
        while above and seen < 16:  # no PCIe hierarchy is deeper than a few switches
            if above == left.bdf:
                return True
            above, seen = parents.get(above), seen + 1
    # Host-wide causes (no driver, one power feed) explain what any card of the host shows.
    return relation == "same-card" and "host" in (left.kind, right.kind)
