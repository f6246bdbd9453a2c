from typing import Any

import pytest

from pipeline import read
from shared import SHARED, needs_shared
from steadygpu.evidence.text import lines_of
from steadygpu.readers.mpstat import read_mpstat

HEAD = "Linux 6.8.0 (gx31) \t02/17/2026 \t_x86_64_\t(8 CPU)\n\n"
NAMES = "CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle"


def row(user: object, wait: object, idle: object, mark: str = "all") -> str:
    return f"{mark} {user} 0.00 2.00 {wait} 0.50 0.50 0.00 0.00 0.00 {idle}"


def one(text: str) -> Any:
    (fact,) = read_mpstat(lines_of("m", text)).facts
    return fact


def test_intervals_are_averaged_and_the_printed_average_proves_them_too() -> None:
    text = (
        f"{HEAD}01:00:00 PM {NAMES}\n01:00:05 PM {row(50, 10, 37)}\n01:00:05 PM {row(99, 0, 0, '0')}\n\n"
        f"01:00:05 PM {NAMES}\n01:00:10 PM {row(60, 20, 17)}\n\nAverage: {NAMES}\nAverage: {row(55, 15, 27)}\n"
    )
    fact = one(text)
    assert (fact.samples, fact.since_boot) == (2, False)
    assert fact.user_ratio == pytest.approx(0.55)
    assert fact.system_ratio == pytest.approx(0.03)
    assert fact.iowait_ratio == pytest.approx(0.15)
    assert fact.idle_ratio == pytest.approx(0.27)
    assert [s.first for s in fact.sources] == [4, 8, 11]
    assert fact.device.host == "gx31"
    assert fact.at.wall % 86_400 == 13 * 3600 + 10


@pytest.mark.parametrize(
    ("clock", "comma"),
    [
        ("13:00:05    ", False),
        ("13:00:05    ", True),
        ("01:00:05 PM ", False),
        ("13时40分26秒 ", False),
    ],
)
def test_one_clock_in_head_and_row_is_the_time_since_boot(clock: str, comma: bool) -> None:
    text = f"{clock} {NAMES}\n{clock} {row('4.00', '1.00', '92.00')}\n"
    fact = one(text.replace(".", ",") if comma else text)
    assert fact.since_boot
    assert fact.idle_ratio == pytest.approx(0.92)


def test_averages_alone_and_old_names_and_sar() -> None:
    fact = one(f"Average: {NAMES}\nAverage: {row(5, 1, 91)}\n")
    assert (fact.since_boot, fact.samples) == (False, 1)
    fact = one(f"Durchschn.: x\nMoyenne : {NAMES}\nMoyenne : {row(5, 1, 91)}\n"[15:].lstrip())
    assert fact.idle_ratio == pytest.approx(0.91)
    fact = one("10:00:01 CPU %user %nice %system %iowait %steal %idle\n10:00:02 all 1 2 3 4 5 85\n")
    assert (fact.user_ratio, fact.system_ratio) == (pytest.approx(0.01), pytest.approx(0.03))
    assert not fact.since_boot


def test_other_tables_damage_and_other_lines() -> None:
    text = f"{HEAD}10:00:01 {NAMES}\n10:00:01 {row(5, 1, 91)}\n\n10:00:01 CPU intr/s\n10:00:01 all 9\n10:00:01 0 9\n"
    reading = read_mpstat(lines_of("m", text + "10:00:02 worker started\n"))
    assert len(reading.facts) == 1
    assert reading.read_to == 8
    cut = read_mpstat(
        lines_of("m", f"10:00:01 {NAMES}\n10:00:02 all 5 1\n10:00:03 {row(5, 1, 91)}\n")
    )
    assert cut.facts[0].samples == 1
    assert (
        read_mpstat(lines_of("m", f"10:00:01 {NAMES}\n10:00:02 {row('x', '9' * 40, 'y')}"))
        .facts[0]
        .idle_ratio
        is None
    )
    for other in ("", "10:00:01 hello\n", HEAD, "y" * 30_000):
        assert not read_mpstat(lines_of("m", other)).facts
    twice = f"{HEAD}10:00:01 {NAMES}\n10:00:01 {row(5, 1, 91)}\n"
    assert read_mpstat(lines_of("m", twice * 2)).read_to == 4


def test_the_line_of_the_host_goes_with_the_tool_below_it() -> None:
    ((text, reading),) = read({"a.txt": f"{HEAD}10:00:01 {NAMES}\n10:00:02 {row(5, 1, 91)}\n"})
    assert text.kind == "mpstat"
    assert reading.facts[0].device.host == "gx31"


@needs_shared
def test_the_real_file_is_the_time_since_boot() -> None:
    fact = one((SHARED / "evidence/files/jc_centos-7.7_mpstat-A.out.txt").read_text())
    assert fact.since_boot
    assert fact.idle_ratio > 0.99
