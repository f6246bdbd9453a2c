"""Reads what `iostat -o JSON` prints: the load of CPUs and disks over time.

Covers sysstat 11.5 to 12.7, one object a line or one value a line, whole or cut. Oddities: the
percent signs of the table are missing (util), and a cut text has no closing brackets.
"""

import re

from steadygpu.evidence.moment import UNKNOWN
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.readers.iostat import (
    COLUMNS,
    CPU_COLUMNS,
    Row,
    Sample,
    mean_facts,
    moment_at,
    moment_of,
    put,
)

_TOKEN = re.compile(
    r"\"(?P<key>[^\"\\]{1,60})\"\s*:\s*(?:\"(?P<text>[^\"\\]{0,200})\"|(?P<number>[^\s,{}\[\]\"]{1,40}))?"
    r"|\"(?:[^\"\\]|\\.)*\"|(?P<open>[{\[])|(?P<close>[}\]])"
)
_JSON_LINE = re.compile(r"\s*(?:[\"{}\[\],]|-?\d|true\b|false\b|null\b|$)")
_CPU = {name: (target, 0.01) for name, target in CPU_COLUMNS.items()}


def read_iostat_json(lines: Lines) -> Reading:
    """Return one `DiskLoad` a disk and one `CpuLoad`: means over the samples after the first."""
    samples: list[Sample] = []
    gaps: list[Gap] = []
    host: str | None = None
    at = UNKNOWN
    depth = end = 0
    opened = known = False
    row: Row | None = None
    columns: dict[str, tuple[str, float]] = {}
    for place, line in enumerate(lines.clean):
        if not _JSON_LINE.match(line):
            break
        for token in _TOKEN.finditer(line):
            key, text = token["key"], token["text"]
            if token["open"]:
                depth, opened = depth + 1, True
            elif token["close"]:
                depth -= 1
                row = None
                if token["close"] == "]" and samples and samples[-1].has_disks:
                    samples[-1].whole = True
            elif key == "sysstat":
                known = True
            elif key == "nodename" and text:
                host = text
            elif key == "date" and text:
                at = moment_of(text)
            elif key == "timestamp" and text:
                at = moment_at(text)
            elif key == "avg-cpu":
                samples.append(Sample(cpu=(row := Row(place, place))))
                columns = _CPU
            elif key == "disk" and text is None:
                if not samples or samples[-1].has_disks:
                    samples.append(Sample())
                samples[-1].has_disks = True
            elif key == "disk_device" and text and samples:
                row = samples[-1].disks[text] = Row(place, place)
                columns = COLUMNS
            elif key and token["number"] and row is not None:
                row.last = place
                if place == len(lines) - 1 and token.end() == len(line):
                    continue  # the text ends within this number
                put(row, columns, key, token["number"])
            if depth <= 0 and opened:
                break
        if line.strip():
            end = place + 1
        if depth <= 0 and opened:
            break
    if not known:
        return Reading()
    if depth > 0 and end:
        gaps.append(Gap(where=lines.cite(end - 1), why="the JSON is cut"))
    for sample in samples:
        if sample.cpu is not None and not sample.cpu.values:
            sample.cpu = None
        sample.disks = {name: one for name, one in sample.disks.items() if one.values}
    return Reading(facts=mean_facts(lines, samples, host, at), gaps=tuple(gaps), read_to=end)
