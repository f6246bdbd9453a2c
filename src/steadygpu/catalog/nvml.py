"""What NVML's return codes and the fields of nvidia-smi mean."""

from dataclasses import dataclass

from steadygpu.catalog.table import once, table


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlCode:
    """One return code. `words` is the sentence that NVML and its tools print for it."""

    code: int
    name: str
    words: str
    meaning: str
    decision: str
    source: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlField:
    """One field. `unit` is ours, `absent` is what it means that the field is not there."""

    field: str
    unit: str
    meaning: str
    absent: str
    source: str
    date: str


@once
def nvml_codes() -> dict[int, NvmlCode]:
    """Return every return code by number."""
    rows = table("nvml_codes.csv")
    return {int(r["code"]): NvmlCode(**{**r, "code": int(r["code"])}) for r in rows}  # type: ignore[arg-type]


@once
def nvml_fields() -> dict[str, NvmlField]:
    """Return every field by the name that --query-gpu has for it."""
    return {row["field"]: NvmlField(**row) for row in table("nvml_fields.csv")}
