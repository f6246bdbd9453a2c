"""What a kernel log says the host is: its product, a hypervisor, a kernel of WSL or of Jetson.

Covers: "DMI: MAKER PRODUCT/BOARD, BIOS ...", "Hypervisor detected: ..." and "Linux version ..." of Linux 3.10 to
6.18. "Booting paravirtualized kernel on bare hardware" is no proof: guests of some hypervisors print it too.
"""

import re

from steadygpu.evidence.setting import Setting
from steadygpu.readers.kernel_log_events import Families, Family
from steadygpu.readers.kernel_log_fold import Line
from steadygpu.readers.setting_word import Told, told_by_product, told_by_release

_DETECTED = re.compile(r"Hypervisor detected: (?P<word>\S.{0,60})$")
_DMI = re.compile(r"DMI: (?P<product>\S.{0,200}?)(?:, BIOS .{0,200})?$")
_VERSION = re.compile(r"Linux version (?P<release>\d\S{1,100})")


def _keep(families: Families, line: Line, told: Told | None) -> bool:
    """Keep what a line told, once for each boot."""
    if told is None:
        return False
    kind, hypervisor = told
    name = f"setting {kind}"
    if name in line.host.boot.told:
        return True
    line.host.boot.told.add(name)
    families.keep(
        Setting(
            device=line.on_host(), at=line.at, kind=kind, by="kernel-log", hypervisor=hypervisor,
            sources=(line.cite("kind", "hypervisor"),),
        ),
        line,
    )  # fmt: skip
    return True


def _detected(families: Families, line: Line) -> bool:
    found = _DETECTED.match(line.text)
    return found is not None and _keep(families, line, ("vm", found["word"].strip()))


def _product(families: Families, line: Line) -> bool:
    found = _DMI.match(line.text)
    return found is not None and _keep(families, line, told_by_product(found["product"]))


def _version(families: Families, line: Line) -> bool:
    found = _VERSION.match(line.text)
    return found is not None and _keep(families, line, told_by_release(found["release"]))


FAMILIES: tuple[Family, ...] = (
    ("Hypervisor detected: ", _detected),
    ("DMI: ", _product),
    ("Linux version ", _version),
)
WORDS: tuple[bytes, ...] = (b"Hypervisor detected: ", b" DMI: ")
