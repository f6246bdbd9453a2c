"""Reads what iostat prints: the load of CPUs and disks over time.

Covers sysstat 9 to 12.7: plain, -x, -s, -c, -d, -k, -m, -t, -z, comma decimals. Oddities: -x before
11.5 has await, avgqu-sz and avgrq-sz (in sectors of 512 bytes), later r_await, aqu-sz and rareq-sz
(in kB); kB means 1024 bytes and MB 1024 kB in all of them; the first of several samples tells the
time since boot; -z leaves out a disk that did nothing in a sample.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from steadygpu.evidence.cpu import CpuLoad
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Absent, Gap, Source
from steadygpu.evidence.storage import DiskLoad
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import KIB, MIB, SECTOR_BYTES

_HEADER = re.compile(
    r"Linux \S+ \((?P<host>[^()\s]+)\)\s+(?P<date>\S.*?)\s+_\w+_\s*\(\d{1,6} \S+\)\s*$"
)
_CPU = re.compile(r"\w{2,8}-cpu ?: +%user ")
_TIME = re.compile(
    r"(?P<date>\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4})[T ](?P<clock>\d\d:\d\d:\d\d)(?P<half> [AP]M)?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?\s*$"
)
_DATE = re.compile(r"(\d{1,4})([-/.])(\d{1,2})[-/.](\d{1,4})$")
_NUMBER = re.compile(r"-?\d{1,15}(?:[.,]\d{1,6})?$")
_NO_NUMBER = re.compile(r"(?:-?nan|-?inf|-)$")
_PARTITION = re.compile(
    r"(?:[shv]d[a-z]{1,3}|xvd[a-z]{1,2})\d{1,3}$|(?:nvme\d{1,4}n\d{1,4}|mmcblk\d{1,3}|md\d{1,4}|loop\d{1,4})p\d{1,3}$"
)
CITED = 8  # our choice: sample lines cited one by one; the rest is one range
DAY_S = 86_400.0

# Column of iostat (JSON drops the percent sign): field of `DiskLoad`, factor to our unit.
COLUMNS: dict[str, tuple[str, float]] = {
    "%util": ("busy_ratio", 0.01), "util": ("busy_ratio", 0.01),
    "aqu-sz": ("queue", 1), "avgqu-sz": ("queue", 1),
    "await": ("await_ms", 1), "r_await": ("read_await_ms", 1), "w_await": ("write_await_ms", 1),
    "r/s": ("reads_per_s", 1), "w/s": ("writes_per_s", 1),
    "rkB/s": ("read_bytes_per_s", KIB), "wkB/s": ("write_bytes_per_s", KIB),
    "rMB/s": ("read_bytes_per_s", MIB), "wMB/s": ("write_bytes_per_s", MIB),
    "rsec/s": ("read_bytes_per_s", SECTOR_BYTES), "wsec/s": ("write_bytes_per_s", SECTOR_BYTES),
    "kB_read/s": ("read_bytes_per_s", KIB), "kB_wrtn/s": ("write_bytes_per_s", KIB),
    "MB_read/s": ("read_bytes_per_s", MIB), "MB_wrtn/s": ("write_bytes_per_s", MIB),
    "Blk_read/s": ("read_bytes_per_s", SECTOR_BYTES), "Blk_wrtn/s": ("write_bytes_per_s", SECTOR_BYTES),
    "avgrq-sz": ("request_bytes", SECTOR_BYTES), "areq-sz": ("request_bytes", KIB),
    "rareq-sz": ("read_request_bytes", KIB),
}  # fmt: skip
CPU_COLUMNS = {
    name: f"{name}_ratio" for name in ("user", "nice", "system", "iowait", "steal", "idle")
}
# A disk that -z left out did nothing: its rates are 0. Times and sizes are of the requests made.
_RATES = (
    "busy_ratio", "queue", "reads_per_s", "writes_per_s", "read_bytes_per_s", "write_bytes_per_s",
)  # fmt: skip
_WEIGHTS: dict[str, tuple[str, ...]] = {
    "await_ms": ("reads_per_s", "writes_per_s"),
    "request_bytes": ("reads_per_s", "writes_per_s"),
    "read_await_ms": ("reads_per_s",),
    "read_request_bytes": ("reads_per_s",),
    "write_await_ms": ("writes_per_s",),
}


@dataclass(slots=True)
class Row:
    """One line of one sample: where it stands, its values, and the fields that show an error."""

    first: int
    last: int
    values: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Sample:
    """What one report of iostat holds. `whole` is False where the list of disks is damaged or cut."""

    cpu: Row | None = None
    disks: dict[str, Row] = field(default_factory=dict)
    has_disks: bool = False
    whole: bool = False

    @property
    def empty(self) -> bool:
        """Say whether nothing of it was read."""
        return self.cpu is None and not self.disks


def number(printed: str) -> float | None:
    """Return a number as iostat prints it in any locale, or None."""
    return float(printed.replace(",", ".")) if _NUMBER.match(printed) else None


def put(row: Row, columns: dict[str, tuple[str, float]], column: str, printed: str) -> bool:
    """Put one printed value into `row`. Returns False where it is no number at all."""
    target = columns.get(column)
    if target is None:
        return True
    value = number(printed)
    if value is None:
        row.failed.append(target[0])
        return _NO_NUMBER.match(printed) is not None
    value *= target[1]
    row.values[target[0]] = min(value, 1.0) if target[0].endswith("_ratio") else value
    return True


def read_iostat(lines: Lines) -> Reading:
    """Return one `DiskLoad` a disk and one `CpuLoad`: means over the samples after the first."""
    samples: list[Sample] = []
    gaps: list[Gap] = []
    host: str | None = None
    at, begin, end = UNKNOWN, 0, 0
    columns: list[str] = []
    name_last = False
    expect_cpu: list[str] | None = None
    damaged = False
    for begin, line in enumerate(lines.clean):
        parts = line.split()
        if not parts:
            if columns and not damaged:
                samples[-1].whole = True
            columns = []
            continue
        if expect_cpu is not None:
            row = _cpu_row(begin, expect_cpu, parts)
            expect_cpu = None
            if row is None:
                gaps.append(Gap(where=lines.cite(begin), why="not a line of CPU shares"))
                if not _NUMBER.match(parts[0]):
                    break
            else:
                samples[-1].cpu = row
        elif _CPU.match(line):
            expect_cpu = [part.lstrip("%") for part in parts if part.startswith("%")]
            samples.append(Sample())
        elif (header := _columns(parts)) is not None:
            columns, name_last = header
            if not samples or samples[-1].has_disks:
                samples.append(Sample())
            samples[-1].has_disks, damaged = True, False
        elif columns and (len(parts) > 1 and _NUMBER.match(parts[0 if name_last else 1])):
            if not _disk_row(begin, parts, columns, name_last, samples[-1]):
                gaps.append(Gap(where=lines.cite(begin), why="a damaged line of a disk"))
                damaged = True
        elif found := _HEADER.match(line):
            if samples:
                break
            host, at = found["host"], moment_of(found["date"])
        elif found := _TIME.match(line):
            at = _clock(found)
        else:
            break
        end = begin + 1
    facts = mean_facts(lines, samples, host, at)
    return Reading(facts=facts, gaps=tuple(gaps), read_to=end)


def _columns(parts: list[str]) -> tuple[list[str], bool] | None:
    """Return the columns of a head line without the name's, and whether the name stands last."""
    if not any(part in ("tps", "r/s", "rrqm/s", "%util") for part in parts):
        return None
    if any(_NUMBER.match(part) for part in parts):
        return None
    name_last = parts[-1].startswith("Device")
    if not name_last and not parts[0].startswith("Device"):
        return None
    return (parts[:-1] if name_last else parts[1:]), name_last


