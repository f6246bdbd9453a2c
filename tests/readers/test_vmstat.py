from typing import Any

import pytest

from shared import SHARED, needs_shared
from steadygpu.evidence.text import lines_of
from steadygpu.readers.vmstat import read_vmstat

GROUPS = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
NAMES = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st"
BOOT = "\n 1  0      0 2794468   2108 741208    0    0     1     3   29   57  1  0 99  0  0"


def row(user: int, idle: int, wait: int) -> str:
    return f"\n 9  4      0 2794468   2108 741208    0    0     1     3   29   57 {user}  2 {idle} {wait}  0"


def one(text: str) -> Any:
    (fact,) = read_vmstat(lines_of("v", text)).facts
    return fact


def test_the_first_row_is_since_boot_and_the_others_are_averaged() -> None:
    fact = one(GROUPS + NAMES + BOOT)
    assert fact.since_boot
    assert fact.idle_ratio == pytest.approx(0.99)
    fact = one(GROUPS + NAMES + BOOT + row(40, 38, 20) + "\n" + GROUPS + NAMES + row(50, 30, 18))
    assert (fact.since_boot, fact.samples) == (False, 2)
    assert fact.user_ratio == pytest.approx(0.45)
    assert fact.iowait_ratio == pytest.approx(0.19)
    assert [s.first for s in fact.sources] == [4, 7]


def test_time_stamps_and_columns_that_are_not_there() -> None:
    fact = one(
        NAMES + " UTC" + BOOT + " 2026-02-17 14:00:00" + row(1, 97, 0) + " 2026-02-17 14:00:05"
    )
    assert fact.at.zone_known
    assert fact.at.wall % 86_400 == 14 * 3600 + 5
    old = one(NAMES.removesuffix(" wa st") + BOOT.removesuffix("  0  0"))
    assert old.iowait_ratio is None
    assert old.idle_ratio == pytest.approx(0.99)


def test_damage_and_other_lines() -> None:
    reading = read_vmstat(lines_of("v", GROUPS + NAMES + BOOT + "\n 1 2 3\nbye"))
    assert reading.read_to == 3
    for other in ("", "procs up\n", "y" * 5000, BOOT, GROUPS + NAMES + "\n" + "1" * 900 + "x"):
        assert not read_vmstat(lines_of("v", other)).facts


@needs_shared
def test_the_real_file_is_the_time_since_boot() -> None:
    assert one((SHARED / "evidence/files/jc_centos-7.7_vmstat.out.txt").read_text()).since_boot
