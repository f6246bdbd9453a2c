"""A quantity over time."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from steadygpu.evidence.device import DeviceRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One field of one device over time.

    `times` are seconds (since the first sample where no clock was printed) and `values` are in
    `unit`; both are float64 views of equal length. `valid` has one byte for each sample: 0 marks an
    absent value, whose number means nothing.
    """

    subject: DeviceRef
    field: str
    unit: str
    times: memoryview
    values: memoryview
    valid: bytes

    def known(self) -> list[float]:
        """Return the values that were given, in order of time."""
        return [value for value, ok in zip(self.values, self.valid, strict=True) if ok]


def series(
    subject: DeviceRef,
    field: str,
    unit: str,
    times: Sequence[float],
    values: Sequence[float | None],
) -> Series:
    """Return a series; None among `values` is absence. Raises ValueError for unequal lengths."""
    if len(times) != len(values):
        raise ValueError(f"{len(times)} times for {len(values)} values")
    return Series(
        subject=subject,
        field=field,
        unit=unit,
        times=memoryview(array("d", times)).toreadonly(),
        values=memoryview(array("d", [0.0 if v is None else v for v in values])).toreadonly(),
        valid=bytes(v is not None for v in values),
    )
