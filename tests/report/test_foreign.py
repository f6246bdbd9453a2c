import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.sample_report import HOSTILE
from steadygpu.report.foreign import cells, cut, escape, wrap


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain [bold]text[/]", "plain [bold]text[/]"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\u202egpj", "\\u202egpj"),
        ("\x9b5m", "\\x9b5m"),
        ("\u200b\ufeff\u2028", "\\u200b\\ufeff\\u2028"),
        ("\udcff\ud800", "\\xff\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("Größe 漢字 é", "Größe 漢字 é"),
    ],
)
def test_shows_what_a_terminal_would_obey_or_hide(raw: str, shown: str) -> None:
    assert escape(raw) == shown


def test_no_character_at_all_slips_through() -> None:
    for code in range(sys.maxunicode + 1):
        for char in escape(chr(code)):
            assert unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def test_one_record_stays_one_line() -> None:
    assert len(escape(HOSTILE).splitlines()) == 1


@given(st.text(), st.integers(1, 40))
def test_cut_keeps_the_width(text: str, width: int) -> None:
    shown = escape(text)
    assert cells(cut(shown, width)) <= width
    assert cut(shown, cells(shown)) == shown


@given(st.text(), st.integers(2, 40))
def test_wrap_keeps_the_width_and_loses_nothing(text: str, width: int) -> None:
    shown = escape(text)
    lines = wrap(shown, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == shown.replace(" ", "")


def test_cut_ends_in_an_ellipsis() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("漢字漢字", 4) == "漢…"
