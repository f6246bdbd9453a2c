"""Adds up the events of a trace: times covered by intervals, kernels by length and name, long host events.

What is kept does not grow with the trace: intervals that touch are joined, and beyond a limit the smallest
gaps between them are joined too, which the sum knows of.
"""

import heapq
import re
from array import array
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from math import exp, log

from steadygpu.evidence.trace import LONG_OP_S, SHORT_KERNEL_S

INTERVALS = 120_000  # our choice: at 16 bytes each some 2 MB for one sum
LONG_EVENTS = 10_000  # our choice: host events kept to tell what ran in a gap, the longest ones
NAMES = 10_000  # our choice: different names told apart
US = 1e-6
SHORT_US = round(SHORT_KERNEL_S * 1e6, 3)
LONG_US = round(LONG_OP_S * 1e6, 3)

_STRONG = re.compile(
    r"gemm|xmma|wgmma|cutlass|cublas|fmha|flash|Cijk_|mma_|matmul(?!_bias)|sdpa", re.IGNORECASE
)
_STREAM = re.compile(
    r"gemv|elementwise|reduc|softmax|norm|bn_|copy|cat(?:array|_)|index|gather|scatter|embedding|transpose"
    r"|fill|dropout|adam|multi_tensor|foreach|triton_(?:poi|red|per)|nchwtonhwc|nhwctonchw|cast|gelu|silu|relu"
    r"|pool|memset|rotary|rope|stream|axpy",
    re.IGNORECASE,
)
_WEAK = re.compile(r"conv|winograd|cudnn|miopen|implicit|attention|dot_kernel", re.IGNORECASE)
_COMM = re.compile(r"nccl|rccl|all_?reduce|all_?gather|reduce_?scatter|nvshmem", re.IGNORECASE)


@lru_cache(maxsize=NAMES)
def sort_of(kernel: str) -> str:
    """Return what a kernel does by its name: "comm", "matrix", "streaming" or "other"."""
    for name, words in (
        ("comm", _COMM),
        ("matrix", _STRONG),
        ("streaming", _STREAM),
        ("matrix", _WEAK),
    ):
        if words.search(kernel):
            return name
    return "other"


