"""Reads the line in which PyTorch says that a card has no memory left.

Covers PyTorch 1.0 to 2.9, CUDA and HIP: alone or as the last line of a traceback, with or without a rank
before it. Oddities: up to 1.12 the error is a RuntimeError and the figures stand in brackets; up to 1.3
`cached` is what is held without use, later `reserved in total` holds what is in use too; 2.1 writes
`capacty`; sizes are in powers of 1024 whatever their size.
"""

import re
from typing import Any

from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.process_log import OomMessage
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Absent
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import GIB, KIB, MIB

_HEAD = re.compile(
    r"(?:\[(?:default)?[Rr]ank ?(?P<rank>\d{1,6})\]: ?)?"
    r"(?:(?:torch\.(?:cuda\.)?)?OutOfMemoryError|RuntimeError): (?P<backend>CUDA|HIP) out of memory\b"
)
_SIZE = r"(\d{1,12}(?:\.\d{1,6})?) (bytes|[KMG]iB)\b"
_UNITS = {"bytes": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}
_INDEX = re.compile(r"\bGPU (\d{1,4})\b")
_FIELDS = {
    "tried_bytes": re.compile("Tried to allocate " + _SIZE),
    "total_bytes": re.compile(rf"total capac\w{{1,4}} of {_SIZE}|{_SIZE} total capacity"),
    "free_bytes": re.compile(rf"of which {_SIZE} is free|{_SIZE} free;"),
    "allowed_bytes": re.compile(_SIZE + " allowed;"),
    "process_bytes": re.compile(rf"this process has {_SIZE} memory in use"),
    "allocated_bytes": re.compile(rf"{_SIZE} (?:is allocated by PyTorch|already allocated)"),
    "unallocated_bytes": re.compile(
        rf"{_SIZE} (?:is reserved by PyTorch but unallocated|cached\))"
    ),
}
_OTHER = re.compile(rf"Process \d{{1,10}} has {_SIZE} memory in use")
_RESERVED = re.compile(_SIZE + " reserved in total by PyTorch")
LONGEST = 4000  # our choice: a card that 60 processes share makes a line of 3000 characters


def read_oom_message(lines: Lines) -> Reading:
    """Return one record for each line; a figure that its form does not print is None."""
    facts: list[Fact] = []
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        found = _HEAD.match(line)
        if found is None:
            break
        facts.append(_message(lines, at, found))
        read_to = at + 1
    return Reading(facts=tuple(facts), read_to=read_to)


def _message(lines: Lines, at: int, head: "re.Match[str]") -> OomMessage:
    line = lines.clean[at][:LONGEST]
    values: dict[str, Any] = {name: _bytes(form.search(line)) for name, form in _FIELDS.items()}
    reserved = _bytes(_RESERVED.search(line))
    if values["unallocated_bytes"] is None and reserved is not None:
        values["unallocated_bytes"] = _rest(reserved, values["allocated_bytes"])
    others = [size for found in _OTHER.finditer(line) if (size := _bytes(found)) is not None]
    if others:
        values["others_bytes"] = sum(others)
    index = _INDEX.search(line)
    card = (
        host_ref()
        if index is None
        else DeviceRef(kind="card", index=int(index[1]), text=lines.name)
    )
    whole = line.rstrip().endswith(")") or "unallocated" in line
    needed = ("tried_bytes", "free_bytes", "allocated_bytes", "unallocated_bytes")
    return OomMessage(
        device=card,
        backend=head["backend"],
        rank=int(head["rank"]) if head["rank"] else None,
        absent=tuple(
            Absent(field=name, reason="not_printed" if whole else "cut")
            for name in needed
            if values[name] is None
        ),
        sources=(lines.cite(at),),
        **values,
    )


def _bytes(found: "re.Match[str] | None") -> int | None:
    if found is None:
        return None
    number, unit = (part for part in found.groups() if part is not None)
    return round(float(number) * _UNITS[unit])


def _rest(reserved: int, allocated: int | None) -> int | None:
    """Return what is held without use; rounded figures may differ by a little below zero."""
    return None if allocated is None else max(reserved - allocated, 0)
