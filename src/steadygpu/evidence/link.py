"""PCI devices and the links between them."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class PciDevice:
    """One PCI function. `class_code` and `pci_id` are hex (0302, 10de:20b0); `driver` is None where none is bound.

    `revision_ff` says that the device answers with ones only (rev ff): it is off the bus. `parent`
    is the BDF of the port above. `port_type` is root, upstream or downstream. `role` is one of card, port, nvswitch, nic, nvme, audio, other.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    class_code: str | None = None
    class_name: str | None = None
    pci_id: str | None = None
    subsystem_id: str | None = None
    vendor: str | None = None
    name: str | None = None
    revision_ff: bool | None = None
    driver: str | None = None
    driver_listed: bool = False
    modules: tuple[str, ...] = ()
    numa_node: int | None = None
    parent: str | None = None
    port_type: str | None = None
    role: str = "other"
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PcieLink:
    """A PCIe link as one end reports it: GT/s per lane, lanes.

    `max_*` is what this end can do; `host_max_speed_gts` what the slot or port above it can;
    `downgraded` is what the tool itself says. `target_speed_gts` is LnkCtl2. `speed_frozen` says
    that autonomous speed change is disabled. `replays` and `rollovers` count since boot.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    speed_gts: float | None = None
    max_speed_gts: float | None = None
    host_max_speed_gts: float | None = None
    device_max_speed_gts: float | None = None
    width: int | None = None
    max_width: int | None = None
    target_speed_gts: float | None = None
    speed_frozen: bool | None = None
    downgraded: bool | None = None
    replays: int | None = None
    replay_rollovers: int | None = None
    tx_bytes_per_s: float | None = None
    rx_bytes_per_s: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PciErrorStatus:
    """Error bits that a function holds since boot (AER status registers; they are sticky).

    Names are those lspci prints (RxErr, BadTLP, Timeout; SDES, DLP, TLP, CmpltTO). Empty tuples mean
    that the register was read and is clear.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    corrected: tuple[str, ...] | None = None
    uncorrected: tuple[str, ...] | None = None
    uncorrected_fatal: tuple[str, ...] | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PciAcs:
    """Access control of a bridge: whether peer traffic is sent up to the root (ReqRedir+ and the like)."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    redirects: tuple[str, ...] | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
