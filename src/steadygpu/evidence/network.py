"""Network cards, RDMA ports and the host's TCP."""

import re
from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source

# Interfaces that no cable leaves: what Docker, Kubernetes, libvirt, tunnels and bonds make.
_VIRTUAL = re.compile(
    r"(?:lo|docker|veth|br-|virbr|cali|flannel|cni|cilium|lxc|weave|kube-|nerdctl|podman|tun|tap|wg|tailscale|dummy|"
    r"ifb|ip6tnl|tunl|sit|gre|gretap|erspan|vxlan|ovs-|genev|vnet|macvlan|macvtap|ipvlan|nodelocaldns|bond|team|lxdbr)"
    r"[\w.@-]*|br\d+"
)


def is_virtual(name: str) -> bool:
    """Say whether an interface of this name is no card (lo, docker0, veth..., a bridge, a bond, a VLAN)."""
    return _VIRTUAL.fullmatch(name) is not None or "." in name or "@" in name


@dataclass(frozen=True, slots=True, kw_only=True)
class NicState:
    """A network interface: `state` is UP, DOWN, UNKNOWN and the like; `up` the administrator's wish.

    `carrier` tells whether a signal is there. `speed_bits_s` is in bits a second, `mtu` in bytes.
    `link_type` is ether, infiniband, loopback.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    state: str | None = None
    up: bool | None = None
    carrier: bool | None = None
    mtu: int | None = None
    link_type: str | None = None
    speed_bits_s: int | None = None
    duplex: str | None = None
    driver: str | None = None
    firmware: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NicCounters:
    """What an interface counted since it came up. `source` is the tool: ip, ifconfig, proc, ethtool.

    `rx_missed` and `rx_no_buffer` are packets that came while the host had no room; `rx_discards` and
    `tx_discards` what the card's port threw away; `rx_pause` pause frames received, of all priorities.
    `*_packets_phy` count at the port, RDMA included.
    """

    nature: ClassVar[Nature] = "counter"
    key: ClassVar[tuple[str, ...]] = ("source",)

    device: DeviceRef
    at: Moment = UNKNOWN
    source: str
    rx_packets: int | None = None
    tx_packets: int | None = None
    rx_bytes: int | None = None
    tx_bytes: int | None = None
    rx_errors: int | None = None
    tx_errors: int | None = None
    rx_dropped: int | None = None
    tx_dropped: int | None = None
    rx_missed: int | None = None
    rx_overruns: int | None = None
    rx_no_buffer: int | None = None
    rx_crc_errors: int | None = None
    tx_carrier_errors: int | None = None
    collisions: int | None = None
    rx_discards: int | None = None
    tx_discards: int | None = None
    rx_pause: int | None = None
    symbol_errors: int | None = None
    link_downs: int | None = None
    rx_packets_phy: int | None = None
    tx_packets_phy: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RdmaPort:
    """One port of an RDMA device; its label is device/port (mlx5_0/1).

    `state` is active, down, init or armed; `physical` linkup, polling, disabled and the like, in small
    letters. `link_layer` is InfiniBand or Ethernet. MTUs are in bytes.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    state: str | None = None
    physical: str | None = None
    rate_bits_s: int | None = None
    link_layer: str | None = None
    active_mtu: int | None = None
    max_mtu: int | None = None
    hca_type: str | None = None
    firmware: str | None = None
    netdev: str | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RdmaCounters:
    """What an RDMA port counted since its driver was loaded. `source` is sysfs, rdma or perfquery.

    Bytes are bytes: files and perfquery count words of 4 bytes. `tx_wait` is in ticks of the card.
    """

    nature: ClassVar[Nature] = "counter"
    key: ClassVar[tuple[str, ...]] = ("source",)

    device: DeviceRef
    at: Moment = UNKNOWN
    source: str
    ack_timeouts: int | None = None
    out_of_sequence: int | None = None
    packet_seq_errors: int | None = None
    implied_nak_seq_errors: int | None = None
    rnr_retry_errors: int | None = None
    adaptive_retransmissions: int | None = None
    duplicate_requests: int | None = None
    out_of_buffer: int | None = None
    icrc_errors: int | None = None
    cnp_sent: int | None = None
    cnp_handled: int | None = None
    ecn_marked: int | None = None
    symbol_errors: int | None = None
    link_downs: int | None = None
    link_recoveries: int | None = None
    integrity_errors: int | None = None
    buffer_overruns: int | None = None
    rx_errors: int | None = None
    tx_discards: int | None = None
    tx_wait: int | None = None
    rx_bytes: int | None = None
    tx_bytes: int | None = None
    rx_packets: int | None = None
    tx_packets: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpCounters:
    """What the host's TCP counted since boot. `source` is nstat, netstat or proc."""

    nature: ClassVar[Nature] = "counter"
    key: ClassVar[tuple[str, ...]] = ("source",)

    device: DeviceRef
    at: Moment = UNKNOWN
    source: str
    segments_in: int | None = None
    segments_out: int | None = None
    retransmitted: int | None = None
    timeouts: int | None = None
    listen_drops: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
