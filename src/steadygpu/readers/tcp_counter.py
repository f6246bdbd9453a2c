"""Reads what TCP counted: `nstat -az` (iproute2 3 to 6), `netstat -s` (net-tools), /proc/net/snmp and /proc/net/netstat.

nstat without -a prints what came since its last call; it cannot be told from the text. net-tools 1 writes
"send out" and "retransmited".
"""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.network import TcpCounters
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_NSTAT_HEAD = re.compile(r"#(?:kernel|\d{1,12}\.\d{1,10} sampling.*)\s*$")
_NSTAT = re.compile(
    r"(?P<name>[A-Z][A-Za-z0-9]{3,60})\s+(?P<value>\d{1,20})\s+\d{1,12}\.\d{1,6}\s*$"
)
_NSTAT_FIELDS = {
    "TcpInSegs": "segments_in", "TcpOutSegs": "segments_out", "TcpRetransSegs": "retransmitted",
    "TcpExtTCPTimeouts": "timeouts", "TcpExtListenDrops": "listen_drops",
}  # fmt: skip
_SECTION = re.compile(
    r"(?:Ip|Ip6|Icmp|Icmp6|IcmpMsg|Icmp6Msg|Tcp|Udp|Udp6|UdpLite|UdpLite6|TcpExt|IpExt|MPTcpExt|Sctp):\s*$"
)
_SAID = re.compile(r"\s{2,}(?P<value>\d{1,20}) (?P<what>[a-zA-Z].{2,120}?)\s*$")
_LISTED = re.compile(r"\s{2,}(?P<name>[A-Za-z][\w ,]{1,60}): ?(?P<value>\d{1,20})\s*$")
_WORDS = re.compile(r"\s{2,}\S.{2,120}[\d:]\s*$")  # other cells and the headings of histograms
_SAID_FIELDS = {
    "segments received": "segments_in", "segments send out": "segments_out", "segments sent out": "segments_out",
    "segments retransmited": "retransmitted", "segments retransmitted": "retransmitted",
}  # fmt: skip
_PROC = re.compile(
    r"(?P<name>Ip|Icmp|IcmpMsg|Tcp|Udp|UdpLite|TcpExt|IpExt|MPTcpExt): (?P<cells>.+)$"
)
_PROC_FIELDS = {
    ("Tcp", "InSegs"): "segments_in", ("Tcp", "OutSegs"): "segments_out",
    ("Tcp", "RetransSegs"): "retransmitted", ("TcpExt", "TCPTimeouts"): "timeouts",
    ("TcpExt", "ListenDrops"): "listen_drops",
}  # fmt: skip
_CELL = re.compile(r"-?\d{1,20}$")


def _reading(draft: Draft, source: str, read_to: int) -> Reading:
    draft.values["source"] = source
    return Reading(facts=tuple(draft.record(TcpCounters, host_ref())), read_to=read_to)


def read_nstat(lines: Lines) -> Reading:
    """Return the counters of `nstat -az`."""
    draft, read_to = Draft(lines), 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        found = _NSTAT.match(line) if len(line) < 300 else None
        if found is None:
            if read_to or not _NSTAT_HEAD.match(line[:300]):
                break
        elif (field := _NSTAT_FIELDS.get(found["name"])) and field not in draft.values:
            draft.take(field, int(found["value"]), at)
        read_to = at + 1
    return _reading(draft, "nstat", read_to)


def read_netstat_s(lines: Lines) -> Reading:
    """Return the counters of `netstat -s`: lines say in words what they count."""
    draft, read_to, section = Draft(lines), 0, ""
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 300:
            break
        if _SECTION.match(line):
            name = line.strip().rstrip(":")
            if name == section:
                break
            section = name
        elif not section:
            break
        elif found := _SAID.match(line):
            field = _SAID_FIELDS.get(found["what"]) if section == "Tcp" else None
            if field and field not in draft.values:
                draft.take(field, int(found["value"]), at)
        elif found := _LISTED.match(line):
            field = _PROC_FIELDS.get((section, found["name"]))
            if field and field not in draft.values:
                draft.take(field, int(found["value"]), at)
        elif not _WORDS.match(line):
            break
        read_to = at + 1
    return _reading(draft, "netstat", read_to)


def read_proc_net_snmp(lines: Lines) -> Reading:
    """Return the counters of /proc/net/snmp and /proc/net/netstat: a line of names, a line of values."""
    draft, read_to = Draft(lines), 0
    names: tuple[str, list[str]] | None = None
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        found = _PROC.match(line) if len(line) < 20_000 else None
        if found is None:
            break
        cells = found["cells"].split()
        if not all(_CELL.match(cell) for cell in cells):
            names = (found["name"], cells)
        elif names and names[0] == found["name"] and len(names[1]) == len(cells):
            for name, cell in zip(names[1], cells, strict=True):
                field = _PROC_FIELDS.get((found["name"], name))
                if field and field not in draft.values and cell.isdigit():
                    draft.take(field, int(cell), at - 1, at)
            names = None
        read_to = at + 1
    return _reading(draft, "proc", read_to)
