"""What happens to texts on their way: cut, doubled, reversed, prefixed, and numbers that went bad."""

import random
import re
from collections.abc import Callable, Iterator

from hypothesis import strategies as st

_BAD = (
    b"1.2.3", b"N/A", b"ERR!", b"[Unknown Error]", b"-", b"", b"-0", b"nan", b"inf", b"1e999", b"0x",
    b"9" * 5000, b"\xff\xfe", b"\x00", "\u0661\u0662".encode(), b"1,5", b"\xe2\x80\xae7", b"99999999999999999999",
)  # fmt: skip
_NUMBER = re.compile(rb"\d+")
_WORD = re.compile(rb"[A-Za-z_]{3,}")


def with_crlf(body: bytes) -> bytes:
    return body if _wide(body) else body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def with_blank_lines_after(body: bytes) -> bytes:
    return body if _wide(body) else body + b"\n\n\n"


def with_colour(body: bytes) -> bytes:
    """Colour codes around each line, as a terminal log keeps them."""
    if _wide(body):
        return body
    lines = body.rstrip(b"\n").split(b"\n")
    return (
        b"\n".join(b"\x1b[1;32m" + line + b"\x1b[0m" if line.strip() else line for line in lines)
        + b"\n"
    )


def with_byte_order_mark(body: bytes) -> bytes:
    return body if _wide(body) else b"\xef\xbb\xbf" + body


def as_utf16(body: bytes) -> bytes:
    return body if _wide(body) else body.decode().encode("utf-16")


def doubled(body: bytes) -> bytes:
    return body + body


def reversed_lines(body: bytes) -> bytes:
    return b"\n".join(reversed(body.split(b"\n")))


def shuffled(body: bytes) -> bytes:
    lines = body.split(b"\n")
    random.Random(7).shuffle(lines)
    return b"\n".join(lines)


def without_spaces(body: bytes) -> bytes:
    return re.sub(rb"[ \t]+", b" ", body)


def prefixed_by_a_collector(body: bytes) -> bytes:
    return b"\n".join(
        b"2026-02-03T04:05:06.789012345Z stdout F " + line for line in body.split(b"\n")
    )


def prefixed_by_hosts(body: bytes) -> bytes:
    return b"\n".join(b"node-%d: " % (i % 2) + line for i, line in enumerate(body.split(b"\n")))


harmless: tuple[Callable[[bytes], bytes], ...] = (
    with_crlf, with_blank_lines_after, with_colour, with_byte_order_mark, as_utf16,
)  # fmt: skip
broken: tuple[Callable[[bytes], bytes], ...] = (
    doubled, reversed_lines, shuffled, without_spaces, prefixed_by_a_collector, prefixed_by_hosts,
)  # fmt: skip


def cuts(body: bytes, at_most: int = 400) -> Iterator[bytes]:
    """Yield the text cut at every byte; of a long text at `at_most` bytes spread over it."""
    step = max(1, len(body) // at_most)
    for end in range(0, len(body), step):
        yield body[:end]
    for start in range(0, len(body), step * 5):
        yield body[start:]


@st.composite
def damaged(draw: st.DrawFn, texts: list[tuple[str, bytes]]) -> tuple[str, bytes]:
    """Draw a recorded text in which numbers or words were swapped and slices cut out or doubled."""
    name, body = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        how = draw(st.sampled_from(("number", "word", "cut", "double", "bytes", "join")))
        places = [m.span() for m in (_NUMBER if how == "number" else _WORD).finditer(body)]
        if how in ("number", "word") and places:
            start, end = draw(st.sampled_from(places))
            bad = draw(st.sampled_from(_BAD))
            body = body[:start] + bad + body[end:]
            continue
        start = draw(st.integers(0, max(0, len(body) - 1)))
        end = min(len(body), start + draw(st.integers(0, 400)))
        if how == "cut":
            body = body[:start] + body[end:]
        elif how == "double":
            body = body[:end] + body[start:end] + body[end:]
        elif how == "bytes":
            body = body[:start] + draw(st.binary(max_size=12)) + body[start:]
        else:
            body = body[:start] + body[start:].replace(b"\n", b" ", 3)
    return name, body


def _wide(body: bytes) -> bool:
    return body.startswith((b"\xff\xfe", b"\xfe\xff"))
