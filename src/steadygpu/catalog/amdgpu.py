"""What is known of each message of the amdgpu driver: how bad it is and what it means."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdgpuRow:
    """One message. `what` is the word that `AmdgpuEvent.what` holds."""

    what: str
    severity: str
    action: str
    meaning: str
    source: str
    date: str


@cache
def amdgpu_rows() -> dict[str, AmdgpuRow]:
    """Return every row by its word. Read once from package data."""
    text = (files("steadygpu.catalog") / "data" / "amdgpu_messages.csv").read_text("utf-8")
    return {row["what"]: AmdgpuRow(**row) for row in csv.DictReader(text.splitlines())}
