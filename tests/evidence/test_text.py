import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadygpu.evidence.source import QUOTE_LIMIT, Source, cut_quote
from steadygpu.evidence.text import BLOCK, Body, decode, lines_of


@given(st.binary(max_size=300), st.integers(1, 50))
def test_blocks_of_bytes_are_all_of_them_in_order(data: bytes, size: int) -> None:
    for body in (Body(data=data), Body(stream=io.BytesIO(data))):
        blocks = list(body.blocks(size))
        assert b"".join(blocks) == data
        assert all(0 < len(block) <= size for block in blocks)


def test_a_file_is_read_anew_by_each_call_and_a_pipe_once(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abcdef")
    body = Body(path=tmp_path / "x")
    assert list(body.blocks(4)) == [b"abcd", b"ef"]
    assert list(body.blocks(4)) == [b"abcd", b"ef"]
    pipe = Body(stream=io.BytesIO(b"cdef"), head=b"ab")
    assert list(pipe.blocks(3)) == [b"ab", b"cde", b"f"]
    assert b"".join(Body(stream=io.BytesIO(b"")).blocks()) == b""


def test_a_body_of_nothing_has_no_blocks() -> None:
    assert list(Body().blocks()) == []
    assert list(Body(data=b"").blocks()) == []


def test_a_file_that_went_away_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(Body(path=tmp_path / "gone").blocks())


def test_a_block_is_a_million_bytes_unless_asked_otherwise() -> None:
    assert [len(b) for b in Body(data=bytes(2 * BLOCK + 5)).blocks()] == [BLOCK, BLOCK, 5]


@pytest.mark.parametrize(
    ("content", "raw"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("\n", [""]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\nb\r\nc", ["a", "b", "c"]),
        ("a\rb\n", ["a\rb"]),
        ("a\u2028b\x0bc\x85d\n", ["a\u2028b\x0bc\x85d"]),
    ],
)
def test_lines_end_with_lf_or_crlf_and_with_nothing_else(content: str, raw: list[str]) -> None:
    lines = lines_of("x", content)
    assert lines.raw == raw
    assert lines.clean == raw
    assert len(lines) == len(raw)
    assert list(lines.numbers) == list(range(1, len(raw) + 1))


def test_colours_are_dropped_for_readers_and_kept_for_quotes() -> None:
    lines = lines_of("x", "\x1b[1;31mGPU\x1b[0m 0\n\x1b]0;title\x07P0\x1b]8;;\x1b\\\x1bM\n")
    assert lines.clean == ["GPU 0", "P0"]
    assert lines.cite(0).quote == "\x1b[1;31mGPU\x1b[0m 0"


def test_a_cite_holds_place_quote_and_fields() -> None:
    lines = lines_of("q.txt", "one\ntwo\nthree\n")
    assert lines.cite(1) == Source(name="q.txt", first=2, last=2, quote="two")
    assert lines.cite(0, 1, "width") == Source(
        name="q.txt", first=1, last=2, quote="one\ntwo", fields=("width",)
    )


def test_a_part_keeps_the_numbers_of_the_file() -> None:
    lines = lines_of("q.txt", "one\ntwo\nthree\nfour\n", filtered="| grep o")
    lines.host = "gpu-01"
    part = lines.part(1, 3)
    assert (part.raw, part.clean) == (["two", "three"], ["two", "three"])
    assert (part.host, part.filtered, part.name) == ("gpu-01", "| grep o", "q.txt")
    assert part.cite(1) == Source(name="q.txt", first=3, last=3, quote="three")
    assert part.part(1, 2).cite(0).first == 3


def test_a_quote_is_whole_lines_of_at_most_400_characters() -> None:
    assert cut_quote([]) == ""
    assert cut_quote(["a", "b"]) == "a\nb"
    assert cut_quote(["x" * 1000, "b"]) == "x" * QUOTE_LIMIT
    assert cut_quote(["x" * 399, ""]) == "x" * 399 + "\n"
    assert cut_quote(["x" * 399, "b"]) == "x" * 399
    assert cut_quote(["x" * 300, "y" * 100, "z"]) == "x" * 300


@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=300), max_size=9))
def test_a_quote_is_the_beginning_of_what_stood_there(lines: list[str]) -> None:
    quote = cut_quote(lines)
    assert len(quote) <= QUOTE_LIMIT
    assert "\n".join(lines).startswith(quote)
    assert bool(quote) or not any(lines[:1])


MARKED = [
    ("utf-8-sig", "GPU 0: é"),
    ("utf-16", "GPU 0: é"),
    ("utf-16-le", "GPU 0: NVIDIA L40S"),
    ("utf-16-be", "GPU 0: NVIDIA L40S"),
    ("utf-8", "GPU 0: 漢字 é"),
]


@pytest.mark.parametrize(("coding", "content"), MARKED)
def test_the_coding_shows_in_a_mark_or_in_zero_bytes(coding: str, content: str) -> None:
    assert decode(content.encode(coding)) == content


def test_a_mark_of_the_other_byte_order_counts() -> None:
    assert decode(b"\xfe\xff" + "GPU".encode("utf-16-be")) == "GPU"
    assert decode(b"\xff\xfe" + "GPU".encode("utf-16-le")) == "GPU"


def test_bytes_that_are_no_text_become_the_replacement_character() -> None:
    assert decode(b"a\xffb") == "a\ufffdb"
    assert decode("GPU".encode("utf-16") + b"\x00").startswith("GPU")
    assert decode(b"") == ""


def test_a_few_zero_bytes_do_not_make_text_wide() -> None:
    assert decode(b"GPU 0\0: busy\n") == "GPU 0\0: busy\n"


@given(st.binary(max_size=500))
def test_no_bytes_raise(data: bytes) -> None:
    content = decode(data)
    lines = lines_of("x", content)
    assert len(lines.raw) == len(lines.clean) == len(lines.numbers)