def _cpu_row(at: int, columns: list[str], parts: list[str]) -> Row | None:
    if len(parts) != len(columns):
        return None
    row = Row(at, at)
    known = {name: (target, 0.01) for name, target in CPU_COLUMNS.items()}
    good = [put(row, known, column, part) for column, part in zip(columns, parts, strict=True)]
    return row if any(good) and row.values else None


def _disk_row(
    at: int, parts: list[str], columns: list[str], name_last: bool, sample: Sample
) -> bool:
    name = parts[-1] if name_last else parts[0]
    values = parts[:-1] if name_last else parts[1:]
    if len(values) != len(columns):
        return False
    row = Row(at, at)
    if not all(
        [put(row, COLUMNS, column, part) for column, part in zip(columns, values, strict=True)]  # noqa: C419 - each must be put
    ):
        return False
    sample.disks[name] = row
    return True


def moment_of(date: str) -> Moment:
    """Return the day that a head line names, to half a day; unknown for a date of another form.

    With slashes the month stands first, as in the C locale, unless it can only be the day.
    """
    day = _day(date)
    if day is None:
        return UNKNOWN
    return Moment(wall=day + DAY_S / 2, error_s=DAY_S / 2)


def _day(date: str) -> float | None:
    found = _DATE.match(date)
    if found is None:
        return None
    one, mark, two, three = int(found[1]), found[2], int(found[3]), int(found[4])
    if len(found[1]) == 4:
        year, month, day = one, two, three
    else:
        year = three if three > 99 else 2000 + three
        month, day = (two, one) if mark == "." or one > 12 else (one, two)
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _clock(found: re.Match[str]) -> Moment:
    day = _day(found["date"])
    if day is None:
        return UNKNOWN
    hours, minutes, seconds = (int(part) for part in found["clock"].split(":"))
    if found["half"]:
        hours = hours % 12 + (12 if found["half"] == " PM" else 0)
    wall = day + hours * 3600 + minutes * 60 + seconds
    zone = found["zone"]
    if zone and zone != "Z":
        shift = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        wall += shift if zone[0] == "-" else -shift
    return Moment(wall=wall, error_s=0.5, zone_known=bool(zone))


