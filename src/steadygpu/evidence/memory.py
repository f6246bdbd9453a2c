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


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMemory:
    """Memory of the host, or of the NUMA node `node`, in bytes.

    `cached_bytes` is the page cache with what is shared (`shmem_bytes`), which cannot be dropped.
    `available_bytes` is the kernel's own estimate; it has none for a node.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ("node",)

    device: DeviceRef
    at: Moment = UNKNOWN
    node: int | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    available_bytes: int | None = None
    buffers_bytes: int | None = None
    cached_bytes: int | None = None
    shmem_bytes: int | None = None
    reclaimable_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """Shares of time, 0 to 1, in which tasks waited for `resource` (cpu, memory, io, irq).

    `some`: at least one task waited; `full`: all that had work did. Means over 10, 60 and 300 s;
    `cgroup` is the path of the group, or None for the whole host.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ("resource", "cgroup")

    device: DeviceRef
    at: Moment = UNKNOWN
    resource: str
    cgroup: str | None = None
    some_10_ratio: float | None = None
    some_60_ratio: float | None = None
    some_300_ratio: float | None = None
    full_10_ratio: float | None = None
    full_60_ratio: float | None = None
    full_300_ratio: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupLimit:
    """What the control group at `path` may use. A limit is None where it is not printed.

    `memory_limited` and `cpu_limited` are False where the file says `max`. `cpus` is quota over period.
    The counts are since the group was made.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ("path",)

    device: DeviceRef
    at: Moment = UNKNOWN
    path: str
    memory_limited: bool | None = None
    memory_max_bytes: int | None = None
    memory_bytes: int | None = None
    at_max_count: int | None = None
    oom_kill_count: int | None = None
    cpu_limited: bool | None = None
    cpus: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
