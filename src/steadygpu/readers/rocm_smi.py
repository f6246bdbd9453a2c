"""Reads `rocm-smi`: the table of cards, and the sections of `rocm-smi -a` and `--show...`.

Covers ROCm 2 to 7. Oddities: the columns changed with nearly every release, so rows are read by the names of the
head line; a card of two dies prints power and cap on the first die only (N/A and 0.0W on the second); the column
"[Model : Revision]" is the subsystem, not the device; "Driver version" may be that of the kernel; a temperature
is that of the edge, of the junction where there is no other.
"""

import re
from typing import Any

from steadygpu.evidence.device import DeviceRef, normal_bdf
from steadygpu.evidence.gpu import (
    GpuClock,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuPower,
    GpuTemperature,
)
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_BANNER = re.compile(r"={3,} ?ROCm System Management Interface ?={3,}\s*$")
_CONCISE = re.compile(r"={3,} Concise Info ={3,}\s*$")
_END = re.compile(r"={3,} ?End of ROCm SMI Log ?={3,}\s*$")
_TITLE = re.compile(r"={3,} [^=]{1,80} ={3,}\s*$|[=-]{10,}\s*$")
_TOKEN = re.compile(r"\[Model : Revision\]|(?:Temp|Power) \(\w{1,20}\)|\S+")
_BELOW_HEAD = re.compile(r"\s+(?:Name \(\d|\(DID\b|\((?:Edge|Junction|Avg|Socket)\b)")
_NAME_BELOW = re.compile(r" {4,}(?P<name>[A-Za-z]\S.{0,60}?)\s*$")
_LOOSE = re.compile(
    r"WARNING: |ERROR: |, Not supported|Driver version: |Not supported on|None of |No KFD PIDs|KFD process information:"
    r"|PID\s|PID \d|\d{1,10}\s+\S.{0,200}\bUNKNOWN\b|No JSON data"
)
_GPU = re.compile(
    r"(?:ERROR: (?:\d{1,3} )?)?GPU\[(?P<index>\d{1,3})\]\s*:(?:[\s]+(?P<rest>\S.{0,300}))?"
)
_KEY = re.compile(r"(?P<key>[A-Za-z%][^:]{1,60}?)\s*:\s*(?P<value>.{0,200}?)\s*$")
_LEVEL = re.compile(
    r"(?P<clock>[sm]clk) clock level:?\s*\w{0,4}:?\s*\((?P<mhz>\d{1,5})[Mm]hz\)\s*$"
)
_SUPPORTED = re.compile(r"Supported (?P<clock>\w{1,12}) frequencies on GPU\d{1,3}\s*$")
_STEP = re.compile(r"(?:\d{1,2}|S): (?P<mhz>\d{1,5})Mhz(?P<now> \*)?\s*$")
_NUMBER = re.compile(
    r"(?P<n>-?\d{1,9}(?:\.\d{1,6})?) ?(?:°?[Cc]|W|[Mm]hz|%)?(?: ?\((?P<share>\d{1,3}(?:\.\d{1,3})?)%\))?$"
)
_NOTHING = ("n/a", "none", "unsupported", "not supported", "unknown")

_VALUE = r"(?:-?\d{1,6}(?:\.\d{1,4})?[^\s,]{0,3}|N/A|None|[Uu]nsupported|[Uu]nknown)"
_INDEX = r"(?P<index>\d{1,3})"
_COLUMNS = {
    "Device": _INDEX, "GPU": _INDEX, "Node": r"(?:\d{1,4}|N/A)",
    "IDs": r"(?:0x(?P<pci>[0-9a-fA-F]{1,4})|N/A),?\s+(?:\d{1,10}|N/A)",
    "[Model : Revision]": r"\[[^\]\s]{1,12} : [^\]\s]{1,12}\]",
    "Temp": rf"(?P<temp>{_VALUE})", "AvgPwr": rf"(?P<power>{_VALUE})", "Power": rf"(?P<power>{_VALUE})",
    "Partitions": r"[\w/]{1,8}, [\w/]{1,8}(?:, [\w/]{1,4})?",
    "SCLK": rf"(?P<sclk>{_VALUE})", "MCLK": rf"(?P<mclk>{_VALUE})", "Fan": rf"(?P<fan>{_VALUE})",
    "Perf": r"(?P<perf>[a-zA-Z_/]{2,24})", "PwrCap": rf"(?P<cap>{_VALUE})", "VRAM%": _VALUE,
    "MEM%": _VALUE, "GPU%": rf"(?P<busy>{_VALUE})",
}  # fmt: skip

