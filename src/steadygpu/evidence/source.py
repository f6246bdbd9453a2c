"""Where a fact stands, what could not be read, and why a field is absent."""

from dataclasses import dataclass
from typing import Literal

QUOTE_LIMIT = 400  # HOUSE.md, Outward contracts: a quote is at most 400 characters

Unit = Literal["line", "byte", "row", "sample"]
Reason = Literal["not_supported", "not_permitted", "error", "not_printed", "cut", "disagree"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a fact stands.

    `name` is the path below the input. `first` and `last` count from 1 and include both ends.
    `quote` is what stood there, character for character; where several lines stood it holds the
    first of them that fit into 400 characters. `fields` names the fields of the record that this
    place proves; empty means the whole record.
    """

    name: str
    unit: Unit = "line"
    first: int = 1
    last: int = 1
    quote: str = ""
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What could not be read, why, and what to run or paste to close it (`ask`, or None)."""

    where: Source
    why: str
    ask: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """Why `field` of a record is None.

    `not_supported`: the device has no such thing. `not_permitted`: more rights are needed.
    `error`: the tool printed an error in its place (ERR!, Unknown Error, GPU is lost).
    `not_printed`: the text does not hold it. `cut`: the text ends before it. `disagree`: two
    texts of one moment contradict each other.
    """

    field: str
    reason: Reason
    source: Source | None = None
    ask: str | None = None


def cut_quote(lines: list[str]) -> str:
    """Return the first lines that fit into the quote limit; a first line too long is cut itself."""
    if not lines:
        return ""
    kept, length = [lines[0][:QUOTE_LIMIT]], len(lines[0])
    for line in lines[1:]:
        length += len(line) + 1
        if length > QUOTE_LIMIT:
            break
        kept.append(line)
    return "\n".join(kept)
