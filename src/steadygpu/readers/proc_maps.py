r"""Reads /proc/PID/maps and smaps: the files that a process has mapped.

All kernels since 2.6 print one form; grep over several processes puts /proc/PID/maps: before each line. Code,
and files of which less than 1 MiB is mapped, are passed over. Newlines in paths are printed as \012.
"""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.mount import MappedFile
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Source
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import MIB

_LINE = re.compile(
    r"(?:/proc/(?P<pid>\d{1,10})/s?maps:)?(?P<first>[0-9a-f]{8,16})-(?P<end>[0-9a-f]{8,16}) "
    r"[r-][w-](?P<code>[x-])[ps] [0-9a-f]{8,16} [0-9a-f]{2,4}:[0-9a-f]{2,5} (?P<inode>\d{1,20})(?P<path>\s.{0,4200})?$"
)
_SMAPS = re.compile(r"[A-Z]\w{1,30}:\s+(?:\d{1,15}(?: kB)?|(?:[a-z0-9]{2} ?){1,40})\s*$")
_DELETED = " (deleted)"
CITED = 8  # our choice: mappings of one file cited one by one; the rest is one range
LEAST = MIB  # our choice: smaller mappings are of configuration and locales


class _File:
    """The mappings of one file in one process."""

    def __init__(self) -> None:
        self.size = 0
        self.rows: list[int] = []
        self.code = False


def read_proc_maps(lines: Lines) -> Reading:
    """Return one `MappedFile` for each file and process of which at least 1 MiB is mapped, without code."""
    files: dict[tuple[str, str | None], _File] = {}
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        found = _LINE.match(line) if len(line) <= 5000 else None
        if found is None:
            if read_to and len(line) <= 200 and _SMAPS.match(line):
                read_to = at + 1
                continue
            break
        read_to = at + 1
        path = (found["path"] or "").strip().removesuffix(_DELETED)
        if not path.startswith("/"):
            continue
        one = files.setdefault((path, found["pid"]), _File())
        one.size += max(0, int(found["end"], 16) - int(found["first"], 16))
        one.code = one.code or found["code"] == "x"
        one.rows.append(at)
    facts: list[Fact] = [
        MappedFile(
            device=host_ref(), path=path, pid=int(pid) if pid else None, mapped_bytes=one.size,
            sources=_sources(lines, one.rows),
        )
        for (path, pid), one in files.items()
        if not one.code and one.size >= LEAST
    ]  # fmt: skip
    return Reading(facts=tuple(facts), read_to=read_to)


def _sources(lines: Lines, rows: list[int]) -> tuple[Source, ...]:
    out = [lines.cite(row) for row in rows[:CITED]]
    if len(rows) > CITED:
        out.append(lines.cite(rows[CITED], rows[-1]))
    return tuple(out)
