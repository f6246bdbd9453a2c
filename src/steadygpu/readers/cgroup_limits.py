"""Reads files of cgroup v2 with their paths: limits of memory and processor time, and how often they were met.

Covers Linux 4.15 to 6.12, as `grep -H .` and `head` print them. Oddities: `max` means no limit; cpu.max is quota
and period in microseconds; a file without its path says nothing of whose it is and is not taken.
"""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.memory import CgroupLimit
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_FILE = (
    r"(?P<path>/sys/fs/cgroup(?:/[^\s:]{1,300})?)/(?P<file>memory\.(?:max|current|events)|cpu\.max)"
)
_LINE = re.compile(rf"{_FILE}:(?P<value>\S.{{0,60}}?)\s*$")
_TITLE = re.compile(rf"==> {_FILE} <==\s*$")
_VALUE = re.compile(r"(?:max|\d{1,17}|[a-z_]{1,20} \d{1,15}|(?:max|\d{1,15}) \d{1,15})\s*$")
_EVENTS = {"max": "at_max_count", "oom_kill": "oom_kill_count"}


def read_cgroup_limits(lines: Lines) -> Reading:
    """Return one record for each group."""
    drafts: dict[str, Draft] = {}
    title: re.Match[str] | None = None
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        short = line[:600]
        if found := _TITLE.match(short):
            title = found
        elif found := _LINE.match(short):
            _take(drafts.setdefault(found["path"], Draft(lines)), found["file"], found["value"], at)
        elif title is not None and _VALUE.match(short):
            _take(drafts.setdefault(title["path"], Draft(lines)), title["file"], short.strip(), at)
        else:
            break
        read_to = at + 1
    facts: list[Fact] = []
    for path, draft in drafts.items():
        draft.values["path"] = path.removeprefix("/sys/fs/cgroup") or "/"
        facts += draft.record(CgroupLimit, host_ref())
    return Reading(facts=tuple(facts), read_to=read_to)


def _take(draft: Draft, file: str, value: str, at: int) -> None:
    words = value.split()
    numbers = [int(word) for word in words if re.fullmatch(r"\d{1,17}", word, re.ASCII)]
    if file == "memory.max" and len(words) == 1 and (numbers or words[0] == "max"):
        draft.take("memory_limited", bool(numbers), at)
        if numbers:
            draft.take("memory_max_bytes", numbers[0], at)
    elif file == "memory.current" and len(words) == len(numbers) == 1:
        draft.take("memory_bytes", numbers[0], at)
    elif file == "memory.events" and len(words) == 2 and len(numbers) == 1 and words[0] in _EVENTS:
        draft.take(_EVENTS[words[0]], numbers[0], at)
    elif file == "cpu.max" and len(words) == 2 and numbers and numbers[-1] > 0:
        draft.take("cpu_limited", len(numbers) == 2, at)
        if len(numbers) == 2:
            draft.take("cpus", numbers[0] / numbers[1], at)
