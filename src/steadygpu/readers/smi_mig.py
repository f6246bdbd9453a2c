"""Reads the tables of `nvidia-smi mig`: GPU instances (-lgi), compute instances (-lci), profiles (-lgip, -lcip).

Covers nvidia-smi 450 to 610. -lci has had a placement since 470, profiles a second line for each row. The tables
list cards in MIG mode only; where there is none, or no instance, a sentence stands in their place.
"""

import re

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.gpu import GpuMode, MigInstance
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_LONGEST = 300
_TITLE = re.compile(
    r"\|\s*(?P<what>GPU instances|Compute instances|GPU instance profiles|Compute instance profiles):\s*\|\s*$"
)
_RULE = re.compile(r"\+-{20,}\+\s*$|\|=+\|\s*$")
_WORDS = re.compile(r"\|[\sA-Za-z:/]{10,120}\|\s*$")
_GI = re.compile(
    r"\|\s+(?P<gpu>\d{1,3})\s+MIG (?P<profile>\S{2,40})\s+(?P<id>\d{1,3})\s+(?P<gi>\d{1,3})\s+\d{1,3}:\d{1,3}\s*\|\s*$"
)
_CI = re.compile(
    r"\|\s+(?P<gpu>\d{1,3})\s+(?P<gi>\d{1,3})\s+MIG (?P<profile>\S{2,40})\s+(?P<id>\d{1,3})\*?\s+(?P<ci>\d{1,3})"
    r"(?:\s+\d{1,3}:\d{1,3})?\s*\|\s*$"
)
_PROFILE = re.compile(
    r"\|\s+(?P<gpu>\d{1,3})\s+(?:\d{1,3}\s+)?MIG (?P<profile>\S{2,40})\s+\d{1,3}\*?\s+\d{1,3}/\d{1,3}\s[^|]{1,80}\|\s*$"
)
_MORE = re.compile(r"\|[\s\d]{10,120}\|\s*$")
_NONE = re.compile(r"No GPU instances found: Not Found\s*$")
_NO_CARD = re.compile(
    r"No (?:MIG-(?:supported|enabled) devices|compute instances|(?:GPU|compute) instance profiles) found\b.{0,60}$"
)
_PLACES = re.compile(
    r"GPU\s+\d{1,3} (?:GPU Instance ID\s+\d{1,3} )?Profile ID\s+\d{1,3} Placements? ?: \{[\d,]{1,120}\}:\d{1,3}\s*$"
)


def read_smi_mig(lines: Lines) -> Reading:
    """Return the instances, and that the cards they are listed for are in MIG mode."""
    modes: dict[int, Draft] = {}
    refs: dict[int, DeviceRef] = {}
    facts: list[Fact] = []
    titled: str | None = None
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        row = _GI.match(line) or _CI.match(line)
        listed = row or _PROFILE.match(line)
        if title := _TITLE.match(line):
            if titled is not None:
                break
            titled = title["what"]
        elif _NONE.match(line):
            draft = Draft(lines)
            draft.take("mig_on", True, at)
            draft.values["mig_devices"] = 0
            draft.places[(at, at)].append("mig_devices")
            facts += draft.record(GpuMode, DeviceRef(kind="card", text=lines.name))
        elif listed is not None:
            gpu = int(listed["gpu"])
            ref = refs.setdefault(gpu, DeviceRef(kind="card", index=gpu, text=lines.name))
            modes.setdefault(gpu, Draft(lines)).take("mig_on", True, at)
            if row is not None:
                facts.append(_instance(lines, row, ref, at))
        elif not (
            _NO_CARD.match(line) or _PLACES.match(line) or _RULE.match(line)
            or (titled and (_WORDS.match(line) or _MORE.match(line)))
        ):  # fmt: skip
            break
        read_to = at + 1
    for gpu, draft in modes.items():
        facts += draft.record(GpuMode, refs[gpu])
    return Reading(facts=tuple(facts), read_to=read_to)


def _instance(lines: Lines, row: "re.Match[str]", ref: DeviceRef, at: int) -> MigInstance:
    cells = row.groupdict()
    draft = Draft(lines)
    draft.take("gi", int(cells["gi"]), at)
    draft.take("profile", cells["profile"], at)
    if cells.get("ci") is not None:
        draft.take("ci", int(cells["ci"]), at)
    return draft.record(MigInstance, ref)[0]
