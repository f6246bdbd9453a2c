"""What a kernel log reader remembers: hosts and boots, and events folded so that memory stays bounded."""

import time
from calendar import timegm
from dataclasses import dataclass, field, replace
from typing import Any

from steadygpu.evidence.device import DeviceKind, DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.source import Gap, Source, cut_quote
from steadygpu.readers.kernel_log_time import YEARLESS, Stamp

SAME_KEPT = 200  # identical events kept one by one, then counted on the last one
EVENTS_KEPT = 200_000
_WORDING = ("says", "boot_s")  # key fields that differ from line to line
ALIKE_KEPT = 1000  # events that differ in their wording only
_LEAP_YEAR = 366 * 86400.0
_BASE = float(timegm((YEARLESS, 1, 1, 0, 0, 0)))
_YEARS = 28  # yearless walls lie below 1972 + 28; dates with a year are later


@dataclass(slots=True)
class Boot:
    """One boot of one host as far as the log tells it."""

    index: int
    boot_id: str
    first: Moment = UNKNOWN
    last: Moment = UNKNOWN
    first_source: Source | None = None
    last_number: int = 0
    last_raw: str = ""
    lines: int = 0
    whole: bool | None = None
    offsets: dict[str, float] = field(default_factory=dict)
    bound: dict[str, str] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Host:
    """One host that speaks in the log."""

    name: str | None
    boots: list[Boot] = field(default_factory=list)
    at: Moment = UNKNOWN
    yearless: float | None = None
    rollovers: int = 0
    first_year: int | None = None
    ids: dict[str, Boot] = field(default_factory=dict)
    uuids: dict[str, list[str]] = field(default_factory=dict)
    serials: dict[str, list[str]] = field(default_factory=dict)
    kinds: dict[str, DeviceKind] = field(default_factory=dict)
    last_card: str | None = None

    @property
    def boot(self) -> Boot:
        """Return the boot that the last line belongs to."""
        return self.boots[-1]

    def moment(self, stamp: Stamp, boot_id: str) -> Moment:
        """Return when the line was written; without any time it is UNKNOWN."""
        wall, year_known = stamp.wall, True
        if wall is not None and _yearless(wall, stamp.zone_known):
            if self.yearless is not None and wall < self.yearless - 180 * 86400:
                self.rollovers += 1
            self.yearless = wall
            wall += self.rollovers * _LEAP_YEAR
            year_known = False
        elif wall is not None and wall > 1e9:
            self.learn_year(wall)
        if wall is None and stamp.boot_s is None:
            return UNKNOWN
        return Moment(
            wall=wall,
            boot_id=boot_id if stamp.boot_s is not None else None,
            boot_s=stamp.boot_s,
            error_s=stamp.error_s,
            zone_known=stamp.zone_known,
            year_known=year_known,
        )

    def learn_year(self, wall: float) -> None:
        """Keep the year that `wall` gives to syslog lines, which print none."""
        if self.first_year is None:
            self.first_year = time.gmtime(wall).tm_year - self.rollovers

    def dated(self, at: Moment, year: int | None) -> Moment:
        """Return `at` with the year that was learnt, or as it is where none was."""
        year = self.first_year if self.first_year is not None else year
        if at.wall is None or year is None or at.year_known:
            return at
        turns, rest = divmod(at.wall - _BASE, _LEAP_YEAR)
        parts = time.gmtime(_BASE + rest)
        wall = timegm((year + int(turns), *parts[1:6])) + rest % 1
        return replace(at, wall=wall, year_known=True)


def _yearless(wall: float, zone_known: bool) -> bool:
    return not zone_known and _BASE <= wall < _BASE + _YEARS * _LEAP_YEAR


@dataclass(slots=True)
class Line:
    """One log line with its place: what the families of messages look at."""

    name: str
    number: int
    raw: str
    text: str
    host: Host
    at: Moment
    stamp: Stamp

    def cite(self, *fields: str) -> Source:
        """Return the source for this line."""
        return Source(
            name=self.name,
            first=self.number,
            last=self.number,
            quote=cut_quote([self.raw]),
            fields=fields,
        )

    def card(self, bdf: str | None) -> DeviceRef:
        """Return the card at `bdf`, with the names told so far."""
        host = self.host
        if bdf is not None:
            host.kinds[bdf] = "card"
        uuids, serials = host.uuids.get(bdf or "", []), host.serials.get(bdf or "", [])
        return DeviceRef(
            kind="card",
            host=host.name,
            bdf=bdf,
            uuid=uuids[-1] if uuids else None,
            serial=serials[-1] if serials else None,
            text=self.name,
        )

    def on_host(self) -> DeviceRef:
        """Return the host that wrote this line."""
        return DeviceRef(kind="host", host=self.host.name)


