"""What is known of each SXid, the fault numbers of NVSwitches: how bad it is and what to do first."""

from dataclasses import dataclass
from typing import Literal, cast

from steadygpu.catalog.table import once, table

Weight = Literal["nonfatal", "fatal", "always-fatal"]
# NVIDIA/open-gpu-kernel-modules, ctrl_dev_nvswitch.h: the thousands of a code name the unit of the switch
_UNITS = {
    10: "host interface", 11: "port, incoming", 12: "port, outgoing", 13: "port, flush state",
    14: "port, request state", 15: "port, router", 16: "port", 17: "link control", 18: "link interface",
    19: "link transport", 20: "link layer", 21: "crossbar (first generation)", 22: "link controller",
    23: "crossbar", 24: "port, source tracking", 25: "link interface", 26: "switch controller",
    27: "cable controller", 28: "cable temperature", 29: "port, multicast", 30: "port, reduction",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SxidRow:
    """One code. `severity` fatal: to the cards of that port; always-fatal: to the whole fabric of the host."""

    code: int
    name: str
    severity: Weight
    action: Literal["drain", "watch", "none"]
    meaning: str
    decision: str
    source: str
    date: str


def sxid_row(code: int) -> SxidRow | None:
    """Return the row of a code, or None for a code whose weight no source names."""
    return sxid_rows().get(code)


def sxid_unit(code: int) -> str | None:
    """Return the unit of the switch that a code belongs to, or None where no source names it."""
    return _UNITS.get(code // 1000)


@once
def sxid_rows() -> dict[int, SxidRow]:
    """Return all rows by code. Read once from package data."""
    return {
        int(row["code"]): SxidRow(
            code=int(row["code"]),
            name=row["name"],
            severity=cast(Weight, row["severity"]),
            action=cast(Literal["drain", "watch", "none"], row["action"]),
            meaning=row["meaning"],
            decision=row["decision"],
            source=row["source"],
            date=row["date"],
        )
        for row in table("sxids.csv")
    }
