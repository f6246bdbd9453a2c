"""Reads what mpstat and sar -u print: shares of processor time, since boot or in intervals.

Covers sysstat 8 to 12.7: 12 and 24 hour clocks, clocks with words, decimal commas, -P ALL, -A, averages.
Oddities: without an interval the head and its row carry one clock and tell the time since boot; %irq and
%soft, which iostat counts as %system, are columns of their own here; lines of single CPUs are passed over.
"""

import re
from dataclasses import dataclass, field

from steadygpu.evidence.cpu import CpuLoad
from steadygpu.evidence.device import host_ref
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.source import Source
from steadygpu.evidence.text import Lines
from steadygpu.readers.iostat import CITED, moment_at, moment_of, number

_HEADER = re.compile(
    r"Linux \S{1,200} \((?P<host>[^()\s]{1,100})\)\s+(?P<date>\S.{0,40}?)\s+_\w{1,20}_\s*\(\d{1,6} \S{1,20}\)\s*$"
)
_LINE = re.compile(
    r"(?:(?P<clock>\d{1,2}[^\w\s.,]\d\d[^\w\s.,]\d\d(?P<half> [AP]M)?|\d{1,2}[^\W\d]\d\d[^\W\d]\d\d[^\W\d])"
    r"|(?P<mean>[^\W\d]{2,20} ?[:\uff1a]))\s+(?P<rest>\S.*)$"
)
_CPU = re.compile(r"all|-1|\d{1,5}")
_TABLE = re.compile(r"(?:CPU|NODE|SOCK|CORE)\b")
COLUMNS = {
    "%usr": "user_ratio", "%user": "user_ratio", "%nice": "nice_ratio", "%sys": "system_ratio",
    "%system": "system_ratio", "%irq": "system_ratio", "%soft": "system_ratio",
    "%iowait": "iowait_ratio", "%steal": "steal_ratio", "%idle": "idle_ratio",
}  # fmt: skip


@dataclass(slots=True)
class _Seen:
    """What was read so far. `samples` are (line, shares); `boot` is the one since boot."""

    samples: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    boot: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    means: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    columns: list[str] | None = None
    head_clock: str | None = None
    clock: str | None = None
    half: bool = False


def read_mpstat(lines: Lines) -> Reading:
    """Return the mean over the intervals, or what is printed as the average, or the time since boot."""
    seen = _Seen()
    host: str | None = None
    date = ""
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if found := _HEADER.match(line[:500]):
            if read_to:
                break
            host, date = found["host"], found["date"]
        elif len(line) > 20_000 or (row := _LINE.match(line)) is None or not _take(seen, row, at):
            break
        read_to = at + 1
    if not (seen.samples or seen.boot or seen.means):
        return Reading(read_to=read_to if seen.columns is not None else 0)
    rows = seen.samples or seen.means or seen.boot
    fact = cpu_load(
        lines, rows, host, _moment(date, seen.clock), since_boot=rows is seen.boot,
        also=seen.means if rows is seen.samples else (),
    )  # fmt: skip
    return Reading(facts=(fact,), read_to=read_to)


def _take(seen: _Seen, row: "re.Match[str]", at: int) -> bool:
    """Take a head or a row of numbers. Returns False for any other line."""
    parts = row["rest"].split()
    if _TABLE.match(parts[0]) and len(parts) > 1 and number(parts[1]) is None:
        seen.columns = parts[1:] if parts[0] == "CPU" and "%idle" in parts else []
        seen.head_clock = row["clock"]
        return True
    if seen.columns is None or not _CPU.fullmatch(parts[0]):
        return False
    if seen.columns and parts[0] == "all" and len(parts) == len(seen.columns) + 1:
        shares: dict[str, float] = {}
        for column, printed in zip(seen.columns, parts[1:], strict=True):
            share, name = number(printed), COLUMNS.get(column)
            if share is not None and name is not None:
                shares[name] = min(shares.get(name, 0.0) + share / 100, 1.0)
        if shares:
            seen.clock = row["clock"] or seen.clock
            whole = seen.boot if row["clock"] == seen.head_clock else seen.samples
            (seen.means if row["mean"] else whole).append((at, shares))
    return True


def _moment(date: str, clock: str | None) -> Moment:
    exact = moment_at(f"{date} {clock}") if clock else UNKNOWN
    return exact if exact != UNKNOWN else moment_of(date)


def cpu_load(
    lines: Lines,
    rows: list[tuple[int, dict[str, float]]],
    host: str | None,
    at: Moment,
    *,
    since_boot: bool,
    also: "list[tuple[int, dict[str, float]]] | tuple[()]" = (),
) -> CpuLoad:
    """Return the mean over rows of shares. `also` are lines that say the same again."""
    names = dict.fromkeys(name for _, shares in rows for name in shares)
    means = {}
    for name in names:
        values = [shares[name] for _, shares in rows if name in shares]
        means[name] = sum(values) / len(values)
    places = [at for at, _ in (*rows, *also)]
    sources: list[Source] = [lines.cite(one, one, *names) for one in places[:CITED]]
    if len(places) > CITED:
        sources.append(lines.cite(places[CITED], places[-1], *names))
    return CpuLoad(
        device=host_ref(host), at=at, samples=len(rows), since_boot=since_boot, sources=tuple(sources),
        user_ratio=means.get("user_ratio"), nice_ratio=means.get("nice_ratio"),
        system_ratio=means.get("system_ratio"), iowait_ratio=means.get("iowait_ratio"),
        steal_ratio=means.get("steal_ratio"), idle_ratio=means.get("idle_ratio"),
    )  # fmt: skip
