"""Reads `rocm-smi --json`: an object for each card, whose keys are those of the sections of the text.

Covers ROCm 4 to 7. Oddities: all values are texts; "sclk clock level" holds level and clock in one value up to ROCm
5.6, "sclk clock speed:" the clock alone later; the steps of all clocks share the keys "0", "1" and so on, so the
top clock cannot be told; "system" stands beside the cards; a board without a serial number prints 0.
"""

import re

from steadygpu.evidence.gpu import GpuClock
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.readers.rocm_smi import RocmCard, records, take_section

_TOKEN = re.compile(
    r"\"(?P<key>[^\"\\]{1,120})\"\s*:\s*(?:\"(?P<text>[^\"\\]{0,200})\"|(?P<open>\{))?|(?P<more>[{\[])|(?P<close>[}\]])"
    r"|\"(?:[^\"\\]|\\.)*\""
)
_JSON_LINE = re.compile(r"\s*(?:[\"{}\[\],]|$)")
_CARD = re.compile(r"card(?P<index>\d{1,3})$")
_SPEED = re.compile(r"(?P<clock>[sm])clk clock speed:?$")


def read_rocm_smi_json(lines: Lines) -> Reading:
    """Return what each card shows; every card is `amd`."""
    cards: dict[int, RocmCard] = {}
    card: RocmCard | None = None
    depth = end = 0
    opened = False
    for at, line in enumerate(lines.clean):
        if not _JSON_LINE.match(line):
            break
        for token in _TOKEN.finditer(line):
            key, text = token["key"], token["text"]
            if token["close"]:
                depth -= 1
                card = card if depth > 1 else None
            elif token["more"]:
                depth, opened = depth + 1, True
            elif token["open"]:
                depth += 1
                named = _CARD.match(key)
                if depth == 2:
                    card = None
                    if named is not None:
                        card = cards.setdefault(int(named["index"]), RocmCard(lines, at))
            elif text is not None and card is not None and depth == 2:
                _take(card, key, text, at)
            if opened and depth <= 0:
                break
        if line.strip():
            end = at + 1
        if opened and depth <= 0:
            break
    if not cards:
        return Reading()
    gaps = (Gap(where=lines.cite(end - 1), why="the JSON is cut"),) if depth > 0 else ()
    return Reading(facts=records(cards, lines.name), gaps=gaps, read_to=end)


def _take(card: RocmCard, key: str, text: str, at: int) -> None:
    if speed := _SPEED.match(key):
        field = "sm_mhz" if speed["clock"] == "s" else "memory_mhz"
        card.put(GpuClock, field, text.strip("()"), "whole", at)
    else:
        take_section(card, f"{key.rstrip(': ')}: {text}", at)
