"""A foreign text: the bytes as they came, and the lines that readers see."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from steadygpu.evidence.source import Source, cut_quote

BODY_LIMIT = 8_000_000  # HOUSE.md, Records: a larger body is a handle that yields blocks
BLOCK = 1_000_000

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


@dataclass(frozen=True, slots=True)
class Body:
    """What a text holds: `data` when it is small, else the place it is read from.

    `path` is read anew by each call of `blocks`; `stream` (a pipe) can be read once.
    """

    data: bytes | None = None
    path: Path | None = None
    stream: BinaryIO | None = None
    head: bytes = b""

    def blocks(self, size: int = BLOCK) -> Iterator[bytes]:
        """Yield the bytes in blocks of about `size`. Raises OSError where the file cannot be read."""
        if self.data is not None:
            yield from (self.data[at : at + size] for at in range(0, len(self.data), size))
        elif self.path is not None:
            with self.path.open("rb") as file:
                while block := file.read(size):
                    yield block
        elif self.stream is not None:
            if self.head:
                yield self.head
            while block := self.stream.read(size):
                yield block


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One foreign text as it was given.

    `name` is its path below the input. `kind` is a row of `readers.kinds`, or None while nobody has
    recognised it. `host` and `host_from` are what stood around it (a prompt, a line prefix).
    `taken` is the wall time at which it was captured, when the capture says so. `filtered` tells
    what grep, head or tail took away, or None. `unread` says why the body could not be had, or None.
    `container` says that a command in a container printed it.
    """

    name: str
    body: Body
    kind: str | None = None
    host: str | None = None
    host_from: Source | None = None
    taken: float | None = None
    filtered: str | None = None
    unread: str | None = None
    container: bool = False


@dataclass(slots=True)
class Lines:
    """The lines of one text as readers see them.

    `raw` holds each line as it stood, without its line end; `clean` the same without colours and
    without the prefix that a log collector put before each line. `numbers` are the line numbers in
    the file, counted from 1. Readers match on `clean` and cite with `cite`, which quotes `raw`.
    """

    name: str
    raw: list[str]
    clean: list[str]
    numbers: list[int] | range
    host: str | None = None
    filtered: str | None = None
    container: bool = False

    def __len__(self) -> int:
        """Return how many lines there are."""
        return len(self.clean)

    def cite(self, first: int, last: int | None = None, *fields: str) -> Source:
        """Return the source for lines `first` to `last` (positions in `clean`, both included)."""
        last = first if last is None else last
        return Source(
            name=self.name,
            first=self.numbers[first],
            last=self.numbers[last],
            quote=cut_quote(self.raw[first : last + 1]),
            fields=fields,
        )

    def part(self, first: int, end: int) -> "Lines":
        """Return lines `first` up to, not including, `end`; numbers stay those of the file."""
        return Lines(
            name=self.name,
            raw=self.raw[first:end],
            clean=self.clean[first:end],
            numbers=self.numbers[first:end],
            host=self.host,
            filtered=self.filtered,
            container=self.container,
        )

    @property
    def in_container(self) -> bool:
        """Say whether a command in a container printed these lines, or their name says so."""
        return self.container or "container" in self.name.lower()


def lines_of(name: str, content: str, *, filtered: str | None = None) -> Lines:
    """Return the lines of `content`: ends are LF or CRLF; colours are dropped from `clean`."""
    raw = content.split("\n")
    if raw and not raw[-1]:
        raw.pop()
    if "\r" in content:
        raw = [line.removesuffix("\r") for line in raw]
    clean = [_ANSI.sub("", line) for line in raw] if "\x1b" in content else list(raw)
    return Lines(name=name, raw=raw, clean=clean, numbers=range(1, len(raw) + 1), filtered=filtered)


def decode(data: bytes) -> str:
    """Return the text of `data`: UTF-8 or UTF-16 by its mark or its zero bytes; never raises.

    Bytes that are no text become U+FFFD.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        return data[3:].decode("utf-8", "replace")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").removeprefix("\ufeff")
    sample = data[:200]
    if len(sample) >= 4 and sample.count(0) * 3 > len(sample):
        return data.decode(
            "utf-16-le" if sample[1::2].count(0) > sample[::2].count(0) else "utf-16-be", "replace"
        )
    return data.decode("utf-8", "replace")
