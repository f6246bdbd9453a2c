"""What a profiler saw of one run: the host's side, each card, the card's longest waits, and summed times."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source

SHORT_KERNEL_S = 10e-6  # our choice: about what one launch costs the host under a profiler
LONG_OP_S = 1e-3  # our choice: an operation of a millisecond hides all cost of calling it


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHost:
    """The host's side of a trace: one process over `span_s` seconds.

    `*_ratio` are shares of the span in which at least one such event was open: `loader_wait_ratio` the
    next batch of a DataLoader, `sync_ratio` calls that wait for a card, `launch_ratio` and `alloc_ratio`
    calls that launch and allocate (summed), `long_op_ratio` operations of at least LONG_OP_S whose kind is
    mostly so long; `longest_op` names the innermost of these that took most time at once. `short_op_ratio`
    is the share of operations, by count, under SHORT_KERNEL_S. `cards` counts the cards that did anything.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    span_s: float | None = None
    cards: int | None = None
    steps: int | None = None
    op_count: int | None = None
    short_op_ratio: float | None = None
    long_op_ratio: float | None = None
    longest_op: str | None = None
    loader_wait_ratio: float | None = None
    sync_ratio: float | None = None
    sync_count: int | None = None
    item_count: int | None = None
    launch_ratio: float | None = None
    launch_count: int | None = None
    alloc_ratio: float | None = None
    alloc_count: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCard:
    """One card in a trace, over the `span_s` seconds that the trace tells of.

    `busy_ratio` is the share of the span in which a kernel or a copy ran on any stream, `kernel_ratio`
    that of kernels alone. `short_kernel_ratio` is the share of kernels, by count, under SHORT_KERNEL_S
    and `short_kernel_time_ratio` the same by time. `matrix_ratio`, `streaming_ratio` and `comm_ratio` are
    shares of kernel time by the names of kernels: matrix products; element-wise work, reductions and
    copies, which memory bounds; collective communication. `h2d/d2h/d2d_ratio` are copy times against the
    span, `pageable_ratio` the share of host-to-device time from pageable memory. `occupancy_ratio` is the
    mean of the estimate that the profiler prints with kernels.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    span_s: float | None = None
    busy_ratio: float | None = None
    kernel_ratio: float | None = None
    kernel_count: int | None = None
    short_kernel_ratio: float | None = None
    short_kernel_time_ratio: float | None = None
    median_kernel_s: float | None = None
    matrix_ratio: float | None = None
    streaming_ratio: float | None = None
    comm_ratio: float | None = None
    occupancy_ratio: float | None = None
    h2d_ratio: float | None = None
    d2h_ratio: float | None = None
    d2d_ratio: float | None = None
    h2d_bytes: int | None = None
    pageable_ratio: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceGap:
    """One of the longest stretches in which a card did nothing; `rank` 1 is the longest.

    `start_s` counts from the start of the span. `during` names what the host did for at least half of it:
    the innermost event that covers so much, or the name whose events do; None where none does.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ("rank",)

    device: DeviceRef
    at: Moment = UNKNOWN
    rank: int
    start_s: float | None = None
    length_s: float | None = None
    during: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStat:
    """One row of a profiler's summary: a kernel, an API call or a memory operation with its times.

    `run` names the recording where the text does. `table` is "kernel", "api", "memory", "os" or "range".
    `total_bytes` is given by summaries of sizes.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ("run", "table", "name")

    device: DeviceRef
    at: Moment = UNKNOWN
    run: str | None = None
    table: str
    name: str
    total_s: float | None = None
    count: int | None = None
    mean_s: float | None = None
    median_s: float | None = None
    total_bytes: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
