"""The moment that date(1) or watch(1) gives to outputs that print no time."""

import pytest

from pipeline import evidence, read
from steadygpu.readers.taken import date_of

NOON = 1767700800.0  # 2026-01-06 12:00:00 UTC


@pytest.mark.parametrize(
    ("line", "zone_known"),
    [
        ("Tue Jan  6 12:00:00 UTC 2026", True),
        ("Tue Jan  6 12:00:00 CET 2026", False),
        ("Tue  6 Jan 12:00:00 UTC 2026", True),
        ("Tue 06 Jan 2026 12:00:00 PM UTC", True),
        ("Tue Jan  6 12:00:00 PM UTC 2026", True),
        ("Tue, 06 Jan 2026 13:00:00 +0100", True),
        ("2026-01-06T12:00:00+00:00", True),
        ("2026-01-06T13:30:00+01:30", True),
        ("2026-01-06 12:00:00.123456", False),
        ("2026-01-06T12:00:00Z", True),
        ("Every 2.0s: ip -s link          node-07: Tue Jan  6 12:00:00 2026", False),
    ],
)
def test_a_date_is_read_in_each_form(line: str, zone_known: bool) -> None:
    at = date_of(line)
    assert at is not None
    assert at.wall == NOON
    assert at.zone_known is zone_known


@pytest.mark.parametrize(
    "line",
    ["", "Tue Jan  6", "2026-01-06T12:00:00 kernel: x", "Tue Jan 99 12:00:00 UTC 2026", "1767700800",
     "2026-13-06T12:00:00Z", "2026-01-06T99:00:00Z", "Tue Foo  6 12:00:00 UTC 2026", "Tue 6 Jan 12:00:00 UTC"],
)  # fmt: skip
def test_another_line_is_no_date(line: str) -> None:
    assert date_of(line) is None


ONE = "Inter-|   Receive                                                |  Transmit\n  eth1: 100 {n} 0 0 0 0 0 0 100 10 0 0 0 0 0 0\n"
DATE = "Tue Jan  6 12:0{m}:00 UTC 2026\n"


def moments(text: str) -> list[float | None]:
    return [fact.at.wall for _, reading in read({"a": text}) for fact in reading.facts]


def test_a_date_dates_what_stands_under_it_and_is_no_gap() -> None:
    text = DATE.format(m=0) + ONE.format(n=1) + DATE.format(m=1) + ONE.format(n=2)
    assert moments(text) == [NOON, NOON + 60]
    assert not [gap for _, reading in read({"a": text}) for gap in reading.gaps]
    (host,) = evidence({"a": text})
    last = host.facts[-1].sources[-1]
    assert (last.first, last.fields) == (4, ("at",))


def test_behind_prompts_and_in_the_heading_of_watch() -> None:
    prompts = f"root@n1:~# date\n{DATE.format(m=0)}root@n1:~# cat /proc/net/dev\n{ONE.format(n=1)}"
    assert moments(prompts) == [NOON]
    watch = "Every 2.0s: cat /proc/net/dev      n1: Tue Jan  6 12:00:00 2026\n\n" + ONE.format(n=1)
    assert moments(watch) == [NOON]


def test_what_is_printed_later_than_the_date_is_not_dated() -> None:
    again = DATE.format(m=0) + ONE.format(n=1) + "\n$ cat /proc/net/dev\n" + ONE.format(n=2)
    assert moments(again) == [NOON, None]
    slept = "$ date\n" + DATE.format(m=0) + "$ sleep 60; cat /proc/net/dev\n" + ONE.format(n=1)
    assert moments(slept) == [None]
    unknown = DATE.format(m=0) + "epoch 4 done, loss 2.1\n" + ONE.format(n=1)
    assert moments(unknown) == [None]
    other = f"a@n1:~$ date\n{DATE.format(m=0)}a@n2:~$ cat /proc/net/dev\n{ONE.format(n=1)}"
    assert moments(other) == [None]


def test_two_devices_under_one_date_are_both_dated() -> None:
    other = ONE.format(n=1).replace("eth1", "eth2")
    assert (
        moments(DATE.format(m=0) + ONE.format(n=1) + "\n$ cat /proc/net/dev\n" + other)
        == [NOON] * 2
    )
