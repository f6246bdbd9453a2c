"""Reads lsmod and /proc/modules: the loaded kernel modules.

kmod prints a head and four columns in all versions; /proc/modules has six and no head.
"""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.driver import KernelModule, ModuleListing
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines

WHOLE_FROM = 20  # our choice: no running kernel with modules has fewer, no filter for a driver leaves as many

_HEAD = re.compile(r"Module\s+Size\s+Used by\s*$")
_LSMOD = re.compile(
    r"(?P<name>\w{1,64}) +(?P<size>\d{1,12}) +(?P<used>-?\d{1,9})(?: +(?P<by>[\w,.\[\]-]{1,4000}))?\s*$",
    re.ASCII,
)
_PROC = re.compile(
    r"(?P<name>\w{1,64}) (?P<size>\d{1,12}) (?P<used>-?\d{1,9}) (?P<by>-|[\w,\[\]-]{1,4000}) "
    r"(?P<state>Live|Loading|Unloading) 0x[0-9a-f]{1,16}(?: \([A-Z]{1,8}\))?\s*$",
    re.ASCII,
)


def read_lsmod(lines: Lines) -> Reading:
    """Return the modules and whether the listing is whole: a listing without its head may be filtered.

    /proc/modules has no head; it counts as whole from 20 modules on, which no filter for a driver leaves.
    """
    facts: list[Fact] = []
    read_to = rows = 0
    headed = proc = False
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if _HEAD.match(line):
            if headed or rows:
                break
            headed = True
        elif len(line) <= 5000 and (found := _PROC.match(line) or _LSMOD.match(line)):
            state = found.groupdict().get("state")
            proc = proc or state is not None
            by = found["by"]
            used_by = tuple(n for n in by.split(",") if n) if by and by != "-" else ()
            facts.append(
                KernelModule(
                    device=host_ref(), name=found["name"], size_bytes=int(found["size"]),
                    use_count=int(found["used"]), used_by=used_by,
                    state=state.lower() if state else None, sources=(lines.cite(at),),
                )
            )  # fmt: skip
            rows += 1
        else:
            break
        read_to = at + 1
    if read_to == 0:
        return Reading()
    complete = lines.filtered is None and rows > 0 and (headed or (proc and rows >= WHOLE_FROM))
    facts.append(
        ModuleListing(
            device=host_ref(), count=rows, complete=complete,
            sources=(lines.cite(0, read_to - 1),),
        )
    )  # fmt: skip
    return Reading(facts=tuple(facts), read_to=read_to)
