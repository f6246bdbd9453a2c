"""Reads `nvidia-smi vgpu` and `nvidia-smi vgpu -q` of a host: its cards and the virtual cards on them.

Covers nvidia-smi 440 to 595. The table cuts long names with dots; -q calls the same value Gpu or GPU by version.
"""

import re

from steadygpu.evidence.device import DeviceRef, host_ref, normal_bdf
from steadygpu.evidence.driver import DriverVersion
from steadygpu.evidence.gpu import GpuIdentity, GpuLoad
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import MIB
from steadygpu.evidence.vgpu import VgpuInstance
from steadygpu.readers.smi_word import Draft, moment_of, ratio_of, reason_of

_LONGEST = 300
_VERSION = re.compile(
    r"\| NVIDIA-SMI \S+\s+Driver Version: (?P<version>\d{2,4}(?:\.\d{1,4}){1,2})\s+\|\s*$"
)
_RULE = re.compile(r"\+-{20,}\+\s*$|\|[-=]+\+[-=]+\+[-=]+[+|]\s*$|\+-+\+-+\+-+\+\s*$")
_HEAD = re.compile(
    r"\| GPU  Name\s+\| Bus-Id\s+\| GPU-Util\s+\||\|\s+vGPU ID\s+Name\s+\| VM ID\s+VM Name\s+\| vGPU-Util\s+\|"
)
_CARD = re.compile(
    r"\|\s{1,5}(?P<index>\d{1,3})  (?P<name>\S[^|]{1,60}?)\s*\|\s*(?P<bdf>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])"
    r"\s*\|\s*(?P<util>\S{1,12})\s*\|\s*$"
)
_VGPU = re.compile(
    r"\|\s{4,10}(?P<id>\d{4,12})\s+(?P<name>\S[^|]{1,60}?)\s*\|\s*(?P<vm>\S{1,60})\s+(?P<vm_name>\S[^|]{0,60}?)\s*\|\s*(?P<util>\S{1,12})\s*\|\s*$"
)
_Q_CARD = re.compile(r"GPU (?P<bdf>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
_Q_LINE = re.compile(
    r"(?P<deep> {4,16})(?P<label>[A-Za-z][\w /-]{1,40}?)\s*(?:: (?P<value>.{1,160}?))?\s*$"
)
_MIB = re.compile(r"(\d{1,9}) MiB")
_TEXTS = {
    "vm name": "vm_name", "vgpu name": "type_name", "vgpu uuid": "uuid",
    "guest driver version": "guest_driver", "license status": "license",
}  # fmt: skip


def read_smi_vgpu(lines: Lines) -> Reading:
    """Return the cards with their load and the virtual cards on them."""
    facts: list[Fact] = []
    moment = UNKNOWN
    card: DeviceRef | None = None
    draft: Draft | None = None
    section, query, read_to = "", False, 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        if q_card := _Q_CARD.match(line):
            after = next((ln for ln in lines.clean[at + 1 : at + 4] if ln.strip()), "")
            if "Active vGPUs" not in after:
                break
            facts += _close(draft, card, moment)
            query, draft = True, None
            card = DeviceRef(kind="card", bdf=normal_bdf(q_card["bdf"]), text=lines.name)
        elif not read_to and (found := moment_of(line)):
            moment = found
        elif version := _VERSION.match(line):
            if facts:
                break
            source = lines.cite(at, at, "version")
            facts.append(
                DriverVersion(
                    device=host_ref(),
                    at=moment,
                    part="module",
                    version=version["version"],
                    sources=(source,),
                )
            )
        elif row := _CARD.match(line):
            card = _card(lines, row)
            facts += _card_facts(lines, row, card, moment, at)
        elif vgpu := _VGPU.match(line):
            ref = card or DeviceRef(kind="card", text=lines.name)
            facts.append(_instance(lines, vgpu, ref, moment, at))
        elif (cell := _Q_LINE.match(line)) and (query or "Active vGPUs" in line):
            query = True
            label, value = cell["label"].lower(), cell["value"]
            if label == "vgpu id" and value and re.fullmatch(r"\d{1,12}", value, re.ASCII):
                facts += _close(draft, card, moment)
                draft, section = Draft(lines), ""
                draft.values["vgpu"] = int(value)
                draft.places[(at, at)] = ["vgpu"]
            elif value is None:
                section = label
            elif draft is not None:
                _put(draft, section if len(cell["deep"]) >= 12 else "", label, value, at)
        elif not (_RULE.match(line) or _HEAD.match(line)):
            break
        read_to = at + 1
    facts += _close(draft, card, moment)
    return Reading(facts=tuple(facts), read_to=read_to)


def _put(draft: Draft, section: str, label: str, value: str, at: int) -> None:
    if not section and label in _TEXTS:
        draft.put(_TEXTS[label], value, at, str)
    elif section == "fb memory usage" and label in ("total", "used"):
        draft.put(f"memory_{label}_bytes", value, at, _bytes)
    elif section == "utilization" and label == "gpu":
        draft.put("busy_ratio", value, at, ratio_of)


def _bytes(word: str) -> int | None:
    found = _MIB.fullmatch(word)
    return int(found[1]) * MIB if found else None


def _close(draft: Draft | None, card: DeviceRef | None, moment: Moment) -> list[VgpuInstance]:
    if draft is None:
        return []
    return draft.record(VgpuInstance, card or DeviceRef(kind="card", text=draft.lines.name), moment)


def _card(lines: Lines, row: "re.Match[str]") -> DeviceRef:
    name = row["name"]
    return DeviceRef(
        kind="card", label=None if reason_of(name) else name, index=int(row["index"]),
        bdf=normal_bdf(row["bdf"]), text=lines.name,
    )  # fmt: skip


def _card_facts(
    lines: Lines, row: "re.Match[str]", card: DeviceRef, moment: Moment, at: int
) -> list[Fact]:
    identity, load = Draft(lines), Draft(lines)
    identity.put("name", row["name"], at, str)
    if "name" in identity.values:
        identity.values.update(vendor="nvidia", name_cut=row["name"].endswith("..."))
    load.put("busy_ratio", row["util"], at, ratio_of)
    return [*identity.record(GpuIdentity, card, moment), *load.record(GpuLoad, card, moment)]


def _instance(
    lines: Lines, row: "re.Match[str]", card: DeviceRef, moment: Moment, at: int
) -> VgpuInstance:
    draft = Draft(lines)
    draft.take("type_name", row["name"], at)
    draft.take("vm_name", row["vm_name"], at)
    draft.put("busy_ratio", row["util"], at, ratio_of)
    draft.values["vgpu"] = int(row["id"])
    return draft.record(VgpuInstance, card, moment)[0]
