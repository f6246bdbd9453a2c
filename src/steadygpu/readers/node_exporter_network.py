"""Which samples of node_exporter are fields of network cards, RDMA ports and TCP (node_exporter 1.3 to 1.9)."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.network import NicCounters, NicState, RdmaCounters, RdmaPort, TcpCounters
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.text import Lines
from steadygpu.readers.prometheus_text import Sample
from steadygpu.readers.smi_word import Draft

Convert = Callable[[float], object | None]

_NAME = re.compile(r"[\w.:@-]{1,32}")
_PORT = re.compile(r"\d{1,3}")


def _count(value: float) -> int | None:
    return round(value) if value < 1e20 else None


def _bits(value: float) -> int | None:
    return round(value * 8) if 0 < value < 1e12 else None


# Linux ABI sysfs-class-infiniband: states and physical states of a port by number.
_STATES = {1: "down", 2: "init", 3: "armed", 4: "active"}
_PHYSICAL = {
    1: "sleep",
    2: "polling",
    3: "disabled",
    4: "training",
    5: "linkup",
    6: "linkerrorrecovery",
}
_NIC = {
    f"node_network_{name}_total": field
    for name, field in {
        "receive_bytes": "rx_bytes", "receive_packets": "rx_packets", "receive_errs": "rx_errors",
        "receive_drop": "rx_dropped", "receive_fifo": "rx_overruns", "transmit_bytes": "tx_bytes",
        "transmit_packets": "tx_packets", "transmit_errs": "tx_errors", "transmit_drop": "tx_dropped",
        "transmit_carrier": "tx_carrier_errors", "transmit_colls": "collisions",
    }.items()
}  # fmt: skip
_RDMA = {
    f"node_infiniband_{name}_total": field
    for name, field in {
        "local_ack_timeout_errors": "ack_timeouts", "out_of_sequence_packets_received": "out_of_sequence",
        "packet_sequence_errors": "packet_seq_errors", "implied_nak_seq_errors": "implied_nak_seq_errors",
        "rnr_nak_retry_packets_received": "rnr_retry_errors", "roce_adp_retransmits": "adaptive_retransmissions",
        "duplicate_requests_packets": "duplicate_requests", "out_of_buffer_drops": "out_of_buffer",
        "rx_icrc_encapsulated_errors": "icrc_errors", "np_cnp_packets_sent": "cnp_sent",
        "rp_cnp_packets_handled": "cnp_handled", "np_ecn_marked_roce_packets_received": "ecn_marked",
        "symbol_error": "symbol_errors", "link_downed": "link_downs", "link_error_recovery": "link_recoveries",
        "local_link_integrity_errors": "integrity_errors", "excessive_buffer_overrun_errors": "buffer_overruns",
        "port_errors_received": "rx_errors", "port_discards_transmitted": "tx_discards",
        "port_transmit_wait": "tx_wait", "port_data_received_bytes": "rx_bytes",
        "port_data_transmitted_bytes": "tx_bytes", "port_packets_received": "rx_packets",
        "port_packets_transmitted": "tx_packets",
    }.items()
}  # fmt: skip
_RDMA_PORT: dict[str, tuple[str, Convert]] = {
    "node_infiniband_state_id": ("state", lambda v: _STATES.get(round(v))),
    "node_infiniband_physical_state_id": ("physical", lambda v: _PHYSICAL.get(round(v))),
    "node_infiniband_rate_bytes_per_second": ("rate_bits_s", _bits),
}
_NIC_STATE: dict[str, tuple[str, Convert]] = {
    "node_network_carrier": ("carrier", lambda v: v == 1),
    "node_network_mtu_bytes": ("mtu", _count),
    "node_network_speed_bytes": ("speed_bits_s", _bits),
}
_TCP = {
    "node_netstat_Tcp_InSegs": "segments_in", "node_netstat_Tcp_OutSegs": "segments_out",
    "node_netstat_Tcp_RetransSegs": "retransmitted", "node_netstat_TcpExt_TCPTimeouts": "timeouts",
    "node_netstat_TcpExt_ListenDrops": "listen_drops",
}  # fmt: skip


def network_facts(
    lines: Lines, samples: Mapping[str, Sequence[Sample]], host: DeviceRef, at: Moment
) -> Iterable[Fact]:
    """Return counters and states of each interface and each RDMA port, and what TCP counted."""
    drafts: dict[tuple[type[Any], str], Draft] = {}

    def put(record: type[Any], label: str, field: str, value: object, sample: Sample) -> None:
        if value is not None:
            drafts.setdefault((record, label), Draft(lines)).take(field, value, sample.at)

    for names, record in ((_NIC, NicCounters), (_RDMA, RdmaCounters), (_TCP, TcpCounters)):
        for name, field in names.items():
            for sample in samples.get(name, ()):
                label = "" if record is TcpCounters else _label(sample)
                if label is not None:
                    put(record, label, field, _count(sample.value or 0.0), sample)
    for table, state in ((_NIC_STATE, NicState), (_RDMA_PORT, RdmaPort)):
        for name, (field, convert) in table.items():
            for sample in samples.get(name, ()):
                if label := _label(sample):
                    put(state, label, field, convert(sample.value or 0.0), sample)
    for sample in samples.get("node_network_info", ()):
        word = sample.labels.get("operstate", "")
        if (label := _label(sample)) and word.isalpha():
            put(NicState, label, "state", word.upper()[:20], sample)
    for (record, label), draft in drafts.items():
        if record in (NicCounters, TcpCounters):
            draft.values["source"] = "proc"
        elif record is RdmaCounters:
            draft.values["source"] = "sysfs"
        ref = (
            DeviceRef(kind="nic", label=label, host=host.host, text=lines.name)
            if label
            else host_ref(host.host)
        )
        yield from draft.record(record, ref, at)


def _label(sample: Sample) -> str | None:
    """Return the name of an interface, or of a device and its port; None where there is none."""
    name, port = sample.labels.get("device", ""), sample.labels.get("port")
    if not _NAME.fullmatch(name) or (port is not None and not _PORT.fullmatch(port)):
        return None
    return name if port is None else f"{name}/{port}"
