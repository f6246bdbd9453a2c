"""Reads /proc/meminfo and meminfo of NUMA nodes: memory of the host and of each node.

Covers Linux 2.6.32 to 6.12, as cat, grep and head print the files. Oddities: kB means 1024 bytes; a node has
FilePages in place of Cached and Buffers, and no estimate of what is available before 6.x.
"""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.memory import HostMemory
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import KIB
from steadygpu.readers.smi_word import Draft

_LINE = re.compile(
    r"(?:/\S{1,200}meminfo:)?(?:Node (?P<node>\d{1,4}) )?(?P<name>[A-Z]\w{1,40}(?:\(\w{1,10}\))?):"
    r"\s+(?P<count>\d{1,12})(?: kB)?\s*$"
)
_TITLE = re.compile(r"==> /\S{1,200}/meminfo <==\s*$")
_FIELDS = {
    "MemTotal": "total_bytes", "MemFree": "free_bytes", "MemAvailable": "available_bytes",
    "Buffers": "buffers_bytes", "Cached": "cached_bytes", "FilePages": "cached_bytes",
    "Shmem": "shmem_bytes", "SReclaimable": "reclaimable_bytes", "SwapTotal": "swap_total_bytes",
    "SwapFree": "swap_free_bytes",
}  # fmt: skip


def read_meminfo(lines: Lines) -> Reading:
    """Return one record for the host and one for each node that the text names."""
    drafts: dict[int | None, Draft] = {}
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        found = _LINE.match(line[:400])
        if found is None:
            if _TITLE.match(line[:400]):
                read_to = at + 1
                continue
            break
        node = int(found["node"]) if found["node"] else None
        field = _FIELDS.get(found["name"])
        draft = drafts.setdefault(node, Draft(lines))
        if field is not None:
            if field in draft.values:
                break  # the same file again, at another time
            draft.take(field, int(found["count"]) * KIB, at)
        read_to = at + 1
    facts: list[Fact] = []
    for node, draft in drafts.items():
        if node is not None:
            draft.values["node"] = node
        facts += draft.record(HostMemory, host_ref())
    return Reading(facts=tuple(facts), read_to=read_to if facts else 0)
