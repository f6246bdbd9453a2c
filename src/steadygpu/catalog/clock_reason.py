"""Why a card's clocks are not higher: every bit of the clock event reasons."""

from dataclasses import dataclass

from steadygpu.catalog.table import once, table


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReason:
    """One bit. `nvml` and `nvml_old` are its names before and after driver 535 renamed it.

    `words` is what `nvidia-smi -q` prints, `query` the field of --query-gpu, "" where there is none.
    `slows` is False for the bit that only says that the card is idle.
    """

    bit: int
    nvml: str
    nvml_old: str
    words: str
    words_old: str
    query: str
    query_old: str
    slows: bool
    meaning: str
    decision: str
    source: str
    date: str


@once
def clock_reasons() -> tuple[ClockReason, ...]:
    """Return every row in the order of the bits."""
    return tuple(
        ClockReason(**{**row, "bit": int(row["bit"], 16), "slows": row["slows"] == "yes"})  # type: ignore[arg-type]
        for row in table("clock_reasons.csv")
    )


def reasons_in(mask: int) -> tuple[ClockReason, ...]:
    """Return the reasons whose bits are set in a mask of NVML."""
    return tuple(row for row in clock_reasons() if mask & row.bit)
