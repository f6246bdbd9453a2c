"""Reads `dmidecode`: the product and the power supplies that the firmware describes. dmidecode 2.12 to 3.6.

Each structure begins with a line "Handle 0x0072, DMI type 39, 22 bytes"; unspecified values read "Unknown", "Not
Specified" or the vendor's filler. A supply of 0 W was not filled in either.
"""

import re
from dataclasses import dataclass

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.power_supply import PowerSupplies
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.setting import Setting
from steadygpu.evidence.text import Lines
from steadygpu.readers.setting_word import told_by_product
from steadygpu.readers.smi_word import Draft

_HANDLE = re.compile(
    r"Handle (?P<handle>0x[0-9A-Fa-f]{4}), DMI type (?P<type>\d{1,3}), \d{1,5} bytes\s*$"
)
_PREFACE = re.compile(
    r"# dmidecode \d|Getting SMBIOS data|SMBIOS \d|Scanning /dev/mem|Table at |\d+ structures occupying|"
    r"Invalid entry length|Wrong DMI structures|# SMBIOS implementations"
)
_FIELD = re.compile(r"\t(?P<key>[A-Z][^:\t]{0,60}): ?(?P<value>.{0,200})$")
_TITLE = re.compile(r"[A-Z][\w /()-]{2,60}$")
_WATTS = re.compile(r"(?P<watts>\d{1,6}) W$")
_SUPPLY, _SYSTEM = "39", "1"


@dataclass(slots=True)
class _Supply:
    """One structure of a supply: its first line, its power and the lines that say it is not there."""

    at: int
    watts: float | None = None
    watts_at: int | None = None
    missing_at: int | None = None


def read_dmidecode(lines: Lines) -> Reading:
    """Return the supplies as one record and what the host is; other structures are passed over."""
    found: list[_Supply] = []
    system: dict[str, tuple[str, int]] = {}
    open_ = ""
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if handle := _HANDLE.match(line):
            open_ = handle["type"]
            if open_ == _SUPPLY:
                found.append(_Supply(at))
        elif pair := _FIELD.match(line):
            if open_ == _SUPPLY:
                _take(found[-1], pair["key"], pair["value"].strip(), at)
            elif open_ == _SYSTEM and pair["key"] in ("Manufacturer", "Product Name"):
                system.setdefault(pair["key"], (pair["value"].strip(), at))
        elif not (
            line.startswith("\t") or _PREFACE.match(line) or (read_to and _TITLE.match(line))
        ):
            break
        read_to = at + 1
    return Reading(facts=(*_facts(lines, found), *_setting(lines, system)), read_to=read_to)


def _setting(lines: Lines, system: dict[str, tuple[str, int]]) -> tuple[Fact, ...]:
    told = told_by_product(" ".join(word for word, _ in system.values()))
    if told is None:
        return ()
    proof = tuple(lines.cite(at, at, "kind", "hypervisor") for _, at in system.values())
    return (
        Setting(device=host_ref(), kind=told[0], by="dmidecode", hypervisor=told[1], sources=proof),
    )


def _take(supply: _Supply, key: str, value: str, at: int) -> None:
    if key == "Max Power Capacity":
        watts = _WATTS.match(value)
        supply.watts = float(watts["watts"]) if watts is not None else None
        supply.watts_at = at
    elif (key == "Status" and value.lower().startswith("not present")) or (
        key == "Plugged" and value == "No"
    ):
        supply.missing_at = at


def _facts(lines: Lines, found: list[_Supply]) -> tuple[Fact, ...]:
    if not found:
        return ()
    draft = Draft(lines)
    fitted = [one for one in found if one.missing_at is None]
    for one in found:
        draft.take("fitted", len(fitted), one.at if one.missing_at is None else one.missing_at)
    for one in fitted:
        if one.watts:  # 0 W was never filled in
            draft.take("total_w", sum(s.watts or 0.0 for s in fitted), one.watts_at or one.at)
    untold = [one for one in fitted if not one.watts]
    if untold:
        draft.values.pop("total_w", None)
        at = untold[0].watts_at
        draft.lack("total_w", "not_supported" if at is not None else "cut", at or untold[0].at)
    return tuple(draft.record(PowerSupplies, host_ref()))
