"""Reads the default table of nvidia-smi: cards, MIG devices and processes.

Covers nvidia-smi 304 to 610. 304 has no persistence column and writes `11%  638MB / 5375MB`; before
450 there is no MIG line and no GI and CI column; 530 widens the table, 535 and later again;
Windows prints the driver model (WDDM, TCC, MCDM) in the persistence column; 595 and later may say
KMD Version and CUDA UMD Version; a card without memory of its own (GB10) prints Not Supported.
"""

import re
from dataclasses import dataclass, field

from steadygpu.evidence.device import DeviceRef, host_ref, normal_bdf
from steadygpu.evidence.driver import DriverVersion
from steadygpu.evidence.gpu import CardListing, GpuMode, GpuProcess, MigInstance
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_table_card import MODELS, ON, Card, bytes_of, card_facts
from steadygpu.readers.smi_word import Draft, listed_in_order, moment_of, reason_of, runs

_LONGEST = 300  # no table line is longer; what is, is another text
_ABSENT = r"\[?(?:N/A|ERR!|Unknown Error|GPU is lost|GPU requires reset|Not Supported)\]?"
_RULE = re.compile(r"[+|][-=+]{20,}[+|]?\s*$")
_HEAD = re.compile(
    r"\| NVIDIA-SMI\s+(?P<tool>\S+)(?:\s+(?:Driver|KMD) Version:\s*(?P<module>\S+))?"
    r"(?:\s+CUDA (?:UMD )?Version:\s*(?P<cuda>\S+))?\s*\|?\s*$"
)
_COLUMNS = re.compile(
    r"\|\s*(?:GPU\s+(?:Name|GI|PID)|Fan\s+Temp|ID\s+ID|\|\s*\|\s*MIG M\.|\|\s*\|\s*ECC\|"
    r"|GPU +\| *GI|ECC)"
)
_BOX = re.compile(r"\| (?P<which>MIG devices:|Processes:|Compute processes:)\s")
_SECOND = re.compile(
    rf"\s*(?P<fan>\d{{1,3}}%|{_ABSENT})\s+(?P<temp>-?\d{{1,3}}C|{_ABSENT})\s+"
    rf"(?P<perf>P\d{{1,2}}|\?|{_ABSENT})\s+(?P<draw>\d{{1,6}}(?:\.\d{{1,3}})?W|{_ABSENT})\s*/"
    rf"\s*(?P<cap>\d{{1,6}}(?:\.\d{{1,3}})?W|{_ABSENT})\s*"
)
_MEMORY = re.compile(
    rf"\s*(?:\d{{1,3}}%\s+)?(?P<used>\d{{1,9}}\s?[KMG]i?B|{_ABSENT})\s*/"
    rf"\s*(?P<total>\d{{1,9}}\s?[KMG]i?B|{_ABSENT})\s*"
)
_UTIL = re.compile(rf"\s*(?P<util>\d{{1,3}}%|{_ABSENT})\s+(?P<mode>\S.*)")
_THIRD = re.compile(
    r"\|\s{10,}\|\s{10,}\|\s*(?P<mig>Enabled|Disabled|N/A|ERR!|\[N/A\])\*?\s*\|?\s*$"
)
_MIG = re.compile(
    r"\|\s*(?P<gpu>\d{1,4})\s+(?P<gi>\d{1,4})\s+(?P<ci>\d{1,4})\s+(?P<dev>\d{1,4})\s*\|(?P<rest>.*)"
)
_MIG_MORE = re.compile(r"\|\s{10,}\|[^|]{5,60}\|[^|]{3,40}\|")
_PROCESS = re.compile(
    r"\|\s*(?P<gpu>\d{1,4})\s+(?:(?P<gi>\d{1,4}|N/A)\s+(?P<ci>\d{1,4}|N/A)\s+)?(?P<pid>\d{1,10})\s+"
    r"(?:(?P<kind>M\+C\+G|M\+C|C\+G|[CGM])\s+)?(?P<name>\S.*)"
)
_USED = re.compile(r"(?:\s|^)(\d{1,9}\s?[KMG]i?B|N/A|ERR!|\[N/A\])$")
_NO_PROCESS = re.compile(r"\|\s+No running (?:compute )?processes found\s")
_WORDS = re.compile(r"\|\s*(?P<gpu>\d{1,4})\s+(?P<says>Not Supported|ERROR: \S.*?)\s*\|?\s*$")
_NO_MIG = re.compile(r"\|\s+No MIG devices found\s")


