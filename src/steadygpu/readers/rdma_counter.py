"""Reads counters of RDMA ports: files of /sys/class/infiniband (Linux 4.5 to 6.8), rdma statistic (iproute2 5, 6), perfquery (infiniband-diags 2 to 5).

Files and perfquery count data in words of 4 bytes (Linux Documentation/ABI/stable/sysfs-class-infiniband).
"""

import re
from typing import Any

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.network import RdmaCounters, RdmaPort
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.rdma_port import parsed_cell
from steadygpu.readers.smi_word import Draft

WORD = 4  # bytes: sysfs-class-infiniband, port_xmit_data

_FILE = re.compile(
    r"(?:==> )?(?:\S{0,200}/|\./)?(?P<ca>[\w.-]{1,64})/ports/(?P<port>\d{1,3})/"
    r"(?:(?P<set>hw_counters|counters)/)?(?P<name>\w{1,64})(?P<sep>:| <==\s*$)(?P<value>.{0,80}?)\s*$"
)
_VALUE = re.compile(r"\d{1,20}$")
_STATISTIC = re.compile(r"link (?P<port>[\w.-]{1,64}/\d{1,3})(?P<rest>(?: +\w+ \d{1,20})*)\s*$")
_PAIR = re.compile(r"\s*(?P<name>\w{1,64}) (?P<value>\d{1,20})\s*$")
_QUERY = re.compile(r"# Port (?:extended )?counters: Lid (?P<lid>\d{1,6}) port (?P<port>\d{1,3})\b")
_DOTS = re.compile(r"(?P<name>[A-Z]\w{1,60}):\.{1,60}(?P<value>\d{1,20}|0x[0-9a-fA-F]{1,16})\s*$")

_NAMES = {
    "local_ack_timeout_err": "ack_timeouts", "out_of_sequence": "out_of_sequence",
    "packet_seq_err": "packet_seq_errors", "implied_nak_seq_err": "implied_nak_seq_errors",
    "rnr_nak_retry_err": "rnr_retry_errors", "roce_adp_retrans": "adaptive_retransmissions",
    "duplicate_request": "duplicate_requests", "out_of_buffer": "out_of_buffer",
    "rx_icrc_encapsulated": "icrc_errors", "np_cnp_sent": "cnp_sent", "rp_cnp_handled": "cnp_handled",
    "np_ecn_marked_roce_packets": "ecn_marked", "symbol_error": "symbol_errors",
    "link_downed": "link_downs", "link_error_recovery": "link_recoveries",
    "local_link_integrity_errors": "integrity_errors",
    "excessive_buffer_overrun_errors": "buffer_overruns", "port_rcv_errors": "rx_errors",
    "port_xmit_discards": "tx_discards", "port_xmit_wait": "tx_wait", "port_rcv_data": "rx_bytes",
    "port_xmit_data": "tx_bytes", "port_rcv_packets": "rx_packets", "port_xmit_packets": "tx_packets",
    # perfquery
    "SymbolErrorCounter": "symbol_errors", "LinkErrorRecoveryCounter": "link_recoveries",
    "LinkDownedCounter": "link_downs", "PortRcvErrors": "rx_errors", "PortXmitDiscards": "tx_discards",
    "LocalLinkIntegrityErrors": "integrity_errors", "ExcessiveBufferOverrunErrors": "buffer_overruns",
    "PortXmitData": "tx_bytes", "PortRcvData": "rx_bytes", "PortXmitPkts": "tx_packets",
    "PortRcvPkts": "rx_packets", "PortXmitWait": "tx_wait",
    # bnxt_re and irdma
    "local_ack_timeout_errs": "ack_timeouts", "to_retransmits": "ack_timeouts", "oos_drop_count": "out_of_sequence",
    "seq_err_naks_rcvd": "packet_seq_errors", "max_retry_exceeded": "rnr_retry_errors",
    "RetransSegs": "adaptive_retransmissions", "tcpRetransSegs": "adaptive_retransmissions",
}  # fmt: skip
_STATES = {
    "state": "state", "phys_state": "physical", "rate": "rate_bits_s", "link_layer": "link_layer",
}  # fmt: skip


