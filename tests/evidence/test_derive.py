import pytest

from steadygpu.evidence.derive import growth, rate_words, span_words
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.ecc import EccCounters
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.source import Source

CARD = DeviceRef(kind="card", index=0)


def reading(seconds: float | None, value: int | None) -> EccCounters:
    at = UNKNOWN if seconds is None else Moment(wall=seconds)
    return EccCounters(
        device=CARD, at=at, scope="aggregate", corrected=value, sources=(Source(name="q"),)
    )


def test_growth_tells_values_span_and_rate() -> None:
    told = growth([reading(160.0, 431), reading(100.0, 12)], "corrected")
    assert told is not None
    assert (told.rise, told.span_s, told.resets) == (419, 60.0, 0)
    assert told.words() == "12 to 431 in 60 s (6.98 a second)"


def test_a_reset_is_said_and_what_came_after_it_counts() -> None:
    told = growth([reading(0.0, 40), reading(3600.0, 3), reading(7200.0, 5)], "corrected")
    assert told is not None
    assert (told.rise, told.resets) == (5, 1)
    assert told.words() == "40 to 5 in 2 h (2.5 an hour), reset in between"


@pytest.mark.parametrize(
    "readings",
    [
        [],
        [reading(1.0, 4)],
        [reading(1.0, 4), reading(1.0, 9)],
        [reading(None, 4), reading(None, 9)],
        [reading(1.0, 4), reading(2.0, None)],
    ],
)
def test_one_moment_tells_no_growth(readings: list[EccCounters]) -> None:
    assert growth(readings, "corrected") is None


def test_spans_and_rates_choose_their_unit() -> None:
    assert [span_words(s) for s in (5.0, 119.0, 120.0, 10_800.0, 200_000.0)] == [
        "5 s", "119 s", "2 min", "3 h", "2.31 days",
    ]  # fmt: skip
    assert [rate_words(c, 3600.0) for c in (7200, 60, 2)] == [
        "2 a second",
        "1 a minute",
        "2 an hour",
    ]
    assert rate_words(3, 259_200.0) == "1 a day"
