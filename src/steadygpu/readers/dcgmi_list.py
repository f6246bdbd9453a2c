"""Reads `dcgmi discovery -l` (the cards that DCGM knows) and `dcgmi nvlink -s` (states of NVLinks).

Covers DCGM 1.4 to 4.5: newer ones say (Active) behind the count and list NVSwitches, NICs and CPUs below.
"""

import re

from steadygpu.evidence.device import DeviceRef, host_ref, normal_bdf
from steadygpu.evidence.gpu import CardListing, GpuIdentity
from steadygpu.evidence.nvlink import NvlinkLink
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft, listed_in_order, reason_of

_LONGEST = 300
_COUNT = re.compile(r"(?P<count>\d{1,3}) GPU(?:s|\(s\))? found(?: \(Active\))?\.\s*$")
_OTHER = re.compile(
    r"\d{1,3} (?:NvSwitch\w*|ConnectX\w*|CPUs?|GPUs?)(?: \w+)? found(?: \(\w+\))?\.\s*$"
)
_HEAD = re.compile(r"\|\s*GPU ID\s*\|\s*Device Information\s*\|\s*$")
_RULE = re.compile(r"\+[-=]{3,}(?:\+[-=]{3,}){0,3}\+\s*$")
_ROW = re.compile(
    r"\|\s*(?P<index>\d{0,3})\s*\|\s*(?P<name>Name|PCI Bus ID|Device UUID): ?(?P<value>[^|]{1,120}?)\s*\|\s*$"
)
_TABLE = re.compile(r"\|[^|]{1,60}(?:\|[^|]{0,80}){0,2}\|\s*$")
_TITLE = re.compile(r"\|\s+NvLink Link Status\s+\|\s*$")
_GROUP = re.compile(r"(?P<name>GPUs|NvSwitches|CPUs):\s*$")
_ENTITY = re.compile(r"\s+(?P<kind>gpuId|physicalId|cpuId) (?P<index>\d{1,4}):\s*$")
_STATES = re.compile(r"\s+(?P<states>[UDX_](?: [UDX_]){0,127})\s*$")
_KEY = re.compile(r"Key: Up=U, Down=D, Disabled=X, Not Supported=_\s*$")
_NONE = re.compile(r"\s+No (?:GPUs|NvSwitches|CPUs) found\.\s*$")


def read_dcgmi_discovery(lines: Lines) -> Reading:
    """Return who the cards are, and how many DCGM counts."""
    drafts: list[tuple[int, dict[str, tuple[str, int]]]] = []
    count: tuple[int, int] | None = None
    others = False
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        if (found := _COUNT.match(line)) and count is None and not drafts:
            count = int(found["count"]), at
        elif _OTHER.match(line) and (read_to or drafts):
            others = True
        elif (row := _ROW.match(line)) and not others:
            if row["index"]:
                drafts.append((int(row["index"]), {}))
            if drafts:
                drafts[-1][1].setdefault(row["name"], (row["value"], at))
        elif not (_HEAD.match(line) or _RULE.match(line) or (others and _TABLE.match(line))):
            break
        read_to = at + 1
    facts: list[Fact] = []
    for index, cells in drafts:
        facts += _identity(lines, index, cells)
    if drafts and count is not None:
        at = count[1]
        facts.append(
            CardListing(
                device=host_ref(), tool="dcgmi-discovery", listed=len(drafts), attached=count[0],
                complete=lines.filtered is None and listed_in_order([i for i, _ in drafts]) and count[0] == len(drafts),
                container=lines.in_container,
                sources=(lines.cite(at, at, "attached"), *(lines.cite(c["Name"][1], c["Name"][1], "listed") for _, c in drafts if "Name" in c)),
            )
        )  # fmt: skip
    return Reading(facts=tuple(facts), read_to=read_to if drafts or count else 0)


def _identity(lines: Lines, index: int, cells: dict[str, tuple[str, int]]) -> list[GpuIdentity]:
    def word(name: str) -> str | None:
        value = cells.get(name, (None, 0))[0]
        return None if value is None or reason_of(value) else value.strip()

    bus = word("PCI Bus ID")
    ref = DeviceRef(
        kind="card", label=word("Name"), index=index, uuid=word("Device UUID"),
        bdf=normal_bdf(bus) if bus else None, text=lines.name,
    )  # fmt: skip
    draft = Draft(lines)
    if "Name" in cells:
        draft.put("name", cells["Name"][0], cells["Name"][1], str)
        draft.values["vendor"] = "nvidia"
    return draft.record(GpuIdentity, ref)


def read_dcgmi_nvlink(lines: Lines) -> Reading:
    """Return one record for each link of each card. A link that is disabled is neither up nor down."""
    facts: list[Fact] = []
    card: int | None = None
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        if entity := _ENTITY.match(line):
            card = int(entity["index"]) if entity["kind"] == "gpuId" else None
        elif states := _STATES.match(line):
            if card is not None:
                ref = DeviceRef(kind="card", index=card, text=lines.name)
                for link, sign in enumerate(states["states"].split()):
                    facts += _link(lines, ref, link, sign, at)
        elif not (
            _TITLE.match(line) or _GROUP.match(line) or _NONE.match(line) or _KEY.match(line)
            or (_RULE.match(line) or re.match(r"\+-{10,}\+\s*$", line))
        ):  # fmt: skip
            break
        read_to = at + 1
        if _KEY.match(line):
            break
    return Reading(facts=tuple(facts), read_to=read_to)


def _link(lines: Lines, ref: DeviceRef, link: int, sign: str, at: int) -> list[NvlinkLink]:
    draft = Draft(lines)
    draft.values["link"] = link
    if sign in "UD":
        draft.take("active", sign == "U", at)
    else:
        draft.lack("active", "not_supported", at)
    return draft.record(NvlinkLink, ref)
