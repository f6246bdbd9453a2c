"""Words that nvidia-smi prints in place of values, and drafts of records made of printed cells."""

import re
from calendar import timegm
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.source import Absent, Reason, Source
from steadygpu.evidence.text import Lines

Record = TypeVar("Record")

_REASONS: dict[str, Reason] = {
    "n/a": "not_supported",
    "not supported": "not_supported",
    "not available": "not_supported",
    "requested functionality has been deprecated": "not_supported",
    "not found": "not_printed",
    "err!": "error",
    "error": "error",
    "unknown error": "error",
    "gpu is lost": "error",
    "gpu requires reset": "error",
    "requires reset": "error",
    "insufficient permissions": "not_permitted",
    "cut": "cut",  # what readers put for a cell that the text does not reach
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<month>[A-Z][a-z]{2}) (?P<day>[ \d]\d) "
    r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d) (?:(?P<zone>[A-Z]\w{0,5}) )?(?P<year>\d{4})\s*$"
)


def reason_of(word: str) -> Reason | None:
    """Return why a cell holds no value, or None for a cell that holds one."""
    return _REASONS.get(word.strip().strip("[]").lower())


def number_of(word: str, unit: str = "") -> float | None:
    """Return the number before `unit`, or None where there is none. Never more than nine digits."""
    body = word.strip().removesuffix(unit).strip()
    return float(body) if re.fullmatch(r"-?\d{1,9}(?:\.\d{1,6})?", body, re.ASCII) else None


def whole_of(word: str, unit: str = "") -> int | None:
    """Return the whole number before `unit`, or None where there is none."""
    found = number_of(word, unit)
    return None if found is None else round(found)


def ratio_of(word: str) -> float | None:
    """Return a per cent figure as a ratio, or None where there is none."""
    found = number_of(word, "%")
    return None if found is None else found / 100


def moment_of(line: str) -> Moment | None:
    """Return the moment of a date line as date(1) prints it, or None for another line."""
    found = _DATE.match(line)
    if found is None or found["month"] not in _MONTHS:
        return None
    month = _MONTHS.index(found["month"]) + 1
    return moment_at(
        int(found["year"]), month, int(found["day"]),
        (int(found["h"]), int(found["m"]), int(found["s"])),
        zone_known=found["zone"] in ("UTC", "GMT"),
    )  # fmt: skip


def moment_at(
    year: int, month: int, day: int, clock: tuple[int, int, int], *, zone_known: bool = False
) -> Moment | None:
    """Return the moment of a date and a clock, or None for a date that does not exist."""
    try:
        wall = timegm(datetime(year, month, day, *clock).timetuple())  # noqa: DTZ001 - zone unknown
    except ValueError:
        return None
    return Moment(wall=float(wall), error_s=0.5, zone_known=zone_known)


def listed_in_order(indices: list[int]) -> bool:
    """Return whether the indices are 0, 1, 2 and so on: no card was left out."""
    return indices == list(range(len(indices)))


class Draft:
    """The printed cells of one record: values, absences, and the line that proves each field."""

    def __init__(self, lines: Lines) -> None:
        """Start a draft without fields."""
        self.lines = lines
        self.values: dict[str, Any] = {}
        self.absent: list[Absent] = []
        self.places: dict[tuple[int, int], list[str]] = {}

    def put(
        self, name: str, word: str | None, at: int, parse: Callable[[str], object | None]
    ) -> None:
        """Take a printed cell as field `name`. None or a word that `parse` does not know adds nothing."""
        if word is None:
            return
        reason = reason_of(word)
        if reason is not None:
            self.lack(name, reason, at)
        elif (value := parse(word)) is not None:
            self.take(name, value, at)

    def take(self, name: str, value: object, first: int, last: int | None = None) -> None:
        """Set a field that stands in these lines."""
        self.values[name] = value
        self.places.setdefault((first, first if last is None else last), []).append(name)

    def lack(self, name: str, reason: Reason, first: int, last: int | None = None) -> None:
        """Say why a field has no value, and where that stands."""
        last = first if last is None else last
        where = self.lines.cite(first, last, name)
        self.absent.append(Absent(field=name, reason=reason, source=where))
        self.places.setdefault((first, last), []).append(name)

    def sources(self) -> tuple[Source, ...]:
        """Return one source for each place, with the fields it proves."""
        return tuple(self.lines.cite(a, b, *names) for (a, b), names in self.places.items())

    def record(
        self, make: Callable[..., Record], device: DeviceRef, at: Moment = UNKNOWN
    ) -> list[Record]:
        """Return the record, or nothing where no field of it was printed."""
        if not self.places:
            return []
        return [
            make(device=device, at=at, absent=tuple(self.absent), sources=self.sources(),
                 **self.values)
        ]  # fmt: skip


def runs(rows: list[int]) -> list[tuple[int, int]]:
    """Return the rows as runs of neighbours, first and last."""
    out: list[tuple[int, int]] = []
    for row in rows:
        if out and out[-1][1] == row - 1:
            out[-1] = (out[-1][0], row)
        else:
            out.append((row, row))
    return out
