"""What the rules on network cards, RDMA ports and TCP say of hand-built evidence."""

from typing import Any

import pytest

from rules.hand import at, found, one, says, weight
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.network import (
    NicCounters,
    NicState,
    RdmaCounters,
    RdmaPort,
    TcpCounters,
    is_virtual,
)
from steadygpu.evidence.source import Absent, Source
from steadygpu.rules.network import nic_drops, tcp_retransmits
from steadygpu.rules.rdma import rdma_loss, rdma_port_down
from steadygpu.verdict.rule import Finding, Fine, NotHere, Seen, Unclear

LINE = (Source(name="t.txt", quote="x"),)
ZERO = {"rx_errors": 0, "tx_errors": 0, "rx_dropped": 0, "tx_dropped": 0}


def nic(
    name: str = "eth0", when: Moment = UNKNOWN, source: str = "ip", **fields: Any
) -> NicCounters:
    values = {**ZERO, "rx_packets": 10_000_000, "tx_packets": 10_000_000, **fields}
    return NicCounters(
        device=DeviceRef(kind="nic", label=name), at=when, source=source, sources=LINE, **values
    )


def rdma(when: Moment = UNKNOWN, source: str = "sysfs", **fields: Any) -> RdmaCounters:
    device = DeviceRef(kind="nic", label="mlx5_0/1")
    return RdmaCounters(device=device, at=when, source=source, sources=LINE, **fields)


def tcp(when: Moment = UNKNOWN, **fields: Any) -> TcpCounters:
    return TcpCounters(device=host_ref(), at=when, source="nstat", sources=LINE, **fields)


def port(label: str, state: str | None = "active", **fields: Any) -> RdmaPort:
    device = DeviceRef(kind="nic", label=label)
    return RdmaPort(device=device, state=state, sources=LINE, **fields)


@pytest.mark.parametrize(
    "name",
    ["lo", "docker0", "veth1a2b3c", "br-0123456789ab", "virbr0", "cali12", "bond0", "eth0.100", "cni0", "br0", "tap3"],
)  # fmt: skip
def test_what_no_cable_leaves_is_no_card(name: str) -> None:
    assert is_virtual(name)
    assert isinstance(one(nic_drops, (nic(name, rx_dropped=5_000_000),)), NotHere)


@pytest.mark.parametrize(
    "name", ["eth0", "eno1", "ens6f0np0", "ib0", "enP5p1s0f0", "bnxt0", "wlan0", "em1"]
)
def test_a_card_is_a_card(name: str) -> None:
    assert not is_virtual(name)


def test_one_reading_is_information_whatever_it_counts() -> None:
    finding = found(one(nic_drops, (nic(rx_dropped=4_000_000),)))
    assert weight(nic_drops, finding) == ("info", "none")
    assert "one reading shows no rate" in finding.says
    assert isinstance(one(nic_drops, (nic(rx_dropped=12),)), Fine)
    assert isinstance(one(nic_drops, (nic(),)), Fine)


def test_one_reading_without_packets_cannot_be_weighed() -> None:
    assert isinstance(one(nic_drops, (nic(rx_dropped=12, rx_packets=None),)), Unclear)
    assert isinstance(one(nic_drops, (nic(tx_errors=None),)), Unclear)
    bare = NicCounters(device=DeviceRef(kind="nic"), source="ethtool", rx_packets=3, sources=LINE)
    assert isinstance(one(nic_drops, (bare,)), Unclear)


@pytest.mark.parametrize(
    ("field", "rise", "seconds", "loud"),
    [
        ("rx_dropped", 419, 60, True), ("rx_dropped", 9, 1, False), ("rx_dropped", 30, 60, False),
        ("rx_missed", 10, 3600, True), ("rx_errors", 9, 60, False), ("tx_discards", 50, 60, True),
        ("rx_no_buffer", 11, 60, True), ("rx_packets", 100_000, 60, False),
    ],
)  # fmt: skip
def test_a_rise_is_loud_by_its_rate_or_its_kind(
    field: str, rise: int, seconds: float, loud: bool
) -> None:
    before = nic(when=at(0), **{field: 100})
    after = nic(when=at(seconds), **{field: 100 + rise})
    seen = one(nic_drops, (before, after))
    assert isinstance(seen, Finding if loud else Fine)
    if loud:
        assert weight(nic_drops, found(seen)) == ("warning", "fix-feed")
        assert f"100 to {100 + rise}" in says(seen)