@dataclass(slots=True)
class _Table:
    """What was found so far."""

    lines: Lines
    at: Moment = UNKNOWN
    cards: list[Card] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    headed: bool = False
    card_box_end: int | None = None
    box: str = ""
    box_at: int | None = None
    box_closed: bool = False
    no_mig_at: int | None = None
    used_by: dict[int, list[int]] = field(default_factory=dict)
    unlisted: dict[int, tuple[str, int]] = field(default_factory=dict)
    refs: dict[int, DeviceRef] = field(default_factory=dict)
    named: int = 0
    unnamed: int = 0

    def ref(self, index: int) -> DeviceRef:
        """Return the card of this index; one that only the lower boxes name has nothing else."""
        if index not in self.refs:
            self.refs[index] = DeviceRef(kind="card", index=index, text=self.lines.name)
        return self.refs[index]


def read_smi_table(lines: Lines) -> Reading:
    """Return cards, versions, MIG devices and processes of one table; a fragment gives what it holds."""
    if any("HL-SMI" in line or "AMD-SMI" in line for line in lines.clean[:6]):
        return Reading()  # a table of Gaudi or AMD cards in the same frame
    table = _Table(lines)
    at, read_to = 0, 0
    moment = moment_of(lines.clean[0]) if len(lines) else None
    if moment is not None:
        table.at, at = moment, 1
        while at < len(lines) and at < 4 and not lines.clean[at].strip():
            at += 1
    while at < len(lines):
        line = lines.clean[at]
        if not line.strip():
            at += 1
            continue
        if len(line) > _LONGEST or line[0] not in "|+" or not _take(table, line, at):
            break
        at += 1
        read_to = at
    if not (table.cards or table.headed or table.facts or table.box or table.gaps):
        return Reading()
    _finish(table)
    return Reading(facts=tuple(table.facts), gaps=tuple(table.gaps), read_to=read_to)


def _take(table: _Table, line: str, at: int) -> bool:
    """Take one line; False where it does not belong to this table."""
    if _RULE.match(line):
        return _rule(table, line, at)
    if head := _HEAD.match(line):
        if table.headed or table.cards or table.box:
            return False
        _versions(table, head, at)
        return True
    if box := _BOX.match(line):
        which = "mig" if box["which"].startswith("MIG") else "processes"
        if table.box == which or table.box == "processes":
            return False
        table.box, table.box_at, table.box_closed = which, at, False
        return True
    if _COLUMNS.match(line):
        return bool(table.headed or table.cards or table.box) or _cards_follow(table, at)
    if table.box == "mig":
        return _mig_row(table, line, at)
    if table.box == "processes":
        return _process_row(table, line, at)
    return _card_row(table, line, at)


def _next(table: _Table, at: int) -> str:
    """Return the next line that is not blank."""
    clean = table.lines.clean
    for later in range(at + 1, min(at + 6, len(clean))):
        if clean[later].strip():
            return clean[later]
    return ""


def _cards_follow(table: _Table, at: int) -> bool:
    """Return whether rows of cards follow a head without its first lines."""
    clean = table.lines.clean
    return any(_first_row(clean[i]) for i in range(at + 1, min(at + 5, len(clean))))


def _rule(table: _Table, line: str, at: int) -> bool:
    after = _next(table, at)
    if len(after) > _LONGEST:
        after = ""
    if line.startswith("|") or "=" in line:
        return bool(table.headed or table.cards or table.box or _first_row(after))
    if table.box and not table.box_closed:
        if table.box == "mig" and (_MIG.match(after) or _COLUMNS.match(after)):
            return True
        table.box_closed = True
        return True
    if table.box == "" and table.card_box_end is None:
        if _first_row(after) or _HEAD.match(after) or _COLUMNS.match(after):
            return not (table.cards and _HEAD.match(after))
        if table.cards or table.headed:
            table.card_box_end = at
            return True
    return bool(_BOX.match(after)) and table.box != "processes"


