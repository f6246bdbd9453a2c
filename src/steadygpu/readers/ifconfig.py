"""Reads `ifconfig` (net-tools 1.60 with "RX packets:0", 2.x with "RX packets 0") and /proc/net/dev (Linux 2.6 to 6.8)."""

import re
from typing import Any

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.network import NicCounters, NicState
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_NEW = re.compile(
    r"(?P<name>[^\s:]{1,32}): flags=\d{1,6}<(?P<flags>[A-Z0-9_,]{0,200})>\s+mtu (?P<mtu>\d{1,6})\s*$"
)
_OLD = re.compile(r"(?P<name>\S{1,32}?)\s+Link encap:(?P<type>[\w -]{1,40}?)(?:\s{2,}.*)?\s*$")
_OLD_FLAGS = re.compile(r"\s+(?P<flags>(?:[A-Z]{2,20} )+)\s*MTU:(?P<mtu>\d{1,6})\b")
_WAY = re.compile(r"\s+(?P<way>RX|TX) (?P<cells>(?:(?:packets|errors|bytes)\b).{0,200})$")
_BYTES = re.compile(r"\s+RX bytes:(?P<rx>\d{1,20}) \([^)]{1,20}\)\s+TX bytes:(?P<tx>\d{1,20})\b")
_PAIR = re.compile(r"(?P<name>[a-z]{2,12})[: ](?P<value>\d{1,20})\b")
_MORE = re.compile(
    r"\s+(?:inet6?|ether|loop|infiniband|unspec|txqueuelen|collisions|device|options|Interrupt|Base address|"
    r"UP|BROADCAST|sit|tunnel|ax25|POINTOPOINT|NOARP|RUNNING)\b"
)
_FIELDS = {
    "packets": "packets", "bytes": "bytes", "errors": "errors", "dropped": "dropped", "overruns": "overruns",
    "carrier": "carrier_errors",
}  # fmt: skip
_HAVE = {"tx_overruns", "rx_carrier_errors"}  # printed, and not kept

_DEV_HEAD = re.compile(r"Inter-\|\s+Receive\s+\|\s+Transmit\s*$")
_DEV_COLUMNS = re.compile(
    r" face \|bytes\s+packets errs drop fifo frame compressed multicast\|bytes"
)
_DEV_ROW = re.compile(r"\s{0,12}(?P<name>[^\s:|]{1,32}):(?P<cells>(?:\s*\d{1,20}){16})\s*$")
_DEV = (
    "rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "rx_overruns", None, None, None,
    "tx_bytes", "tx_packets", "tx_errors", "tx_dropped", None, "collisions", "tx_carrier_errors", None,
)  # fmt: skip


def read_ifconfig(lines: Lines) -> Reading:
    """Return a state and counters for each interface."""
    facts: list[Any] = []
    state = counters = None
    device = DeviceRef(kind="nic")
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 1000:
            break
        if found := _NEW.match(line) or _OLD.match(line):
            facts += _facts(state, counters, device)
            device = DeviceRef(kind="nic", label=found["name"].split(":")[0], text=lines.name)
            state, counters = Draft(lines), Draft(lines)
            counters.values["source"] = "ifconfig"
            if found.re is _NEW:
                _flags(state, found["flags"].split(","), found["mtu"], at)
        elif state is None or counters is None:
            break
        elif found := _BYTES.match(line):
            counters.take("rx_bytes", int(found["rx"]), at)
            counters.take("tx_bytes", int(found["tx"]), at)
        elif found := _WAY.match(line):
            _cells(counters, found["way"].lower(), found["cells"], at)
        elif found := _OLD_FLAGS.match(line):
            _flags(state, found["flags"].split(), found["mtu"], at)
        elif not _MORE.match(line):
            break
        read_to = at + 1
    facts += _facts(state, counters, device)
    return Reading(facts=tuple(facts), read_to=read_to)


def _flags(state: Draft, flags: list[str], mtu: str, at: int) -> None:
    state.take("up", "UP" in flags, at)
    if "UP" in flags:
        state.take("carrier", "RUNNING" in flags, at)
    state.take("mtu", int(mtu), at)


def _facts(state: Draft | None, counters: Draft | None, device: DeviceRef) -> list[Any]:
    if state is None or counters is None:
        return []
    return [*state.record(NicState, device), *counters.record(NicCounters, device)]


def _cells(counters: Draft, way: str, cells: str, at: int) -> None:
    for pair in _PAIR.finditer(cells):
        name = _FIELDS.get(pair["name"])
        field = f"{way}_{name}"
        if name and field not in _HAVE and field not in counters.values:
            counters.take(field, int(pair["value"]), at)


def read_proc_net_dev(lines: Lines) -> Reading:
    """Return the counters of each row of /proc/net/dev; old kernels print no blank after the colon."""
    facts: list[Any] = []
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        found = _DEV_ROW.match(line) if len(line) < 1000 else None
        if found is None:
            if at > 1 or not (_DEV_HEAD.match(line) or _DEV_COLUMNS.match(line)):
                break
        else:
            draft = Draft(lines)
            draft.values["source"] = "proc"
            for field, word in zip(_DEV, found["cells"].split(), strict=False):
                if field is not None:
                    draft.take(field, int(word), at)
            if len(found["cells"].split()) == len(_DEV):
                device = DeviceRef(kind="nic", label=found["name"], text=lines.name)
                facts += draft.record(NicCounters, device)
        read_to = at + 1
    return Reading(facts=tuple(facts), read_to=read_to)
