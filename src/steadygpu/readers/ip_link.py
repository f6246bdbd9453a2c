"""Reads `ip link`, `ip -s link`, `ip -s -s link`, `ip -br link` and `ip address`, text and JSON.

iproute2 3.10 to 6.8: "RX: bytes  packets  errors  dropped overrun mcast" became "missed" for "overrun" in 5.9, and columns
moved together in 5.13. The JSON form prints over_errors where the text prints missed.
"""

import json
import re
from typing import Any

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.network import NicCounters, NicState
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_HEAD = re.compile(
    r"\d{1,6}: (?P<name>[^\s:@]{1,32})(?:@[^\s:]{1,32})?: <(?P<flags>[A-Z0-9_,-]{0,200})> mtu (?P<mtu>\d{1,6})\b(?P<rest>.{0,300})$"
)
_STATE = re.compile(r" state (?P<state>[A-Z]{2,20})\b")
_BRIEF = re.compile(
    r"(?P<name>[^\s:@]{1,32})(?:@\S{1,32})?\s+(?P<state>UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT|TESTING|NOTPRESENT)\s+"
    r"(?:(?P<mac>(?:[0-9a-fA-F]{2}:){3,20}[0-9a-fA-F]{2}|\d{1,3}(?:\.\d{1,3}){3})\s+)?<(?P<flags>[A-Z0-9_,-]{0,200})>\s*$"
)
_LINK = re.compile(r"\s+link/(?P<type>[\w/]{1,20})(?:\s.*)?$")
_COLUMNS = re.compile(
    r"\s+(?P<way>RX|TX)(?P<errors> errors)?:(?P<columns>(?:\s+[a-z]{2,12}){2,10})\s*$"
)
_ROW = re.compile(r"\s+\d{1,20}(?:\s+\d{1,20}){0,9}\s*$")
_MORE = re.compile(
    r"\s+(?:inet6? |valid_lft |altname |alias |vf \d|bond|bridge|veth|vlan |vxlan|tun |promiscuity|parentbus|"
    r"openvswitch|link-netns|numtxqueues|permaddr|master |prog/|macvlan|ipvlan|geneve|gre|ipoib|xdp/)"
)
_FIELDS = {
    "RX": {"bytes": "rx_bytes", "packets": "rx_packets", "errors": "rx_errors", "dropped": "rx_dropped",
           "missed": "rx_missed", "overrun": "rx_overruns"},
    "TX": {"bytes": "tx_bytes", "packets": "tx_packets", "errors": "tx_errors", "dropped": "tx_dropped",
           "carrier": "tx_carrier_errors", "collsns": "collisions"},
    "RX errors": {"crc": "rx_crc_errors", "missed": "rx_missed", "fifo": "rx_overruns"},
    "TX errors": {},
}  # fmt: skip
_JSON = {
    "rx": {"bytes": "rx_bytes", "packets": "rx_packets", "errors": "rx_errors", "dropped": "rx_dropped",
           "over_errors": "rx_overruns", "missed_errors": "rx_missed", "crc_errors": "rx_crc_errors"},
    "tx": {"bytes": "tx_bytes", "packets": "tx_packets", "errors": "tx_errors", "dropped": "tx_dropped",
           "carrier_errors": "tx_carrier_errors", "collisions": "collisions"},
}  # fmt: skip
MOST = 1 << 64  # Linux: struct rtnl_link_stats64 counts in 64 bits


class _Link:
    """One interface: what it is and what it counted."""

    def __init__(self, lines: Lines, name: str) -> None:
        self.device = DeviceRef(kind="nic", label=name, text=lines.name)
        self.state, self.counters = Draft(lines), Draft(lines)
        self.counters.values["source"] = "ip"

    def flags(self, flags: str, at: int) -> None:
        words = flags.split(",")
        self.state.take("up", "UP" in words, at)
        if "UP" in words:
            self.state.take("carrier", "NO-CARRIER" not in words and "LOWER_UP" in words, at)

    def facts(self) -> list[Any]:
        return [
            *self.state.record(NicState, self.device),
            *self.counters.record(NicCounters, self.device),
        ]


