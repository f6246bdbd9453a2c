"""What tests under load measured: burns, copies and collectives."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnResult:
    """What a burn test that checks its results saw on one card.

    `errors` counts wrong results, `faulty` is the tool's own verdict at the end, `died` says that the worker of the
    card ended early. `early_*` and `late_*` are medians over the first and the last quarter of its rates; the first
    rate holds the start-up and counts in neither. None where there were too few.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    errors: int | None = None
    faulty: bool | None = None
    died: bool | None = None
    done_ratio: float | None = None
    early_gflops: float | None = None
    late_gflops: float | None = None
    early_temp_c: float | None = None
    late_temp_c: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRate:
    """How fast memory was copied. `direction` is h2d, d2h, d2d (inside the card) or p2p (with `peer`).

    `how` is pinned, pageable, or of nvbandwidth the name of its test. `size_bytes` is None where the tool does not
    print it.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ("tool", "direction", "how", "size_bytes", "peer")

    device: DeviceRef
    at: Moment = UNKNOWN
    tool: str
    direction: str
    how: str
    peer: DeviceRef | None = None
    size_bytes: int | None = None
    bytes_per_s: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveRate:
    """One row of a collective benchmark: bus bandwidth at one size and how many values came out wrong.

    `wrong` is None where nothing was checked, or where an older version prints the largest deviation instead.
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("size_bytes", "in_place")

    device: DeviceRef
    at: Moment = UNKNOWN
    size_bytes: int
    in_place: bool
    op: str | None = None
    ranks: int | None = None
    bus_bytes_per_s: float | None = None
    wrong: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveRun:
    """The end of a collective benchmark: how many values were out of bounds, and its mean bus bandwidth.

    `checked` says whether results were validated at all.
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    op: str | None = None
    ranks: int | None = None
    checked: bool | None = None
    out_of_bounds: int | None = None
    mean_bus_bytes_per_s: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
