"""What a reader returns."""

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.source import Absent, Gap, Source

Nature = Literal["state", "gauge", "counter", "event"]


class Fact(Protocol):
    """What every evidence record has.

    `nature`: a state is true until changed, a gauge at its moment, a counter grows (resets are
    said), an event happened once. `key` names the fields that tell apart several records of one
    class on one device (a link number, an instance); empty means one record a device.
    """

    nature: ClassVar[Nature]
    key: ClassVar[tuple[str, ...]]

    @property
    def device(self) -> DeviceRef:
        """Return whom the record is about."""
        ...

    @property
    def at(self) -> Moment:
        """Return when it was true."""
        ...

    @property
    def absent(self) -> tuple[Absent, ...]:
        """Return why fields are None."""
        ...

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return where it stands."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The facts of one text, what could not be read, and how far the text was understood.

    `read_to` is the position (in `Lines.clean`) of the first line that does not belong to this
    output; for a log of blocks it is the count of lines.
    """

    facts: tuple[Fact, ...] = ()
    gaps: tuple[Gap, ...] = ()
    read_to: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEvidence:
    """All that is known about one host: what assemble returns and rules see.

    `host` is None where no text names it; `host_from` is where the name stands. `taken` is the
    latest moment seen. `given` names the record classes that the given texts could have held.
    `kinds` are the text kinds that were read.
    """

    host: str | None
    host_from: Source | None = None
    taken: Moment
    facts: tuple[Fact, ...] = ()
    given: frozenset[str] = frozenset()
    kinds: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