@dataclass(slots=True)
class _Kept:
    fact: Any
    host: Host
    number: int
    count: int = 1
    last_at: Moment = UNKNOWN
    last_number: int = 0


@dataclass(slots=True)
class Fold:
    """Events of a log in the order of their lines, at most SAME_KEPT of one wording and device."""

    kept: list[_Kept] = field(default_factory=list)
    _same: dict[Any, tuple[int, _Kept]] = field(default_factory=dict)
    _alike: dict[Any, tuple[int, _Kept]] = field(default_factory=dict)
    dropped: int = 0
    mixed: int = 0
    mixed_at: Source | None = None

    def add(self, fact: Any, host: Host, last_number: int) -> None:
        """Keep `fact`, or count it on an identical one that was kept before."""
        device = fact.device
        alike = (
            type(fact), device.kind, device.host, device.bdf, device.label,
            *(getattr(fact, name, None) for name in fact.key if name not in _WORDING),
        )  # fmt: skip
        same = (*alike, *(getattr(fact, name, None) for name in _WORDING))
        number, kept = self._same.get(same, (0, None))
        if number >= SAME_KEPT:
            assert kept is not None
            self._count(kept, fact, last_number)
            return
        total, last = self._alike.get(alike, (0, None))
        if total >= ALIKE_KEPT:
            assert last is not None
            self._count(last, fact, last_number)
            if last.fact != fact:
                self.mixed += 1
                self.mixed_at = fact.sources[0]
            return
        if len(self.kept) >= EVENTS_KEPT:
            self.dropped += 1
            self.mixed_at = self.mixed_at or fact.sources[0]
            return
        new = _Kept(fact, host, fact.sources[0].first)
        self.kept.append(new)
        self._same[same] = (number + 1, new)
        self._alike[alike] = (total + 1, new)

    @staticmethod
    def _count(kept: _Kept, fact: Any, last_number: int) -> None:
        kept.count += 1
        kept.last_at = fact.at
        kept.last_number = max(kept.last_number, last_number)

    def facts(self, year: int | None) -> list[Any]:
        """Return what was kept, with counts, card names and years filled in."""
        self.kept.sort(key=lambda kept: kept.number)
        return [_finished(kept, year) for kept in self.kept]

    def gaps(self) -> tuple[Gap, ...]:
        """Return that events of differing wording were counted on one, where that happened."""
        if self.mixed_at is None:
            return ()
        why = f"{self.mixed} more events differ in wording only and were counted, not kept"
        if self.dropped:
            why += f"; {self.dropped} events beyond the first {EVENTS_KEPT} were left out"
        return (Gap(where=self.mixed_at, why=why),)


def _finished(kept: _Kept, year: int | None) -> Any:
    fact, host = kept.fact, kept.host
    changed: dict[str, Any] = {}
    at = host.dated(fact.at, year)
    if at is not fact.at:
        changed["at"] = at
    if kept.count > 1 and hasattr(fact, "count"):
        changed["count"], changed["last_at"] = kept.count, host.dated(kept.last_at, year)
        last = fact.sources[-1]
        changed["sources"] = (
            *fact.sources[:-1],
            replace(last, last=max(last.last, kept.last_number)),
        )
    device = named(fact.device, host)
    if device is not fact.device:
        changed["device"] = device
    return replace(fact, **changed) if changed else fact


def named(device: DeviceRef, host: Host) -> DeviceRef:
    """Return `device` with the kind and names that later lines gave to its address."""
    bdf = device.bdf
    if bdf is None:
        return device
    kind = host.kinds.get(bdf, device.kind) if device.kind == "pci" else device.kind
    if kind != "card":
        return replace(device, kind=kind) if kind != device.kind else device
    uuids, serials = host.uuids.get(bdf, []), host.serials.get(bdf, [])
    uuid = device.uuid or (uuids[0] if len(uuids) == 1 else None)
    serial = device.serial or (serials[0] if len(serials) == 1 else None)
    if (kind, uuid, serial) == (device.kind, device.uuid, device.serial):
        return device
    return replace(device, kind=kind, uuid=uuid, serial=serial)
