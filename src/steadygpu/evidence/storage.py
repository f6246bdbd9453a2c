"""Disks and what they do."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskLoad:
    """What a disk did: rates a second, times in milliseconds, `busy_ratio` 0 to 1, over `samples` samples.

    A mean over the samples after the first, which is since boot; `since_boot` says that there was
    no other. `queue` is the mean queue length (aqu-sz, avgqu-sz); `request_bytes` the mean size.
    `rotational` comes from the name only where the name tells (nvme is not).
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    busy_ratio: float | None = None
    queue: float | None = None
    await_ms: float | None = None
    read_await_ms: float | None = None
    write_await_ms: float | None = None
    reads_per_s: float | None = None
    writes_per_s: float | None = None
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    request_bytes: float | None = None
    read_request_bytes: float | None = None
    rotational: bool | None = None
    partition: bool = False
    samples: int = 1
    since_boot: bool = False
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
