"""What a job wrote before it ended."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class OomMessage:
    """A request for card memory that PyTorch could not serve, with its own account of the card. All in bytes.

    `unallocated_bytes` is what PyTorch holds of the card and nobody uses. `process_bytes` is what this
    process holds in all, `others_bytes` the sum over the other processes that the line names. The
    number of the card is the process's own and means nothing where CUDA_VISIBLE_DEVICES is set.
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("tried_bytes",)

    device: DeviceRef
    at: Moment = UNKNOWN
    backend: str | None = None
    rank: int | None = None
    tried_bytes: int | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    allowed_bytes: int | None = None
    process_bytes: int | None = None
    others_bytes: int | None = None
    allocated_bytes: int | None = None
    unallocated_bytes: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSetting:
    """How many threads a library may start in each process. `by` is torchrun or environment."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("variable",)

    device: DeviceRef
    at: Moment = UNKNOWN
    variable: str
    threads: int | None = None
    by: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
