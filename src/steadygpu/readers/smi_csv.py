"""Reads the CSV of `nvidia-smi --query-gpu` and `--query-compute-apps`, by the names of its columns.

Covers drivers 304 to 610: any columns in any order, with or without units, one row a card or, under
-l, many. Without a header the names come from the command line before the rows, where it was pasted;
rows with neither are not guessed at.
"""

import re
from calendar import timegm
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from steadygpu.evidence.device import DeviceRef, host_ref, normal_bdf
from steadygpu.evidence.gpu import CardListing
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_csv_columns import FRAME, REASON_BITS, path_of, unit_of
from steadygpu.readers.smi_fields import RECORDS, Records, label_of
from steadygpu.readers.smi_tree import Card, Tree, card_facts, card_ref, versions
from steadygpu.readers.smi_word import Draft, reason_of, whole_of

_LONGEST = 20_000  # all 241 columns of driver 610 take 9 000 characters in a header
_NAME = re.compile(r"([A-Za-z][\w.]{1,80})(?: \[([^\]]{1,12})\])?")
_COMMAND = re.compile(r"--query-(?:gpu|compute-apps|remapped-rows)[= ]([\w.,]{2,6000})")
_SOME_CARDS = re.compile(r"\s(?:-i|--id)[= ]")
_STAMP = re.compile(r"(\d{4})/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,6})?")
_MASK = re.compile(r"clocks_(event|throttle)_reasons\.active")
_YES_NO = ("remapped_rows.pending", "remapped_rows.failure", "retired_pages.pending")
_NAMES_CARD = ("uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial", "gpu_serial", "index")
_SAMPLE_S = 0.5  # our choice: rows of one sample are milliseconds apart, -l counts whole seconds


@dataclass(slots=True)
class _Columns:
    names: list[str]
    units: list[str | None]
    known: int
    some_cards: bool = False


@dataclass(slots=True)
class _Row:
    at: int
    cells: dict[str, str]
    missing: tuple[str, ...] = ()
    moment: Moment = UNKNOWN
    card: str = ""


@dataclass(slots=True)
class _Table:
    rows: list[_Row] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    read_to: int = 0


def read_smi_csv(lines: Lines) -> Reading:
    """Return what each row says of its card at the row's moment."""
    columns, start = _columns(lines)
    if columns is None:
        return Reading()
    table = _table(lines, columns, start)
    samples = _samples(table.rows, columns)
    records = _possible(columns)
    facts: list[Fact] = []
    listed: tuple[str, ...] | None = None
    for sample in samples:
        tree, cards = _tree(lines, sample)
        if sample is samples[0]:
            facts += versions(tree, sample[0].moment)
        for card, row in zip(cards, sample, strict=True):
            facts += card_facts(lines, card, _ref(tree, card, row), row.moment, records)
        names = tuple(row.card for row in sample)
        if listed != names and "pid" not in columns.names:
            facts += _listing(lines, columns, sample)
            listed = names
    return Reading(facts=tuple(facts), gaps=tuple(table.gaps), read_to=table.read_to)


def _columns(lines: Lines) -> tuple[_Columns | None, int]:
    """Return the columns, and the position of the first row."""
    asked = _COMMAND.search(lines.clean[0]) if lines.clean else None
    if asked is None:
        return _header(lines.clean[0] if lines.clean else ""), 1
    header = _header(lines.clean[1]) if len(lines) > 1 else None
    named = _header(",".join(name for name in asked[1].split(",") if name))
    some = _SOME_CARDS.search(lines.clean[0]) is not None
    found, start = (header, 2) if header else (named, 1)
    return (replace(found, some_cards=some) if found else None), start


def _header(line: str) -> _Columns | None:
    if len(line) > _LONGEST:
        return None
    found = [_NAME.fullmatch(cell.strip(' "')) for cell in line.strip().split(",")]
    if None in found:
        return None
    names = [f[1].lower() for f in found if f]
    known = sum(name in FRAME or path_of(name) is not None for name in names)
    if not known or 2 * known < len(names) - 120:  # later drivers add columns that we do not read
        return None
    # `name` or `pid` alone, or beside one word we do not know, heads many other tables.
    plain = all("." not in n and n not in ("driver_version", "gpu_uuid") for n in names)
    if plain and known < 2:
        return None
    return _Columns(names=names, units=[f[2] for f in found if f], known=known)