def _versions(table: _Table, head: "re.Match[str]", at: int) -> None:
    table.headed = True
    host = host_ref()
    for part, name, word in (
        ("tool", "version", head["tool"]),
        ("module", "version", head["module"]),
        ("library", "cuda_max", head["cuda"]),
    ):
        draft = Draft(table.lines)
        draft.put(name, word, at, _version)
        if draft.places:
            draft.values["part"] = part
        table.facts += draft.record(DriverVersion, host, table.at)


def _version(word: str) -> str | None:
    return word if re.fullmatch(r"\d{1,5}(?:\.\d{1,5}){0,3}", word, re.ASCII) else None


def _cells(line: str) -> list[str]:
    """Return the cells between the bars; the last bar may be cut off."""
    parts = line.rstrip().split("|")[1:]
    return parts[:-1] if parts and not parts[-1].strip() else parts


def _first_row(line: str) -> bool:
    cells = _cells(line) if len(line) <= _LONGEST and line.startswith("|") else []
    if len(cells) not in (2, 3):
        return False
    head, bus = cells[0].split(), cells[1].split()
    if len(head) < 2 or not bus or not re.fullmatch(r"\d{1,4}", head[0], re.ASCII):
        return False
    return normal_bdf(bus[0]) is not None or reason_of(bus[0]) is not None


def _card_row(table: _Table, line: str, at: int) -> bool:
    if _first_row(line):
        table.card_box_end = None
        table.cards.append(_card(line, at))
        return True
    cells = _cells(line)
    if len(cells) in (2, 3) and (second := _SECOND.fullmatch(cells[0])):
        card = _open_card(table, at, "fan")
        _second_row(card, second, cells, at)
        return True
    if third := _THIRD.match(line):
        if table.cards and "mig" not in table.cards[-1].cells:
            table.cards[-1].put("mig", third["mig"], at)
            return True
        return False
    if table.cards and line.startswith("|") and len(cells) == 3:
        if not line.strip("| \t"):
            return True
        why = "a row of the table that is not understood"
        table.gaps.append(Gap(where=table.lines.cite(at), why=why))
        return True
    return "No devices were found" in line


def _open_card(table: _Table, at: int, cell: str) -> Card:
    """Return the card that a second row belongs to; a new one where the first row is missing."""
    if not table.cards or cell in table.cards[-1].cells:
        table.cards.append(Card(first=at))
    return table.cards[-1]


def _card(line: str, at: int) -> Card:
    cells = _cells(line)
    head, bus = cells[0].split(), cells[1].split()
    card = Card(first=at, index=int(head[0]), bdf=normal_bdf(bus[0]))
    names = head[1:]
    if len(names) > 1 and (names[-1] in ON or names[-1] in MODELS or reason_of(names[-1])):
        card.put("persistence", names.pop(), at)
    card.put("name", " ".join(names), at)
    card.put("bus_id", bus[0], at)
    if len(bus) > 1:
        card.put("display", bus[1], at)
    if len(cells) > 2:
        card.put("ecc", cells[2].strip(), at)
    return card


def _second_row(card: Card, second: "re.Match[str]", cells: list[str], at: int) -> None:
    for name, group in (
        ("fan", "fan"), ("temperature", "temp"), ("pstate", "perf"), ("power_draw", "draw"),
        ("power_limit", "cap"),
    ):  # fmt: skip
        card.put(name, second[group], at)
    if memory := _MEMORY.fullmatch(cells[1]):
        card.put("memory_used", memory["used"], at)
        card.put("memory_total", memory["total"], at)
    elif reason_of(cells[1]):
        card.put("memory_used", cells[1].strip(), at)
        card.put("memory_total", cells[1].strip(), at)
    if len(cells) > 2 and (util := _UTIL.fullmatch(cells[2])):
        card.put("utilization", util["util"], at)
        card.put("compute_mode", util["mode"].strip(), at)