def moment_at(printed: str) -> Moment:
    """Return the moment of a time stamp that -t prints, or the unknown one."""
    found = _TIME.match(printed)
    return UNKNOWN if found is None else _clock(found)


def mean_facts(
    lines: Lines, samples: list[Sample], host: str | None, at: Moment
) -> tuple[Fact, ...]:
    """Return the means over the samples after the first, or the only sample as since boot."""
    facts: list[Fact] = []
    samples = [sample for sample in samples if not sample.empty or sample.whole]
    cpu = [sample.cpu for sample in samples if sample.cpu is not None]
    since_boot = len(samples) < 2
    rows = cpu if since_boot or len(cpu) < 2 else cpu[1:]
    if rows:
        values = _mean([row.values for row in rows], {})
        facts.append(
            CpuLoad(
                device=host_ref(host),
                at=at,
                samples=len(rows),
                since_boot=since_boot,
                sources=_sources(lines, rows, tuple(values)),
                absent=_absent(lines, rows, values),
                **values,
            )
        )
    names = dict.fromkeys(name for sample in samples for name in sample.disks)
    later = [sample for sample in samples[1:] if sample.has_disks]
    facts.extend(_disk(lines, name, samples, later, host, at) for name in names)
    return tuple(facts)


def _disk(
    lines: Lines,
    name: str,
    samples: list[Sample],
    later: list[Sample],
    host: str | None,
    at: Moment,
) -> DiskLoad:
    rows = [sample.disks[name] for sample in later if name in sample.disks]
    # A disk that -z shows in the first sample only was idle since; the text has no line of that.
    since_boot = not rows
    count = len(rows) + sum(name not in sample.disks and sample.whole for sample in later)
    if since_boot:
        rows, count = [next(one.disks[name] for one in samples if name in one.disks)], 1
    each = [row.values for row in rows]
    idle = dict.fromkeys(_RATES, count - len(rows))
    values = _mean([_whole(one) for one in each], idle)
    return DiskLoad(
        device=DeviceRef(kind="disk", host=host, label=name, text=lines.name),
        at=at,
        rotational=False if name.startswith("nvme") else None,
        partition=_PARTITION.match(name) is not None,
        samples=count,
        since_boot=since_boot,
        sources=_sources(lines, rows, tuple(values)),
        absent=_absent(lines, rows, values),
        **values,
    )


def _whole(one: dict[str, float]) -> dict[str, float]:
    """Return the values with the mean time and sizes that newer versions leave to the reader."""
    reads, writes = one.get("reads_per_s"), one.get("writes_per_s")
    if reads is None or writes is None or reads + writes <= 0:
        return one
    out = dict(one)
    r_await, w_await = one.get("read_await_ms"), one.get("write_await_ms")
    if "await_ms" not in one and r_await is not None and w_await is not None:
        out["await_ms"] = (reads * r_await + writes * w_await) / (reads + writes)
    r_bytes, w_bytes = one.get("read_bytes_per_s"), one.get("write_bytes_per_s")
    if "request_bytes" not in one and r_bytes is not None and w_bytes is not None:
        out["request_bytes"] = (r_bytes + w_bytes) / (reads + writes)
    if "read_request_bytes" not in one and r_bytes is not None and reads > 0:
        out["read_request_bytes"] = r_bytes / reads
    return out


def _mean(each: list[dict[str, float]], idle: dict[str, int]) -> dict[str, Any]:
    """Return means. Times and sizes count by their requests; `idle` adds samples of 0 to a field."""
    out: dict[str, Any] = {}
    for name in dict.fromkeys(key for one in each for key in one):
        having = [one for one in each if name in one]
        weights = [sum(one.get(w, 0.0) for w in _WEIGHTS.get(name, ())) for one in having]
        total = sum(weights)
        if total > 0:
            pairs = zip(having, weights, strict=True)
            out[name] = sum(one[name] * weight for one, weight in pairs) / total
        else:
            out[name] = sum(one[name] for one in having) / (len(having) + idle.get(name, 0))
    return out


def _sources(lines: Lines, rows: list[Row], fields: tuple[str, ...]) -> tuple[Source, ...]:
    out = [lines.cite(row.first, row.last, *fields) for row in rows[:CITED]]
    if len(rows) > CITED:
        out.append(lines.cite(rows[CITED].first, rows[-1].last, *fields))
    return tuple(out)


def _absent(lines: Lines, rows: list[Row], values: dict[str, Any]) -> tuple[Absent, ...]:
    failed = {name: row for row in rows for name in row.failed if name not in values}
    return tuple(
        Absent(field=name, reason="error", source=lines.cite(row.first, row.last, name))
        for name, row in failed.items()
    )
