"""The names of a device, and how a PCI address is written."""

import re
from dataclasses import dataclass
from typing import Literal

DeviceKind = Literal[
    "card",
    "mig",
    "port",
    "pci",
    "disk",
    "nic",
    "cpu",
    "numa",
    "process",
    "module",
    "host",
    "link",
    "switch",
    "mount",
    "dimm",
    "job",
]

_BDF = re.compile(
    r"(?:PCI:)?(?:(?P<domain>[0-9a-fA-F]{4,8}):)?(?P<bus>[0-9a-fA-F]{2}):(?P<slot>[0-9a-fA-F]{2})"
    r"(?:\.(?P<function>[0-7]))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRef:
    """The names that one text has for one device; any of them may be None.

    `host` is set where the text itself names the host of this item. `label` is what a person calls
    it (product name, sda, GPU0). `bdf` is normal form (`normal_bdf`). `index` is the tool's own
    number and means nothing outside the text. `mig` is "gi/ci". `text` is the name of the text,
    for devices whose only name is an index.
    """

    kind: DeviceKind
    host: str | None = None
    label: str | None = None
    bdf: str | None = None
    uuid: str | None = None
    serial: str | None = None
    slot: str | None = None
    index: int | None = None
    minor: int | None = None
    mig: str | None = None
    text: str | None = None


def host_ref(host: str | None = None) -> DeviceRef:
    """Return the reference that stands for the host itself."""
    return DeviceRef(kind="host", host=host)


def normal_bdf(printed: str) -> str | None:
    """Return `dddd:bb:dd.f` in lower case, or None where `printed` is no PCI address.

    The domain has four digits unless it needs more; domain 0 and function 0 are assumed where they
    are missing (`bdf_assumed` tells).
    """
    found = _BDF.fullmatch(printed.strip())
    if found is None:
        return None
    domain = int(found["domain"] or "0", 16)
    return f"{domain:04x}:{found['bus']}:{found['slot']}.{found['function'] or '0'}".lower()


def bdf_assumed(printed: str) -> tuple[str, ...]:
    """Return which parts `normal_bdf` had to assume: any of "domain" and "function"."""
    found = _BDF.fullmatch(printed.strip())
    if found is None:
        return ()
    return tuple(part for part in ("domain", "function") if found[part] is None)


def short_bdf(bdf: str) -> str:
    """Return the address without domain 0000, as people say it."""
    return bdf.removeprefix("0000:")
