"""What NVIDIA and health tools say of each Xid: where they disagree, and on which cards a code occurs."""

from collections.abc import Mapping
from dataclasses import dataclass

from steadygpu.catalog.table import Row, once, table

TOOLS = (
    "gpud", "k8s_device_plugin", "dcgm_health", "gcm", "azure_nhc", "imbue", "eks_agent", "sichek",
    "gpumedic", "brokkr",
)  # fmt: skip
_QUIET = frozenset({"ignored", "info", "noncritical", "event"})
_LOUD = frozenset({"unhealthy", "fatal", "critical", "fail", "error", "hardware"})


@dataclass(frozen=True, slots=True, kw_only=True)
class XidTools:
    """One code. `applies` holds those of a100, h100, b100 and gb200 that may print it.

    `immediate` and `investigatory` are NVIDIA's own words for what to do, "" where it gives none;
    `recovery_driver` is the driver branch since which Xid 154 goes with the code. `says` holds the
    word of each tool that knows the code; `gpud_repair` what gpud asks for.
    """

    code: int
    mnemonic: str
    applies: frozenset[str]
    immediate: str
    investigatory: str
    recovery_driver: int | None
    says: Mapping[str, str]
    gpud_repair: tuple[str, ...]
    source: str
    date: str

    @property
    def quiet(self) -> tuple[str, ...]:
        """Return the tools that know the code and do not act on it."""
        return tuple(tool for tool, word in self.says.items() if word in _QUIET)

    @property
    def loud(self) -> tuple[str, ...]:
        """Return the tools that take a card out, or call it broken, for the code."""
        return tuple(tool for tool, word in self.says.items() if word in _LOUD)


@once
def xid_tools() -> dict[int, XidTools]:
    """Return every row by code."""
    return {int(row["code"]): _row(row) for row in table("xid_tools.csv")}


def _row(row: Row) -> XidTools:
    return XidTools(
        code=int(row["code"]),
        mnemonic=row["mnemonic"],
        applies=frozenset(row["applies"].split(";")) - {""},
        immediate=row["immediate"],
        investigatory=row["investigatory"],
        recovery_driver=int(row["recovery_driver"]) if row["recovery_driver"] else None,
        says={tool: row[tool] for tool in TOOLS if row[tool]},
        gpud_repair=tuple(part for part in row["gpud_repair"].split(";") if part),
        source=row["source"],
        date=row["date"],
    )
