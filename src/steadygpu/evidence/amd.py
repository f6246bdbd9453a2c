"""What AMD cards tell that others do not: the events of their driver."""

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
