"""Reads `amd-smi` metric, static, bad-pages and topology, as JSON and as text.

Covers amd-smi 23 to 26. Oddities: the root is a list of cards or an object with `gpu_data`; a value is a number, a
text or `{value, unit}`; MB are MiB; N/A stands for what the card or the rights of the user do not allow, and for bad
pages that were not looked at; the temperature at which the card slows down is that of the hotspot.
"""

import re
from typing import Any

from steadygpu.evidence.amd import AmdBadPages, AmdPeer, AmdRasCounters
from steadygpu.evidence.device import DeviceRef, normal_bdf
from steadygpu.evidence.gpu import (
    GpuClock,
    GpuClockReasons,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuPower,
    GpuTemperature,
)
from steadygpu.evidence.link import PcieLink
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import MIB
from steadygpu.readers.amd_smi_tree import Card, Path, json_tree, text_tree
from steadygpu.readers.smi_word import Draft

_NUMBER = re.compile(r"(?P<n>-?\d{1,15}(?:\.\d{1,6})?)(?: ?(?:%|W|MHz|°?C|GT/s|MB))?$")
_TABLE = re.compile(r"(?P<what>[A-Z][A-Z -]{2,40}) TABLE:\s*$")
_BDF = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_NO_PAGES = "no bad pages found"

_FIELDS: dict[Path, tuple[type[Any], str, str]] = {
    ("usage", "gfx_activity"): (GpuLoad, "busy_ratio", "percent"),
    ("usage", "umc_activity"): (GpuLoad, "memory_busy_ratio", "percent"),
    ("power", "socket_power"): (GpuPower, "draw_w", "number"),
    ("limit", "socket_power"): (GpuPower, "limit_w", "number"),
    ("limit", "min_power"): (GpuPower, "min_limit_w", "number"),
    ("limit", "max_power"): (GpuPower, "max_limit_w", "number"),
    ("clock", "gfx_0", "clk"): (GpuClock, "sm_mhz", "whole"),
    ("clock", "gfx_0", "max_clk"): (GpuClock, "sm_limit_mhz", "whole"),
    ("clock", "mem_0", "clk"): (GpuClock, "memory_mhz", "whole"),
    ("clock", "mem_0", "max_clk"): (GpuClock, "memory_limit_mhz", "whole"),
    ("temperature", "hotspot"): (GpuTemperature, "gpu_c", "whole"),
    ("temperature", "mem"): (GpuTemperature, "memory_c", "whole"),
    ("limit", "slowdown_hotspot_temperature"): (GpuTemperature, "slowdown_c", "whole"),
    ("limit", "shutdown_hotspot_temperature"): (GpuTemperature, "shutdown_c", "whole"),
    ("pcie", "width"): (PcieLink, "width", "whole"),
    ("pcie", "speed"): (PcieLink, "speed_gts", "number"),
    ("pcie", "replay_count"): (PcieLink, "replays", "whole"),
    ("pcie", "replay_roll_over_count"): (PcieLink, "replay_rollovers", "whole"),
    ("bus", "max_pcie_width"): (PcieLink, "max_width", "whole"),
    ("bus", "max_pcie_speed"): (PcieLink, "max_speed_gts", "number"),
    ("mem_usage", "total_vram"): (GpuMemory, "total_bytes", "mib"),
    ("mem_usage", "used_vram"): (GpuMemory, "used_bytes", "mib"),
    ("mem_usage", "free_vram"): (GpuMemory, "free_bytes", "mib"),
    ("vram", "size"): (GpuMemory, "total_bytes", "mib"),
    ("asic", "market_name"): (GpuIdentity, "name", "word"),
    ("asic", "device_id"): (GpuIdentity, "pci_id", "id"),
    ("throttle", "ppt_violation_status"): (GpuClockReasons, "sw_power_cap", "active"),
    ("throttle", "prochot_violation_status"): (GpuClockReasons, "hw_thermal", "active"),
    ("throttle", "socket_thermal_violation_status"): (GpuClockReasons, "sw_thermal", "active"),
    ("ecc", "total_correctable_count"): (AmdRasCounters, "correctable", "whole"),
    ("ecc", "total_uncorrectable_count"): (AmdRasCounters, "uncorrectable", "whole"),
    ("ecc", "total_deferred_count"): (AmdRasCounters, "deferred", "whole"),
}  # fmt: skip
_PAGES = {"retired": "retired", "pending": "pending", "un_res": "unreservable"}


def read_amd_smi(lines: Lines) -> Reading:
    """Return what each card shows. Error counts are since the driver was loaded."""
    first = next((line for line in lines.clean if line.strip()), "")
    if _TABLE.match(first):
        return _tables(lines)
    tree = json_tree(lines) if first.lstrip().startswith(("{", "[")) else text_tree(lines)
    refs = {n: _ref(card, lines.name) for n, card in enumerate(tree.cards)}
    by_index: dict[int | None, DeviceRef] = {
        ref.index: ref for ref in refs.values() if ref.index is not None
    }
    facts: list[Fact] = []
    for n, card in enumerate(tree.cards):
        facts += _records(lines, card, refs[n])
        facts += _peers(lines, card, refs[n], by_index)
    cut = (Gap(where=lines.cite(tree.read_to - 1), why="the JSON is cut"),) if tree.cut else ()
    known = bool(facts) or any(card.leaves for card in tree.cards)
    return Reading(facts=tuple(facts), gaps=cut if known else (), read_to=tree.read_to)


