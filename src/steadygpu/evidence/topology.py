"""Which cards, NICs and NUMA nodes lie beside each other."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuAffinity:
    """The CPUs and NUMA nodes beside a card. `cpus` is a list like "0-31,64-95".

    `node_known` is False where the tool prints N/A for the node, True where it prints one.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    cpus: str | None = None
    numa_node: int | None = None
    numa_nodes: tuple[int, ...] | None = None
    node_known: bool | None = None
    gpu_numa_id: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerPath:
    """How `device` reaches `peer`: NV<n>, PIX, PXB, PHB, NODE, SYS, SOC or X, as the matrix prints."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("peer",)

    device: DeviceRef
    at: Moment = UNKNOWN
    peer: DeviceRef
    path: str
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
