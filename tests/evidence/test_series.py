import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.series import Series, series

CARD = DeviceRef(kind="card", index=0)


def power(times: list[float], values: list[float | None]) -> Series:
    return series(CARD, "draw_w", "W", times, values)


def test_a_series_keeps_times_values_and_which_were_given() -> None:
    one = power([0.0, 1.0, 2.5], [70.0, None, 71.5])
    assert list(one.times) == [0.0, 1.0, 2.5]
    assert one.known() == [70.0, 71.5]
    assert one.valid == b"\x01\x00\x01"
    assert (one.subject, one.field, one.unit) == (CARD, "draw_w", "W")


def test_a_zero_is_a_value() -> None:
    assert power([0.0, 1.0], [0.0, None]).known() == [0.0]


def test_no_sample_at_all() -> None:
    one = power([], [])
    assert one.known() == []
    assert len(one.times) == len(one.values) == len(one.valid) == 0


@pytest.mark.parametrize(("times", "values"), [([0.0], []), ([], [1.0]), ([0.0, 1.0], [1.0])])
def test_unequal_lengths_are_misuse(times: list[float], values: list[float | None]) -> None:
    with pytest.raises(ValueError, match=f"{len(times)} times for {len(values)} values"):
        power(times, values)


def test_nobody_changes_a_series() -> None:
    one = power([0.0], [1.0])
    for view in (one.times, one.values):
        with pytest.raises(TypeError):
            view[0] = 2.0


def test_both_views_hold_numbers_of_eight_bytes() -> None:
    one = power([0.0], [1.0])
    assert (one.times.format, one.values.format, one.values.itemsize) == ("d", "d", 8)


@given(st.lists(st.none() | st.floats(allow_nan=False), max_size=50))
def test_what_is_absent_is_never_nan_and_never_a_value(values: list[float | None]) -> None:
    one = power([float(n) for n in range(len(values))], values)
    assert one.known() == [v for v in values if v is not None]
    assert not any(math.isnan(v) for v in one.values)
