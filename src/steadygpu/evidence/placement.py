"""Where a process runs and where its memory lies."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessPlacement:
    """Where process `pid` may run and where its memory lies.

    `cpus` and `nodes` are what it may use, as lists ("0-15,32"); `node_bytes` is (node, bytes) of what it has.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("pid",)

    device: DeviceRef
    at: Moment = UNKNOWN
    pid: int
    name: str | None = None
    cpus: str | None = None
    nodes: str | None = None
    node_bytes: tuple[tuple[int, int], ...] | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


def numbers_of(listed: str) -> frozenset[int]:
    """Return the numbers of a kernel list ("0-3,8"); empty where it is none. Numbers of 4 digits at most."""
    out: set[int] = set()
    for part in listed.split(","):
        first, _, last = part.strip().partition("-")
        if not (
            first.isdecimal()
            and len(first) < 5
            and (not last or (last.isdecimal() and len(last) < 5))
        ):
            return frozenset()
        out.update(range(int(first), int(last or first) + 1))
    return frozenset(out)
