"""The seven register words of Xid 74: what their bits mean on Hopper cards.

NVIDIA describes the first, third, fourth and fifth word, for Hopper only; a bit that it does not describe
is told as such.
"""

import re
from dataclasses import dataclass

from steadygpu.catalog.table import once, table

_LINE = re.compile(
    r"\blink (?P<link>\d{1,3}) ?\((?P<words>0x[0-9a-fA-F]{1,8}(?:, ?0x[0-9a-fA-F]{1,8}){6})\)"
)
GROUPS = {
    "contact": "perhaps bad contact: check seating and connectors of the link",
    "signal": "a marginal signal: check the connectors of the link",
    "parity": "a parity or ECC error in the link logic: send a report after the third on one link",
    "unexpected": "an error that should not occur: send a report",
    "repeats": "send a report if it comes back",
    "follows": "follows another fault: look for that one first",
    "threshold": "many corrected errors, none uncorrected: go on",
    "harmless": "can be ignored",
}  # gravest first


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterRow:
    """One bit of one word; words count from 1. `group` is one of GROUPS."""

    register: int
    bit: int
    group: str
    source: str
    date: str


def link_of(says: str) -> int | None:
    """Return the link that the line names, or None."""
    line = _LINE.search(says)
    return int(line["link"]) if line else None


def groups_of(says: str) -> tuple[str, ...]:
    """Return the groups of the bits that are set, gravest first; "unknown" where one is not described."""
    line = _LINE.search(says)
    if line is None:
        return ()
    known = {(row.register, row.bit): row.group for row in register_rows()}
    found = {
        known.get((register, bit), "unknown")
        for register, word in enumerate(line["words"].split(","), 1)
        for bit in range(32)
        if int(word, 16) >> bit & 1
    }
    return tuple(group for group in (*GROUPS, "unknown") if group in found)


@once
def register_rows() -> tuple[RegisterRow, ...]:
    """Return every row, as the data file orders them."""
    return tuple(
        RegisterRow(
            register=int(row["register"]), bit=int(row["bit"]), group=row["group"],
            source=row["source"], date=row["date"],
        )
        for row in table("nvlink_registers.csv")
    )  # fmt: skip
