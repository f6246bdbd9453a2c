"""Reads `nvidia-smi -L`: the cards and their MIG devices with UUIDs.

Covers nvidia-smi 304 to 610. 304 may print a serial number (S/N) instead of a UUID; before 470 a
MIG UUID is MIG-GPU-<uuid of the card>/<gi>/<ci>.
"""

import re

from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import CardListing, GpuErrorCells, GpuIdentity, MigInstance
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft, listed_in_order, reason_of

_CARD = re.compile(
    r"GPU (?P<index>\d{1,4}): (?P<name>[^()]{1,120}(?:\([^():]{1,60}\)[^()]{0,60})?)"
    r"\((?P<kind>UUID|S/N): (?P<id>[^()]{1,100})\)\s*$"
)
_MIG = re.compile(
    r"\s+MIG (?P<profile>\S{1,40})\s+Device\s+(?P<device>\d{1,4}): \(UUID: (?P<uuid>[^()]{1,120})\)\s*$"
)
_OLD_MIG = re.compile(r"MIG-(?P<card>GPU-[0-9a-fA-F-]{1,40})/(?P<gi>\d{1,4})/(?P<ci>\d{1,4})")
_LOST = re.compile(r"Unable to determine the device handle for ")


def read_smi_list(lines: Lines) -> Reading:
    """Return the cards and MIG devices of a list; MIG lines without their card stay without one."""
    facts: list[Fact] = []
    rows: list[int] = []
    seen: list[int] = []
    card: DeviceRef | None = None
    at = read_to = 0
    while at < len(lines):
        line = lines.clean[at]
        if len(line) > 400:
            break
        if found := _CARD.match(line):
            card = _card(lines, found)
            facts += _card_facts(lines, at, found, card)
            rows.append(at)
            seen.append(int(found["index"]))
        elif found := _MIG.match(line):
            facts.append(_instance(lines, at, found, card))
        elif line.strip():
            break
        at += 1
        if line.strip():
            read_to = at
    if rows:
        cut = read_to < len(lines) and _LOST.match(lines.clean[read_to])
        facts.append(
            CardListing(
                device=host_ref(),
                tool="nvidia-smi-L",
                listed=len(set(seen)),
                complete=not cut and lines.filtered is None and listed_in_order(seen),
                container=lines.in_container,
                sources=tuple(lines.cite(row, row, "listed") for row in rows),
            )
        )
    return Reading(facts=tuple(facts), read_to=read_to)


def _card(lines: Lines, found: "re.Match[str]") -> DeviceRef:
    name, ident = found["name"].strip(), found["id"].strip()
    known = None if reason_of(ident) else ident
    return DeviceRef(
        kind="card",
        label=None if reason_of(name) else name,
        index=int(found["index"]),
        uuid=known if found["kind"] == "UUID" else None,
        serial=known if found["kind"] == "S/N" else None,
        text=lines.name,
    )


def _card_facts(lines: Lines, at: int, found: "re.Match[str]", ref: DeviceRef) -> list[Fact]:
    name, ident = found["name"].strip(), found["id"].strip()
    draft = Draft(lines)
    draft.put("name", name, at, str)
    if "name" in draft.values:
        draft.values["vendor"] = "nvidia"
    out: list[Fact] = [*draft.record(GpuIdentity, ref)]
    cells = {"name": name, found["kind"].lower(): ident}
    bad = [cell for cell, word in cells.items() if reason_of(word) == "error"]
    if bad:
        out.append(
            GpuErrorCells(
                device=ref,
                fields=tuple(bad),
                words=tuple(cells[cell] for cell in bad),
                readable=sum(reason_of(word) is None for word in cells.values()),
                sources=(lines.cite(at, at, "fields", "words"),),
            )
        )
    return out


def _instance(lines: Lines, at: int, found: "re.Match[str]", card: DeviceRef | None) -> MigInstance:
    uuid = found["uuid"].strip()
    old = _OLD_MIG.fullmatch(uuid)
    if card is None:
        card = DeviceRef(kind="card", uuid=old["card"] if old else None, text=lines.name)
    draft = Draft(lines)
    draft.take("profile", found["profile"], at)
    draft.put("uuid", uuid, at, str)
    if old:
        draft.take("gi", int(old["gi"]), at)
        draft.take("ci", int(old["ci"]), at)
    return draft.record(MigInstance, card)[0]
