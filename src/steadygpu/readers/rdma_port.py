"""Reads the states of RDMA ports: ibstat (MLNX_OFED 4 to 24), ibstatus, ibv_devinfo (rdma-core 15 to 50), rdma link (iproute2 5, 6).

ibstat may break off with "ibpanic"; what stood before it counts. rdma link prints text or, with -j, JSON.
"""

import json
import re
from typing import Any

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.network import RdmaPort
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_CA = re.compile(r"CA '(?P<ca>[\w.-]{1,64})'\s*$")
_PORT = re.compile(r"\s+Port (?P<port>\d{1,3}):\s*$")
_STATUS = re.compile(r"Infiniband device '(?P<ca>[\w.-]{1,64})' port (?P<port>\d{1,3}) status:\s*$")
_HCA = re.compile(r"hca_id:\s+(?P<ca>[\w.-]{1,64})\s*$")
_HCA_PORT = re.compile(r"\s+port:\s+(?P<port>\d{1,3})\s*$")
_CELL = re.compile(r"\s+(?P<name>[A-Za-z][\w ]{0,40}?):\s*(?P<value>\S.{0,200}?)?\s*$")
_MORE = re.compile(r"\s+(?:GID\[ *\d{1,4}\]|\S[\w ]{0,60}$|0x|[A-Z][A-Z_]{3,60})")
_PANIC = re.compile(r"ibpanic: |ibwarn: ")
_LINK = re.compile(
    r"(?:\d{1,4}/\d{1,3}: |link )(?P<port>[\w.-]{1,64}/\d{1,3})[: ]\s*(?P<rest>(?:\w+ \S+ ?){1,12})\s*$"
)
_RATE = re.compile(r"(?P<gbit>\d{1,5}(?:\.\d{1,3})?)(?: Gb/sec.*)?$")
_NUMBER = re.compile(r"\d{1,6}")

# The cells of the tools, by our fields.
_CELLS = {
    "state": "state", "physical state": "physical", "phys state": "physical", "phys_state": "physical",
    "rate": "rate_bits_s", "link layer": "link_layer", "link_layer": "link_layer",
    "active_mtu": "active_mtu", "max_mtu": "max_mtu",
}  # fmt: skip
_OF_CARD = {
    "ca type": "hca_type", "firmware version": "firmware", "fw_ver": "firmware", "board_id": "hca_type",
}  # fmt: skip


def read_ibstat(lines: Lines) -> Reading:
    """Return one record for each port; the rate is in Gb/s. A block without its CA's name is not told."""
    return _blocks(lines, _CA, _PORT)


def read_ibstatus(lines: Lines) -> Reading:
    """Return one record for each port; states come with their numbers ("4: ACTIVE")."""
    return _blocks(lines, _STATUS, None)


def read_ibv_devinfo(lines: Lines) -> Reading:
    """Return one record for each port; states come as PORT_ACTIVE (4), MTUs in bytes. -v prints more, unread."""
    return _blocks(lines, _HCA, _HCA_PORT)


def _blocks(lines: Lines, head: "re.Pattern[str]", port: "re.Pattern[str] | None") -> Reading:
    facts: list[Any] = []
    ca, number, read_to = "", "", 0
    draft: Draft | None = None
    card: dict[str, tuple[str, int]] = {}

    def close() -> None:
        if draft is not None and ca and draft.places:
            for field, (value, at) in card.items():
                draft.take(field, value, at)
            facts.extend(
                draft.record(
                    RdmaPort, DeviceRef(kind="nic", label=f"{ca}/{number}", text=lines.name)
                )
            )

    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 1000:
            break
        if found := head.match(line):
            close()
            ca, number, card, draft = found["ca"], "", {}, None
            if port is None:
                number, draft = found["port"], Draft(lines)
        elif port is not None and (found := port.match(line)):
            close()
            number, draft = found["port"], Draft(lines)
        elif found := _CELL.match(line):
            _cell(draft, card, found["name"].lower(), found["value"] or "", at)
        elif not (_PANIC.match(line) or (ca and _MORE.match(line))):
            break
        read_to = at + 1
    close()
    return Reading(facts=tuple(facts), read_to=read_to)


def _cell(
    draft: Draft | None, card: dict[str, tuple[str, int]], name: str, value: str, at: int
) -> None:
    if name in _OF_CARD and draft is None and value:
        card.setdefault(_OF_CARD[name], (value, at))
    field = _CELLS.get(name)
    if draft is None or field is None or field in draft.values or not value:
        return
    parsed = parsed_cell(field, value)
    if parsed is not None:
        draft.take(field, parsed, at)


def parsed_cell(field: str, value: str) -> object | None:
    """Return the value of a cell in our units, or None where it has another form."""
    if field == "rate_bits_s":
        rate = _RATE.match(value)
        return round(float(rate["gbit"]) * 1_000_000_000) if rate else None
    if field in ("active_mtu", "max_mtu"):
        number = _NUMBER.match(value)
        return int(number[0]) if number else None
    if field == "link_layer":
        return value if value in ("InfiniBand", "Ethernet") else None
    return _word(value)


def _word(value: str) -> str | None:
    """Return a state in small letters: of "Active", "4: ACTIVE", "PORT_ACTIVE (4)", "LINK_UP"."""
    word = re.sub(r"^\d{1,2}: |\s*\(\d{1,3}\)$", "", value.strip())
    word = word.removeprefix("PORT_").replace("_", "").replace(" ", "").lower()
    word = {"initializing": "init", "initialize": "init", "initialized": "init"}.get(word, word)
    return word if word.isalpha() and len(word) < 40 else None


def read_rdma_link(lines: Lines) -> Reading:
    """Return one record for each link of `rdma link`, text or JSON."""
    if lines.clean and lines.clean[0].lstrip().startswith(("[", "{")):
        return _of_json(lines)
    facts: list[Any] = []
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        found = _LINK.match(line) if len(line) < 1000 else None
        if found is None:
            break
        words = found["rest"].split()
        told = dict(zip(words[::2], words[1::2], strict=False))
        if "state" not in told:
            break
        facts += _of_link(lines, found["port"], told, at, at)
        read_to = at + 1
    return Reading(facts=tuple(facts), read_to=read_to)


def _of_link(lines: Lines, port: str, told: dict[str, str], first: int, last: int) -> list[Any]:
    draft = Draft(lines)
    for name, field in (("state", "state"), ("physical_state", "physical")):
        if (word := _word(told.get(name, ""))) is not None:
            draft.take(field, word, first, last)
    if told.get("netdev"):
        draft.take("netdev", told["netdev"], first, last)
    return draft.record(RdmaPort, DeviceRef(kind="nic", label=port, text=lines.name))


def _of_json(lines: Lines) -> Reading:
    text = "\n".join(lines.clean)
    try:
        told, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return Reading()
    last = text[: end + len(text) - len(text.lstrip())].count("\n")
    facts: list[Any] = []
    for link in told if isinstance(told, list) else [told]:
        if not isinstance(link, dict):
            continue
        name, port = link.get("ifname"), link.get("port")
        if not isinstance(name, str) or not isinstance(port, int):
            continue
        words = {k: v for k, v in link.items() if isinstance(v, str)}
        facts += _of_link(lines, f"{name[:64]}/{port}", words, 0, last)
    return Reading(facts=tuple(facts), read_to=last + 1 if facts else 0)
