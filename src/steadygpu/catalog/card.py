"""What is known of each card model: segment, link, memory, ECC."""

from dataclasses import dataclass
from typing import Literal, cast

from steadygpu.catalog.name import names
from steadygpu.catalog.table import Row, once, table

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
    date: str


@once
def cards() -> tuple[CardRow, ...]:
    """Return every row, as the data file orders them."""
    return tuple(_row(row) for row in table("cards.csv"))


def cards_of(
    name: str | None = None, pci_id: str | None = None, subsystem_id: str | None = None
) -> tuple[CardRow, ...]:
    """Return every card that it may be; none where it is not known.

    The PCI id decides where it is known, with the subsystem id where that tells boards apart; the
    name then only chooses among them. A name that a tool cut ("NVIDIA GeForce ...") fits every
    name that begins so.
    """
    return tuple(row for row in _candidates(name, pci_id, subsystem_id) if row is not None)


def card_of(
    name: str | None = None, pci_id: str | None = None, subsystem_id: str | None = None
) -> CardRow | None:
    """Return the row of a card, or None where it is not known or may be several cards.

    A cut name alone decides nothing: a card that no table holds may begin with the same words.
    """
    found = _candidates(name, pci_id, subsystem_id)
    by_id = pci_id is not None and (pci_id.lower() in _by_id() or pci_id.lower() in names())
    if len(found) != 1 or (name is not None and is_cut(name) and not by_id):
        return None
    return found[0]


def is_cut(name: str) -> bool:
    """Say whether a tool shortened the name to fit its table."""
    return name.rstrip().endswith("...")


def _candidates(
    name: str | None, pci_id: str | None, subsystem_id: str | None
) -> tuple[CardRow | None, ...]:
    """Return the cards that fit, each once; None stands for one that the catalogue does not hold."""
    listed = names().get(pci_id.lower(), ()) if pci_id else ()
    board = [r for r in listed if subsystem_id and r.subsystem_id == subsystem_id.lower()]
    if subsystem_id and not board:
        board = [r for r in listed if not r.subsystem_id]
    models = _by_model()
    fits = [(models.get((r.vendor, r.model)), r.name) for r in board or listed]
    if pci_id and not board:
        fits += [
            (row, own) for row in _by_id().get(pci_id.lower(), ()) for own in row.names or ("",)
        ]
    if not fits and name:
        fits = list(_named())
        chosen = [row for row, own in fits if own and _same(name, own)]
        return tuple(dict.fromkeys(chosen))
    if name:
        fits = [(row, own) for row, own in fits if own and _same(name, own)] or fits
    return tuple(dict.fromkeys(row for row, _ in fits))


def _same(printed: str, known: str) -> bool:
    if is_cut(printed):
        return _plain(known).startswith(_plain(printed.rstrip().removesuffix("...")))
    return _plain(printed) == _plain(known)


@once
def _by_model() -> dict[tuple[str, str], CardRow]:
    return {(row.vendor, row.model): row for row in cards()}


@once
def _by_id() -> dict[str, tuple[CardRow, ...]]:
    out: dict[str, tuple[CardRow, ...]] = {}
    for row in cards():
        for pci_id in row.pci_ids:
            out[pci_id] = (*out.get(pci_id, ()), row)
    return out


@once
def _named() -> tuple[tuple[CardRow | None, str], ...]:
    """Return every name with its card, those of cards that the catalogue does not hold too."""
    models = _by_model()
    own = [(row, name) for row in cards() for name in row.names]
    rest = [(models.get((r.vendor, r.model)), r.name) for rows in names().values() for r in rows]
    return tuple(dict.fromkeys([*own, *((row, name) for row, name in rest if name)]))


def _plain(name: str) -> str:
    """Return the name without the maker, which drivers before 470 do not print."""
    return " ".join(name.split()).casefold().removeprefix("nvidia ").removeprefix("amd ")


def _row(row: Row) -> CardRow:
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
        date=row["date"],
    )
