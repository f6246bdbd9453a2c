"""When a fact was true."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When something was seen. Everything None means: unknown.

    `wall` is seconds since 1970. Without a zone in the text it is the local time read as if it were
    UTC, and `zone_known` is False: such times order among themselves on one host only. `boot_id`
    names the boot; `boot_s` is seconds since it. Where the text prints no year, `wall` lies in a year that
    means nothing and `year_known` is False: such times order among themselves only. `error_s` is half the width of the interval in
    which the moment lies.
    """

    wall: float | None = None
    boot_id: str | None = None
    boot_s: float | None = None
    error_s: float = 0.0
    zone_known: bool = False
    year_known: bool = True


UNKNOWN = Moment()


def before(left: Moment, right: Moment) -> bool | None:
    """Return whether `left` came first; None where the order is not known or the intervals overlap.

    Seconds since boot decide inside one boot; wall time decides where both or neither name a zone.
    """
    if left.boot_id and left.boot_id == right.boot_id and None not in (left.boot_s, right.boot_s):
        assert left.boot_s is not None
        assert right.boot_s is not None
        return _ordered(left.boot_s, right.boot_s, 0.0)
    if left.wall is None or right.wall is None or _calendar(left) != _calendar(right):
        return None
    return _ordered(left.wall, right.wall, left.error_s + right.error_s)


def seconds_between(left: Moment, right: Moment) -> float | None:
    """Return how many seconds `right` came after `left`, or None where they cannot be compared."""
    if left.boot_id and left.boot_id == right.boot_id and None not in (left.boot_s, right.boot_s):
        assert left.boot_s is not None
        assert right.boot_s is not None
        return right.boot_s - left.boot_s
    if left.wall is None or right.wall is None or _calendar(left) != _calendar(right):
        return None
    return right.wall - left.wall


def may_be_within(left: Moment, right: Moment, span_s: float) -> bool:
    """Return whether the two may lie within `span_s` seconds, as far as their errors allow; True where unknown."""
    apart = seconds_between(left, right)
    return apart is None or abs(apart) <= span_s + left.error_s + right.error_s


def _calendar(moment: Moment) -> tuple[bool, bool]:
    return moment.zone_known, moment.year_known


def _ordered(left: float, right: float, error: float) -> bool | None:
    if abs(left - right) <= error and left != right:
        return None
    return None if left == right else left < right
