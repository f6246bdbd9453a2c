"""Xid 144 to 150, the NVLink errors since Blackwell: what the words of the line mean.

A line names the unit, Fatal or Nonfatal, the link, and status words: bits 20 to 25 of the first word are
the sub-code, the second word is the error status (NVIDIA Xid catalogue, sheet for these codes).
"""

import re
from dataclasses import dataclass
from typing import cast

from steadygpu.catalog.table import once, table
from steadygpu.catalog.xid import Action, Severity

CODES = range(144, 151)
ENUMERATED = (149, 150)  # the status of these is a number, that of the others a set of bits
_LINE = re.compile(
    r"\b(?P<unit>[A-Z][A-Z0-9_]{1,30}(?:/[A-Z0-9_]{1,31})?)\s+(?P<word>Fatal|Nonfatal)\b"
    r"(?:\s+XC\d{1,2})?(?:\s+i\d{1,3})?(?:\s+Link\s+(?P<link>-?\d{1,3}))?"
    r"(?:\s*\((?P<info>0x[0-9a-fA-F]{1,8})(?:\s+(?P<status>0x[0-9a-fA-F]{1,8}))?)?"
)
_WORD = re.compile(r"\b(Fatal|Nonfatal)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Nvlink5Row:
    """One error. `fatal` is what NVIDIA calls it; `severity` and `action` are ours for it.

    `units` are the names that drivers print for its unit. `clears_channels` says that programs end
    with it (Xid 45), `other_end` that its source is the device at the other end of the link.
    """

    code: int
    units: tuple[str, ...]
    sub_code: int
    status: int
    fatal: bool
    clears_channels: bool
    other_end: bool
    severity: Severity
    action: Action
    immediate: str
    investigatory: str
    meaning: str
    decision: str
    source: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NvlinkFault:
    """What a line says. `fatal` is its own word, None where there is none; `row` is what is known of it.

    `link` is None where no link is named. `row` is None where the words fit no row, or one of the
    other severity: the word of the line then has to do.
    """

    unit: str | None = None
    fatal: bool | None = None
    link: int | None = None
    sub_code: int | None = None
    status: int | None = None
    row: Nvlink5Row | None = None


def decode(code: int, says: str) -> NvlinkFault:
    """Return what the line of one of these codes says."""
    line = _LINE.search(says)
    if line is None:
        word = _WORD.search(says)
        return NvlinkFault(fatal=word[1] == "Fatal" if word else None)
    info, status = line["info"], line["status"]
    fault = NvlinkFault(
        unit=line["unit"],
        fatal=line["word"] == "Fatal",
        link=int(line["link"]) if line["link"] and not line["link"].startswith("-") else None,
        sub_code=int(info, 16) >> 20 & 0x3F if info else None,
        status=int(status, 16) if status else None,
    )
    return fault if None in (fault.sub_code, fault.status) else _known(code, fault)


def _known(code: int, fault: NvlinkFault) -> NvlinkFault:
    units = set((fault.unit or "").split("/"))
    fits = [
        row
        for row in nvlink5_rows()
        if row.code == code
        and units & set(row.units)
        and row.sub_code == fault.sub_code
        and row.fatal == fault.fatal
        and _status(row, fault.status or 0)
    ]
    worst = max(fits, key=lambda r: ("info", "warning", "critical").index(r.severity), default=None)
    return NvlinkFault(
        unit=fault.unit, fatal=fault.fatal, link=fault.link, sub_code=fault.sub_code,
        status=fault.status, row=worst,
    )  # fmt: skip


def _status(row: Nvlink5Row, status: int) -> bool:
    if row.code in ENUMERATED:
        return row.status == status
    return bool(row.status & status)


def ends_programs_only_when_fatal(code: int) -> bool:
    """Say whether every error of this code that ends programs is fatal.

    An Xid 45 that names such a code as its cause proves a fatal error whose own line is not there.
    """
    ending = [row.fatal for row in nvlink5_rows() if row.code == code and row.clears_channels]
    return bool(ending) and all(ending)


@once
def nvlink5_rows() -> tuple[Nvlink5Row, ...]:
    """Return every row, as the data file orders them."""
    return tuple(
        Nvlink5Row(
            code=int(row["code"]),
            units=tuple(row["units"].split(";")),
            sub_code=int(row["sub_code"]),
            status=int(row["status"], 16),
            fatal=row["fatal"] == "yes",
            clears_channels=row["clears_channels"] == "yes",
            other_end=row["other_end"] == "yes",
            severity=cast(Severity, row["severity"]),
            action=cast(Action, row["action"]),
            immediate=row["immediate"],
            investigatory=row["investigatory"],
            meaning=row["meaning"],
            decision=row["decision"],
            source=row["source"],
            date=row["date"],
        )
        for row in table("nvlink5.csv")
    )