def read_ip_link(lines: Lines) -> Reading:
    """Return a state for each interface, and counters where they are printed. "if@peer" is told as "if"."""
    facts: list[Any] = []
    link: _Link | None = None
    columns: tuple[str, list[str], int] | None = None
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 2000:
            break
        row, columns = columns, None
        if found := _HEAD.match(line):
            facts += link.facts() if link else []
            link = _Link(lines, found["name"])
            link.flags(found["flags"], at)
            link.state.take("mtu", int(found["mtu"]), at)
            if state := _STATE.search(found["rest"]):
                link.state.take("state", state["state"], at)
        elif found := _BRIEF.match(line):
            facts += link.facts() if link else []
            link = _Link(lines, found["name"])
            link.flags(found["flags"], at)
            link.state.take("state", found["state"], at)
        elif found := _COLUMNS.match(line):
            columns = (found["way"] + (found["errors"] or ""), found["columns"].split(), at)
        elif row is not None and _ROW.match(line):
            if link is not None:
                _take_row(link.counters, row, line.split(), at)
        elif link is not None and (found := _LINK.match(line)):
            link.state.take("link_type", found["type"], at)
        elif not (link is not None and _MORE.match(line)):
            break
        read_to = at + 1
    facts += link.facts() if link else []
    return Reading(facts=tuple(facts), read_to=read_to)


def _take_row(draft: Draft, row: tuple[str, list[str], int], words: list[str], at: int) -> None:
    way, columns, head = row
    if len(columns) != len(words):
        return
    for name, word in zip(columns, words, strict=True):
        field = _FIELDS[way].get(name)
        if field is not None and field not in draft.values and int(word) < MOST:
            draft.take(field, int(word), head, at)


def read_ip_link_json(lines: Lines) -> Reading:
    """Return the same of `ip -j -s link`: each interface's lines prove it."""
    text = "\n".join(lines.clean)
    start = len(text) - len(text.lstrip())
    try:
        told, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return Reading()
    last = text.count("\n", 0, end)
    links = [one for one in told if _is_link(one)] if isinstance(told, list) else []
    starts = _starts(lines, links, last)
    facts: list[Any] = []
    ends = [*(start - 1 for start in starts[1:]), last]
    for one, first, until in zip(links, starts, ends, strict=False):
        facts += _of_json(lines, one, first, max(first, until))
    return Reading(facts=tuple(facts), read_to=last + 1 if facts else 0)


def _is_link(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("ifname"), str)


def _starts(lines: Lines, links: list[Any], last: int) -> list[int]:
    """Return the line at which each interface begins: that of its ifname."""
    out, at = [], 0
    for one in links:
        mark = json.dumps(one["ifname"])
        at = next(
            (
                i
                for i in range(at, last + 1)
                if '"ifname"' in lines.clean[i] and mark in lines.clean[i]
            ),
            at,
        )
        out.append(at)
    return out


def _of_json(lines: Lines, one: dict[str, Any], first: int, last: int) -> list[Any]:
    link = _Link(lines, one["ifname"][:32])
    flags = one.get("flags")
    words = [f for f in flags if isinstance(f, str)] if isinstance(flags, list) else None
    state, counters = link.state, link.counters
    if words is not None:
        state.take("up", "UP" in words, first, last)
        if "UP" in words:
            state.take("carrier", "NO-CARRIER" not in words and "LOWER_UP" in words, first, last)
    for name, field in (("operstate", "state"), ("link_type", "link_type")):
        if isinstance(one.get(name), str):
            state.take(field, one[name][:20], first, last)
    if _is_count(one.get("mtu")):
        state.take("mtu", one["mtu"], first, last)
    stats = one.get("stats64", one.get("stats"))
    for way, names in _JSON.items():
        own = stats.get(way) if isinstance(stats, dict) else None
        for name, field in names.items():
            if isinstance(own, dict) and _is_count(own.get(name)):
                counters.take(field, own[name], first, last)
    return link.facts()


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST
