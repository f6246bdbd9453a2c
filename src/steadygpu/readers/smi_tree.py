"""The tree that `nvidia-smi -q` prints, plain or as XML, and the facts in it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from steadygpu.evidence.device import DeviceRef, host_ref, normal_bdf
from steadygpu.evidence.driver import DriverVersion
from steadygpu.evidence.ecc import EccCounters
from steadygpu.evidence.gpu import CardListing, GpuErrorCells, GpuLoad, GpuProcess, MigInstance
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.setting import Setting
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_fields import LOAD, MIG, PROCESS, RECORDS, Records, Row, ecc_rows
from steadygpu.readers.smi_word import Draft, moment_of, reason_of, whole_of

Cells = dict[str, tuple[str, int, int]]  # path: word, first and last position


_GUEST_MODES = (
    "Pass-Through",
    "VGPU",
)  # nvidia-smi(1), Virtualization mode: how a guest has its card


@dataclass(slots=True)
class Card:
    """What stands under one card. `no_process` is where the text says that none is listed."""

    bdf: str | None = None
    first: int = 0
    cells: Cells = field(default_factory=dict)
    processes: list[Cells] = field(default_factory=list)
    migs: list[Cells] = field(default_factory=list)
    no_process: int | None = None
    no_process_word: str = "None"

    def put(self, path: str, word: str, first: int, last: int) -> None:
        """Take a cell. Lists (processes, MIG devices) begin anew when a label comes again."""
        for top, items in (("processes/", self.processes), ("mig_device/", self.migs)):
            if path.startswith(top):
                label = path.removeprefix(top)
                if not items or label in items[-1]:
                    items.append({})
                items[-1][label] = (word, first, last)
                return
        if path == "processes":
            self.no_process, self.no_process_word = first, word
            return
        self.cells.setdefault(path, (word, first, last))


@dataclass(slots=True)
class Tree:
    """One output: its header and its cards. `tool` is the text kind."""

    lines: Lines
    tool: str
    header: Cells = field(default_factory=dict)
    cards: list[Card] = field(default_factory=list)
    closed: bool = True

    def card(self, bdf: str | None, first: int) -> Card:
        """Begin a card."""
        self.cards.append(Card(bdf=bdf, first=first))
        return self.cards[-1]


def facts_of(tree: Tree) -> tuple[Fact, ...]:
    """Return the facts of the tree. A card without any name is known by its text and line."""
    at = UNKNOWN
    if "timestamp" in tree.header:
        at = moment_of(tree.header["timestamp"][0].strip()) or UNKNOWN
    out: list[Fact] = versions(tree, at)
    attached = whole_of(tree.header["attached_gpus"][0]) if "attached_gpus" in tree.header else None
    headed = [card for card in tree.cards if card.bdf]
    whole = tree.closed and tree.lines.filtered is None and attached == len(headed)
    for position, card in enumerate(tree.cards):
        ref = card_ref(tree, card, position if whole and card.bdf else None)
        out += card_facts(tree.lines, card, ref, at)
    if headed:
        draft = Draft(tree.lines)
        for card in headed:
            draft.take("listed", len(headed), card.first)
        if attached is not None:
            draft.take("attached", attached, *tree.header["attached_gpus"][1:])
        draft.values |= {
            "tool": tree.tool, "complete": whole,
            "container": tree.lines.in_container,
        }  # fmt: skip
        out += draft.record(CardListing, host_ref(), at)
    return (*out, *_setting(tree, at))


def _setting(tree: Tree, at: Moment) -> tuple[Fact, ...]:
    """Return that the host is a guest where a card was passed through to it or is a vGPU of it."""
    path = "gpu_virtualization_mode/virtualization_mode"
    found = [cell for card in tree.cards if (cell := card.cells.get(path)) is not None]
    modes = [(word.strip(), a, b) for word, a, b in found if word.strip() in _GUEST_MODES]
    if not modes:
        return ()
    proof = tuple(tree.lines.cite(a, b, "kind", "hypervisor") for _, a, b in modes)
    return (
        Setting(device=host_ref(), at=at, kind="vm", by=tree.tool, hypervisor=modes[0][0], sources=proof),
    )  # fmt: skip


def versions(tree: Tree, at: Moment) -> list[Fact]:
    """Return the driver versions that the header of a tree names."""
    out: list[Fact] = []
    for part, name, labels in (
        ("module", "version", ("driver_version", "kmd_version")),
        ("library", "cuda_max", ("cuda_version", "cuda_umd_version")),
    ):
        draft = Draft(tree.lines)
        for label in labels:
            if label in tree.header and name not in draft.values:
                word, first, _ = tree.header[label]
                draft.put(name, word.strip(), first, _version)
        if draft.places:
            draft.values["part"] = part
        out += draft.record(DriverVersion, host_ref(), at)
    return out


def _version(word: str) -> str | None:
    return word if word[:1].isdigit() and len(word) < 24 else None


def card_ref(tree: Tree, card: Card, index: int | None) -> DeviceRef:
    """Return the card by every name its section prints."""

    def word(*paths: str) -> str | None:
        found = next((card.cells[p][0].strip() for p in paths if p in card.cells), None)
        return found if found and reason_of(found) is None and len(found) < 120 else None

    serial = word("serial_number", "serial")
    minor = word("minor_number")
    bdf = normal_bdf(word("pci/bus_id", "pci/pci_bus_id") or card.bdf or "")
    uuid = word("gpu_uuid", "uuid")
    named = bdf or uuid
    line = f":{tree.lines.numbers[card.first]}" if len(tree.cards) > 1 and not named else ""
    return DeviceRef(
        kind="card", label=word("product_name"), index=index, bdf=bdf, uuid=uuid,
        serial=serial if serial and serial.strip("0") else None,
        minor=int(minor) if minor and minor.isdecimal() else None, text=tree.lines.name + line,
    )  # fmt: skip


def _draft(lines: Lines, cells: Cells, rows: Iterable[Row]) -> Draft:
    """Return the draft of one record: of several paths of a field, the first that holds a value."""
    draft = Draft(lines)
    for name, paths, parse in rows:
        found = [cells[path] for path in paths.split(" ") if path in cells]
        if not found:
            continue
        word, first, last = next((c for c in found if reason_of(c[0]) is None), found[0])
        reason = reason_of(word)
        if reason is not None:
            draft.lack(name, reason, first, last)
        elif (value := parse(word.strip())) is not None:
            draft.take(name, value, first, last)
    return draft


def card_facts(
    lines: Lines, card: Card, ref: DeviceRef, at: Moment, records: Records = RECORDS
) -> list[Fact]:
    """Return the facts of one card. `records` may be those that its text can hold at all."""
    out: list[Fact] = []
    for record, rows in records:
        draft = _draft(lines, card.cells, rows)
        if "name" in draft.values:
            draft.values["vendor"] = "nvidia"
        out += draft.record(record, ref, at)
    for scope in ("volatile", "aggregate"):
        draft = _draft(lines, card.cells, ecc_rows(scope))
        if draft.places:
            draft.values["scope"] = scope
        out += draft.record(EccCounters, ref, at)
    out += _load(lines, card).record(GpuLoad, ref, at)
    for cells in card.processes:
        out += _process(lines, cells, ref, at)
    for cells in card.migs:
        out += _draft(lines, cells, MIG).record(MigInstance, ref, at)
    out += _error_cells(lines, card, ref, at)
    return out


def _load(lines: Lines, card: Card) -> Draft:
    draft = _draft(lines, card.cells, LOAD)
    if card.processes:
        places = [cell for cells in card.processes for cell in cells.values()]
        draft.take("has_process", True, min(p[1] for p in places), max(p[2] for p in places))
    elif card.no_process is not None:
        reason = reason_of(card.no_process_word)
        if reason is None:
            draft.take("has_process", False, card.no_process)
        else:
            draft.lack("has_process", reason, card.no_process)
    return draft


def _process(lines: Lines, cells: Cells, ref: DeviceRef, at: Moment) -> list[GpuProcess]:
    pid = next((cells[label] for label in ("process_id", "pid") if label in cells), None)
    if pid is None or not pid[0].strip().isdecimal() or len(pid[0]) > 12:
        return []
    draft = _draft(lines, cells, PROCESS)
    draft.take("pid", int(pid[0]), pid[1], pid[2])
    gi = cells.get("gpu_instance_id", ("N/A", 0, 0))
    ci = cells.get("compute_instance_id", ("N/A", 0, 0))[0]
    if gi[0].isdecimal():
        draft.take("mig", gi[0] + (f"/{ci}" if ci.isdecimal() else ""), gi[1], gi[2])
    return draft.record(GpuProcess, ref, at)


def _error_cells(lines: Lines, card: Card, ref: DeviceRef, at: Moment) -> list[GpuErrorCells]:
    bad = {p: c for p, c in card.cells.items() if reason_of(c[0]) == "error"}
    if not bad:
        return []
    spans = sorted({(first, last) for _, first, last in bad.values()})
    return [
        GpuErrorCells(
            device=ref, at=at, fields=tuple(bad), words=tuple(c[0].strip() for c in bad.values()),
            readable=sum(reason_of(c[0]) is None for c in card.cells.values()),
            sources=tuple(lines.cite(a, b, "fields", "words") for a, b in spans),
        )
    ]  # fmt: skip