class Covered:
    """Intervals in microseconds, joined where they touch."""

    def __init__(self) -> None:
        """Begin with none."""
        self.starts, self.ends = array("d"), array("d")
        self.limit = INTERVALS
        self.joined_us = 0.0

    def add(self, start: float, end: float) -> None:
        """Add one interval."""
        if self.ends and self.starts[-1] <= start <= self.ends[-1]:
            self.ends[-1] = max(self.ends[-1], end)
            return
        self.starts.append(start)
        self.ends.append(end)
        if len(self.starts) > self.limit:
            self._join()
            if len(self.starts) > INTERVALS // 2:
                self._coarsen()

    def _join(self) -> None:
        order = sorted(range(len(self.starts)), key=self.starts.__getitem__)
        starts, ends = array("d"), array("d")
        for at in order:
            start, end = self.starts[at], self.ends[at]
            if ends and start <= ends[-1]:
                ends[-1] = max(ends[-1], end)
            else:
                starts.append(start)
                ends.append(end)
        self.starts, self.ends = starts, ends

    def _coarsen(self) -> None:
        """Join across the smaller half of the gaps."""
        gaps = sorted(s - e for s, e in zip(self.starts[1:], self.ends, strict=False))
        most = gaps[len(gaps) // 2]
        starts, ends = array("d", self.starts[:1]), array("d", self.ends[:1])
        for start, end in zip(self.starts[1:], self.ends[1:], strict=True):
            if start - ends[-1] <= most:
                self.joined_us += start - ends[-1]
                ends[-1] = end
            else:
                starts.append(start)
                ends.append(end)
        self.starts, self.ends = starts, ends

    def within(self, first: float, last: float) -> float:
        """Return how many microseconds between `first` and `last` are covered."""
        self._join()
        pairs = zip(self.starts, self.ends, strict=True)
        total = sum(max(0.0, min(e, last) - max(s, first)) for s, e in pairs)
        return max(0.0, total - self.joined_us)

    def gaps(self, first: float, last: float, count: int) -> list[tuple[float, float]]:
        """Return the longest stretches between `first` and `last` that are not covered, longest first."""
        self._join()
        edges: list[tuple[float, float]] = []
        at = first
        for start, end in zip(self.starts, self.ends, strict=True):
            if start > at and at < last:
                edges.append((at, min(start, last)))
            at = max(at, end)
        if at < last:
            edges.append((at, last))
        return heapq.nlargest(count, edges, key=lambda e: (e[1] - e[0], -e[0]))


@dataclass(slots=True)
class Place:
    """The lines (counted from 0) between the first and the last event of a sort, and the first one's quote."""

    first: int = -1
    last: int = -1
    quote: str = ""

    def take(self, first: int, last: int, quote: str) -> None:
        """Widen to these lines."""
        if self.first < 0 or first < self.first:
            self.first, self.quote = first, quote
        self.last = max(self.last, last)


class Lengths:
    """How long events were: count, sum, what is short, and the median to 2 per cent."""

    def __init__(self) -> None:
        """Begin with none."""
        self.count = self.short = 0
        self.total_us = self.short_us = 0.0
        self.buckets: Counter[int] = Counter()

    def add(self, us: float) -> None:
        """Count one event."""
        self.count += 1
        self.total_us += us
        if us < SHORT_US:
            self.short += 1
            self.short_us += us
        self.buckets[round(log(max(us, 1e-3)) * 50)] += 1

    def median_s(self) -> float | None:
        """Return the median in seconds, or None of nothing."""
        seen = 0
        for bucket in sorted(self.buckets):
            seen += self.buckets[bucket]
            if seen * 2 >= self.count:
                return exp(bucket / 50) * US
        return None


class LongEvents:
    """The longest host events, to tell what ran in a gap."""

    def __init__(self) -> None:
        """Begin with none."""
        self.heap: list[tuple[float, int, float, str, int, int, str]] = []
        self.names: dict[str, str] = {}
        self.seen = 0

    def add(self, start: float, us: float, name: str, first: int, last: int, quote: str) -> None:
        """Keep the event if it is among the longest."""
        self.seen += 1
        full = len(self.heap) >= LONG_EVENTS
        if full and us <= self.heap[0][0]:
            return
        if len(self.names) < NAMES:
            name = self.names.setdefault(name, name)
        item = (us, self.seen, start, name, first, last, quote if us >= LONG_US else "")
        if full:
            heapq.heapreplace(self.heap, item)
        else:
            heapq.heappush(self.heap, item)

    def during(self, first: float, last: float) -> tuple[str, Place | None] | None:
        """Return what covered at least half of the time between: the innermost event, else a name's events."""
        half = (last - first) / 2
        best: tuple[float, int, float, str, int, int, str] | None = None
        by_name: Counter[str] = Counter()
        for item in self.heap:
            us, _, start, name = item[:4]
            inside = min(start + us, last) - max(start, first)
            if inside <= 0:
                continue
            by_name[name] += inside  # type: ignore[assignment]
            if inside >= half and (best is None or us < best[0]):
                best = item
        if best is not None:
            return best[3], Place(best[4], best[5], best[6])
        name, total = max(by_name.items(), key=lambda kv: (kv[1], kv[0]), default=("", 0))
        return (name, None) if name and total >= half else None


@dataclass(slots=True)
class Card:
    """The sums of one card."""

    busy: Covered = field(default_factory=Covered)
    kernels: Covered = field(default_factory=Covered)
    lengths: Lengths = field(default_factory=Lengths)
    by_sort_us: Counter[str] = field(default_factory=Counter)
    copies_us: Counter[str] = field(default_factory=Counter)
    pageable_us: float = 0.0
    h2d_bytes: int = 0
    occupancy_us: float = 0.0
    occupied: float = 0.0
    events: int = 0
    place: Place = field(default_factory=Place)
    kernel_place: Place = field(default_factory=Place)
    copy_place: Place = field(default_factory=Place)
