"""Fault numbers of NVSwitches: the SXid lines of the nvidia-nvswitch driver.

Covers: drivers 450 to 595. A fault prints a line with Fatal, Non-fatal or Correctable, and most print a
second line with "Severity" and further ones with "Data" of the same number, which belong to the first.
"""

import re

from steadygpu.evidence.device import DeviceRef, normal_bdf
from steadygpu.evidence.kernel_log import SxidEvent
from steadygpu.readers.kernel_log_events import Families, Family
from steadygpu.readers.kernel_log_fold import Line

_SXID = re.compile(
    r"(?:NVRM: )?(?:nvidia-)?(?P<switch>nvswitch\d{1,3}):? SXid \((?:PCI:)?(?P<bdf>[0-9a-fA-F:.]{7,20})\): "
    r"(?P<code>[1-3]\d{4}), *(?P<says>.*)"
)
_WORD = re.compile(r"(?P<word>Fatal|Non-?fatal|Correctable)\b", re.IGNORECASE)
_LINK = re.compile(r"\b[Ll]ink (?P<link>\d{1,3})\b")
_DETAIL = re.compile(r"(?:Severity \d|Data \{)")
_INSTANCE = re.compile(r"Severity \d{1,3} Engine instance (?P<link>\d{1,3})\b")


def _sxid(families: Families, line: Line) -> bool:
    found = _SXID.search(line.text)
    if found is None:
        return False
    bdf, code, says = normal_bdf(found["bdf"]), int(found["code"]), found["says"].strip()
    told = line.host.boot.told
    name = f"sxid {bdf} {code}"
    word = _WORD.match(says)
    if word is None and _DETAIL.match(says) is not None and name in told:
        return True
    told.add(name)
    link = _LINK.search(says) or _INSTANCE.match(says)
    families.keep(
        SxidEvent(
            device=DeviceRef(kind="switch", host=line.host.name, label=found["switch"], bdf=bdf, text=line.name),
            at=line.at, code=code, fatal=None if word is None else word["word"].lower() == "fatal",
            link=int(link["link"]) if link is not None else None, says=says[:300], sources=(line.cite(),),
        ),
        line,
    )  # fmt: skip
    return True


FAMILIES: tuple[Family, ...] = (("SXid (", _sxid),)
WORDS: tuple[bytes, ...] = (b"SXid (",)
