"""What is known of each Xid: how bad it is and what NVIDIA says to do first."""

from dataclasses import dataclass
from typing import Literal, cast

from steadygpu.catalog.table import Row, once, table

Severity = Literal["info", "warning", "critical"]
Action = Literal["drain", "reset-gpu", "reboot", "restart-job", "fix-config", "watch", "none"]
Scope = Literal["gpu", "host", "job", "fabric"]


@dataclass(frozen=True, slots=True, kw_only=True)
class XidRow:
    """One code. `depends_on_decode`: further words of the line decide, so severity is the mildest."""

    code: int
    name: str
    severity: Severity
    action: Action
    scope: Scope
    meaning: str
    decision: str
    depends_on_decode: bool
    source: str
    date: str


def xid_row(code: int) -> XidRow | None:
    """Return the row of a code, or None for a code that no source names."""
    return xid_rows().get(code)


@once
def xid_rows() -> dict[int, XidRow]:
    """Return all rows by code. Read once from package data."""
    return {int(row["code"]): _row(row) for row in table("xids.csv")}


def _row(row: Row) -> XidRow:
    return XidRow(
        code=int(row["code"]),
        name=row["name"],
        severity=cast(Severity, row["severity"]),
        action=cast(Action, row["action"]),
        scope=cast(Scope, row["scope"]),
        meaning=row["meaning"],
        decision=row["decision"],
        depends_on_decode=row["depends_on_decode"] == "yes",
        source=row["source"],
        date=row["date"],
    )
