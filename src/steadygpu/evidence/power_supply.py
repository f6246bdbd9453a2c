"""What feeds a host with power."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSupplies:
    """The power supplies of a host as its firmware describes them (SMBIOS type 39).

    `fitted` counts those that are not said to be missing or unplugged, `total_w` is what these can give together;
    None where the firmware does not tell it of each.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    fitted: int | None = None
    total_w: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
