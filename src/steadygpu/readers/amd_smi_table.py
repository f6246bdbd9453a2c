"""Reads the table that `amd-smi` alone prints: cards in two lines each, then processes.

Covers amd-smi 26 (ROCm 7). Oddities: the driver version may read "Linuxver" or be that of the kernel; a fan is "51.76"
or "29.8 %"; integrated cards print "N/A/0 W"; UEC counts uncorrectable errors since the driver was loaded.
"""

import re
from typing import Any

from steadygpu.evidence.amd import AmdRasCounters
from steadygpu.evidence.device import DeviceRef, normal_bdf
from steadygpu.evidence.gpu import GpuIdentity, GpuLoad, GpuMemory, GpuPower, GpuTemperature
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import MIB
from steadygpu.readers.smi_word import Draft, number_of, ratio_of, whole_of

_TITLE = re.compile(r"\| AMD-SMI \S")
_FIRST = re.compile(
    r"\| (?P<bdf>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) +(?P<name>\S.{0,60}?) *\| (?P<memory>N/A|\d{1,3} %) +"
    r"(?P<temp>N/A|\d{1,3} °C) +(?P<uec>N/A|\d{1,9}) +(?:N/A|(?P<draw>N/A|\d{1,5})/(?P<cap>N/A|\d{1,5}) W) *\|\s*$"
)
_SECOND = re.compile(
    r"\| +(?P<gpu>\d{1,3}) +(?:\d{1,3}|N/A) +(?:\d{1,3}|N/A) +[\w/]{1,12} +\| (?P<busy>N/A|\d{1,3} %) +"
    r"(?P<fan>N/A|\d{1,3}(?:\.\d{1,3})?)(?: %)? +(?P<used>N/A|\d{1,9})/(?P<total>N/A|\d{1,9}) MB *\|\s*$"
)
_REST = re.compile(
    r"\| (?:VBIOS version: |Platform: |BDF +GPU-Name |GPU +HIP-ID ).*\|\s*$|[|+][-=+]{20,}[|+]\s*$"
)
_PROCESSES = re.compile(r"\| Processes: +\|\s*$")
_PROCESS = re.compile(r"\|  .{0,200}\|\s*$")


def read_amd_smi_table(lines: Lines) -> Reading:
    """Return what each card shows; every card is `amd`."""
    facts: list[Fact] = []
    read_to = 0
    processes = titled = False
    above: tuple[re.Match[str], int] | None = None
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if _TITLE.match(line):
            if titled or facts:
                break
            titled = True
        elif first := _FIRST.match(line):
            if above is not None:
                facts += _card(lines, above, None)
            above = (first, at)
        elif above is not None and (second := _SECOND.match(line)):
            facts += _card(lines, above, (second, at))
            above = None
        elif _PROCESSES.match(line):
            processes = True
        elif not (_REST.match(line) or (processes and _PROCESS.match(line))):
            break
        read_to = at + 1
    if above is not None:
        facts += _card(lines, above, None)
    return Reading(facts=tuple(facts), read_to=read_to if titled or facts else 0)


def _card(
    lines: Lines, first: "tuple[re.Match[str], int]", second: "tuple[re.Match[str], int] | None"
) -> list[Fact]:
    drafts: dict[type[Any], Draft] = {}

    def draft(record: type[Any]) -> Draft:
        return drafts.setdefault(record, Draft(lines))

    row, at = first
    index = None
    draft(GpuIdentity).take("vendor", "amd", at)
    if not row["name"].startswith("0x"):
        draft(GpuIdentity).take("name", row["name"], at)
    draft(GpuLoad).put("memory_busy_ratio", row["memory"], at, ratio_of)
    draft(GpuTemperature).put("gpu_c", row["temp"], at, lambda word: whole_of(word, "°C"))
    draft(AmdRasCounters).put("uncorrectable", row["uec"], at, whole_of)
    draft(GpuPower).put("draw_w", row["draw"], at, number_of)
    if row["cap"] == "0":
        draft(GpuPower).lack("limit_w", "not_supported", at)
    else:
        draft(GpuPower).put("limit_w", row["cap"], at, number_of)
    if second is not None:
        row, at = second
        index = int(row["gpu"])
        draft(GpuLoad).put("busy_ratio", row["busy"], at, ratio_of)
        draft(GpuTemperature).put("fan_ratio", row["fan"], at, ratio_of)
        for name in ("used", "total"):
            draft(GpuMemory).put(f"{name}_bytes", row[name], at, _bytes)
    label = drafts[GpuIdentity].values.get("name")
    bdf = normal_bdf(first[0]["bdf"])
    ref = DeviceRef(kind="card", index=index, bdf=bdf, label=label, text=lines.name)
    return [fact for record, one in drafts.items() for fact in one.record(record, ref)]


def _bytes(word: str) -> int | None:
    found = whole_of(word)
    return None if found is None else found * MIB
