"""Reads /proc/PID/status and `taskset -cp PID`: the processors and NUMA nodes that a process may use.

Covers Linux 2.6.26 to 6.12 as cat and grep -H print the file, and util-linux 2.20 to 2.40. Oddities: a line by
itself does not say whose it is, so only those count that follow Pid or have a path.
"""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.placement import ProcessPlacement
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_LINE = re.compile(
    r"(?:/proc/(?P<path>\d{1,9})/status:)?(?P<name>[A-Za-z]\w{1,40}):(?:\s+(?P<value>\S.{0,2000}?))?\s*$"
)
_AFFINITY = re.compile(
    r"pid (?P<pid>\d{1,9})'s current affinity list: (?P<cpus>[\d,-]{1,2000})\s*$"
)
_LIST = re.compile(r"\d{1,5}(?:[-,]\d{1,5}){0,400}$")
_FIELDS = {"Cpus_allowed_list": "cpus", "Mems_allowed_list": "nodes"}


def read_proc_status(lines: Lines) -> Reading:
    """Return one record for each process of which a list was printed."""
    drafts: dict[int, Draft] = {}
    pid: int | None = None
    name: tuple[str, int] | None = None
    began = False
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        found = _LINE.match(line[:2100])
        if found is None or (
            name is not None and at == name[1] + 1 and found["name"] not in ("Umask", "State")
        ):
            break
        if found["path"]:
            pid = int(found["path"])
        elif not began and found["name"] != "Name":
            break
        began = True
        value = found["value"] or ""
        if found["name"] == "Name":
            if found["path"] is None:
                pid, name = None, (value, at)
        elif found["name"] == "Pid" and value.isdecimal() and len(value) < 10:
            pid = int(value)
        if pid is not None:
            _take(
                drafts.setdefault(pid, Draft(lines)),
                found["name"],
                value,
                at,
                name if not found["path"] else None,
            )
        read_to = at + 1
    if name is not None and read_to == name[1] + 1:
        read_to = name[1]
    facts: list[Fact] = []
    for one, draft in drafts.items():
        draft.values["pid"] = one
        facts += draft.record(ProcessPlacement, host_ref())
    return Reading(facts=tuple(facts), read_to=read_to)


def _take(draft: Draft, field: str, value: str, at: int, name: "tuple[str, int] | None") -> None:
    if name is not None and "name" not in draft.values:
        draft.take("name", name[0], name[1])
    if field in _FIELDS and _FIELDS[field] not in draft.values and _LIST.match(value):
        draft.take(_FIELDS[field], value, at)


def read_taskset(lines: Lines) -> Reading:
    """Return one record for each line."""
    facts: list[Fact] = []
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        found = _AFFINITY.match(line[:2100])
        if found is None:
            break
        facts.append(
            ProcessPlacement(
                device=host_ref(),
                pid=int(found["pid"]),
                cpus=found["cpus"],
                sources=(lines.cite(at, at, "cpus"),),
            )
        )
        read_to = at + 1
    return Reading(facts=tuple(facts), read_to=read_to)
