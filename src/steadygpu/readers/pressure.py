"""Reads pressure files: how long tasks waited for processors, memory and disks.

Covers Linux 4.20 to 6.12, /proc/pressure and cgroup v2, as grep, head and cat print them. Oddities: the lines
do not say which resource they are about, only the path before, above or after the prompt does; /proc/pressure/cpu
has no `full` before 5.13.
"""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.memory import Pressure
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_PATH = r"(?P<path>/proc/pressure/(?:cpu|io|memory|irq)|/sys/fs/cgroup/(?:\S{0,300}/)?(?:cpu|io|memory|irq)\.pressure)"
_LINE = re.compile(
    rf"(?:{_PATH}:)?(?P<what>some|full) avg10=(?P<a>\d{{1,3}}\.\d{{2}}) avg60=(?P<b>\d{{1,3}}\.\d{{2}}) "
    r"avg300=(?P<c>\d{1,3}\.\d{2})(?: total=\d{1,20})?\s*$"
)
_TITLE = re.compile(rf"==> {_PATH} <==\s*$")
_COMMAND = re.compile(rf".{{0,200}}\bcat {_PATH}\s*$")


def read_pressure(lines: Lines) -> Reading:
    """Return one record for each resource and group. Lines without a path are a gap."""
    drafts: dict[str, Draft] = {}
    gaps: list[Gap] = []
    path: str | None = None
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        short = line[:600]
        if found := _TITLE.match(short) or (_COMMAND.match(short) if at == 0 else None):
            path = found["path"]
        elif found := _LINE.match(short):
            place = found["path"] or path
            if place is None:
                gaps.append(
                    Gap(
                        where=lines.cite(at),
                        why="no path tells which resource it is",
                        ask="grep -H . /proc/pressure/*",
                    )
                )
            else:
                _take(drafts.setdefault(place, Draft(lines)), found, at)
        else:
            break
        read_to = at + 1
    facts: list[Fact] = []
    for place, draft in drafts.items():
        name = place.rpartition("/")[2]
        draft.values["resource"] = name.partition(".")[0]
        if "." in name:
            draft.values["cgroup"] = place.removeprefix("/sys/fs/cgroup").rpartition("/")[0] or "/"
        facts += draft.record(Pressure, host_ref())
    return Reading(facts=tuple(facts), gaps=tuple(gaps), read_to=read_to)


def _take(draft: Draft, found: "re.Match[str]", at: int) -> None:
    for group, span in (("a", 10), ("b", 60), ("c", 300)):
        field = f"{found['what']}_{span}_ratio"
        if field not in draft.values:
            draft.take(field, min(float(found[group]) / 100, 1.0), at)
