"""The driver: versions, modules, and the sentences its tools print instead of data."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverVersion:
    """Versions as one text tells them. `part` is module, library, tool or package.

    `cuda_max` is the newest CUDA version that the library offers (10.2). `open_module` is the
    open kernel module flavour.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("part", "vendor")

    device: DeviceRef
    at: Moment = UNKNOWN
    part: str
    version: str | None = None
    cuda_max: str | None = None
    open_module: bool | None = None
    vendor: str = "nvidia"
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelModule:
    """A loaded kernel module. `used_by` are module names; `size_bytes` its size."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("name",)

    device: DeviceRef
    at: Moment = UNKNOWN
    name: str
    size_bytes: int | None = None
    use_count: int | None = None
    used_by: tuple[str, ...] = ()
    state: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleListing:
    """That a listing of loaded modules was given, and whether it is whole."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    count: int
    complete: bool = True
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage:
    """A sentence that a vendor tool printed instead of data. `meaning` is one of the words below.

    library_mismatch, driver_not_loaded, no_devices, handle_lost, gpu_lost, not_permitted,
    unknown_error, command_missing, insufficient_resources, reset_required, other. `library_version`
    is the version the sentence names. `container` says that a prompt or path names a container.
    """

    nature: ClassVar[Nature] = "event"
    key: ClassVar[tuple[str, ...]] = ("tool", "meaning", "says")

    device: DeviceRef
    at: Moment = UNKNOWN
    tool: str
    meaning: str
    says: str
    library_version: str | None = None
    container: bool = False
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
