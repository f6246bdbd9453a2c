"""Errors of the host's memory in a kernel log: EDAC and the kernel's handling of bad pages.

Covers: EDAC of Linux 3.10 to 6.18: "1 CE memory read error on LABEL (...)" (sb_edac, skx, i10nm, ghes),
"1 CE on mc#0csrow#2channel#1 (...)" (amd64), and the older "CE page ..., label "LABEL": driver". Reports of the
firmware (APEI) are read by `kernel_log_aer`. "unknown memory" and "any memory" name no DIMM.
"""

import re

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.kernel_log import MemoryErrorEvent
from steadygpu.readers.kernel_log_events import Families, Family
from steadygpu.readers.kernel_log_fold import Line

_EDAC = re.compile(r"EDAC MC\d{1,4}: (?:(?P<errors>\d{1,10}) )?(?P<kind>CE|UE)\b(?P<rest>.*)")
_LABEL = re.compile(r'\blabels? "(?P<dimm>[^"]{1,200})"| on (?P<on>\S[^()]{0,200}?)(?: \(|$)')
_NO_DIMM = re.compile(r"(?:unknown|any) memory|:*$")
_FAILURE = re.compile(
    r"(?:mce: )?(?:Memory failure: 0x[0-9a-f]{1,16}: (?P<says>.{1,200})"
    r"|(?P<hard>Uncorrected hardware memory error in user-access at [0-9a-fx]{1,20}))"
)
_SOFT = re.compile(r"[Ss]oft[ _-]offlin(?:e|ing):? .{0,10}0x[0-9a-f]{1,16}")


def dimm(line: Line, label: str) -> DeviceRef:
    """Return the DIMM of this label."""
    return DeviceRef(kind="dimm", host=line.host.name, label=label, text=line.name)


def _edac(families: Families, line: Line) -> bool:
    found = _EDAC.match(line.text)
    if found is None:
        return False
    named = _LABEL.search(found["rest"])
    label = (named["dimm"] or named["on"] or "").strip() if named is not None else ""
    errors = int(found["errors"] or 1)
    families.keep(
        MemoryErrorEvent(
            device=line.on_host() if _NO_DIMM.match(label) else dimm(line, label), at=line.at,
            kind="corrected" if found["kind"] == "CE" else "uncorrected", by="edac", errors=max(errors, 1),
            says=line.text[:300], sources=(line.cite(),),
        ),
        line,
    )  # fmt: skip
    return True


def _page(families: Families, line: Line) -> bool:
    if _FAILURE.match(line.text) is not None:
        kind = "uncorrected"
    elif _SOFT.match(line.text) is not None:
        kind = "corrected"
    else:
        return False
    families.keep(
        MemoryErrorEvent(
            device=line.on_host(), at=line.at, kind=kind, by="kernel", says=line.text[:300],
            sources=(line.cite(),),
        ),
        line,
    )  # fmt: skip
    return True


FAMILIES: tuple[Family, ...] = (
    ("EDAC MC", _edac),
    ("emory failure: 0x", _page),
    ("hardware memory error", _page),
    ("oft offlin", _page),
    ("oft_offlin", _page),
)
WORDS: tuple[bytes, ...] = (b"EDAC MC", b"emory failure: 0x", b"hardware memory error", b"oft offlin", b"oft_offlin")  # fmt: skip