def _mig_row(table: _Table, line: str, at: int) -> bool:
    row = _MIG.match(line)
    if row is None:
        if _NO_MIG.match(line):
            table.no_mig_at = at
            return True
        return bool(_MIG_MORE.match(line))
    draft = Draft(table.lines)
    draft.take("gi", int(row["gi"]), at)
    draft.take("ci", int(row["ci"]), at)
    cell = row["rest"].split("|")[0]
    if memory := _MEMORY.fullmatch(cell):
        draft.put("memory_used_bytes", memory["used"], at, bytes_of)
        draft.put("memory_total_bytes", memory["total"], at, bytes_of)
    _defer(table, int(row["gpu"]), draft, MigInstance)
    return True


def _process_row(table: _Table, line: str, at: int) -> bool:
    if table.box_closed:
        return False
    if row := _PROCESS.match(line):
        index = int(row["gpu"])
        table.used_by.setdefault(index, []).append(at)
        draft = Draft(table.lines)
        draft.take("pid", int(row["pid"]), at)
        draft.put("kind", row["kind"], at, str)
        body = row["name"].rstrip().removesuffix("|").rstrip()
        if used := _USED.search(body):
            draft.put("used_bytes", used[1], at, bytes_of)
            body = body[: used.start()].rstrip()
        draft.put("name", body or None, at, str)
        if row["gi"] and row["gi"] != "N/A":
            ci = "" if row["ci"] == "N/A" else f"/{row['ci']}"
            draft.take("mig", f"{row['gi']}{ci}", at)
        _defer(table, index, draft, GpuProcess)
        return True
    if words := _WORDS.match(line):
        table.unlisted[int(words["gpu"])] = (words["says"], at)
        return True
    if _NO_PROCESS.match(line):
        return True
    if line.startswith("|") and len(_cells(line)) == 1:
        why = "a row of the process list that is not understood"
        table.gaps.append(Gap(where=table.lines.cite(at), why=why))
        return True
    return False


def _defer(
    table: _Table, index: int, draft: Draft, make: "type[MigInstance] | type[GpuProcess]"
) -> None:
    """Add the record. The rows of the cards stand above, so their references are known."""
    _refs(table)
    table.facts += draft.record(make, table.ref(index), table.at)


def _refs(table: _Table) -> None:
    for card in table.cards[table.named :]:
        name = card.cells.get("name", ("", 0))[0]
        text = table.lines.name
        if card.index is None:
            text += f":{table.lines.numbers[card.first]}" if table.unnamed else ""
            table.unnamed += 1
        card.ref = DeviceRef(
            kind="card",
            label=None if not name or reason_of(name) else name,
            index=card.index,
            bdf=card.bdf,
            text=text,
        )
        if card.index is not None:
            table.refs.setdefault(card.index, card.ref)
    table.named = len(table.cards)


def _finish(table: _Table) -> None:
    """Add what stands in the rows of the cards, and how many they are."""
    _refs(table)
    for card in table.cards:
        assert card.ref is not None
        load = Draft(table.lines)
        _has_process(table, card, load)
        table.facts += card_facts(table.lines, table.at, card, card.ref, load)
        if table.no_mig_at is not None and "mig" in card.cells:
            none = Draft(table.lines)
            none.take("mig_devices", 0, table.no_mig_at)
            table.facts += none.record(GpuMode, card.ref, table.at)
    known = [c.index for c in table.cards if c.index is not None]
    if known:
        end = table.card_box_end
        rows = [c.first for c in table.cards if c.index is not None]
        complete = (
            table.headed and end is not None and table.lines.filtered is None
            and len(known) == len(table.cards) and listed_in_order(known)
        )  # fmt: skip
        table.facts.append(
            CardListing(
                device=host_ref(),
                at=table.at,
                tool="nvidia-smi",
                listed=len(set(known)),
                complete=complete,
                container=table.lines.in_container,
                sources=tuple(table.lines.cite(row, row, "listed") for row in rows),
            )
        )


def _has_process(table: _Table, card: Card, load: Draft) -> None:
    """Say whether a process was listed, where the list was printed to its end."""
    if card.index is None or table.box != "processes" or table.box_at is None:
        return
    if card.index in table.used_by:
        for first, last in runs(table.used_by[card.index]):
            load.take("has_process", True, first, last)
    elif card.index in table.unlisted:
        says, at = table.unlisted[card.index]
        load.lack("has_process", "not_supported" if reason_of(says) else "error", at)
    elif table.box_closed and table.lines.filtered is None:
        load.take("has_process", False, table.box_at)
