"""Reads what vmstat prints: shares of processor time in intervals.

Covers procps 3.2 to 4.0, -w, -t, -a, -n. Oddities: the first row tells the time since boot unless -y was
given, which the text does not show, so it is never taken for an interval; shares are whole per cent.
"""

import re
from dataclasses import replace

from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.iostat import moment_at
from steadygpu.readers.mpstat import cpu_load

_GROUPS = re.compile(r"(?:--)?procs(?:--)? -{2,30}memory-{2,30}(?: -{1,30}[a-z]{2,10}-{1,30})*\s*$")
_COLUMNS = re.compile(r" *r +b +(?:swpd|free)\b.* us +sy +id\b")
_ROW = re.compile(r" *\d{1,15}(?: +\d{1,15}){9,19}(?: +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)?\s*$")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$")
_NAMES = {
    "us": "user_ratio", "sy": "system_ratio", "id": "idle_ratio", "wa": "iowait_ratio",
    "st": "steal_ratio",
}  # fmt: skip


def read_vmstat(lines: Lines) -> Reading:
    """Return the mean over the rows after the first, or the first as since boot."""
    columns: list[str] = []
    rows: list[tuple[int, dict[str, float]]] = []
    read_to = 0
    zone = False
    at_last = UNKNOWN
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 1000:
            break
        if _COLUMNS.match(line):
            columns = line.split()
            zone = columns[-1] in ("UTC", "GMT")
        elif columns and _ROW.match(line):
            shares = _shares(columns, line)
            if shares:
                rows.append((at, shares))
                at_last = _moment(line, zone_known=zone)
        elif not _GROUPS.match(line):
            break
        read_to = at + 1
    if not rows:
        return Reading(read_to=read_to)
    only = len(rows) == 1
    fact = cpu_load(lines, rows if only else rows[1:], None, at_last, since_boot=only)
    return Reading(facts=(fact,), read_to=read_to)


def _shares(columns: list[str], line: str) -> dict[str, float]:
    """Return the shares of a row; none where it has fewer numbers than the head has columns."""
    parts = line.split()
    known = columns[: columns.index("id") + 1]
    known += [c for c in columns[len(known) :] if c in ("wa", "st", "gu")]
    if len(parts) < len(known):
        return {}
    return {
        _NAMES[name]: min(int(word) / 100, 1.0)
        for name, word in zip(known, parts, strict=False)
        if name in _NAMES and word.isdecimal()
    }


def _moment(line: str, *, zone_known: bool) -> Moment:
    found = _STAMP.search(line)
    at = moment_at(found[0].strip()) if found else UNKNOWN
    return replace(at, zone_known=zone_known) if at != UNKNOWN else at
