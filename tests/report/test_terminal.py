import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from report.sample_report import AER_FOUND, SAMPLE, SICK
from steadygpu.report.foreign import cells
from steadygpu.report.terminal import render_terminal
from steadygpu.verdict.answer import Report

SGR = re.compile(r"\x1b\[[0-9;]*m")


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("report.terminal.txt", render_terminal(SAMPLE, 80, colour=False))


@pytest.mark.parametrize("width", [1, 2, 7, 20, 40, 80, 100, 200])
@pytest.mark.parametrize("colour", [True, False])
def test_never_wider_than_asked(width: int, colour: bool) -> None:
    shown = SGR.sub("", render_terminal(SAMPLE, width, colour=colour))
    assert max(map(cells, shown.splitlines())) <= width
    assert all(c.isprintable() or c == "\n" for c in shown)


@pytest.mark.parametrize("width", [9, 80])
def test_colour_adds_nothing_but_colour(width: int) -> None:
    shown = render_terminal(SAMPLE, width, colour=True)
    assert SGR.sub("", shown) == render_terminal(SAMPLE, width, colour=False)
    assert "\x1b" not in render_terminal(SAMPLE, width, colour=False)


def test_colour_stands_beside_the_word() -> None:
    shown = render_terminal(SAMPLE, colour=True)
    assert "\x1b[1;31mCRITICAL\x1b[0m" in shown
    assert "\x1b[1;31mUNHEALTHY:\x1b[0m" in shown


def test_verdict_first_and_the_worst_host_first() -> None:
    lines = render_terminal(SAMPLE).splitlines()
    assert lines[0] == "2 hosts: 1 unhealthy, 1 unknown"
    assert lines[2] == "Host gpu-07"
    assert any(line.startswith("  Decision: Drain gpu-07") for line in lines[:12])


def test_a_consequence_stands_below_its_cause() -> None:
    lines = render_terminal(SAMPLE).splitlines()
    cause = next(i for i, line in enumerate(lines) if line.startswith("  CRITICAL PCIe port"))
    below = next(i for i, line in enumerate(lines) if line.startswith("      CRITICAL GPU 3"))
    assert cause < below
    assert "    which explains (order in time not proven):" in lines[cause:below]


def test_commands_are_grouped_and_counted() -> None:
    shown = render_terminal(SAMPLE)
    assert shown.count("  Run: ") == 8
    assert "+5 more, see --format json" in shown


def test_quotes_are_cut_and_counted() -> None:
    shown = render_terminal(SAMPLE, 60)
    assert "    dmesg.txt:17: [ 1234.567890] NVRM: Xid (PCI:0000:3b:00)…" in shown
    assert "+2 more places, see --format plain" in shown


def test_no_markup_is_read_in_foreign_text() -> None:
    assert "[bold]next[/]" in render_terminal(SAMPLE, 200)


def test_a_report_without_hosts() -> None:
    assert render_terminal(Report(version="1", catalog="2", hosts=())).startswith("0 hosts:")


def test_a_chain_of_causes_does_not_run_off_the_page() -> None:
    chain = tuple(
        replace(AER_FOUND, key=str(n), caused_by=str(n - 1) if n else None) for n in range(50)
    )
    report = replace(SAMPLE, hosts=(replace(SICK, findings=chain),))
    assert max(map(cells, render_terminal(report, 60).splitlines())) <= 60
