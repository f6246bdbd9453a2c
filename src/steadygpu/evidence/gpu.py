"""One card: who it is, how it is set, what it does, how warm it is. Memory health is in `ecc`."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuIdentity:
    """Who a card is. `pci_id` is vendor:device in hex (10de:20b0), `subsystem_id` likewise.

    `name` is what the tool prints; `name_cut` says that the tool shortened it.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    vendor: str | None = None
    name: str | None = None
    name_cut: bool = False
    architecture: str | None = None
    brand: str | None = None
    vbios: str | None = None
    pci_id: str | None = None
    subsystem_id: str | None = None
    minor: int | None = None
    part_number: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardListing:
    """How many cards one text lists. `attached` is the number the tool itself prints.

    `complete` is False where the text is cut, filtered or asked for some cards only; `tool` is
    the text kind. `container` says that the text was taken inside one.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ("tool",)

    device: DeviceRef
    at: Moment = UNKNOWN
    tool: str
    listed: int
    attached: int | None = None
    complete: bool = True
    container: bool = False
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMode:
    """How a card is set. `compute_mode` is one of default, exclusive_process, exclusive_thread, prohibited.

    `driver_model` is the Windows driver model (WDDM, TCC, MCDM), `virtualization` what the driver
    prints (None, Pass-Through, VGPU, Host VGPU, Host VSGA), `vgpu_license` the licence line.
    `ecc_on` and `ecc_pending_on` are the mode, not the capability. `mig_devices` is 0 where the tool
    says that there are none, else None: those that are listed are `MigInstance` records.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    persistence_on: bool | None = None
    mig_on: bool | None = None
    mig_pending_on: bool | None = None
    mig_devices: int | None = None
    compute_mode: str | None = None
    ecc_on: bool | None = None
    ecc_pending_on: bool | None = None
    driver_model: str | None = None
    display_active: bool | None = None
    virtualization: str | None = None
    vgpu_license: str | None = None
    addressing_mode: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuLoad:
    """How busy a card was: ratios 0 to 1, over `window_s` seconds in `samples` samples.

    `busy_ratio` is the share of time in which any kernel ran: residency, not saturation.
    `busy_max_ratio` is the busiest sample. `sm_active_ratio` and `dram_active_ratio` come from
    profiling only. `has_process` tells whether a process was listed; None where the text lists none.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    busy_ratio: float | None = None
    busy_max_ratio: float | None = None
    memory_busy_ratio: float | None = None
    encoder_ratio: float | None = None
    decoder_ratio: float | None = None
    sm_active_ratio: float | None = None
    dram_active_ratio: float | None = None
    has_process: bool | None = None
    samples: int = 1
    window_s: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMemory:
    """Memory of a card in bytes. `reserved_bytes` belongs to the driver."""

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    total_bytes: int | None = None
    used_bytes: int | None = None
    free_bytes: int | None = None
    reserved_bytes: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuClock:
    """Clocks of a card in MHz. A limit of None means that no limit was reported.

    `pstate` is 0 to 15. `sm_limit_mhz` and `memory_limit_mhz` are what the card can reach,
    `application_sm_mhz` what was asked for. `performance_level` is AMD's (auto, low, high, manual).
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    sm_mhz: int | None = None
    graphics_mhz: int | None = None
    memory_mhz: int | None = None
    video_mhz: int | None = None
    sm_limit_mhz: int | None = None
    graphics_limit_mhz: int | None = None
    memory_limit_mhz: int | None = None
    application_sm_mhz: int | None = None
    application_memory_mhz: int | None = None
    pstate: int | None = None
    performance_level: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuClockReasons:
    """Why the clocks are what they are: True is active.

    The driver calls them clocks throttle reasons (before 535) or clocks event reasons. `hw_slowdown`
    is the parent of `hw_thermal` and `hw_power_brake`. `thermal` is what dmon prints: heat lowered the
    clocks, by hardware or driver.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    idle: bool | None = None
    application_clocks: bool | None = None
    sw_power_cap: bool | None = None
    hw_slowdown: bool | None = None
    hw_thermal: bool | None = None
    hw_power_brake: bool | None = None
    sync_boost: bool | None = None
    sw_thermal: bool | None = None
    thermal: bool | None = None
    display_clock: bool | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReasonCounters:
    """For how long each reason held since the driver was loaded, in seconds."""

    nature: ClassVar[Nature] = "counter"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    sw_power_cap_s: float | None = None
    sync_boost_s: float | None = None
    sw_thermal_s: float | None = None
    hw_thermal_s: float | None = None
    hw_power_brake_s: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPower:
    """Power of a card in watts. `draw_w` is the draw the tool prints first (average where it has both).

    `limit_w` is the limit in force (current or enforced), `requested_limit_w` the requested one.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    draw_w: float | None = None
    instant_w: float | None = None
    limit_w: float | None = None
    requested_limit_w: float | None = None
    default_limit_w: float | None = None
    min_limit_w: float | None = None
    max_limit_w: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuTemperature:
    """Temperatures in degrees Celsius; `margin_c` is the head-room to slowdown (T.Limit), which can be negative.

    On a card that reports a margin the limits may be margins too: then `slowdown_margin_c` and
    `shutdown_margin_c` hold them and `slowdown_c`, `shutdown_c` are None.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    gpu_c: int | None = None
    memory_c: int | None = None
    margin_c: int | None = None
    slowdown_c: int | None = None
    shutdown_c: int | None = None
    max_operating_c: int | None = None
    target_c: int | None = None
    memory_max_operating_c: int | None = None
    slowdown_margin_c: int | None = None
    shutdown_margin_c: int | None = None
    fan_ratio: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFabric:
    """State of the NVLink fabric as one card sees it (`state` and `status` as printed, lower case)."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    state: str | None = None
    status: str | None = None
    healthy: bool | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """A process on a card. `kind` holds the letters the driver prints (C, G, M+C); `mig` is "gi/ci"."""

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ("pid", "mig")

    device: DeviceRef
    at: Moment = UNKNOWN
    pid: int
    name: str | None = None
    kind: str | None = None
    used_bytes: int | None = None
    busy_ratio: float | None = None
    mig: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MigInstance:
    """One MIG device of a card."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("gi", "ci", "uuid")

    device: DeviceRef
    at: Moment = UNKNOWN
    gi: int | None = None
    ci: int | None = None
    profile: str | None = None
    uuid: str | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuErrorCells:
    """Cells of a card in which the tool printed an error instead of a value.

    `fields` are the column or line names, `words` what stood there (ERR!, Unknown Error, GPU is
    lost, GPU requires reset). `readable` counts the cells that did hold a value.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    fields: tuple[str, ...]
    words: tuple[str, ...]
    readable: int
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