# Keys of the sections: record, field, and how the value is meant.
_KEYS: dict[str, tuple[type[Any], str, str]] = {
    "temperature (sensor edge) (c)": (GpuTemperature, "gpu_c", "whole"),
    "temperature (sensor junction) (c)": (GpuTemperature, "junction", "whole"),
    "temperature (sensor memory) (c)": (GpuTemperature, "memory_c", "whole"),
    "temperature (sensor mem) (c)": (GpuTemperature, "memory_c", "whole"),
    "fan level": (GpuTemperature, "fan_ratio", "share"),
    "average graphics package power (w)": (GpuPower, "draw_w", "power"),
    "current socket graphics package power (w)": (GpuPower, "draw_w", "power"),
    "max graphics package power (w)": (GpuPower, "limit_w", "power"),
    "gpu use (%)": (GpuLoad, "busy_ratio", "percent"),
    "gpu memory read/write activity (%)": (GpuLoad, "memory_busy_ratio", "percent"),
    "vram total memory (b)": (GpuMemory, "total_bytes", "bytes"),
    "vram total used memory (b)": (GpuMemory, "used_bytes", "bytes"),
    "performance level": (GpuClock, "performance_level", "word"),
    "vbios version": (GpuIdentity, "vbios", "word"),
    "gpu id": (GpuIdentity, "pci_id", "id"), "device id": (GpuIdentity, "pci_id", "id"),
    "card series": (GpuIdentity, "name", "word"), "device name": (GpuIdentity, "name", "word"),
}  # fmt: skip
_RECORDS = (GpuIdentity, GpuClock, GpuLoad, GpuPower, GpuTemperature, GpuMemory)


class RocmCard:
    """What the text tells of one card, by record."""

    def __init__(self, lines: Lines, at: int) -> None:
        """Start with the maker, which the tool itself tells."""
        self.drafts: dict[type[Any], Draft] = {record: Draft(lines) for record in _RECORDS}
        self.drafts[GpuIdentity].take("vendor", "amd", at)
        self.names: dict[str, str] = {}
        self.steps: dict[str, list[tuple[int, int, bool]]] = {}
        self.clock: str | None = None
        self.junction: tuple[str, int] | None = None

    def put(self, record: type[Any], field: str, word: str | None, how: str, at: int) -> None:
        """Take a printed value; the first of a field counts."""
        draft = self.drafts[record]
        word = (word or "").strip()
        if not word or field in draft.values or any(a.field == field for a in draft.absent):
            return
        if word.lower() in _NOTHING:
            draft.lack(field, "not_supported", at)
            return
        value = _meant(word, how)
        if how == "power" and value == 0:
            draft.lack(field, "not_supported", at)  # the second die of a card prints 0.0W
        elif value is not None:
            draft.take(field, value, at)

    def ref(self, index: int, text: str) -> DeviceRef:
        """Return the reference for all records of the card."""
        name = self.drafts[GpuIdentity].values.get("name")
        bdf = normal_bdf(self.names.get("pci bus", ""))
        serial = self.names.get("serial number")
        return DeviceRef(kind="card", index=index, label=name, bdf=bdf, serial=serial, text=text)

    def finish(self) -> None:
        """Fill the top clocks from the lists of steps, and the junction where no edge was printed."""
        draft = self.drafts[GpuClock]
        for clock, now, limit in (
            ("sclk", "sm_mhz", "sm_limit_mhz"),
            ("mclk", "memory_mhz", "memory_limit_mhz"),
        ):
            steps = self.steps.get(clock, ())
            if len(steps) > 1:
                mhz, at, _ = max(steps)
                draft.take(limit, mhz, at)
            held = next((s for s in steps if s[2]), None)
            if held and now not in draft.values:
                draft.take(now, held[0], held[1])
        if self.junction is not None:
            self.put(GpuTemperature, "gpu_c", self.junction[0], "whole", self.junction[1])


def _meant(word: str, how: str) -> object | None:
    if how == "word":
        return word if not word.startswith("0x") and len(word) < 100 else None
    if how == "id":
        found = re.fullmatch(r"0x([0-9a-fA-F]{1,4})", word)
        return f"1002:{int(found[1], 16):04x}" if found else None
    if how == "bytes":
        return int(word) if re.fullmatch(r"\d{1,15}", word, re.ASCII) else None
    number = _NUMBER.match(word)
    if number is None:
        return None
    if how == "share":
        return float(number["share"]) / 100 if number["share"] else None
    value = float(number["n"])
    return round(value) if how == "whole" else value / 100 if how == "percent" else value


