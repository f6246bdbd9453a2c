"""What a PCI id and a subsystem id are called: one id may be several cards."""

from dataclasses import dataclass

from steadygpu.catalog.table import once, table


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRow:
    """One name. `model` is a model of the catalogue, "" for a card that it does not hold.

    `subsystem_id` (vendor:device of the board maker) is "" where every board of the id has the name;
    `name` is what nvidia-smi prints, "" where no source tells.
    """

    pci_id: str
    subsystem_id: str
    vendor: str
    model: str
    name: str
    mobile: bool
    source: str
    date: str


@once
def names() -> dict[str, tuple[NameRow, ...]]:
    """Return the rows by PCI id (10de:2684), as the data file orders them."""
    out: dict[str, list[NameRow]] = {}
    for row in table("names.csv"):
        fields = {**row, "mobile": row["mobile"] == "yes"}
        out.setdefault(row["pci_id"], []).append(NameRow(**fields))  # type: ignore[arg-type]
    return {pci_id: tuple(rows) for pci_id, rows in out.items()}
