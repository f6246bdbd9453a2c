"""What the cells of one card in the table of nvidia-smi say."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.ecc import EccCounters
from steadygpu.evidence.gpu import (
    GpuClock,
    GpuErrorCells,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuMode,
    GpuPower,
    GpuTemperature,
)
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import GIB, KIB, MIB
from steadygpu.readers.smi_word import Draft, number_of, ratio_of, reason_of, whole_of

MODELS = ("WDDM", "TCC", "MCDM")
_MODES = {
    "Default": "default", "E. Process": "exclusive_process", "E. Thread": "exclusive_thread",
    "Prohibited": "prohibited",
}  # fmt: skip
_UNITS = {"K": KIB, "M": MIB, "G": GIB}  # 304 writes MB and means MiB, as NVML does
ON = {"On": True, "Off": False}


@dataclass(slots=True)
class Card:
    """The cells of one card as printed: word and position."""

    first: int
    index: int | None = None
    bdf: str | None = None
    cells: dict[str, tuple[str, int]] = field(default_factory=dict)
    ref: DeviceRef | None = None

    def put(self, name: str, word: str, at: int) -> None:
        """Take a printed cell; an empty one is none."""
        if word:
            self.cells[name] = (word, at)


def bytes_of(word: str) -> int | None:
    """Return the bytes of a figure like 512MiB, or None where there is none."""
    found = re.fullmatch(r"(\d{1,9})\s?([KMG])i?B", word, re.ASCII)
    return int(found[1]) * _UNITS[found[2]] if found else None


def card_facts(lines: Lines, at: Moment, card: Card, ref: DeviceRef, load: Draft) -> list[Fact]:
    """Return the records of one card. `load` holds what the list of processes says about it."""
    out: list[Fact] = []
    cells = card.cells

    def draft(*rows: tuple[str, str, Callable[[str], object | None]]) -> Draft:
        made = Draft(lines)
        for name, cell, parse in rows:
            if cell in cells:
                made.put(name, *cells[cell], parse)
        return made

    identity = draft(("name", "name", str))
    if "name" in identity.values:
        identity.values["vendor"] = "nvidia"
        identity.values["name_cut"] = str(identity.values["name"]).endswith("...")
    out += identity.record(GpuIdentity, ref, at)
    mode = draft(
        ("display_active", "display", ON.get), ("ecc_on", "ecc", _ecc_on),
        ("compute_mode", "compute_mode", _MODES.get), ("mig_on", "mig", _mig_on),
    )  # fmt: skip
    if "persistence" in cells:
        word, row = cells["persistence"]
        name = "driver_model" if word in MODELS else "persistence_on"
        mode.put(name, word, row, str if word in MODELS else ON.get)
    out += mode.record(GpuMode, ref, at)
    if "utilization" in cells:
        load.put("busy_ratio", *cells["utilization"], ratio_of)
    out += load.record(GpuLoad, ref, at)
    out += draft(
        ("used_bytes", "memory_used", bytes_of), ("total_bytes", "memory_total", bytes_of)
    ).record(GpuMemory, ref, at)  # fmt: skip
    out += draft(("pstate", "pstate", _pstate)).record(GpuClock, ref, at)
    out += draft(
        ("draw_w", "power_draw", _watts), ("limit_w", "power_limit", _watts)
    ).record(GpuPower, ref, at)  # fmt: skip
    out += draft(
        ("gpu_c", "temperature", _celsius), ("fan_ratio", "fan", ratio_of)
    ).record(GpuTemperature, ref, at)  # fmt: skip
    ecc = draft(("uncorrected", "ecc", whole_of))
    if ecc.places:
        ecc.values["scope"] = "volatile"
    out += ecc.record(EccCounters, ref, at)
    out += _error_cells(lines, at, card, ref)
    return out


def _error_cells(lines: Lines, at: Moment, card: Card, ref: DeviceRef) -> list[GpuErrorCells]:
    bad, readable, rows = [], 0, []
    for name, (word, row) in card.cells.items():
        reason = reason_of(word)
        if reason == "error":
            bad.append((name, word))
            rows.append(row)
        elif reason is None:
            readable += 1
    if not bad:
        return []
    return [
        GpuErrorCells(
            device=ref,
            at=at,
            fields=tuple(name for name, _ in bad),
            words=tuple(word for _, word in bad),
            readable=readable,
            sources=tuple(lines.cite(row, row, "fields", "words") for row in sorted(set(rows))),
        )
    ]


def _ecc_on(word: str) -> bool | None:
    return True if whole_of(word) is not None else ON.get(word)


def _mig_on(word: str) -> bool | None:
    return {"Enabled": True, "Disabled": False}.get(word)


def _pstate(word: str) -> int | None:
    return int(word[1:]) if re.fullmatch(r"P\d{1,2}", word, re.ASCII) else None


def _watts(word: str) -> float | None:
    return number_of(word, "W")


def _celsius(word: str) -> int | None:
    return whole_of(word, "C")
