"""Memory of a host, by NUMA node."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaNode:
    """One NUMA node: bytes, its CPUs as printed, and distances to the nodes in order."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("node",)

    device: DeviceRef
    at: Moment = UNKNOWN
    node: int
    cpus: tuple[int, ...] | None = None
    size_bytes: int | None = None
    free_bytes: int | None = None
    distances: tuple[int, ...] | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
