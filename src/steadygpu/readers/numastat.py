"""Reads `numastat -p`: the memory of processes on each NUMA node.

Covers numactl 2.0.8 to 2.0.18: one process by kind of memory, several as a table, -c. Oddities: sizes are in MB
and mean MiB; many nodes break into several tables of one head; names are cut and may lose their bracket.
"""

import re
from dataclasses import dataclass, field

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.placement import ProcessPlacement
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import MIB

_HEAD = re.compile(
    r"\s?Per-node process memory usage \(in MBs\)(?: for PID (?P<pid>\d{1,9}) \((?P<name>.{1,64}?)\))?\s*$"
)
_COLUMNS = re.compile(
    r"\s*(?:PID\s+)?(?:Node \d{1,4}\s+){1,64}(?:Total)?\s*$|\s*(?:PID\s+)?(?:Node \d{1,4}\s+){0,64}(?:Node \d{1,4}|Total)\s*$"
)
_NODE = re.compile(r"Node (\d{1,4})")
_RULE = re.compile(r"[\s-]*-{4,}[\s-]*$")
_NUMBERS = r"(?P<numbers>(?:\s+\d{1,9}(?:\.\d{1,3})?){1,65})\s*$"
_TOTAL = re.compile("(?P<what>Total|Huge|Heap|Stack|Private)" + _NUMBERS)
_PROCESS = re.compile(r"\s?(?P<pid>\d{1,9}) \((?P<name>[^()]{1,40}?)\)?" + _NUMBERS)


@dataclass(slots=True)
class _Seen:
    """One process: its name, bytes by node, and the lines that prove them."""

    name: str
    places: list[int]
    sizes: dict[int, int] = field(default_factory=dict)


def read_numastat(lines: Lines) -> Reading:
    """Return one record for each process."""
    seen: dict[int, _Seen] = {}
    pid: int | None = None
    head: int | None = None
    nodes: list[int] = []
    columns = read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        short = line[:2000]
        if found := _HEAD.match(short):
            if found["pid"] and int(found["pid"]) in seen:
                break
            head, nodes = at, []
            pid = int(found["pid"]) if found["pid"] else None
            if pid is not None:
                seen[pid] = _Seen(found["name"], [at])
        elif head is None:
            break
        elif _COLUMNS.match(short):
            nodes, columns = [int(n) for n in _NODE.findall(short)], at
        elif found := _TOTAL.match(short):
            if found["what"] == "Total" and pid is not None:
                _take(seen[pid], nodes, found["numbers"], columns, at)
        elif pid is None and nodes and (found := _PROCESS.match(short)):
            one = seen.setdefault(int(found["pid"]), _Seen(found["name"], []))
            _take(one, nodes, found["numbers"], columns, at)
        elif not _RULE.match(short):
            break
        read_to = at + 1
    return Reading(facts=_facts(lines, seen), read_to=read_to)


def _take(one: _Seen, nodes: list[int], printed: str, columns: int, at: int) -> None:
    numbers = printed.split()
    if len(numbers) not in (len(nodes), len(nodes) + 1):
        return
    for node, number in zip(nodes, numbers, strict=False):
        one.sizes[node] = round(float(number) * MIB)
    one.places += [columns, at]


def _facts(lines: Lines, seen: dict[int, _Seen]) -> tuple[Fact, ...]:
    return tuple(
        ProcessPlacement(
            device=host_ref(),
            pid=pid,
            name=one.name.strip(),
            node_bytes=tuple(sorted(one.sizes.items())),
            sources=tuple(lines.cite(at, at, "node_bytes") for at in dict.fromkeys(one.places)),
        )
        for pid, one in seen.items()
        if one.sizes
    )
