"""Memory health of one card: ECC counters, retired pages, remapped rows, what the driver asks for."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class EccCounters:
    """Error counts. Volatile counts are since the driver was loaded, aggregate ones for life.

    `uncorrectable` is what the driver calls double bit or uncorrectable; the SRAM parts are beside
    DRAM where the card tells them apart. `scope` is volatile or aggregate.
    """

    nature: ClassVar[Nature] = "counter"
    key: ClassVar[tuple[str, ...]] = ("scope",)

    device: DeviceRef
    at: Moment = UNKNOWN
    scope: str
    corrected: int | None = None
    uncorrected: int | None = None
    sram_corrected: int | None = None
    sram_uncorrected_parity: int | None = None
    sram_uncorrected_secded: int | None = None
    sram_uncorrected: int | None = None
    dram_corrected: int | None = None
    dram_uncorrected: int | None = None
    sram_threshold_exceeded: bool | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredPages:
    """Pages taken out of use (cards before Ampere)."""

    nature: ClassVar[Nature] = "counter"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    single_bit: int | None = None
    double_bit: int | None = None
    pending: bool | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRemap:
    """Rows taken out of use (Ampere and later). `pending` waits for a reset; `failure` means no spare row was left."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    corrected: int | None = None
    uncorrected: int | None = None
    pending: bool | None = None
    failure: bool | None = None
    banks_none: int | None = None
    banks_max: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRecovery:
    """What the driver asks for: none, reset, reboot, drain_p2p, drain_and_reset.

    `drain_pending` and `reset_required` are the older lines of the same meaning.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    action: str | None = None
    reset_required: bool | None = None
    drain_reset_recommended: bool | None = None
    channel_repair_pending: bool | None = None
    tpc_repair_pending: bool | None = None
    unrepairable_memory: bool | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
