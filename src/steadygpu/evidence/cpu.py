"""Processors of a host and what they do."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuLayout:
    """Sockets, cores and NUMA nodes. `node_cpus` has a list of CPUs for each node."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    architecture: str | None = None
    model: str | None = None
    cpus: int | None = None
    online: str | None = None
    offline: str | None = None
    threads_per_core: int | None = None
    cores_per_socket: int | None = None
    sockets: int | None = None
    numa_nodes: int | None = None
    node_cpus: tuple[tuple[int, str], ...] = ()
    current_mhz: float | None = None
    max_mhz: float | None = None
    min_mhz: float | None = None
    scaling_ratio: float | None = None
    hypervisor: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuLoad:
    """Shares of CPU time, 0 to 1, over `samples` samples; `since_boot` samples decide nothing about now."""

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    user_ratio: float | None = None
    nice_ratio: float | None = None
    system_ratio: float | None = None
    iowait_ratio: float | None = None
    steal_ratio: float | None = None
    idle_ratio: float | None = None
    samples: int = 1
    since_boot: bool = False
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuFrequency:
    """How the clock of processor `cpu` (or of its policy) is chosen, in MHz.

    `min_mhz` and `max_mhz` are what the policy allows, `hardware_max_mhz` what the processor can.
    `preference` is the hint to hardware that chooses its clock by itself.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ("cpu",)

    device: DeviceRef
    at: Moment = UNKNOWN
    cpu: int
    driver: str | None = None
    governor: str | None = None
    preference: str | None = None
    current_mhz: float | None = None
    min_mhz: float | None = None
    max_mhz: float | None = None
    hardware_max_mhz: float | None = None
    boost_active: bool | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
