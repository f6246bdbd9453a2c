from collections.abc import Callable

from report.sample_report import LINE, SAMPLE
from steadygpu.report.plain import render_plain


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("report.plain.txt", render_plain(SAMPLE))


def test_every_line_of_evidence_is_there_in_full() -> None:
    text = render_plain(SAMPLE)
    assert all(f"dmesg.txt:{n}: {LINE}\n" in text for n in range(17, 22))


def test_nothing_for_a_terminal_to_obey() -> None:
    assert all(c.isprintable() or c == "\n" for c in render_plain(SAMPLE))


def test_nothing_unclear_is_left_out() -> None:
    assert render_plain(SAMPLE).count("not judged: ") == 17
