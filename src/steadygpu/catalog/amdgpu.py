"""What is known of each message of the amdgpu driver: how bad it is and what it means."""

from dataclasses import dataclass

from steadygpu.catalog.table import once, table


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdgpuRow:
    """One message. `what` is the word that `AmdgpuEvent.what` holds."""

    what: str
    severity: str
    action: str
    meaning: str
    source: str
    date: str


@once
def amdgpu_rows() -> dict[str, AmdgpuRow]:
    """Return every row by its word. Read once from package data."""
    return {row["what"]: AmdgpuRow(**row) for row in table("amdgpu_messages.csv")}
