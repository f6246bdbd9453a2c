"""Takes the events out of a Chrome trace of any size, one after the other, with bounded memory.

Covers the JSON object form (`"traceEvents": [...]`), the bare array, and a fragment that begins at an event.
A damaged event loses that event; what follows must still look like JSON.
"""

import codecs
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from steadygpu.evidence.source import QUOTE_LIMIT

EVENT_LIMIT = 1_000_000  # our choice: characters; a longer event (a memory snapshot) is passed over
HEAD_LIMIT = 2_000_000  # our choice: what stands before the events
UNZIPPED_LIMIT = 16_000_000_000  # our choice: what a compressed trace may unfold to

_LIST = re.compile(r'"traceEvents"\s*:\s*\[')
_FRAGMENT = re.compile(r'\s*(?:\[\s*)?\{\s*"(?:ph|cat|name|pid|tid|ts)"\s*:')
_NEXT = re.compile(r'\{\s*"(?:ph|cat|name)"\s*:')
_BETWEEN = re.compile(r"[\s,]*")
_JSON_LINE = re.compile(r'\s*(?:["{}\[\],]|-?\d|true\b|false\b|null\b|$)')
_TAIL = re.compile(
    r'\]\s*(?:,\s*"[^"]{0,200}"\s*:\s*(?:"(?:[^"\\]|\\.){0,1000}"|[^\s,{}\[\]"]{1,100})\s*){0,20}\}'
)
_DECODE = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Event:
    """One event with the lines (counted from 0) it stands on and the first of them about as they stood."""

    body: dict[str, Any]
    first: int
    last: int
    quote: str


class Scan:
    """The events of a trace that arrives in pieces of text.

    `head` is what stood before the events. `line` counts the lines passed; after the last event it is the
    line on which the trace ends. `ended` says that the end was there, `stopped` that other text came.
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        """Begin with `pieces`."""
        self.pieces = iter(pieces)
        self.buffer = ""
        self.at = 0
        self.line = 0
        self.head = ""
        self.ended = self.stopped = self.over = False

    def _more(self) -> bool:
        """Fetch a piece and drop what was passed; return whether there was one."""
        piece = next((p for p in self.pieces if p), None)
        if piece is None:
            self.over = True
            return False
        self.buffer = self.buffer[self.at :] + piece
        self.at = 0
        return True

    def _pass(self, to: int) -> None:
        self.line += self.buffer.count("\n", self.at, to)
        self.at = to

    def events(self) -> Iterator[Event]:
        """Yield the events. Raises nothing for what the text holds."""
        if not self._begin():
            return
        indent = ""
        while True:
            between = _BETWEEN.match(self.buffer, self.at)
            assert between is not None
            skipped = between.group()
            indent = skipped.rpartition("\n")[2] if "\n" in skipped else indent + skipped
            self._pass(between.end())
            if self.at == len(self.buffer):
                if not self._more():
                    return
                continue
            sign = self.buffer[self.at]
            if sign == "]":
                self._end()
                return
            found = self._decode() if sign == "{" else None
            if found is None:
                if not self._resume(inside=sign == "{"):
                    return
                indent = ""
                continue
            body, end = found
            first, stop = self.line, self.buffer.find("\n", end, end + QUOTE_LIMIT)
            quote = self.buffer[
                self.at : min(self.at + QUOTE_LIMIT + 50, stop if stop >= 0 else end)
            ]
            if stop < 0 and "\n" in quote:  # the last line may go on
                quote = quote[: quote.rindex("\n")]
            quote = indent[-QUOTE_LIMIT:] + quote
            self._pass(end)
            indent = ""
            if isinstance(body, dict):
                yield Event(body, first, self.line, quote)

    def _begin(self) -> bool:
        while True:
            if fragment := _FRAGMENT.match(self.buffer):
                self._pass(self.buffer.index("{", 0, fragment.end()))
                return True
            if found := _LIST.search(self.buffer):
                self.head = self.buffer[: found.start()]
                self._pass(found.end())
                return True
            if len(self.buffer) > HEAD_LIMIT or not self._more():
                self.stopped = True
                return False

    def _decode(self) -> tuple[Any, int] | None:
        """Return the value that begins here and its end, or None where none does."""
        while True:
            try:
                return _DECODE(self.buffer, self.at)
            except json.JSONDecodeError as error:
                whole = error.pos < len(self.buffer) - 20 and not error.msg.startswith("Unterm")
                if whole or len(self.buffer) - self.at > EVENT_LIMIT or not self._more():
                    return None
            except (ValueError, RecursionError):
                return None

    def _resume(self, *, inside: bool) -> bool:
        """Go to the next event behind a damaged one; return whether there is one before other text.

        `inside` says that a damaged event begins here; else what stands here is other text or a remnant.
        """
        passed = 1
        while True:
            found = _NEXT.search(self.buffer, self.at + passed)
            lost = self.buffer[self.at : found.start() if found else len(self.buffer)]
            rows = lost.split("\n")
            whole = rows if found or self.over else rows[:-1]
            other = next(
                (
                    i
                    for i, row in enumerate(whole)
                    if (i or not inside) and not _JSON_LINE.match(row)
                ),
                None,
            )
            if other is not None:
                self._pass(self.at + sum(len(row) + 1 for row in rows[:other]))
                self.stopped = True
                return False
            if found is not None:
                self._pass(found.start())
                return True
            if len(lost) > EVENT_LIMIT:  # what was looked at need not be kept
                self._pass(self.at + len(lost) - min(len(rows[-1]), 100) - 1)
                passed, inside = 0, True
            if self.over:
                self._pass(len(self.buffer))
                return False
            self._more()

    def _end(self) -> None:
        """Pass the bracket that closes the list, and what closes the object."""
        self.ended = True
        while not (tail := _TAIL.match(self.buffer, self.at)) and len(self.buffer) - self.at < 4000:
            if not self._more():
                break
        self._pass(tail.end() if tail else self.at + 1)

    def rest(self) -> bool:
        """Return whether anything but blanks follows."""
        while not self.buffer[self.at :].strip():
            if not self._more():
                return False
        return True


def text_of(blocks: Iterable[bytes]) -> Iterator[str]:
    """Yield blocks of bytes as text, UTF-8 or UTF-16 by its mark; bytes that are no text become U+FFFD."""
    decoder: codecs.IncrementalDecoder | None = None
    for block in blocks:
        if decoder is None:
            wide = block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")("replace")
        yield decoder.decode(block)


def unzipped(blocks: Iterable[bytes], piece: int = 1_000_000) -> Iterator[bytes]:
    """Yield what gzip data unfolds to, in pieces; ends where the data is cut or damaged."""
    unzip = zlib.decompressobj(wbits=31)
    total = 0
    for block in blocks:
        data = block
        while data and total < UNZIPPED_LIMIT:
            try:
                out = unzip.decompress(data, piece)
            except zlib.error:
                return
            total += len(out)
            if out:
                yield out
            data = unzip.unconsumed_tail
            if unzip.eof:
                data = unzip.unused_data
                unzip = zlib.decompressobj(wbits=31)
