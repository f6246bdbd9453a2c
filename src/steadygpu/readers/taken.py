"""When an output was taken: what date(1) printed above it, or the heading of watch(1).

A date holds for what follows it: for each record of each device once, and until a line that nobody recognises,
since what is printed again, or after something unknown, was printed later.
"""

import re
from dataclasses import replace
from typing import Any

from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Source
from steadygpu.evidence.text import Lines
from steadygpu.readers.prefix import watch_date
from steadygpu.readers.smi_word import moment_at, moment_of

_ISO = re.compile(
    r"(?:date: ?|time: ?)?(?P<y>\d{4})-(?P<mon>\d\d)-(?P<d>\d\d)[T ](?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:[.,]\d{1,9})?"
    r"(?:(?P<z> ?Z| ?UTC)| ?(?P<sign>[+-])(?P<zh>\d\d):?(?P<zm>\d\d))?\s*$"
)
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? {1,2}"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# date -R, and date(1) of en_US, en_GB and the like since coreutils 8.31
_LOCAL = re.compile(
    _DAY
    + r"(?:(?P<mon>[A-Z][a-z]{2}) {1,2}(?P<d>\d{1,2})|(?P<d2>\d{1,2}) (?P<mon2>[A-Z][a-z]{2})) (?:(?P<y>\d{4}) )?"
    r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?: (?P<half>[AP]M))?(?: (?P<z>[A-Z]{1,5}|[+-]\d{4}))?(?: (?P<y2>\d{4}))?\s*$"
)


def date_of(line: str) -> Moment | None:
    """Return the moment of a line that date(1) or the heading of watch(1) prints, or None for another line."""
    if not 15 < len(line) < 300:
        return None
    printed = watch_date(line) or line
    return moment_of(printed) or _iso(printed) or _local(printed)


def _iso(line: str) -> Moment | None:
    found = _ISO.match(line)
    if found is None:
        return None
    clock = (int(found["h"]), int(found["m"]), int(found["s"]))
    known = bool(found["z"] or found["sign"])
    at = moment_at(int(found["y"]), int(found["mon"]), int(found["d"]), clock, zone_known=known)
    ahead = (int(found["zh"]) * 3600 + int(found["zm"]) * 60) if found["sign"] else 0
    return _shifted(at, -ahead if found["sign"] == "+" else ahead)


def _local(line: str) -> Moment | None:
    found = _LOCAL.match(line)
    if found is None or bool(found["y"]) == bool(found["y2"]):
        return None
    month, day = found["mon"] or found["mon2"], found["d"] or found["d2"]
    if month not in _MONTHS:
        return None
    hour, half, zone = int(found["h"]), found["half"], found["z"] or ""
    if half:
        hour = hour % 12 + (12 if half == "PM" else 0)
    signed = zone[:1] in ("+", "-") and zone[1:].isdigit()
    at = moment_at(
        int(found["y"] or found["y2"]), _MONTHS.index(month) + 1, int(day),
        (hour, int(found["m"]), int(found["s"])), zone_known=signed or zone in ("UTC", "GMT"),
    )  # fmt: skip
    ahead = (int(zone[1:3]) * 3600 + int(zone[3:5]) * 60) if signed else 0
    return _shifted(at, -ahead if zone[:1] == "+" else ahead)


def _shifted(at: Moment | None, seconds: int) -> Moment | None:
    return None if at is None or at.wall is None else replace(at, wall=at.wall + seconds)


class Taken:
    """The date that holds at a place in a file, and what was dated with it."""

    def __init__(self) -> None:
        """Start without a date."""
        self._at = UNKNOWN
        self._line: tuple[Lines, int] | None = None
        self._used: set[tuple[Any, ...]] = set()

    def see(self, lines: Lines, place: int) -> bool:
        """Take the date that stands at `place`, if one does."""
        at = date_of(lines.clean[place])
        if at is None:
            return False
        self._at, self._line, self._used = at, (lines, place), set()
        return True

    def forget(self) -> None:
        """Hold no date any more: something else was printed since."""
        self._at = UNKNOWN

    def dated(self, reading: Reading) -> Reading:
        """Return the reading with the date on each fact that has no moment of its own."""
        if self._at == UNKNOWN or self._line is None or not reading.facts:
            return reading
        names = {_name(fact) for fact in reading.facts}
        if names & self._used:
            self.forget()
            return reading
        self._used |= names
        lines, place = self._line
        proof = lines.cite(place, place, "at")
        return replace(reading, facts=tuple(self._dated(fact, proof) for fact in reading.facts))

    def _dated(self, fact: Fact, proof: Source) -> Fact:
        if fact.at != UNKNOWN or fact.nature == "event":
            return fact
        return replace(fact, at=self._at, sources=(*fact.sources, proof))  # type: ignore[type-var]


def _name(fact: Fact) -> tuple[Any, ...]:
    return (type(fact), fact.device, *(getattr(fact, name) for name in fact.key))
