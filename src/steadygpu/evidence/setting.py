"""What a host is: a machine of its own, a guest, a container, WSL or a Jetson."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source

SettingKind = Literal["bare-metal", "vm", "container", "wsl", "jetson"]
_GENERAL_FIRST: tuple[SettingKind, ...] = ("bare-metal", "vm", "container", "jetson", "wsl")
_WORDS: dict[SettingKind, str] = {
    "bare-metal": "a machine of its own", "vm": "a virtual machine", "container": "a container",
    "jetson": "a Jetson", "wsl": "WSL",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What one text says the host is, never assumed. `by` is the text kind that tells it.

    `hypervisor` is the word by which the text names it (KVM, Pass-Through, a cloud's product). WSL and containers
    run in machines of which other texts may speak: `setting_of` gives what counts.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("kind", "by")

    device: DeviceRef
    at: Moment = UNKNOWN
    kind: SettingKind
    by: str
    hypervisor: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]

    @property
    def words(self) -> str:
        """Return the setting as people say it."""
        return _WORDS[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelVersion:
    """The kernel that runs. `release` as uname -r prints it, `build` what stands from # on, `machine` as uname -m."""

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    release: str | None = None
    build: str | None = None
    machine: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


def setting_of(settings: Sequence[Setting]) -> Setting | None:
    """Return the most specific of what the texts say the host is, or None where none says it."""
    return max(settings, key=lambda one: _GENERAL_FIRST.index(one.kind), default=None)


def guest(settings: Sequence[Setting]) -> Setting | None:
    """Return the setting of a host that does not see the ports above its cards (a guest or WSL), else None.

    A container sees the ports of its host, so what it runs in counts.
    """
    return setting_of([one for one in settings if one.kind in ("vm", "wsl")])
