"""Values that several rules need, derived from records."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from steadygpu.evidence.moment import UNKNOWN, Moment, before, seconds_between
from steadygpu.evidence.reading import Fact


def span(events: Sequence[Fact]) -> tuple[Moment, Moment]:
    """Return when the first of these events began and the last one ended; UNKNOWN where none has a time.

    An event that stands for many prints ends at its `last_at`. Of times that cannot be compared the
    one that comes first in `events` counts.
    """
    starts = [e.at for e in events if e.at != UNKNOWN]
    ends = [_end(e) for e in events if _end(e) != UNKNOWN]
    first, last = starts[0] if starts else UNKNOWN, ends[0] if ends else UNKNOWN
    for at in starts:
        first = at if before(at, first) else first
    for at in ends:
        last = at if before(last, at) else last
    return first, last


def _end(event: Fact) -> Moment:
    last: Moment = getattr(event, "last_at", UNKNOWN)
    return event.at if last == UNKNOWN else last


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What one counter did between two readings of the same device.

    `rise` is what was counted between them (after a reset the counter starts at zero, so the value then
    read counts whole). `span_s` is None where the moments cannot be compared. `resets` counts readings that were
    smaller than the one before.
    """

    field: str
    first: Fact
    last: Fact
    rise: int
    span_s: float | None
    resets: int

    def words(self) -> str:
        """Return the values, the span, the rate and any reset, as people say it."""
        said = f"{getattr(self.first, self.field)} to {getattr(self.last, self.field)}"
        if self.span_s:
            said += f" in {span_words(self.span_s)}"
            if self.rise:
                said += f" ({rate_words(self.rise, self.span_s)})"
        if self.resets:
            said += f", reset in between{f' {self.resets} times' if self.resets > 1 else ''}"
        return said


def growth(readings: Sequence[Fact], field: str) -> Growth | None:
    """Return what the counter `field` did over `readings` of one device, in order of time.

    None where fewer than two of them tell it at two moments that differ.
    """
    known = [r for r in sorted(readings, key=_when) if getattr(r, field) is not None]
    if len(known) < 2 or known[0].at == known[-1].at:
        return None
    rise = resets = 0
    for one, following in pairwise(known):
        was, now = getattr(one, field), getattr(following, field)
        resets += now < was
        rise += now if now < was else now - was
    return Growth(
        field=field, first=known[0], last=known[-1], rise=rise,
        span_s=seconds_between(known[0].at, known[-1].at), resets=resets,
    )  # fmt: skip


def _when(reading: Fact) -> float:
    at = reading.at
    return at.wall if at.wall is not None else at.boot_s or 0.0


def over(first: Moment, last: Moment, count: int) -> str:
    """Return in what time and how often something came, or nothing where that cannot be told."""
    apart = seconds_between(first, last)
    if apart is None or apart < 1 or count < 2:
        return ""
    return f" in {span_words(apart)} ({rate_words(count, apart)})"


def span_words(seconds: float) -> str:
    """Return a span of time in the largest unit of which there are two."""
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def rate_words(count: float, seconds: float) -> str:
    """Return how often in the smallest unit of time in which it happens at least once."""
    for size, unit in ((1, "a second"), (60, "a minute"), (3600, "an hour")):
        if count * size >= seconds:
            return f"{count * size / seconds:.3g} {unit}"
    return f"{count * 86_400 / seconds:.3g} a day"
