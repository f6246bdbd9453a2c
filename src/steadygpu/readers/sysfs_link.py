"""Reads the link files of PCI devices: current_link_speed, current_link_width and their maxima.

Covers Linux 4.13 and later, printed by `grep -H .` or `grep . *`, by `tail -n +1` or `head` with
"==> path <==" lines, or as "path value". Oddities: "16 GT/s" (before 5.0), "16.0 GT/s PCIe",
"Unknown speed" and "Unknown" (5.x and later), and width 255 or 63 for a device off the bus.
"""

import re
from dataclasses import dataclass, field

from steadygpu.evidence.device import DeviceRef, normal_bdf
from steadygpu.evidence.link import PcieLink
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.source import Absent, Gap, Source
from steadygpu.evidence.text import Lines

_FILE = (
    r"(?:\S{0,400}/)?(?P<bdf>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/"
    r"(?P<file>[a-z_]{1,40})"
)
_ONE = re.compile(_FILE + r"(?::\s*|\s+)(?P<value>\S.*?)\s*$")
_BLOCK = re.compile(r"==> " + _FILE + r" <==\s*$")
_FAILED = re.compile(r"(?:grep|cat|tail|head): [^/]{0,40}/sys/\S*link_")
_VALUE = re.compile(r"(?:\d{1,3}(?:\.\d{1,2})? GT/s(?: PCIe)?|\d{1,3}|Unknown(?: speed)?)\s*$")
_SPEED = re.compile(r"(\d{1,3}(?:\.\d{1,2})?) GT/s(?: PCIe)?$")
_WIDTH = re.compile(r"\d{1,3}$")
_FIELDS = {
    "current_link_speed": "speed_gts",
    "current_link_width": "width",
    "max_link_speed": "max_speed_gts",
    "max_link_width": "max_width",
}
_WIDEST = 32  # PCI Express Base 6.0: x32 is the widest link; 63 and 255 are a device that is gone


@dataclass(slots=True)
class _Link:
    values: dict[str, float] = field(default_factory=dict)
    absent: list[Absent] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)


def read_sysfs_link(lines: Lines) -> Reading:
    """Return one `PcieLink` for each PCI address that the paths name."""
    links: dict[str, _Link] = {}
    gaps: list[Gap] = []
    at = end = 0
    while at < len(lines):
        line = lines.clean[at]
        if not line.strip():
            at += 1
            continue
        one = _ONE.match(line)
        block = None if one else _BLOCK.match(line)
        if one is not None:
            if one["file"] in _FIELDS:
                _take(lines, at, at, links, one["bdf"], one["file"], one["value"])
        elif block is not None:
            below = lines.clean[at + 1] if at + 1 < len(lines) else ""
            if _VALUE.match(below):
                if block["file"] in _FIELDS:
                    _take(lines, at, at + 1, links, block["bdf"], block["file"], below.strip())
                at += 1
        elif _FAILED.match(line):
            gaps.append(Gap(where=lines.cite(at), why="the link file could not be read"))
        else:
            break
        at += 1
        end = at
    facts = tuple(
        PcieLink(
            device=DeviceRef(kind="pci", bdf=normal_bdf(bdf), text=lines.name),
            speed_gts=link.values.get("speed_gts"),
            max_speed_gts=link.values.get("max_speed_gts"),
            width=_whole(link.values.get("width")),
            max_width=_whole(link.values.get("max_width")),
            absent=tuple(a for a in link.absent if a.field not in link.values),
            sources=tuple(link.sources),
        )
        for bdf, link in links.items()
    )
    return Reading(facts=facts, gaps=tuple(gaps), read_to=end)


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _take(
    lines: Lines, first: int, last: int, links: dict[str, _Link], bdf: str, file: str, value: str
) -> None:
    name = _FIELDS[file]
    link = links.setdefault(bdf, _Link())
    source = lines.cite(first, last, name)
    number: float | None = None
    if file.endswith("speed"):
        if speed := _SPEED.match(value):
            number = float(speed[1])
    elif _WIDTH.match(value) and 1 <= int(value) <= _WIDEST:
        number = int(value)
    link.sources.append(source)
    if number is None:
        link.absent.append(Absent(field=name, reason="error", source=source))
    else:
        link.values[name] = number