def _ref(card: Card, text: str) -> DeviceRef:
    bdf = card.find("bus", "bdf") or card.find("bdf")
    serial = card.find("asic", "asic_serial")
    name = card.find("asic", "market_name")
    return DeviceRef(
        kind="card", index=card.index(), bdf=normal_bdf(bdf[0]) if bdf else None,
        serial=serial[0] if serial and serial[0] not in ("N/A", "") else None,
        label=name[0] if name and name[0] != "N/A" else None, text=text,
    )  # fmt: skip


def _records(lines: Lines, card: Card, ref: DeviceRef) -> list[Fact]:
    drafts: dict[type[Any], Draft] = {}
    for path, value, at in card.leaves:
        if path in _FIELDS:
            record, name, how = _FIELDS[path]
            draft = drafts.setdefault(record, Draft(lines))
            if name not in draft.values:
                _put(draft, name, value, how, at)
    if drafts:
        at = next(at for _, _, at in card.leaves)
        identity = drafts.setdefault(GpuIdentity, Draft(lines))
        identity.take("vendor", "amd", at)
    out: list[Fact] = []
    for record, draft in drafts.items():
        out += draft.record(record, ref)
    pages = Draft(lines)
    for key, name in _PAGES.items():
        _pages(pages, card, key, name)
    return out + pages.record(AmdBadPages, ref)


def _put(draft: Draft, name: str, value: str, how: str, at: int) -> None:
    if how == "link":
        if value in ("XGMI", "PCIE"):
            draft.take(name, value, at)
        else:
            draft.lack(name, "error", at)  # N/A or UNKNOWN: the link could not be read
    elif value in ("N/A", "null", ""):
        draft.lack(name, "not_supported", at)
    elif how == "word":
        draft.take(name, value[:100], at)
    elif how == "id":
        if found := re.fullmatch(r"0x([0-9a-fA-F]{1,4})", value):
            draft.take(name, f"1002:{int(found[1], 16):04x}", at)
    elif how == "active":
        if value in ("ACTIVE", "NOT ACTIVE"):
            draft.take(name, value == "ACTIVE", at)
    elif number := _NUMBER.match(value):
        amount = float(number["n"])
        meant = {
            "percent": amount / 100,
            "number": amount,
            "whole": round(amount),
            "mib": round(amount) * MIB,
        }
        draft.take(name, meant[how], at)


def _pages(draft: Draft, card: Card, key: str, name: str) -> None:
    said = card.find(key)
    if said is not None:
        if said[0].lower().startswith(_NO_PAGES):
            draft.take(name, 0, said[1])
        else:
            draft.lack(name, "not_printed", said[1])  # N/A: nobody looked
        return
    found = [at for path, _, at in card.below(key) if path[-1] == "page_address"]
    if found:
        draft.take(name, len(found), found[0], found[-1])


def _peers(
    lines: Lines, card: Card, ref: DeviceRef, by_index: dict[int | None, DeviceRef]
) -> list[Fact]:
    links: dict[str, dict[str, tuple[str, int]]] = {}
    for path, value, at in card.below("links"):
        if len(path) == 2:
            links.setdefault(path[0], {})[path[1]] = (value, at)
    out: list[Fact] = []
    for link in links.values():
        peer = _peer(link, by_index)
        if peer is None or peer == ref:
            continue
        draft = Draft(lines)
        for name in ("link_type", "link_status"):
            if told := link.get(name):
                _put(draft, name, told[0], "link" if name == "link_type" else "word", told[1])
        draft.values["peer"] = peer
        out += draft.record(AmdPeer, ref)
    return out


def _peer(
    link: dict[str, tuple[str, int]], by_index: dict[int | None, DeviceRef]
) -> DeviceRef | None:
    told = link.get("gpu", ("", 0))[0]
    return by_index.get(int(told)) if re.fullmatch(r"\d{1,3}", told, re.ASCII) else None


def _tables(lines: Lines) -> Reading:
    """Return the link types of the tables of `amd-smi topology`; rows and columns are PCI addresses."""
    facts: list[Fact] = []
    columns: list[str] = []
    what, end = "", 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        cells = line.split()[:200]
        if table := _TABLE.match(line):
            what, columns = table["what"], []
        elif what and cells and all(_BDF.fullmatch(cell) for cell in cells):
            columns = cells
        elif columns and _BDF.fullmatch(cells[0]) and len(cells) <= len(columns) + 1:
            if what == "LINK TYPE":
                facts += _row(lines, cells, columns, at)
        else:
            break
        end = at + 1
    return Reading(facts=tuple(facts), read_to=end)


def _row(lines: Lines, cells: list[str], columns: list[str], at: int) -> list[Fact]:
    def ref(bdf: str) -> DeviceRef:
        return DeviceRef(kind="card", bdf=normal_bdf(bdf), text=lines.name)

    out: list[Fact] = []
    for peer, cell in zip(columns, cells[1:], strict=False):
        if peer == cells[0]:
            continue
        draft = Draft(lines)
        _put(draft, "link_type", cell, "link", at)
        draft.values["peer"] = ref(peer)
        out += draft.record(AmdPeer, ref(cells[0]))
    return out
