"""What AMD cards tell that others do not: driver events, the link it holds, errors, pages, peers."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdgpuEvent:
    """A message of the amdgpu driver. `what` is a word of `catalog.amdgpu`; `device` is the host where no card is named.

    `ring` is the ring (or hub) named, `process` and `pid` whom the driver names, `block` the RAS block in
    lower case, `errors` the count printed (RAS errors, saved bad pages), `limit` the threshold printed
    beside it. `vmid` and `pasid` name the address space of a page fault; 0 is the driver's own.
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("what", "ring", "says")

    device: DeviceRef
    at: Moment = UNKNOWN
    what: str
    says: str = ""
    ring: str | None = None
    process: str | None = None
    pid: int | None = None
    block: str | None = None
    errors: int | None = None
    limit: int | None = None
    vmid: int | None = None
    pasid: int | None = None
    count: int = 1
    last_at: Moment = UNKNOWN
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DpmLink:
    """The link of a card as amdgpu's power control holds it: GT/s per lane and lanes, between slot and card.

    A Radeon behind a switch of its own shows only that inner link in its PCI function; this is the outer one.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    speed_gts: float | None = None
    width: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdRasCounters:
    """Errors that a card counted over all its blocks since the driver was loaded.

    `deferred` errors are marked as poison and not consumed: neither corrected nor uncorrectable.
    """

    nature: ClassVar[Nature] = "counter"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    correctable: int | None = None
    uncorrectable: int | None = None
    deferred: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdBadPages:
    """Memory pages of a card: taken out of use, waiting to be, and those that could not be reserved."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    retired: int | None = None
    pending: int | None = None
    unreservable: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdPeer:
    """How `device` reaches `peer` by amd-smi: `link_type` is XGMI or PCIE, `link_status` ENABLED or DISABLED."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("peer",)

    device: DeviceRef
    at: Moment = UNKNOWN
    peer: DeviceRef
    link_type: str | None = None
    link_status: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