def test_a_reset_is_said_and_drops_among_many_packets_are_loud_at_any_rate() -> None:
    says_ = says(
        one(nic_drops, (nic(when=at(0), rx_dropped=900), nic(when=at(60), rx_dropped=400)))
    )
    assert "reset in between" in says_
    slow = (nic(when=at(0)), nic(when=at(86_400), rx_packets=12_000_000, rx_dropped=20_000))
    assert found(one(nic_drops, slow)).first == at(0)


def test_each_tool_is_judged_by_its_own_numbers() -> None:
    two = (nic(when=at(0), rx_dropped=100), nic(when=at(60), source="proc", rx_dropped=9000))
    assert all(not isinstance(s, Finding) or s.severity == "info" for s in nic_drops.check(two))


def test_two_readings_of_unknown_order_are_unclear() -> None:
    gone = Absent(field="rx_dropped", reason="disagree")
    seen = one(nic_drops, (nic(rx_dropped=None, absent=(gone,)),))
    assert isinstance(seen, Unclear)
    assert "date" in (seen.ask or "")
    lost = Absent(field="ack_timeouts", reason="disagree")
    assert isinstance(one(rdma_loss, (rdma(ack_timeouts=None, absent=(lost,)),)), Unclear)


@pytest.mark.parametrize(
    ("fields", "severity"),
    [
        ({"ack_timeouts": 5000, "out_of_sequence": 90_000}, "warning"),
        ({"ack_timeouts": 5000, "packet_seq_errors": 1000}, "warning"),
        ({"ack_timeouts": 5000}, "info"),
        ({"ack_timeouts": 5000, "out_of_sequence": 500}, "info"),
        ({"out_of_sequence": 90_000}, "info"),
        ({"ack_timeouts": 5000, "out_of_sequence": 5000, "tx_packets": 10**12}, "info"),
        ({"ack_timeouts": 5000, "out_of_sequence": 5000, "tx_packets": 10**6}, "warning"),
        ({"tx_discards": 100}, "info"),
        ({"ack_timeouts": 99, "out_of_sequence": 0}, None),
        ({"ack_timeouts": 0, "cnp_sent": 10**9, "link_downs": 3}, None),
    ],
)  # fmt: skip
def test_one_reading_of_rdma_is_loud_only_where_two_counters_agree(
    fields: dict[str, int], severity: str | None
) -> None:
    seen: Seen = one(rdma_loss, (rdma(**fields),))
    if severity is None:
        assert isinstance(seen, Fine)
    else:
        assert weight(rdma_loss, found(seen))[0] == severity


def test_losses_of_rdma_that_rise_are_loud_and_old_ones_are_not() -> None:
    old = {"ack_timeouts": 91_000, "out_of_sequence": 6_000_000}
    still = (rdma(at(0), **old), rdma(at(60), **old))
    assert isinstance(one(rdma_loss, still), Fine)
    rising = (rdma(at(0), **old), rdma(at(60), ack_timeouts=91_040, out_of_sequence=6_000_000))
    assert "ack timeouts 91000 to 91040 in 60 s (40 a minute)" in says(one(rdma_loss, rising))
    assert isinstance(one(rdma_loss, (rdma(rx_bytes=4),)), Unclear)


def ports(*seen: RdmaPort) -> dict[str | None, Seen]:
    return {s.subject.label: s for s in rdma_port_down.check(seen, ())}


EIGHT = [port(f"mlx5_{n}/1", hca_type="MT4129", link_layer="InfiniBand") for n in range(7)]


