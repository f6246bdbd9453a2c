"""The links between a card and its root port, one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from steadygpu.evidence.device import short_bdf
from steadygpu.evidence.link import PciDevice, PcieLink
from steadygpu.evidence.source import Source

LONGEST = 32  # functions on one path; a listing that names more has a loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One link of the path: the device below, the port above, and what each end tells of the link.

    `lower` or `upper` is None where no text tells that end. `below` sources prove that the one
    stands under the other.
    """

    lower_bdf: str
    upper_bdf: str
    lower: PcieLink | None
    upper: PcieLink | None
    below: tuple[Source, ...] = ()

    @property
    def words(self) -> str:
        """Return the two ends as people say them."""
        return f"between {short_bdf(self.upper_bdf)} and {short_bdf(self.lower_bdf)}"

    def has(self, field: str) -> float | None:
        """Return what the link has now: both ends say the same, the lower one is asked first."""
        for end in (self.lower, self.upper):
            value: float | None = getattr(end, field) if end is not None else None
            if value is not None:
                return value
        return None

    def can(self, field: str) -> float | None:
        """Return what both ends can, the lesser of their `max_` values; None where one is unread."""
        both = [getattr(e, field) if e is not None else None for e in (self.lower, self.upper)]
        known = [value for value in both if value is not None]
        return min(known) if len(known) == 2 else None

    def proof(self, *fields: str) -> tuple[Source, ...]:
        """Return the lines of both ends that tell these fields, and those that order the two."""
        found = [
            source for end in (self.lower, self.upper) if end is not None
            for source in end.sources if not source.fields or any(f in source.fields for f in fields)
        ]  # fmt: skip
        return tuple(dict.fromkeys((*found, *self.below)))


def segments(
    bdf: str | None, links: Sequence[PcieLink], devices: Sequence[PciDevice]
) -> tuple[Segment, ...]:
    """Return the links from the device at `bdf` up to the root port, nearest first.

    A switch has an upper and a lower port; what joins these two lies inside it and is no link. Empty
    where no text tells a port above.
    """
    above = {d.device.bdf: d for d in devices if d.device.bdf is not None}
    told = {one.device.bdf: one for one in links if one.device.bdf is not None}
    out: list[Segment] = []
    while bdf is not None and len(out) < LONGEST:
        own = above.get(bdf)
        if own is None or own.parent is None:
            break
        below = tuple(s for s in own.sources if "parent" in s.fields)
        out.append(
            Segment(
                lower_bdf=bdf, upper_bdf=own.parent, below=below,
                lower=told.get(bdf), upper=told.get(own.parent),
            )
        )  # fmt: skip
        port = above.get(own.parent)
        bdf = port.parent if port is not None else None  # the switch's upper port, if there is one
    return tuple(out)


def whole(path: Sequence[Segment], devices: Sequence[PciDevice]) -> bool:
    """Say whether the path ends where it may: not at a port of a switch, which has another above it."""
    if not path:
        return True
    top = next((d for d in devices if d.device.bdf == path[-1].upper_bdf), None)
    return top is None or (top.parent is None and top.port_type not in ("upstream", "downstream"))
