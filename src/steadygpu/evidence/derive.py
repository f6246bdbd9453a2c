"""Values that several rules need, derived from records."""

from collections.abc import Sequence

from steadygpu.evidence.moment import UNKNOWN, Moment, before
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
