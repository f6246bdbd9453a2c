"""Virtual cards that a host gives to its machines."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class VgpuInstance:
    """One virtual card of `device`, as its host sees it. `vgpu` is the number the host's driver gave it.

    `type_name` is what the guest sees as its card, `vm_name` the machine (cut in the table), `license` what the
    driver prints of the guest's licence, `guest_driver` the guest's version. `busy_ratio` is a share of the card.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ("vgpu",)

    device: DeviceRef
    at: Moment = UNKNOWN
    vgpu: int
    type_name: str | None = None
    vm_name: str | None = None
    uuid: str | None = None
    guest_driver: str | None = None
    license: str | None = None
    busy_ratio: float | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
