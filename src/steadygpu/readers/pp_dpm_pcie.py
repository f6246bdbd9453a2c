"""Reads pp_dpm_pcie of amdgpu: the link states that the driver may choose, the current one with a star.

Covers Linux 4.12 and later and ROCm's own module, printed by cat or by `grep -H .` with the path before each line.
The states hold what the link between slot and card was trained to, not what the card could do. On some small
Polaris cards the width is the chip's (x16) where the board has x8.
"""

import re

from steadygpu.evidence.amd import DpmLink
from steadygpu.evidence.device import DeviceRef, normal_bdf
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines

_STATE = re.compile(
    r"(?:(?P<path>/\S{0,300}pp_dpm_pcie):)?\d{1,2}: (?P<gts>\d{1,3}(?:\.\d{1,2})?) ?GT/s,? x(?P<width>\d{1,2})(?: \d{1,6}[Mm]hz)?"
    r"(?P<now> \*)?\s*$"
)
_CARD = re.compile(r"/card(?P<card>\d{1,3})/")
_BDF = re.compile(r"/(?P<bdf>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/pp_dpm_pcie$")
_HEADING = re.compile(r"==> (?P<path>/\S{0,300}pp_dpm_pcie) <==\s*$")


def read_pp_dpm_pcie(lines: Lines) -> Reading:
    """Return the current link of each file; without a path all states are of one card."""
    facts: list[Fact] = []
    read_to, heading = 0, ""
    seen: set[str] = set()
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if found := _HEADING.match(line):
            heading = found["path"]
        elif found := _STATE.match(line):
            path = found["path"] or heading
            if found["now"] is not None:
                if path in seen:
                    break  # the same file again: another output
                seen.add(path)
                facts.append(
                    DpmLink(
                        device=_ref(path, lines.name), speed_gts=float(found["gts"]), width=int(found["width"]),
                        sources=(lines.cite(at, at, "speed_gts", "width"),),
                    )
                )  # fmt: skip
        else:
            break
        read_to = at + 1
    return Reading(facts=tuple(facts), read_to=read_to)


def _ref(path: str, text: str) -> DeviceRef:
    card, bdf = _CARD.search(path), _BDF.search(path)
    return DeviceRef(
        kind="card", minor=int(card["card"]) if card else None,
        bdf=normal_bdf(bdf["bdf"]) if bdf else None, label=None, text=text,
    )  # fmt: skip
