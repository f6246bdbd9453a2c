"""Merges records that say the same thing, field by field; a contradicted field becomes absent."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import MISSING, fields, replace
from functools import cache
from typing import Any

from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.source import Absent

_FRAME = frozenset({"device", "at", "absent", "sources", "samples", "window_s", "count", "last_at"})

Numbered = tuple[int, Fact]


@cache
def _own_fields(record: type[Any]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(record) if f.name not in _FRAME)


@cache
def _required(record: type[Any]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(record) if f.name not in _FRAME and f.default is MISSING)


def _key(fact: Fact) -> tuple[Any, ...]:
    return (type(fact).__name__, fact.device, *(getattr(fact, name) for name in fact.key))


def _order(fact: Fact) -> tuple[Any, ...]:
    first = fact.sources[0] if fact.sources else None
    at = fact.at
    return (
        at.wall if at.wall is not None else float("inf"),
        at.boot_s if at.boot_s is not None else float("inf"),
        (first.name, first.first) if first else ("", 0),
    )


def merge(facts: Iterable[Numbered]) -> list[Fact]:
    """Return the facts of one host with those merged that are one record, in order of time.

    States: the latest known value of each field; of unknown order, a contradiction is absent.
    Gauges merge within one moment, those without a moment within one output. Counters of unknown
    order merge like states, at known moments they stay apart. Equal events are one event.
    """
    groups: dict[tuple[Any, ...], list[Fact]] = defaultdict(list)
    prints: Counter[tuple[Any, ...]] = Counter()
    for number, fact in facts:
        key = _key(fact)
        if fact.nature == "state" or (fact.nature == "counter" and _timeless(fact.at)):
            groups[key].append(fact)
        elif fact.nature == "event":
            instant = (*key, *_instant(fact))
            # Equal prints of one second in one text are several events, in two texts the same ones.
            prints[(number, *instant)] += 1
            groups[(*instant, prints[(number, *instant)])].append(fact)
        else:
            bucket = ("output", number) if _timeless(fact.at) else ("at", _rounded(fact.at))
            groups[(*key, bucket)].append(fact)
    out = []
    for group in groups.values():
        group.sort(key=_order)
        one = len(group) == 1 or _contradicted(group)
        out += group if one else [_merged(group)]
    out.sort(key=lambda f: (type(f).__name__, _order(f)))
    return out


def _timeless(at: Moment) -> bool:
    return at.wall is None and at.boot_s is None


def _rounded(at: Moment) -> tuple[str, float]:
    if at.wall is not None:
        return "wall", round(at.wall) if at.error_s >= 0.5 else at.wall
    return str(at.boot_id), at.boot_s or 0.0


def _instant(fact: Fact) -> tuple[Any, ...]:
    """Return what makes two prints of one event equal: its microsecond or second and its words."""
    at = fact.at
    if at.boot_s is not None:
        return ("boot_s", _boot(fact), at.boot_s)
    if at.wall is not None:
        return (
            "wall",
            round(at.wall),
            at.zone_known,
            *(getattr(fact, n) for n in _own_fields(type(fact))),
        )
    return (
        "line",
        fact.sources[0].quote if fact.sources else "",
        fact.sources[0].first if fact.sources else 0,
    )


def _boot(fact: Fact) -> str | None:
    """Return what tells boots apart: the id, or of a log without ids the boot's place in it."""
    name = fact.sources[0].name if fact.sources else ""
    boot = fact.at.boot_id
    return boot.removeprefix(name) if boot is not None else None


def _contradicted(group: list[Fact]) -> bool:
    """Return whether a field that a record cannot do without differs: then both records stay."""
    return type(group[0]).nature != "event" and any(
        len({getattr(fact, name) for fact in group}) > 1 for name in _required(type(group[0]))
    )


def _merged(group: list[Fact]) -> Fact:
    last = group[-1]
    if last.nature == "event":
        return replace(group[0], sources=_union(group))  # type: ignore[type-var]
    known = [f for f in group if not _timeless(f.at)]
    timeless = [f for f in group if _timeless(f.at)]
    ordered = last.nature == "state"
    changes: dict[str, Any] = {}
    absent: dict[str, Absent] = {}
    for name in _own_fields(type(last)):
        values: list[Any] = []
        if ordered and known:
            newest = next((v for f in reversed(known) if (v := _value(f, name)) is not None), None)
            values = [newest] if newest is not None else []
            values += [v for f in timeless if (v := _value(f, name)) is not None]
        else:
            values = [v for f in group if (v := _value(f, name)) is not None]
        distinct = list(dict.fromkeys(values))
        if len(distinct) > 1 and name == "name" and _one_name(distinct):
            # A name that one tool cut, or an older driver wrote short, is no contradiction.
            distinct = [max(distinct, key=lambda v: (not v.endswith("..."), len(v), v))]
        if name == "name_cut":
            distinct = [str(changes.get("name", "")).endswith("...")]
        if len(distinct) == 1:
            changes[name] = distinct[0]
        elif distinct:
            changes[name] = _neutral(last, name)
            absent[name] = Absent(field=name, reason="disagree", ask="take both texts anew")
        else:
            why = next((a for f in reversed(group) for a in f.absent if a.field == name), None)
            if why is not None:
                absent[name] = why
    changes["at"] = known[-1].at if known else UNKNOWN
    if ordered:
        changes["sources"] = _state_sources(group, known, changes)
    else:
        changes["sources"] = _union(group)
    return replace(last, absent=tuple(absent.values()), **changes)  # type: ignore[type-var]


@cache
def _none_by_default(record: type[Any]) -> frozenset[str]:
    return frozenset(f.name for f in fields(record) if f.default is None)


def _one_name(names: list[str]) -> bool:
    """Return whether all are one name, written whole, cut, or without the maker."""
    bare = sorted({n.removesuffix("...").removeprefix("NVIDIA ").strip() for n in names}, key=len)
    return all(bare[-1].startswith(name) for name in bare)


def _value(fact: Fact, name: str) -> Any:
    value = getattr(fact, name)
    if value == () and name not in _none_by_default(type(fact)):
        return None  # a tuple that may be left out is empty where nothing was printed
    return None if value is False and name == "driver_listed" else value


def _neutral(fact: Fact, name: str) -> Any:
    """Return None, or the field's own default where its type has no None."""
    default = next(f.default for f in fields(fact) if f.name == name)  # type: ignore[arg-type]
    return default if isinstance(default, (bool, int, str, tuple)) else None


def _union(group: list[Fact]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(s for f in group for s in f.sources))


def _state_sources(
    group: list[Fact], known: list[Fact], changes: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the sources that prove the merged values: those of an outdated value prove nothing."""
    out = []
    for fact in group:
        for source in fact.sources:
            stale = (
                fact in known
                and source.fields
                and all(
                    name in changes
                    and _value(fact, name) is not None
                    and changes[name] != getattr(fact, name)
                    for name in source.fields
                )
            )
            if not stale:
                out.append(source)
    return tuple(dict.fromkeys(out)) or _union(group)