def _put(draft: Draft, name: str, word: str, first: int, last: int) -> None:
    field = _NAMES.get(name)
    if field is None or field in draft.values or not _VALUE.match(word):
        return
    words = field in ("rx_bytes", "tx_bytes")
    draft.take(field, int(word) * (WORD if words else 1), first, last)


def _record(draft: Draft, label: str, source: str, lines: Lines) -> list[Any]:
    draft.values["source"] = source
    return draft.record(RdmaCounters, DeviceRef(kind="nic", label=label, text=lines.name))


def read_sysfs_infiniband(lines: Lines) -> Reading:
    """Return counters and states of each port, from `grep . FILES` or `head FILES` (==> FILE <==)."""
    counters: dict[str, Draft] = {}
    states: dict[str, Draft] = {}
    read_to, at, total = 0, 0, len(lines)
    while at < total:
        line = lines.clean[at]
        if not line.strip():
            at += 1
            continue
        found = _FILE.match(line) if len(line) < 500 else None
        if found is None:
            break
        first, value = at, found["value"]
        if found["sep"] != ":":
            if at + 1 >= total or lines.clean[at + 1].startswith("==>"):
                at += 1
                read_to = at
                continue
            at += 1
            value = lines.clean[at].strip()[:80]
        label = f"{found['ca']}/{found['port']}"
        if found["set"]:
            draft = counters.setdefault(label, Draft(lines))
            _put(draft, found["name"], value.strip(), first, at)
        elif (field := _STATES.get(found["name"])) is not None:
            parsed = parsed_cell(field, value.strip())
            if parsed is not None:
                states.setdefault(label, Draft(lines)).take(field, parsed, first, at)
        at += 1
        read_to = at
    facts: list[Any] = []
    for label, draft in counters.items():
        facts += _record(draft, label, "sysfs", lines)
    for label, draft in states.items():
        facts += draft.record(RdmaPort, DeviceRef(kind="nic", label=label, text=lines.name))
    return Reading(facts=tuple(facts), read_to=read_to)


def read_rdma_statistic(lines: Lines) -> Reading:
    """Return the counters of each link of `rdma statistic`, one line each or, with -p, one counter a line."""
    drafts: dict[str, Draft] = {}
    label, read_to = "", 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 10_000:
            break
        if found := _STATISTIC.match(line):
            label = found["port"]
            words = found["rest"].split()
            draft = drafts.setdefault(label, Draft(lines))
            for name, value in zip(words[::2], words[1::2], strict=True):
                _put(draft, name, value, at, at)
        elif label and line[:1].isspace() and (found := _PAIR.match(line)):
            _put(drafts[label], found["name"], found["value"], at, at)
        else:
            break
        read_to = at + 1
    facts: list[Any] = []
    for name, draft in drafts.items():
        facts += _record(draft, name, "rdma", lines)
    return Reading(facts=tuple(facts), read_to=read_to if facts else 0)


def read_perfquery(lines: Lines) -> Reading:
    """Return the counters of each port; a port is known by its LID, which this host need not have."""
    drafts: dict[str, Draft] = {}
    label, read_to = "", 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 500:
            break
        if found := _QUERY.match(line):
            label = f"lid {found['lid']}/{found['port']}"
        elif found := _DOTS.match(line):
            draft = drafts.setdefault(label, Draft(lines))
            _put(draft, found["name"], found["value"], at, at)
        else:
            break
        read_to = at + 1
    facts: list[Any] = []
    for name, draft in drafts.items():
        if name:
            facts += _record(draft, name, "perfquery", lines)
        else:
            draft.values["source"] = "perfquery"
            facts += draft.record(RdmaCounters, DeviceRef(kind="nic", text=lines.name))
    return Reading(facts=tuple(facts), read_to=read_to)
