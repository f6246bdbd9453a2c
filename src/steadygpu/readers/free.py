"""Reads `free`: memory and swap of the host.

Covers procps 3.2 to 4.0. Oddities: only -h prints units; without them the numbers are KiB unless an option
says otherwise, so they count where they make a host of 8 GiB to 8 TiB; buff/cache holds both and what the
kernel can give back; older forms have buffers and cached apart and no available.
"""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.memory import HostMemory
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import GIB, KIB
from steadygpu.readers.smi_word import Draft

_HEAD = re.compile(
    r"\s*total\s+used\s+free\s+shared\s+(?:buff/cache|buffers)\s+(?:available|cached|cache\b)"
)
_ROW = re.compile(
    r"(?P<what>Mem|Swap|Low|High|Total|-/\+ buffers/cache):(?P<rest>(?:\s+(?:\d{1,13}|\d{1,5}(?:\.\d{1,3})?[BKMGTP]i?)){2,8})\s*$"
)
_CELL = re.compile(r"(\d{1,13}|\d{1,5}(?:\.\d{1,3})?)([BKMGTP]?)i?$")
_FIELDS = {"total": "total_bytes", "free": "free_bytes", "shared": "shmem_bytes",
           "buff/cache": "cached_bytes", "cached": "cached_bytes", "buffers": "buffers_bytes",
           "available": "available_bytes"}  # fmt: skip
_POWERS = {"B": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_KIB_MADE = (8 * GIB, 8 * 1024 * GIB)  # our choice: what a host with a card has


def read_free(lines: Lines) -> Reading:
    """Return one record; none where the unit cannot be known."""
    columns: list[str] = []
    draft, gaps = Draft(lines), []
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if _HEAD.match(line[:200]):
            if columns:
                break
            columns = line.split()
        elif columns and (found := _ROW.match(line[:300])):
            if found["what"] in ("Mem", "Swap") and not _take(draft, found, columns, at):
                gaps.append(
                    Gap(where=lines.cite(at), why="the numbers have no unit", ask="free -h")
                )
        else:
            break
        read_to = at + 1
    return Reading(
        facts=tuple(draft.record(HostMemory, host_ref())), gaps=tuple(gaps), read_to=read_to
    )


def _take(draft: Draft, found: "re.Match[str]", columns: list[str], at: int) -> bool:
    cells = found["rest"].split()
    plain = not any(cell[-1].isalpha() for cell in cells)
    swap = found["what"] == "Swap"
    if plain and swap:
        plain_known = "total_bytes" in draft.values
    else:
        total = float(_CELL.match(cells[0])[1]) * KIB  # type: ignore[index]  # _ROW holds only such cells
        plain_known = _KIB_MADE[0] <= total < _KIB_MADE[1]
    if plain and not plain_known:
        return swap
    for column, cell in zip(columns, cells, strict=False):
        field = _FIELDS.get(column)
        if swap:
            field = {"total": "swap_total_bytes", "free": "swap_free_bytes"}.get(column)
        if field is not None:
            draft.take(field, _bytes(cell, plain=plain), at)
    return True


def _bytes(cell: str, *, plain: bool) -> int:
    number, unit = _CELL.match(cell).groups()  # type: ignore[union-attr]  # _ROW holds only such cells
    return round(float(number) * (KIB if plain else 1024 ** _POWERS[unit or "B"]))
