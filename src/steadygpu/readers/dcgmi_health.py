"""Reads `dcgmi health -c` and `-f`: what the health watches say, as table and as JSON (-j).

Covers DCGM 2.0 to 4.5. A GPU has its worst status, then one for each part with its sentences, broken between
words. `-f` lists which watches are on: none on, or the sentence that none is, means that nothing was watched.
"""

import re
from dataclasses import dataclass, field

from steadygpu.evidence.dcgm import HealthResult
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.readers.dcgm_words import SAYS_LIMIT, facts_of
from steadygpu.readers.json_lines import Step, parse

ASK = "dcgmi health -s a; then, after some minutes of work, dcgmi health -c"
_LONGEST = 300
_REPORT = re.compile(r"\| Health Monitor Report\s*(?:\|\s*)?\|\s*$")
_WATCHES = re.compile(r"Health monitor systems report\s*$")
_OFF = re.compile(r"Error: Health watches not enabled\. Please enable watches\.")
_RULE = re.compile(r"\+[-=]{3,}\+[-=]{3,}\+\s*$")
_ROW = re.compile(r"\|(?P<left>[^|]{1,80})\|(?P<right>.{1,200})\|\s*$")
_STATUS = {"healthy": "healthy", "warning": "warning", "failure": "failure"}
_SWITCH = re.compile(r"On|Off")


@dataclass(slots=True)
class _Part:
    gpu: int | None
    system: str
    status: str | None
    at: int
    rows: list[int] = field(default_factory=list)
    says: list[str] = field(default_factory=list)


def read_dcgmi_health(lines: Lines) -> Reading:
    """Return the status of each part of each card that has one, and the overall one of the host."""
    parts: list[_Part] = []
    gaps: list[Gap] = []
    switches: list[tuple[int, bool]] = []
    group, gpu, read_to, watching = "GPU", None, 0, False
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        row = _ROW.match(line)
        if _OFF.match(line):
            gaps.append(
                Gap(where=lines.cite(at), why="no health watch is on: nothing was watched", ask=ASK)
            )
        elif _WATCHES.match(line):
            watching = True
        elif _REPORT.match(line) or _RULE.match(line):
            watching = watching and not _REPORT.match(line)
        elif row is None:
            break
        else:
            left, right = row["left"].rstrip(), row["right"].strip()
            label = left.strip().removeprefix("->").strip()
            if watching and _SWITCH.fullmatch(right):
                switches.append((at, right == "On"))
            elif label == "Overall Health":
                parts.append(_Part(None, "overall", _STATUS.get(right.lower()), at))
            elif not label:
                if parts and right:
                    parts[-1].rows.append(at)
                    parts[-1].says.append(right)
            elif "->" not in left:
                group, gpu = label, None
            elif label.isdigit() and len(label) < 4:
                gpu = int(label) if group == "GPU" else None
            elif label != "Errors" and right.lower() in _STATUS:
                parts.append(_Part(gpu, _system(label), _STATUS[right.lower()], at))
        read_to = at + 1
    if switches and not any(on for _, on in switches):
        where = lines.cite(switches[0][0], switches[-1][0])
        gaps.append(
            Gap(where=where, why="all health watches are off: nothing was watched", ask=ASK)
        )
    return Reading(facts=tuple(_facts(lines, parts)), gaps=tuple(gaps), read_to=read_to)


def read_dcgmi_health_json(lines: Lines) -> Reading:
    """Return the same of the JSON form; nothing for another command's JSON of that shape."""
    parsed = parse(lines)
    if parsed.whole and not any(
        v.path[0] == "header" and v.value == "Health Monitor Report" for v in parsed.values
    ):
        return Reading()
    parts: dict[tuple[Step, ...], _Part] = {}
    for value in parsed.values:
        path = value.path
        if path[0] != "body" or not isinstance(value.value, str):
            continue
        names = tuple(p for p in path[1:] if p != "children")
        if names[:1] == ("Overall Health",) and names[-1] == "value":
            parts[names[:1]] = _Part(None, "overall", _STATUS.get(value.value.lower()), value.at)
        elif len(names) >= 5 and names[2] == "Errors":
            gpu = int(str(names[1])) if names[0] == "GPU" and str(names[1]).isdigit() else None
            part = parts.setdefault(names[:4], _Part(gpu, _system(str(names[3])), None, value.at))
            if names[4] == "value":
                part.status, part.at = _STATUS.get(value.value.lower()), value.at
            else:
                part.rows.append(value.at)
                part.says.append(value.value)
    known = [part for part in parts.values() if part.status is not None]
    gaps = [] if parsed.whole else [Gap(where=lines.cite(0), why="the JSON is cut")]
    return Reading(
        facts=tuple(_facts(lines, known)), gaps=tuple(gaps) if known else (),
        read_to=parsed.read_to if known else 0,
    )  # fmt: skip


def _system(label: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", label.lower().removesuffix(" system")).strip("_")[:40]


def _facts(lines: Lines, parts: list[_Part]) -> list[Fact]:
    out: list[Fact] = []
    for part in parts:
        if part.status is None:
            continue
        device = host_ref()
        if part.gpu is not None:
            device = DeviceRef(kind="card", index=part.gpu, text=lines.name)
        says = " ".join(part.says)[:SAYS_LIMIT] or None
        sources = [lines.cite(part.at, part.at, "status", "system")]
        sources += [lines.cite(row, row, "says") for row in part.rows if row != part.at]
        out.append(
            HealthResult(
                device=device,
                system=part.system,
                status=part.status,
                says=says,
                sources=tuple(sources),
            )
        )
        if says and part.gpu is not None and part.status != "healthy":
            out += facts_of(says, device, tuple(lines.cite(row, row) for row in part.rows))
    return out
