"""Events of a kernel log. `count` is above one where identical events were folded; `last_at` is then the last."""

import re
from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source

_GRADE = re.compile(r"\b(Fatal|Nonfatal)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLogSpan:
    """What part of a log was given, for one host and boot.

    `whole` is True where the boot's first line is there and nothing says that it was filtered;
    None where that cannot be told. `lines` counts log lines.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("boot",)

    device: DeviceRef
    at: Moment = UNKNOWN
    first: Moment = UNKNOWN
    last: Moment = UNKNOWN
    lines: int = 0
    boot: int = 0
    whole: bool | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockAnchor:
    """That `boot_s` seconds after boot `boot_id` it was `wall`: lets raw seconds become wall time."""

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("by", "boot_s")

    device: DeviceRef
    at: Moment = UNKNOWN
    wall: float
    boot_s: float
    error_s: float
    by: str
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class XidEvent:
    """A fault number of the NVIDIA driver. `says` is the rest of the line.

    `recovery` is the action that Xid 154 names. `previous` is the code in "caused by previous Xid".
    `mig` is "gi/ci" where the line names a slice. `code` 0 never occurs.
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("code", "previous", "grade", "says")

    device: DeviceRef
    at: Moment = UNKNOWN
    code: int
    pid: int | None = None
    process: str | None = None
    channel: str | None = None
    says: str = ""
    recovery: str | None = None
    previous: int | None = None
    mig: str | None = None
    unrecognised_client: bool = False
    count: int = 1
    last_at: Moment = UNKNOWN
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]

    @property
    def grade(self) -> str | None:
        """Return "Fatal" or "Nonfatal" as the line of Xid 144 to 150 calls itself, or None.

        A flood of the one must not swallow the other, so it is part of the key.
        """
        if not 144 <= self.code <= 150:
            return None
        word = _GRADE.search(self.says)
        return word[1] if word else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NvrmEvent:
    """Another message of the NVIDIA driver. `what` is one of the words below.

    off_bus (fallen off the bus, without a number), init_failed (RmInitAdapter), probe_failed,
    gsp_timeout, loading (module loads: `version`), unloading, library_mismatch (API mismatch:
    `version` is the module, `library_version` the client), no_device, assertion, reset, gsp_failed (the firmware did not start or
    crashed), nvlink (a message on NVLinks).
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("what", "says")

    device: DeviceRef
    at: Moment = UNKNOWN
    what: str
    says: str = ""
    version: str | None = None
    library_version: str | None = None
    open_module: bool | None = None
    count: int = 1
    last_at: Moment = UNKNOWN
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AerEvent:
    """A PCIe error report. `severity` is corrected, nonfatal or fatal; `names` the error bits in words.

    `layer` is physical, data_link or transaction. `surprise_down` is a link that went away.
    `reporter` is the port that reported where the line names another device.
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("severity", "layer", "names")

    device: DeviceRef
    at: Moment = UNKNOWN
    severity: str
    layer: str | None = None
    names: tuple[str, ...] = ()
    surprise_down: bool = False
    reporter: str | None = None
    count: int = 1
    last_at: Moment = UNKNOWN
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDownEvent:
    """A slot or port that lost its link: pciehp "Link Down", "Card not present", rev ff."""

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("says",)

    device: DeviceRef
    at: Moment = UNKNOWN
    says: str = ""
    count: int = 1
    last_at: Moment = UNKNOWN
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverBindEvent:
    """A driver that took a PCI device (nouveau, vfio-pci, nvidia, amdgpu)."""

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("driver",)

    device: DeviceRef
    at: Moment = UNKNOWN
    driver: str
    count: int = 1
    last_at: Moment = UNKNOWN
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEvent:
    """Another event of the kernel. `what` is one of the words below.

    oom_kill, hung_task, soft_lockup, hard_lockup, rcu_stall, panic, oops, mce, nouveau_blacklisted (on
    the command line), thermal, aer_firmware (the firmware keeps PCIe error reports), gpu_hang and
    gpu_reset (of a card of i915 or xe).
    `scope` is whose memory an oom_kill ran short of: host, memcg (a container's limit) or numa (the nodes
    it may use); the swap fields are bytes that its report printed. `inside` is the module that the stack
    of a stall names first, "kernel" where a stack names none that we know, None where none was printed.
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("what", "says")

    device: DeviceRef
    at: Moment = UNKNOWN
    what: str
    says: str = ""
    process: str | None = None
    scope: str | None = None
    swap_free_bytes: int | None = None
    swap_total_bytes: int | None = None
    inside: str | None = None
    count: int = 1
    last_at: Moment = UNKNOWN
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SxidEvent:
    """A fault number of an NVSwitch. `fatal` is the driver's own word, None where its line is not there.

    `link` is the port of the switch. `says` is the rest of the line.
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("code", "says")

    device: DeviceRef
    at: Moment = UNKNOWN
    code: int
    fatal: bool | None = None
    link: int | None = None
    says: str = ""
    count: int = 1
    last_at: Moment = UNKNOWN
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryErrorEvent:
    """Errors of the host's memory; `device` is the DIMM where the line names one, else the host.

    `kind` is corrected or uncorrected. `by` tells who reported: edac, firmware (APEI) or kernel (pages
    taken out of use). Two of them may report the same error. `errors` is how many this report counts.
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("kind", "by", "errors", "says")

    device: DeviceRef
    at: Moment = UNKNOWN
    kind: str
    by: str
    errors: int = 1
    says: str = ""
    count: int = 1
    last_at: Moment = UNKNOWN
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NicEvent:
    """What the driver of a network port said. `what` is one of the words below.

    link_down, link_up, health (firmware or health report of the adapter), hot, command_timeout,
    queue_timeout (a transmit queue stood still).
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("what", "says")

    device: DeviceRef
    at: Moment = UNKNOWN
    what: str
    says: str = ""
    count: int = 1
    last_at: Moment = UNKNOWN
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskEvent:
    """What the kernel said of a disk. `what` is one of the words below.

    timeout, reset (the controller went down and is reset), gone (given up), io_error, medium_error.
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("what", "says")

    device: DeviceRef
    at: Moment = UNKNOWN
    what: str
    says: str = ""
    count: int = 1
    last_at: Moment = UNKNOWN
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
