"""What is known to cause what: findings that one other finding explains."""

from dataclasses import dataclass
from typing import Literal, cast

from steadygpu.catalog.table import once, table

Relation = Literal["same-card", "port-above", "same-host", "nvlink-peer", "same-process"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseRow:
    """Findings of id `cause` explain those of id `consequence` whose subjects lie as `relation` says.

    `window_s` is how long after the cause the consequence may come; None is any time of the boot.
    """

    cause: str
    consequence: str
    relation: Relation
    window_s: float | None
    source: str
    date: str


@once
def causes() -> tuple[CauseRow, ...]:
    """Return all rows; the first that fits explains a finding. Read once from package data."""
    return tuple(
        CauseRow(
            cause=row["cause"],
            consequence=row["consequence"],
            relation=cast(Relation, row["relation"]),
            window_s=float(row["window_s"]) if row["window_s"] else None,
            source=row["source"],
            date=row["date"],
        )
        for row in table("causes.csv")
    )