@pytest.mark.parametrize(
    ("down", "others", "severity"),
    [
        ({"physical": "polling", "hca_type": "MT4129"}, EIGHT, "warning"),
        ({"physical": "disabled", "hca_type": "MT4129"}, EIGHT, "warning"),
        ({"physical": "disabled", "hca_type": "MT4125"}, EIGHT, "info"),
        ({"physical": "disabled", "hca_type": "MT4129"}, EIGHT[:1], "info"),
        ({"physical": "polling", "link_layer": "InfiniBand"}, [], "warning"),
        ({"physical": "polling", "link_layer": "Ethernet"}, [], "info"),
        ({"physical": "polling", "link_layer": "InfiniBand"}, [port("mlx5_9/2")], "info"),
        ({"state": "init", "physical": "linkup"}, EIGHT[:1], "warning"),
    ],
)  # fmt: skip
def test_a_port_is_loud_where_its_mates_are_up(
    down: dict[str, str], others: list[RdmaPort], severity: str
) -> None:
    seen = ports(port("mlx5_9/1", **{"state": "down", **down}), *others)
    assert weight(rdma_port_down, found(seen["mlx5_9/1"]))[0] == severity
    assert all(isinstance(seen[p.device.label], Fine) for p in others)


def test_a_port_without_a_state_is_unclear() -> None:
    assert isinstance(ports(port("mlx5_0/1", None, physical="linkup"))["mlx5_0/1"], Unclear)


def state(name: str, value: str | None = "UP", **fields: Any) -> NicState:
    return NicState(device=DeviceRef(kind="nic", label=name), state=value, sources=LINE, **fields)


def test_one_interface_that_is_down_among_many_of_its_name_is_information() -> None:
    many = [state(f"enp{n}s0") for n in (12, 24, 36, 48)]
    seen = {s.subject.label: s for s in rdma_port_down.check((), (*many, state("enp60s0", "DOWN")))}
    assert weight(rdma_port_down, found(seen["enp60s0"])) == ("info", "none")
    few = {
        s.subject.label: s for s in rdma_port_down.check((), (*many[:2], state("enp60s0", "DOWN")))
    }
    assert isinstance(few["enp60s0"], NotHere)
    assert not list(rdma_port_down.check((), (state("docker0", "DOWN"), state("lo", "UNKNOWN"))))
    gone = Absent(field="state", reason="disagree")
    (open_,) = rdma_port_down.check((), (state("eno1", None, absent=(gone,)),))
    assert isinstance(open_, Unclear)


@pytest.mark.parametrize(
    ("first", "last", "kind"),
    [
        ((1000, 10), (101_000, 2010), Finding), ((1000, 10), (101_000, 20), Fine),
        ((1000, 10), (1500, 200), Unclear), ((9000, 10), (500, 2), Unclear), ((1000, None), (101_000, 2010), Unclear),
    ],
)  # fmt: skip
def test_tcp_is_judged_by_the_share_between_two_readings(
    first: tuple[int, int | None], last: tuple[int, int], kind: type
) -> None:
    two = (
        tcp(at(0), segments_out=first[0], retransmitted=first[1]),
        tcp(at(60), segments_out=last[0], retransmitted=last[1]),
    )
    seen = one(tcp_retransmits, two)
    assert isinstance(seen, kind)
    if kind is Finding:
        assert "10 to 2010 in 60 s (33.3 a second): 2.00% of 100000" in says(seen)


def test_one_reading_of_tcp_is_information_at_most() -> None:
    high = one(tcp_retransmits, (tcp(segments_out=100_000, retransmitted=5000),))
    assert weight(tcp_retransmits, found(high)) == ("info", "none")
    assert isinstance(one(tcp_retransmits, (tcp(segments_out=100_000, retransmitted=50),)), Fine)
    assert isinstance(one(tcp_retransmits, (tcp(segments_out=10, retransmitted=5),)), Fine)
    assert isinstance(one(tcp_retransmits, (tcp(retransmitted=5),)), Unclear)
