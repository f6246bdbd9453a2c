"""What AMD cards tell that others do not: driver events, RAS counters, bad pages, links between cards."""

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
class AmdRas:
    """Errors that the RAS of a card counted since the driver was loaded, in one block (umc, gfx, sdma) or in "total".

    `deferred` are poisoned data that nobody has used yet: neither corrected nor uncorrected.
    """

    nature: ClassVar[Nature] = "counter"
    key: ClassVar[tuple[str, ...]] = ("block",)

    device: DeviceRef
    at: Moment = UNKNOWN
    block: str
    corrected: int | None = None
    uncorrected: int | None = None
    deferred: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdBadPages:
    """How many memory pages a card has taken out of use, will take out with the next reset, and could not."""

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
class AmdLinkType:
    """How an AMD card reaches `peer`: "xgmi" or "pcie"."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("peer",)

    device: DeviceRef
    at: Moment = UNKNOWN
    peer: DeviceRef
    path: str
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdLinkLevels:
    """The link levels that the driver of an AMD card lists (pp_dpm_pcie): GT/s per lane, lanes.

    This is the link of the card's own upstream port. `top_*` is the highest level of the list, which is what
    both ends settled on.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    speed_gts: float | None = None
    width: int | None = None
    top_speed_gts: float | None = None
    top_width: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
