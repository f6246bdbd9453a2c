"""Reads the sampled tables of `nvidia-smi dmon` and `nvidia-smi pmon`.

Covers nvidia-smi 340 to 610. Columns are found by their names: one `temp` before 375, then gtemp and
mtemp; jpg and ofa since 530. `-o DT` puts a date and a clock first, `--format csv` commas between.
The head is repeated every so many samples. A dash is an absent value. Frame buffer figures are
headed MB and count MiB, as everywhere in this tool. Rows of MIG instances are not rows of a card.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.ecc import EccCounters
from steadygpu.evidence.gpu import (
    GpuClock,
    GpuClockReasons,
    GpuErrorCells,
    GpuLoad,
    GpuMemory,
    GpuPower,
    GpuProcess,
    GpuTemperature,
)
from steadygpu.evidence.link import PcieLink
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import MB, MIB
from steadygpu.readers.smi_word import Draft, moment_at, number_of, reason_of

_LONGEST = 1000
_HEAD = re.compile(r"#\s*(?:Date[\s,]+Time[\s,]+|Time[\s,]+)?gpu[\s,]+[a-z]")
_UNITS = re.compile(r"#\s*(?:YYYYMMDD[\s,]+)?(?:HH:MM:SS[\s,]+)?Idx[\s,]")
_SPLIT = re.compile(r"\s*,\s*|\s+")
_VALUE = re.compile(r"-?\d{1,12}(?:\.\d{1,6})?|-|N/A|\[N/A\]|ERR!")
_DATE = re.compile(r"(\d{4})[/-]?(\d\d)[/-]?(\d\d)")
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)")
_KIND = re.compile(r"M\+C\+G|M\+C|C\+G|[CGM]|-")
_MIG = ("gi", "ci", "mig", "gi_id", "ci_id")
_DASH = "-"


@dataclass(slots=True)
class _Row:
    at: int
    cells: dict[str, str]
    moment: Moment
    seconds: float | None


@dataclass(slots=True)
class _Block:
    """The rows of one table, by card, in the order in which the cards came."""

    names: list[str] = field(default_factory=list)
    cards: dict[int, list[_Row]] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    read_to: int = 0


def read_smi_dmon(lines: Lines) -> Reading:
    """Return one load, power, temperature, clock and memory record a card, over all its samples."""
    block = _block(lines, processes=False)
    facts: list[Fact] = []
    for index, rows in block.cards.items():
        facts += _card_facts(lines, rows, _card(lines, index))
    return Reading(facts=tuple(facts), gaps=tuple(block.gaps), read_to=block.read_to)


def read_smi_pmon(lines: Lines) -> Reading:
    """Return one record for each process of a card, and whether the card had any."""
    block = _block(lines, processes=True)
    facts: list[Fact] = []
    for index, rows in block.cards.items():
        facts += _process_facts(lines, rows, _card(lines, index))
    return Reading(facts=tuple(facts), gaps=tuple(block.gaps), read_to=block.read_to)


def _card(lines: Lines, index: int) -> DeviceRef:
    return DeviceRef(kind="card", index=index, text=lines.name)


def _block(lines: Lines, *, processes: bool) -> _Block:
    block = _Block()
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        if line.startswith("#"):
            names = _names(line)
            if names is None:
                if not _UNITS.match(line) or not block.names:
                    break
            elif block.names not in ([], names) or ("pid" in names) is not processes:
                break
            else:
                block.names = names
        else:
            row = _row(block.names, line, at)
            if row is None:
                if not _damaged(block.names, line):
                    break
                why = "a sample with another number of columns than its head"
                block.gaps.append(Gap(where=lines.cite(at), why=why))
            elif not any(row.cells.get(name, _DASH).isdigit() for name in _MIG) or processes:
                block.cards.setdefault(int(row.cells["gpu"]), []).append(row)
        block.read_to = at + 1
    return block


def _names(line: str) -> list[str] | None:
    if not _HEAD.match(line):
        return None
    return [name.lower() for name in _SPLIT.split(line.lstrip("# \t").strip()) if name]


def _parts(names: list[str], line: str) -> list[str]:
    """Return the cells; the last column of a process list may hold blanks."""
    last = bool(names) and names[-1] in ("command", "name")
    return _SPLIT.split(line.strip(), maxsplit=len(names) - 1 if last else 0)


def _row(names: list[str], line: str, at: int) -> _Row | None:
    parts = _parts(names, line)
    if not names or len(parts) != len(names):
        return None
    cells = dict(zip(names, parts, strict=True))
    if not re.fullmatch(r"\d{1,4}", cells.get("gpu", ""), re.ASCII):
        return None
    if not all(_fits(name, word) for name, word in cells.items()):
        return None
    moment, seconds = _moment(cells)
    return _Row(at=at, cells=cells, moment=moment, seconds=seconds)


def _fits(name: str, word: str) -> bool:
    if name in ("command", "name"):
        return True
    form = {"date": _DATE, "time": _CLOCK, "type": _KIND}.get(name, _VALUE)
    return form.fullmatch(word) is not None


def _damaged(names: list[str], line: str) -> bool:
    """Return whether a line that is no row is a row that was cut or damaged."""
    parts = line.split()
    forms = (_DATE, _CLOCK, _VALUE, _KIND)
    fit = sum(any(form.fullmatch(part) for form in forms) for part in parts)
    return bool(names) and line[:1] in " 0123456789" and fit >= 1 and fit * 2 > len(parts)


def _moment(cells: dict[str, str]) -> tuple[Moment, float | None]:
    clock = _CLOCK.fullmatch(cells.get("time", ""))
    if clock is None:
        return UNKNOWN, None
    hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3])
    date = _DATE.fullmatch(cells.get("date", ""))
    moment = None
    if date is not None:
        moment = moment_at(int(date[1]), int(date[2]), int(date[3]), (hour, minute, second))
    if moment is not None:
        return moment, moment.wall
    return UNKNOWN, float(hour * 3600 + minute * 60 + second)


def _window(rows: list[_Row]) -> float | None:
    """Return the seconds from the first sample to the last, where a clock was printed."""
    first, last = rows[0].seconds, rows[-1].seconds
    if first is None or last is None or len(rows) < 2:
        return None
    passed = last - first
    return passed if passed >= 0 else passed + 86400 if rows[0].moment == UNKNOWN else None


class _Fold(Draft):
    """A draft whose fields are folded over the samples of a card."""

    def __init__(self, lines: Lines, rows: list[_Row]) -> None:
        super().__init__(lines)
        self.rows = rows

    def known(self, column: str) -> list[float]:
        words = (row.cells[column] for row in self.rows if column in row.cells)
        return [value for word in words if (value := number_of(word)) is not None]

    def fold(
        self,
        name: str,
        column: str,
        how: Callable[[list[float]], float],
        make: Callable[[float], Any],
    ) -> None:
        """Set `name` from the samples of a column, or say that none held a value."""
        first, last = self.rows[0].at, self.rows[-1].at
        if column not in self.rows[0].cells:
            return
        if values := self.known(column):
            self.take(name, make(how(values)), first, last)
            return
        reasons = {reason_of(row.cells[column]) for row in self.rows}
        self.lack(name, "error" if "error" in reasons else "not_supported", first, last)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _last(values: list[float]) -> float:
    return values[-1]


def _ratio(value: float) -> float:
    return value / 100


def _card_facts(lines: Lines, rows: list[_Row], ref: DeviceRef) -> list[Fact]:
    out: list[Fact] = []
    moment = rows[-1].moment
    load = _Fold(lines, rows)
    load.fold("busy_ratio", "sm", _mean, _ratio)
    load.fold("busy_max_ratio", "sm", max, _ratio)
    load.fold("memory_busy_ratio", "mem", _mean, _ratio)
    load.fold("encoder_ratio", "enc", _mean, _ratio)
    load.fold("decoder_ratio", "dec", _mean, _ratio)
    load.values["samples"] = len(load.known("sm")) or len(rows)
    load.values["window_s"] = _window(rows)
    out += load.record(GpuLoad, ref, moment)
    power = _Fold(lines, rows)
    power.fold("draw_w", "pwr", _mean, float)
    out += power.record(GpuPower, ref, moment)
    heat = _Fold(lines, rows)
    heat.fold("gpu_c", "gtemp" if "gtemp" in rows[0].cells else "temp", max, round)
    heat.fold("memory_c", "mtemp", max, round)
    out += heat.record(GpuTemperature, ref, moment)
    clock = _Fold(lines, rows)
    clock.fold("graphics_mhz", "pclk", _mean, round)
    clock.fold("sm_mhz", "pclk", _mean, round)
    clock.fold("memory_mhz", "mclk", _mean, round)
    out += clock.record(GpuClock, ref, moment)
    memory = _Fold(lines, rows)
    memory.fold("used_bytes", "fb", _last, lambda value: round(value) * MIB)
    out += memory.record(GpuMemory, ref, moment)
    ecc = _Fold(lines, rows)
    ecc.fold("corrected", "sbecc", _last, round)
    ecc.fold("uncorrected", "dbecc", _last, round)
    ecc.values["scope"] = "aggregate"  # nvidia-smi(1), dmon: "aggregated" error counts
    out += ecc.record(EccCounters, ref, moment)
    reasons = _Fold(lines, rows)
    reasons.fold("sw_power_cap", "pviol", max, bool)
    reasons.fold("thermal", "tviol", max, bool)
    out += reasons.record(GpuClockReasons, ref, moment)
    link = _Fold(lines, rows)
    link.fold("rx_bytes_per_s", "rxpci", _mean, lambda value: value * MB)
    link.fold("tx_bytes_per_s", "txpci", _mean, lambda value: value * MB)
    link.fold("replays", "pci", _last, round)
    out += link.record(PcieLink, ref, moment)
    out += _error_cells(lines, rows, ref)
    return out


def _error_cells(lines: Lines, rows: list[_Row], ref: DeviceRef) -> list[GpuErrorCells]:
    """Return the columns that held an error in the last sample that had one."""
    for row in reversed(rows):
        bad = [name for name, word in row.cells.items() if reason_of(word) == "error"]
        if bad:
            good = [name for name, word in row.cells.items() if number_of(word) is not None]
            return [
                GpuErrorCells(
                    device=ref,
                    at=row.moment,
                    fields=tuple(bad),
                    words=tuple(row.cells[name] for name in bad),
                    readable=len([name for name in good if name != "gpu"]),
                    sources=(lines.cite(row.at, row.at, "fields", "words"),),
                )
            ]
    return []


def _process_facts(lines: Lines, rows: list[_Row], ref: DeviceRef) -> list[Fact]:
    out: list[Fact] = []
    moment = rows[-1].moment
    by_pid: dict[tuple[int, str | None], list[_Row]] = {}
    for row in rows:
        if row.cells["pid"].isdigit():
            by_pid.setdefault((int(row.cells["pid"]), _instance(row)), []).append(row)
    load = Draft(lines)
    load.take("has_process", bool(by_pid), rows[0].at, rows[-1].at)
    load.values["samples"] = max((len(some) for some in by_pid.values()), default=len(rows))
    load.values["window_s"] = _window(rows)
    out += load.record(GpuLoad, ref, moment)
    for (pid, mig), some in by_pid.items():
        out += _process(lines, pid, mig, some).record(GpuProcess, ref, some[-1].moment)
    return out


def _process(lines: Lines, pid: int, mig: str | None, rows: list[_Row]) -> Draft:
    """Return one process over its samples. A dash is a sample in which the driver measured nothing."""
    draft = _Fold(lines, rows)
    first, last = rows[0].at, rows[-1].at
    draft.take("pid", pid, first, last)
    if mig is not None:
        draft.take("mig", mig, first, last)
    cells = rows[-1].cells
    for name, word in (
        ("name", cells.get("command", cells.get("name"))),
        ("kind", cells.get("type")),
    ):
        if word and word != _DASH:
            draft.put(name, word, last, str)
    for name, column, how, make in (
        ("busy_ratio", "sm", _mean, _ratio),
        ("used_bytes", "fb", _last, lambda value: round(value) * MIB),
    ):
        if column in cells and not draft.known(column):
            draft.lack(name, "not_printed", first, last)
        else:
            draft.fold(name, column, how, make)
    return draft


def _instance(row: _Row) -> str | None:
    gi = row.cells.get("gi", row.cells.get("gi_id", _DASH))
    ci = row.cells.get("ci", row.cells.get("ci_id", _DASH))
    if not gi.isdigit():
        return None
    return f"{gi}/{ci}" if ci.isdigit() else gi