def _layout(line: str) -> "re.Pattern[str] | None":
    """Return the expression of the rows below a head line, or None for another line."""
    if not line.startswith(("Device ", "GPU ")) or len(line) > 400:
        return None
    names = [token.split(" (")[0] for token in _TOKEN.findall(line)]
    columns = [_COLUMNS.get(name) for name in names]
    if len(names) < 3 or len(set(names)) < len(names) or {"AvgPwr", "Power"} <= set(names):
        return None
    if not {"SCLK", "GPU%"} & set(names) or None in columns or {"Device", "GPU"} <= set(names):
        return None
    return re.compile(r"\s*" + r"\s+".join(c for c in columns if c) + r"\s*$")


def read_rocm_smi(lines: Lines) -> Reading:
    """Return what each card shows; every card is `amd`. Clocks in MHz, caps of zero are no caps."""
    cards: dict[int, RocmCard] = {}
    layout: re.Pattern[str] | None = None
    rows: set[int] = set()
    read_to, last, begun = 0, -1, False
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if _BANNER.match(line) or (_CONCISE.match(line) and layout is not None):
            if begun and (cards or _BANNER.match(line)):
                break
        elif begun and _END.match(line):
            read_to = at + 1
            break
        elif made := _layout(line):
            if layout is not None:
                break
            layout = made
        elif layout is not None and (row := layout.match(line)):
            last = int(row["index"])
            if last in rows:
                break
            rows.add(last)
            _row(cards.setdefault(last, RocmCard(lines, at)), row, at)
        elif found := _GPU.match(line):
            index = int(found["index"])
            if found["rest"]:
                take_section(cards.setdefault(index, RocmCard(lines, at)), found["rest"], at)
        elif layout is not None and _BELOW_HEAD.match(line):
            pass
        elif layout is not None and last in rows and (named := _NAME_BELOW.match(line)):
            cards[last].put(GpuIdentity, "name", named["name"], "word", at)
            cards[last].drafts[GpuIdentity].values["name_cut"] = True
        elif not (
            _CONCISE.match(line) or (begun and (_TITLE.match(line) or _LOOSE.match(line)))
        ) and not line.startswith("WARNING: AMD GPU device(s)"):
            break
        begun = True
        read_to = at + 1
    return Reading(facts=records(cards, lines.name), read_to=read_to)


def records(cards: dict[int, RocmCard], text: str) -> tuple[Fact, ...]:
    """Return the records of all cards, each under one reference."""
    facts: list[Fact] = []
    for index, card in cards.items():
        card.finish()
        ref = card.ref(index, text)
        for record, draft in card.drafts.items():
            facts += draft.record(record, ref)
    return tuple(facts)


def _row(card: RocmCard, row: "re.Match[str]", at: int) -> None:
    cells = row.groupdict()
    if pci := cells.get("pci"):
        card.put(GpuIdentity, "pci_id", "0x" + pci, "id", at)
    card.put(GpuClock, "sm_mhz", cells.get("sclk"), "whole", at)
    card.put(GpuClock, "memory_mhz", cells.get("mclk"), "whole", at)
    card.put(GpuClock, "performance_level", cells.get("perf"), "word", at)
    card.put(GpuLoad, "busy_ratio", cells.get("busy"), "percent", at)
    card.put(GpuPower, "draw_w", cells.get("power"), "power", at)
    card.put(GpuPower, "limit_w", cells.get("cap"), "power", at)
    card.put(GpuTemperature, "gpu_c", cells.get("temp"), "whole", at)
    card.put(GpuTemperature, "fan_ratio", cells.get("fan"), "percent", at)


def take_section(card: RocmCard, rest: str, at: int) -> None:
    """Take a line of a section, without the "GPU[n] :" before it."""
    if level := _LEVEL.match(rest):
        field = "sm_mhz" if level["clock"] == "sclk" else "memory_mhz"
        card.put(GpuClock, field, level["mhz"], "whole", at)
    elif supported := _SUPPORTED.match(rest):
        card.clock = supported["clock"]
    elif step := _STEP.match(rest):
        if card.clock is not None:
            held = step["now"] is not None
            card.steps.setdefault(card.clock, []).append((int(step["mhz"]), at, held))
    elif found := _KEY.match(rest):
        key = found["key"].lower()
        if key in ("pci bus", "serial number") and found["value"].lower() not in (
            "", "0", *_NOTHING,  # boards without a serial print 0
        ):  # fmt: skip
            card.names[key] = found["value"]
        elif key in _KEYS:
            record, field, how = _KEYS[key]
            if field == "junction":
                card.junction = (found["value"], at)
            else:
                card.put(record, field, found["value"], how, at)
