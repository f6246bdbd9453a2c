"""What is known of each card model: segment, link, memory, ECC."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast

Segment = Literal["consumer", "workstation", "data-centre"]
EccCapability = Literal["yes", "no", "configurable", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRow:
    """One card model. None where no source gives the figure.

    `names` are what nvidia-smi prints (or vendor and model where no tool's word is known) and only
    those that mean this model alone; `pci_ids` (10de:2684) likewise. `memory_gb` is the decimal
    figure of the data sheet. `ecc` is what the card can do, not its present mode.
    """

    vendor: str
    model: str
    names: tuple[str, ...]
    pci_ids: tuple[str, ...]
    segment: Segment
    architecture: str
    compute_capability: str | None
    memory_gb: float | None
    ecc: EccCapability
    pcie_gen: int | None
    pcie_lanes: int | None
    tdp_w: int | None
    source: str


@cache
def cards() -> tuple[CardRow, ...]:
    """Return every row, as the data file orders them."""
    text = files("steadygpu.catalog").joinpath("data", "cards.csv").read_text(encoding="utf-8")
    return tuple(_row(row) for row in csv.DictReader(text.splitlines()))


def card_of(name: str | None = None, pci_id: str | None = None) -> CardRow | None:
    """Return the row of a card, or None where it is not known or the names fit several rows.

    The PCI id decides where it is known; the name is then used only to choose among rows that
    share the id.
    """
    by_id = _by_id().get(pci_id.lower(), ()) if pci_id else ()
    by_name = _by_name().get(_plain(name), ()) if name else ()
    both = [row for row in by_id if row in by_name]
    for found in (both, by_id, by_name):
        if len(found) == 1:
            return found[0]
        if found:
            return None
    return None


@cache
def _by_id() -> dict[str, tuple[CardRow, ...]]:
    out: dict[str, tuple[CardRow, ...]] = {}
    for row in cards():
        for pci_id in row.pci_ids:
            out[pci_id] = (*out.get(pci_id, ()), row)
    return out


@cache
def _by_name() -> dict[str, tuple[CardRow, ...]]:
    out: dict[str, tuple[CardRow, ...]] = {}
    for row in cards():
        for name in dict.fromkeys(_plain(name) for name in row.names):
            out[name] = (*out.get(name, ()), row)
    return out


def _plain(name: str) -> str:
    """Return the name without the maker, which drivers before 470 do not print."""
    return " ".join(name.split()).casefold().removeprefix("nvidia ").removeprefix("amd ")


def _row(row: dict[str, str]) -> CardRow:
    return CardRow(
        vendor=row["vendor"],
        model=row["model"],
        names=tuple(n for n in row["names"].split(";") if n),
        pci_ids=tuple(i for i in row["pci_ids"].split(";") if i),
        segment=cast("Segment", row["segment"]),
        architecture=row["architecture"],
        compute_capability=row["compute_capability"] or None,
        memory_gb=float(row["memory_gb"]) if row["memory_gb"] else None,
        ecc=cast("EccCapability", row["ecc"]),
        pcie_gen=int(row["pcie_gen"]) if row["pcie_gen"] else None,
        pcie_lanes=int(row["pcie_lanes"]) if row["pcie_lanes"] else None,
        tdp_w=int(row["tdp_w"]) if row["tdp_w"] else None,
        source=row["source"],
    )
