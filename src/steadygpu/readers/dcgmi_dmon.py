"""Reads `dcgmi dmon -e FIELDS`: samples of DCGM's fields for cards and MIG slices.

Covers DCGM 2.0 to 4.5: `# Entity` with `Id` below it (2.x), `#Entity` with `ID` (3.x and later). Columns carry the
short names of the fields; the head is repeated every so many samples. Profiling fields are ratios 0 to 1 and bytes
a second, frame buffer figures are MiB. N/A is no sample.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.gpu import GpuClock, GpuLoad, GpuMemory, GpuPower, GpuTemperature
from steadygpu.evidence.profile import GpuProfile
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import MIB
from steadygpu.readers.smi_word import Draft, runs

_LONGEST = 1000
_HEAD = re.compile(r"#\s?Entity(?:Id)?(?P<names>(?:\s+[A-Z][A-Z0-9#_]{1,9}){1,60})\s*$")
_UNITS = re.compile(r"\s*#?\s*I[Dd](?:\s+[A-Za-z/%#]{1,8}){0,60}\s*$")
_ROW = re.compile(
    r"\s*(?P<kind>GPU(?:-I|-CI)?|Switch|vGPU|CPU|Link)\s?(?P<id>\d{1,5})(?P<cells>(?:\s+\S{1,40}){1,60})\s*$"
)
_VALUE = re.compile(r"-?\d{1,18}(?:\.\d{1,6})?")
_NO_VALUE = ("N/A", "-")
# dcgm_fields.cpp, short names: record, field, factor.
_COLUMNS: dict[str, tuple[tuple[type[Any], str, float], ...]] = {
    "GRACT": ((GpuProfile, "graphics_active_ratio", 1.0),),
    "SMACT": ((GpuProfile, "sm_active_ratio", 1.0), (GpuLoad, "sm_active_ratio", 1.0)),
    "SMOCC": ((GpuProfile, "sm_occupancy_ratio", 1.0),),
    "TENSO": ((GpuProfile, "tensor_active_ratio", 1.0),),
    "DRAMA": ((GpuProfile, "dram_active_ratio", 1.0), (GpuLoad, "dram_active_ratio", 1.0)),
    "FP64A": ((GpuProfile, "fp64_active_ratio", 1.0),),
    "FP32A": ((GpuProfile, "fp32_active_ratio", 1.0),),
    "FP16A": ((GpuProfile, "fp16_active_ratio", 1.0),),
    "PCITX": ((GpuProfile, "pcie_tx_bytes_s", 1.0),), "PCIRX": ((GpuProfile, "pcie_rx_bytes_s", 1.0),),
    "NVLTX": ((GpuProfile, "nvlink_tx_bytes_s", 1.0),), "NVLRX": ((GpuProfile, "nvlink_rx_bytes_s", 1.0),),
    "GPUTL": ((GpuLoad, "busy_ratio", 0.01),), "MCUTL": ((GpuLoad, "memory_busy_ratio", 0.01),),
    "POWER": ((GpuPower, "draw_w", 1.0),), "TMPTR": ((GpuTemperature, "gpu_c", 1.0),),
    "SMCLK": ((GpuClock, "sm_mhz", 1.0),), "MMCLK": ((GpuClock, "memory_mhz", 1.0),),
    "FBTTL": ((GpuMemory, "total_bytes", float(MIB)),), "FBFRE": ((GpuMemory, "free_bytes", float(MIB)),),
    "FBUSD": ((GpuMemory, "used_bytes", float(MIB)),),
}  # fmt: skip
_WHOLE = ("_c", "_mhz", "_bytes")
_LIMITS = {"_ratio": 1.001, "_w": 1e5, "_c": 300, "_mhz": 1e5, "_bytes": 1e15, "_s": 1e15}


@dataclass(slots=True)
class _Entity:
    """The samples of one card or slice: for each column its values, and the rows they stand in."""

    rows: list[int] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)
    missing: dict[str, list[int]] = field(default_factory=dict)


def read_dcgmi_dmon(lines: Lines) -> Reading:
    """Return the means over the samples of each card, the highest temperature; of a MIG slice its profile alone."""
    names: list[str] = []
    entities: dict[tuple[str, int], _Entity] = {}
    gaps: list[Gap] = []
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        if head := _HEAD.match(line):
            fresh = head["names"].split()
            if names and fresh != names:
                break
            names = fresh
        elif row := _ROW.match(line) if names else None:
            cells = row["cells"].split()
            if len(cells) == len(names):
                entity = entities.setdefault((row["kind"], int(row["id"])), _Entity())
                _take(entity, names, cells, at)
            else:
                why = "a sample with another number of columns than its head"
                gaps.append(Gap(where=lines.cite(at), why=why))
        elif not (names and _UNITS.match(line)):
            break
        read_to = at + 1
    facts: list[Fact] = []
    for (kind, number), entity in entities.items():
        facts += _facts(lines, kind, number, entity)
    return Reading(facts=tuple(facts), gaps=tuple(gaps), read_to=read_to)


def _take(entity: _Entity, names: list[str], cells: list[str], at: int) -> None:
    entity.rows.append(at)
    for name, word in zip(names, cells, strict=True):
        if _VALUE.fullmatch(word):
            entity.values.setdefault(name, []).append(float(word))
        elif word in _NO_VALUE:
            entity.missing.setdefault(name, []).append(at)


def _facts(lines: Lines, kind: str, number: int, entity: _Entity) -> Iterable[Fact]:
    if kind == "GPU":
        ref = DeviceRef(kind="card", index=number, text=lines.name)
    elif kind == "GPU-I":
        ref = DeviceRef(
            kind="mig", label=f"GPU instance {number} of dcgmi", index=number, text=lines.name
        )
    else:
        return
    drafts: dict[type[Any], Draft] = {}
    for name, places in _COLUMNS.items():
        for record, target, factor in places:
            if kind != "GPU" and record is not GpuProfile:
                continue
            values = [v * factor for v in entity.values.get(name, ()) if _fits(target, v * factor)]
            draft = drafts.setdefault(record, Draft(lines))
            if values:
                mean = max(values) if target == "gpu_c" else round(sum(values) / len(values), 6)
                draft.values[target] = round(mean) if target.endswith(_WHOLE) else mean
                for first, last in runs(entity.rows):
                    draft.places.setdefault((first, last), []).append(target)
                if target == "busy_ratio":
                    draft.values.update(busy_max_ratio=max(values))
            elif name in entity.missing:
                at = entity.missing[name][0]
                draft.lack(target, "not_supported", at)
    for record, draft in drafts.items():
        if record is GpuLoad and draft.places:
            draft.values["samples"] = len(entity.rows)
        yield from draft.record(record, ref)


def _fits(target: str, value: float) -> bool:
    limit = next(limit for end, limit in _LIMITS.items() if target.endswith(end))
    return -100 < value <= limit and (value >= 0 or target.endswith("_c"))
