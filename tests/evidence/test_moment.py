import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadygpu.evidence.moment import UNKNOWN, Moment, before, may_be_within, seconds_between


def utc(wall: float, error_s: float = 0.0) -> Moment:
    return Moment(wall=wall, error_s=error_s, zone_known=True)


def booted(boot_s: float, boot_id: str | None = "b1", wall: float | None = None) -> Moment:
    return Moment(boot_s=boot_s, boot_id=boot_id, wall=wall)


@pytest.mark.parametrize(
    ("left", "right", "first", "seconds"),
    [
        (utc(10), utc(20), True, 10.0),
        (utc(20), utc(10), False, -10.0),
        (utc(10), utc(10), None, 0.0),
        (Moment(wall=10), Moment(wall=20), True, 10.0),
        (booted(5), booted(7.5), True, 2.5),
        (UNKNOWN, utc(10), None, None),
        (utc(10), UNKNOWN, None, None),
        (UNKNOWN, UNKNOWN, None, None),
        (booted(5), Moment(wall=20), None, None),
    ],
)
def test_order_and_distance(
    left: Moment, right: Moment, first: bool | None, seconds: float | None
) -> None:
    assert before(left, right) is first
    assert seconds_between(left, right) == seconds


def test_times_with_and_without_a_zone_do_not_compare() -> None:
    assert before(utc(10), Moment(wall=90_000)) is None
    assert seconds_between(Moment(wall=10), utc(20)) is None


def test_times_without_a_year_compare_among_themselves_only() -> None:
    left, right = Moment(wall=10, year_known=False), Moment(wall=20, year_known=False)
    assert before(left, right) is True
    assert seconds_between(left, right) == 10
    assert before(left, Moment(wall=20)) is None
    assert seconds_between(Moment(wall=10), right) is None


def test_seconds_since_boot_compare_inside_one_boot_only() -> None:
    assert before(booted(5, "b1"), booted(7, "b2")) is None
    assert seconds_between(booted(5, None), booted(7, None)) is None
    assert before(booted(5, "b1", wall=100), booted(7, "b2", wall=50)) is False


def test_seconds_since_boot_decide_before_wall_times() -> None:
    assert before(booted(5, wall=100), booted(7, wall=50)) is True
    assert seconds_between(booted(5, wall=100), booted(7, wall=50)) == 2


def test_a_boot_without_seconds_leaves_the_order_to_wall_times() -> None:
    left, right = Moment(boot_id="b1", wall=10), Moment(boot_id="b1", boot_s=3, wall=20)
    assert before(left, right) is True
    assert seconds_between(left, right) == 10


def test_intervals_that_overlap_or_touch_have_no_order() -> None:
    assert before(utc(10, 0.5), utc(10.9, 0.5)) is None
    assert before(utc(10, 0.5), utc(11, 0.5)) is None
    assert before(utc(10, 0.5), utc(11.1, 0.5)) is True
    assert before(utc(11.1, 0.5), utc(10, 0.5)) is False


def test_may_be_within_counts_errors_in_favour() -> None:
    assert may_be_within(utc(0), utc(60), 60)
    assert not may_be_within(utc(0), utc(61), 60)
    assert may_be_within(utc(0, 0.5), utc(61, 0.5), 60)
    assert may_be_within(utc(61), utc(1), 60)
    assert may_be_within(UNKNOWN, utc(10_000), 60)


SOME = st.floats(0, 1e9, allow_nan=False)
MOMENTS = st.builds(
    Moment,
    wall=st.none() | SOME,
    boot_id=st.sampled_from([None, "b1", "b2"]),
    boot_s=st.none() | SOME,
    error_s=st.floats(0, 10),
    zone_known=st.booleans(),
    year_known=st.booleans(),
)


@given(MOMENTS, MOMENTS)
def test_order_turned_round_is_the_opposite(left: Moment, right: Moment) -> None:
    one, two = before(left, right), before(right, left)
    assert two is (None if one is None else not one)
    away, back = seconds_between(left, right), seconds_between(right, left)
    assert back == (None if away is None else -away)


@given(MOMENTS)
def test_nothing_is_before_itself(moment: Moment) -> None:
    assert before(moment, moment) is None
