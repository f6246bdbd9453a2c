"""Reads `numactl -H`: CPUs, memory and distances of the NUMA nodes. numactl 2.0.9 to 2.0.18 print one form."""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.memory import NumaNode
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import MIB
from steadygpu.readers.smi_word import Draft

_HEAD = re.compile(r"available: (?P<count>\d{1,4}) nodes?(?: \([\d,-]+\))?\s*$")
_NODE = re.compile(
    r"node (?P<node>\d{1,4}) (?P<what>cpus|size|free):(?P<rest>[\d ]{0,9000}?)(?P<unit> MB)?\s*$"
)
_DISTANCES = re.compile(r"node distances:\s*$")
_NODES = re.compile(r"node\s+(?:\d{1,4}\s+)*\d{1,4}\s*$")
_ROW = re.compile(r"\s*(?P<node>\d{1,4}):(?P<row>(?:\s+\d{1,4}){1,4096})\s*$")


def read_numactl(lines: Lines) -> Reading:
    """Return one record for each node; sizes are in MB and mean MiB, as numactl counts them."""
    drafts: dict[int, Draft] = {}
    read_to = 0
    head = distances = False
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 10_000:
            break
        if _HEAD.match(line):
            if read_to:
                break
            head = True
        elif found := _NODE.match(line):
            draft = drafts.setdefault(int(found["node"]), Draft(lines))
            _take(draft, found, at)
        elif _DISTANCES.match(line):
            distances = True
        elif distances and (found := _ROW.match(line)):
            draft = drafts.setdefault(int(found["node"]), Draft(lines))
            draft.take("distances", tuple(int(n) for n in found["row"].split()), at)
        elif not (distances and _NODES.match(line)):
            break
        read_to = at + 1
    facts = []
    for node, draft in drafts.items():
        draft.values["node"] = node
        facts += draft.record(NumaNode, host_ref())
    return Reading(facts=tuple(facts), read_to=read_to if head or facts or distances else 0)


def _take(draft: Draft, found: "re.Match[str]", at: int) -> None:
    words = found["rest"].split()
    if found["what"] == "cpus":
        draft.take("cpus", tuple(int(w) for w in words if len(w) < 7), at)
    elif len(words) == 1 and len(words[0]) < 13:
        draft.take(f"{found['what']}_bytes", int(words[0]) * MIB, at)