def _table(lines: Lines, columns: _Columns, start: int) -> _Table:
    table = _Table(read_to=start)
    odd: list[int] = []
    for at in range(start, len(lines)):
        line = lines.clean[at]
        if not line.strip():
            continue
        if len(line) > _LONGEST or _header(line) is not None:
            break
        row = _row(at, line, columns)
        if row is not None and not row.missing:
            table.gaps += [Gap(where=lines.cite(o), why="not a row of this table") for o in odd]
            odd = []
            table.rows.append(row)
            table.read_to = at + 1
        elif "," in line and not odd:
            odd.append(at)  # one damaged row; a second, or none after it, ends the table
        else:
            break
    _take_cut_row(lines, columns, table, odd)
    return table


def _take_cut_row(lines: Lines, columns: _Columns, table: _Table, odd: list[int]) -> None:
    """Take the last row where the text was cut within it: its last cell may be half a word."""
    if odd != [len(lines) - 1]:
        return
    row = _row(odd[0], lines.clean[odd[0]], columns)
    if row is not None and row.cells:
        table.rows.append(row)
        table.gaps.append(Gap(where=lines.cite(odd[0]), why="the text is cut within this row"))
        table.read_to = odd[0] + 1


def _row(at: int, line: str, columns: _Columns) -> _Row | None:
    """Return the row; `missing` names columns that a cut line does not reach. None for no row."""
    words = [word.strip(' "\t') for word in line.split(",")]
    names = columns.names
    if len(words) > len(names) and "process_name" in names:  # the only cell that may hold commas
        own, extra = names.index("process_name"), len(words) - len(names)
        words[own : own + extra + 1] = [",".join(words[own : own + extra + 1])]
    if len(words) > len(names):
        return None
    missing = tuple(names[len(words) - 1 :]) if len(words) < len(names) else ()
    if missing:
        words.pop()
    cells = {}
    for name, unit, word in zip(names, columns.units, words, strict=False):
        cells[name] = _with_unit(name, unit, word)
    if not all(_fits(name, word) for name, word in cells.items()):
        return None
    return _Row(at=at, cells=cells, missing=missing, moment=_moment(cells.get("timestamp", "")))


def _with_unit(name: str, unit: str | None, word: str) -> str:
    if not _NUMBER.fullmatch(word):
        return word
    if name in _YES_NO:
        return {"0": "No", "1": "Yes"}.get(word, word)
    unit = unit or unit_of(name)
    return f"{word} {unit}" if unit in ("MiB", "MB", "us") else word


def _fits(name: str, word: str) -> bool:
    """Return whether the word can stand in this column: prose between commas cannot."""
    if reason_of(word) is not None or not word:
        return True
    if name == "timestamp":
        return _STAMP.fullmatch(word) is not None
    if name in ("index", "count", "pid"):
        return word.isdecimal() and len(word) < 12
    if name in ("uuid", "gpu_uuid"):
        return word.startswith(("GPU-", "MIG-"))
    if name in ("pci.bus_id", "gpu_bus_id"):
        return normal_bdf(word) is not None
    if name.startswith(("memory.", "utilization.", "clocks.", "power.", "temperature.", "pcie.")):
        return word[:1].isdigit() or word[:1] == "-"
    return True


def _moment(word: str) -> Moment:
    found = _STAMP.fullmatch(word)
    if found is None:
        return UNKNOWN
    try:
        day = datetime(*(int(found[n]) for n in range(1, 7)))  # type: ignore[arg-type] # noqa: DTZ001 - zone unknown
    except ValueError:
        return UNKNOWN
    part = float(f"0.{found[7]}") if found[7] else 0.0
    return Moment(wall=timegm(day.timetuple()) + part, error_s=0.0 if found[7] else 0.5)


