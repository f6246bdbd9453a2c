"""Takes the events of a PyTorch trace for what they are: kernels, copies, operations, calls and waits."""

import re
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from steadygpu.readers.trace_scan import Event
from steadygpu.readers.trace_sums import (
    LONG_US,
    NAMES,
    Card,
    Covered,
    Lengths,
    LongEvents,
    Place,
    sort_of,
)

CARDS = 256  # our choice: more devices than a process can have
_KINDS = {
    "kernel": "kernel", "gpu_memcpy": "copy", "memcpy": "copy", "gpu_memset": "set", "memset": "set",
    "cpu_op": "op", "operator": "op", "cuda_runtime": "call", "cuda_driver": "call", "runtime": "call",
    "hip_runtime": "call", "hip_driver": "call", "user_annotation": "range", "python_function": "python",
}  # fmt: skip
_LOADER = re.compile(r"enumerate\(DataLoader\)#\w*\.__next__|\w*DataLoaderIter\.__next__")
_STEP = re.compile(r"ProfilerStep\s?#")
_SYNC = re.compile(
    r"(?:cuda|hip)(?:Stream|Device|Event)Synchronize|cu(?:Stream|Ctx|Event)Synchronize"
)
_LAUNCH = re.compile(
    r"(?:cuda|hip)(?:Launch\w*|Graph\w*Launch|ExtLaunch\w*|ModuleLaunch\w*|ExtModuleLaunch\w*)|cuLaunch\w*|cudaGraphLaunch"
)
_ALLOC = re.compile(
    r"(?:cuda|hip)(?:Malloc|Free|HostAlloc|HostMalloc|MemCreate)\w*|cuMem(?:Alloc|Free|Create)\w*"
)
_ITEM = ("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero")
_WAY = re.compile(r"(HtoD|DtoH|DtoD|PtoP|HostToDevice|DeviceToHost|DeviceToDevice)")
_WAYS = {"HostToDevice": "HtoD", "DeviceToHost": "DtoH", "DeviceToDevice": "DtoD", "PtoP": "DtoD"}


@dataclass(slots=True)
class Op:
    """The operations of one name: how many, how many of them long, when these ran, and the longest one."""

    count: int = 0
    long: int = 0
    times: Covered | None = None
    longest: tuple[float, float] = (0.0, 0.0)

    def take(self, start: float, us: float) -> None:
        """Count one operation."""
        self.count += 1
        if us >= LONG_US:
            self.long += 1
            self.times = self.times or Covered()
            self.times.add(start, start + us)
            self.longest = max(self.longest, (us, start))


@dataclass(slots=True)
class Tally:
    """The sums of one trace. Times are in microseconds, as the trace has them."""

    cards: dict[int, Card] = field(default_factory=dict)
    steps: int = 0
    first_us: float = float("inf")
    last_us: float = float("-inf")
    first_step: float = float("inf")
    last_step: float = float("-inf")
    ops: Lengths = field(default_factory=Lengths)
    by_name: dict[str, Op] = field(default_factory=dict)
    loader: Covered = field(default_factory=Covered)
    sync: Covered = field(default_factory=Covered)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("sync", "item", "launch", "alloc"), 0)
    )
    launch_us: float = 0.0
    alloc_us: float = 0.0
    host: LongEvents = field(default_factory=LongEvents)
    places: dict[str, Place] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Add one event; what is no timed event of a known category is passed over."""
        body = event.body
        kind = _KINDS.get(str(body.get("cat", "")).lower())
        start, us = _number(body.get("ts")), _number(body.get("dur"))
        name = body.get("name")
        if body.get("ph") != "X" or kind is None or start is None or us is None:
            return
        if us < 0 or not isinstance(name, str) or not name:
            return
        name = name[:200]
        self.first_us, self.last_us = min(self.first_us, start), max(self.last_us, start + us)
        if kind in ("kernel", "copy", "set"):
            self._card(kind, name, start, us, event)
        else:
            self._host(kind, name, start, us, event)

    def _card(self, kind: str, name: str, start: float, us: float, event: Event) -> None:
        args = event.body.get("args")
        args = args if isinstance(args, dict) else {}
        number = next(
            (
                n
                for n in (args.get("device"), event.body.get("pid"))
                if isinstance(n, int) and 0 <= n < CARDS
            ),
            0,
        )
        card = self.cards.setdefault(int(number), Card())
        card.events += 1
        card.place.take(event.first, event.last, event.quote)
        card.busy.add(start, start + us)
        if kind == "copy":
            found = _WAY.search(name)
            way = _WAYS.get(found.group(), found.group()) if found else "other"
            card.copies_us[way] += us  # type: ignore[assignment]
            card.copy_place.take(event.first, event.last, event.quote)
            if way == "HtoD":
                card.pageable_us += us if "Pageable" in name else 0.0
                size = args.get("bytes")
                card.h2d_bytes += size if isinstance(size, int) and 0 <= size < 1 << 50 else 0
            return
        card.kernels.add(start, start + us)
        if kind == "kernel":
            card.kernel_place.take(event.first, event.last, event.quote)
            card.lengths.add(us)
            card.by_sort_us[sort_of(name)] += us  # type: ignore[assignment]
            occupied = _number(args.get("est. achieved occupancy %"))
            if occupied is not None and 0 <= occupied <= 100:
                card.occupancy_us += us
                card.occupied += us * occupied / 100

    def _host(self, kind: str, name: str, start: float, us: float, event: Event) -> None:
        self._at("host", event)
        if _STEP.match(name):
            self.steps += 1
            self.first_step, self.last_step = (
                min(self.first_step, start),
                max(self.last_step, start + us),
            )
            self._at("steps", event)
            return
        self.host.add(start, us, name, event.first, event.last, event.quote)
        if _LOADER.fullmatch(name):
            self.loader.add(start, start + us)
            self._at("loader", event)
        elif kind == "op":
            self.ops.add(us)
            self._at("ops", event)
            if name in self.by_name or len(self.by_name) < NAMES:
                self.by_name.setdefault(name, Op()).take(start, us)
            if name in _ITEM[:1]:
                self.counts["item"] += 1
        elif kind == "call":
            self._call(name, start, us, event)

    def _call(self, name: str, start: float, us: float, event: Event) -> None:
        if _SYNC.match(name):
            self.counts["sync"] += 1
            self.sync.add(start, start + us)
            self._at("sync", event)
        elif _LAUNCH.match(name):
            self.counts["launch"] += 1
            self.launch_us += us
            self._at("launch", event)
        elif _ALLOC.match(name):
            self.counts["alloc"] += 1
            self.alloc_us += us
            self._at("alloc", event)

    def long_ops(self) -> tuple[Covered, tuple[float, float, str] | None]:
        """Return the time of long operations, and the longest: its start, its end and its name.

        Only those count whose kind is mostly long: on a crowded host any operation may lose its processor
        in the middle and look long once.
        """
        whole = Covered()
        longest: tuple[float, float, str] | None = None
        for name, op in self.by_name.items():
            if op.long * 2 < op.count or op.times is None:
                continue
            for start, end in zip(op.times.starts, op.times.ends, strict=True):
                whole.add(start, end)
            if longest is None or op.longest[0] > longest[1] - longest[0]:
                longest = (op.longest[1], op.longest[1] + op.longest[0], name)
        return whole, longest

    def _at(self, what: str, event: Event) -> None:
        self.places.setdefault(what, Place()).take(event.first, event.last, event.quote)


def _number(value: Any) -> float | None:
    """Return a JSON number or a number in quotes, or None for what is none or out of all bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value[:40] if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) and abs(number) < 1e17 else None
