"""Reads bandwidthTest, the CUDA sample: its tables and its CSV lines. CUDA 5 to 12.

MB/s of older versions are 2^20 bytes, GB/s of newer ones 10^9. The device number is CUDA's own.
"""

import re

from steadygpu.evidence.bench import CopyRate
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import MIB
from steadygpu.readers.smi_word import Draft

_HEAD = re.compile(r"\[CUDA Bandwidth Test\] - Starting")
_DEVICE = re.compile(r"\s{1,4}Device (?P<index>\d{1,4}): (?P<name>\S.{0,100}?)\s*$")
_CSV = re.compile(
    r"bandwidthTest-(?P<way>[HD]2[HD])-(?P<memory>\w{1,20}), Bandwidth = (?P<rate>\d{1,9}(?:\.\d{1,6})?) "
    r"(?P<unit>[GM])B/s, Time = [\d.]{1,20} s, Size = (?P<size>\d{1,15}) bytes(?:, NumDevsUsed = (?P<used>\d{1,4}))?\s*$"
)
_SECTION = re.compile(
    r"\s(?P<a>Host|Device) to (?P<b>Host|Device) Bandwidth, (?P<used>\d{1,3}) Device\(s\)\s*$"
)
_MEMORY = re.compile(r"\s(?P<memory>PINNED|PAGEABLE) Memory Transfers\s*$")
_COLUMNS = re.compile(r"\s+Transfer Size \(Bytes\)\s+Bandwidth\s?\((?P<unit>[GM])B/s\)\s*$")
_ROW = re.compile(r"\s+(?P<size>\d{1,15})\s+(?P<rate>\d{1,9}(?:\.\d{1,6})?)\s*$")
_ASIDE = re.compile(
    r"Running on\.\.\.\s*$|\s(?:Quick|Shmoo|Range) Mode\s*$|\.{2,2000}\s*$|Result = (?:PASS|FAIL)|NOTE: The CUDA Samples"
)
_UNITS = {"G": 1e9, "M": float(MIB)}
_HOW = {"pinned": "pinned", "paged": "pageable", "pageable": "pageable"}


def read_bandwidth_test(lines: Lines) -> Reading:
    """Return one record for each rate; one that is a sum over several cards tells of none and is left out."""
    facts: list[Fact] = []
    device = DeviceRef(kind="card", text=lines.name)
    devices = read_to = 0
    way = how = unit = ""
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 3000:
            break
        if _HEAD.match(line):
            if read_to:
                break
        elif named := _DEVICE.match(line):
            devices += 1
            device = DeviceRef(
                kind="card", index=int(named["index"]), label=named["name"], text=lines.name
            )
        elif section := _SECTION.match(line):
            way = f"{section['a'][0]}2{section['b'][0]}".lower() if section["used"] == "1" else ""
            how = unit = ""
        elif memory := _MEMORY.match(line):
            how = memory["memory"].lower()
        elif columns := _COLUMNS.match(line):
            unit = columns["unit"]
        elif row := _CSV.match(line):
            if (row["used"] or "1") == "1":
                facts += _rate(
                    lines, at, device, row["way"].lower(), row["memory"].lower(), row["unit"], row
                )
        elif row := _ROW.match(line):
            if way and unit:
                facts += _rate(lines, at, device, way, how or "pinned", unit, row)
        elif not _ASIDE.match(line):
            break
        read_to = at + 1
    if devices > 1:
        facts = []  # the rates are of them all together
    return Reading(facts=tuple(facts), read_to=read_to)


def _rate(
    lines: Lines, at: int, device: DeviceRef, way: str, how: str, unit: str, row: "re.Match[str]"
) -> list[CopyRate]:
    draft = Draft(lines)
    draft.values |= {"tool": "bandwidthTest", "direction": way, "how": _HOW.get(how, how)}
    draft.take("size_bytes", int(row["size"]), at)
    draft.take("bytes_per_s", float(round(float(row["rate"]) * _UNITS[unit])), at)
    return draft.record(CopyRate, device)
