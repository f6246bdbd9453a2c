"""NVLinks of a card: whether each is up, and what it counted."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source

ALL_LINKS = -1  # the `link` of a record that speaks of all links of a card together


@dataclass(frozen=True, slots=True, kw_only=True)
class NvlinkLink:
    """One NVLink of a card; `link` is its number, or `ALL_LINKS` where the tool speaks of all.

    `speed_bytes_s` is one direction. `remote_bdf` and `remote_link` name the other end.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("link",)

    device: DeviceRef
    at: Moment = UNKNOWN
    link: int
    active: bool | None = None
    speed_bytes_s: float | None = None
    remote_bdf: str | None = None
    remote_link: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NvlinkErrors:
    """What one NVLink counted since the driver was loaded or the counters were set to zero.

    `link` is its number, or `ALL_LINKS` for the sum over a card. Up to Hopper a link counts `replay`,
    `recovery` and `crc` (flits; `crc_data` where the tool tells data apart, `ecc` on some); since Blackwell
    the other fields. `recovered` are link recoveries that succeeded, `recovery_failed` those that did not.
    Counts of error correction (FEC) and raw bit errors are left out: sound links have them too.
    """

    nature: ClassVar[Nature] = "counter"
    key: ClassVar[tuple[str, ...]] = ("link",)

    device: DeviceRef
    at: Moment = UNKNOWN
    link: int
    replay: int | None = None
    recovery: int | None = None
    crc: int | None = None
    crc_data: int | None = None
    ecc: int | None = None
    malformed: int | None = None
    buffer_overrun: int | None = None
    rx_errors: int | None = None
    rx_remote: int | None = None
    rx_general: int | None = None
    integrity: int | None = None
    tx_discards: int | None = None
    recovered: int | None = None
    recovery_failed: int | None = None
    effective: int | None = None
    symbol: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