def _samples(rows: list[_Row], columns: _Columns) -> list[list[_Row]]:
    """Return the rows of each sample: one ends where a card comes again.

    Without a column that names the card, rows half a second apart are of two samples, and a row's
    place in its sample names its card, where all samples are of one size.
    """
    named = next((c for c in _NAMES_CARD if c in columns.names), None)
    out: list[list[_Row]] = []
    for row in rows:
        row.card = row.cells.get(named, "") if named else ""
        last = out[-1] if out else None
        if last is None or (_starts_anew(row, last) if named else _later(row, last[-1])):
            out.append([row])
        else:
            last.append(row)
    if not named:
        same = len({len(sample) for sample in out}) == 1
        for sample in out:
            for place, row in enumerate(sample):
                row.card = f"row {place + 1}" if same else f"line {row.at + 1}"
    return out


def _starts_anew(row: _Row, sample: list[_Row]) -> bool:
    processes = "pid" in row.cells
    return not processes and any(row.card == other.card for other in sample)


def _later(row: _Row, before: _Row) -> bool:
    if row.moment.wall is None or before.moment.wall is None:
        return False
    return abs(row.moment.wall - before.moment.wall) >= _SAMPLE_S


def _possible(columns: _Columns) -> Records:
    """Return the records, and of each the fields, that these columns can fill."""
    paths = {path for name in columns.names if (path := path_of(name))}
    paths |= {
        f"clocks_{found[1]}_reasons/{label}"
        for name in columns.names
        if (found := _MASK.fullmatch(name))
        for label in REASON_BITS.values()
    }
    out = []
    for record, rows in RECORDS:
        own = tuple(row for row in rows if paths.intersection(row[1].split(" ")))
        if own:
            out.append((record, own))
    return tuple(out)


def _tree(lines: Lines, sample: Iterable[_Row]) -> tuple[Tree, list[Card]]:
    tree = Tree(lines=lines, tool="nvidia-smi-csv")
    cards = []
    for row in sample:
        card = tree.card(None, row.at)
        for name, word in row.cells.items():
            if name in ("driver_version", "kmd_version"):
                tree.header.setdefault(name, (word, row.at, row.at))
            elif name not in FRAME and word:
                card.put(path_of(name) or label_of(name), word, row.at, row.at)
        for name in row.missing:
            if path := path_of(name):
                card.put(path, "[cut]", row.at, row.at)
        _put_mask(card, row)
        cards.append(card)
    return tree, cards


def _put_mask(card: Card, row: _Row) -> None:
    """Spread the bits of the reasons that are active over the columns that were not asked for."""
    for name, word in row.cells.items():
        found = _MASK.fullmatch(name)
        if found is None or not re.fullmatch(r"0x[0-9a-fA-F]{1,16}", word):
            continue
        bits = int(word, 16)
        for bit, label in REASON_BITS.items():
            state = "Active" if bits & bit else "Not Active"
            card.put(f"clocks_{found[1]}_reasons/{label}", state, row.at, row.at)


def _ref(tree: Tree, card: Card, row: _Row) -> DeviceRef:
    index = row.cells.get("index", "")
    ref = card_ref(tree, card, int(index) if index.isdecimal() else None)
    place = "" if ref.bdf or ref.uuid or ref.serial or ref.index is not None else f":{row.card}"
    return replace(ref, text=tree.lines.name + place)


def _listing(lines: Lines, columns: _Columns, sample: list[_Row]) -> list[CardListing]:
    """Return how many cards the sample lists; whole only where the tool's own count agrees."""
    if not any(name in columns.names for name in _NAMES_CARD):
        return []
    counts = {whole_of(row.cells.get("count", "")) for row in sample}
    attached = counts.pop() if len(counts) == 1 else None
    draft = Draft(lines)
    for row in sample:
        draft.take("listed", len(sample), row.at)
        if attached is not None:
            draft.take("attached", attached, row.at)
    draft.values |= {
        "tool": "nvidia-smi-csv",
        "complete": lines.filtered is None and not columns.some_cards and attached == len(sample),
        "container": lines.in_container,
    }  # fmt: skip
    return draft.record(CardListing, host_ref(), sample[0].moment)
