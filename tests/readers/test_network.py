"""The readers of network cards, RDMA ports and TCP: values, units, fragments, damage."""

import tarfile
from typing import Any

import pytest

from pipeline import read
from shared import SHARED, needs_shared
from steadygpu.evidence.text import lines_of
from steadygpu.readers.ethtool import read_ethtool, read_ethtool_statistics
from steadygpu.readers.ifconfig import read_ifconfig, read_proc_net_dev
from steadygpu.readers.ip_link import read_ip_link, read_ip_link_json
from steadygpu.readers.rdma_counter import (
    read_perfquery,
    read_rdma_statistic,
    read_sysfs_infiniband,
)
from steadygpu.readers.rdma_port import (
    read_ibstat,
    read_ibstatus,
    read_ibv_devinfo,
    read_rdma_link,
)
from steadygpu.readers.tcp_counter import read_netstat_s, read_nstat, read_proc_net_snmp

ALL = (
    read_ethtool, read_ethtool_statistics, read_ibstat, read_ibstatus, read_ibv_devinfo, read_ifconfig, read_ip_link,
    read_ip_link_json, read_netstat_s, read_nstat, read_perfquery, read_proc_net_dev, read_proc_net_snmp,
    read_rdma_link, read_rdma_statistic, read_sysfs_infiniband,
)  # fmt: skip
HEAD = "2: eth1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT\n"


def facts(reader: Any, text: str, name: str = "n") -> dict[str, Any]:
    return {type(f).__name__: f for f in reader(lines_of(name, text)).facts}


@pytest.mark.parametrize("reader", ALL, ids=lambda r: r.__name__)
@pytest.mark.parametrize(
    "text", ["", "\n", "hello\n", "x" * 50_000, "[{", "[" * 5000, "{}", "link \n", "CA ''\n", "    1 2\n"]
)  # fmt: skip
def test_another_text_gives_nothing(reader: Any, text: str) -> None:
    assert not reader(lines_of("n", text)).facts


@pytest.mark.parametrize(
    ("columns", "cells", "field", "value"),
    [
        ("RX:  bytes packets errors dropped  missed   mcast", "9 8 7 6 5 4", "rx_missed", 5),
        ("RX: bytes  packets  errors  dropped overrun mcast", "9 8 7 6 5 4", "rx_overruns", 5),
        ("RX: bytes  packets  errors  dropped overrun mcast", "9 8 7 6 5 4", "rx_dropped", 6),
        ("TX: bytes  packets  errors  dropped carrier collsns", "9 8 7 6 5 4", "tx_carrier_errors", 5),
        ("TX:  bytes packets errors dropped carrier collsns", "9 8 7 6 5 4", "collisions", 4),
        ("RX errors:  length    crc   frame    fifo overrun", "1 2 3 4 5", "rx_crc_errors", 2),
    ],
)  # fmt: skip
def test_ip_counts_by_the_names_of_its_columns(
    columns: str, cells: str, field: str, value: int
) -> None:
    seen = facts(read_ip_link, f"{HEAD}    {columns}\n    {cells}\n")["NicCounters"]
    assert getattr(seen, field) == value
    assert getattr(seen, "rx_missed" if field != "rx_missed" else "rx_overruns") is None


def test_ip_takes_no_row_that_is_cut_and_ends_at_another_output() -> None:
    text = HEAD + "    RX:  bytes packets errors dropped  missed   mcast\n    9 8 7\n"
    reading = read_ip_link(lines_of("n", text + "Filesystem Size\n"))
    assert [type(f).__name__ for f in reading.facts] == ["NicState"]
    assert reading.read_to == 3


def test_ip_tells_state_carrier_and_mtu() -> None:
    off = "3: ib0: <BROADCAST,MULTICAST> mtu 4092 qdisc noop state DOWN\n    link/infiniband 00\n"
    state = facts(read_ip_link, off)["NicState"]
    assert (state.up, state.carrier, state.state, state.mtu, state.link_type) == (
        False, None, "DOWN", 4092, "infiniband",
    )  # fmt: skip
    bare = facts(read_ip_link, HEAD.replace("UP,LOWER_UP", "NO-CARRIER,UP"))["NicState"]
    assert (bare.up, bare.carrier) == (True, False)


def test_the_json_of_ip_names_overruns_where_the_text_names_missed() -> None:
    text = '[{"ifindex":2,"ifname":"e1","flags":["UP"],"stats64":{"rx":{"dropped":7,"over_errors":3},"tx":{"dropped":true}}}]'
    seen = facts(read_ip_link_json, text)["NicCounters"]
    assert (seen.rx_dropped, seen.rx_overruns, seen.rx_missed, seen.tx_dropped) == (
        7,
        3,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("text", "speed", "reason"),
    [("100000Mb/s", 100_000_000_000, None), ("Unknown!", None, "not_printed"), ("65535", None, None)],
)  # fmt: skip
def test_ethtool_tells_speed_in_bits_a_second(
    text: str, speed: int | None, reason: str | None
) -> None:
    seen = facts(read_ethtool, f"Settings for eth1:\n\tSpeed: {text}\n\tLink detected: no\n")[
        "NicState"
    ]
    assert seen.speed_bits_s == speed
    assert [a.reason for a in seen.absent] == ([reason] if reason else [])
    assert seen.carrier is False


def test_ethtool_s_takes_its_interface_from_the_command_or_the_name_of_the_file() -> None:
    body = (
        "NIC statistics:\n     rx_discards_phy: 4\n     rx_prio0_pause: 1\n     rx_prio3_pause: 2\n"
    )
    named = [f for _, r in read({"a": "root@n1:~# ethtool -S eth7\n" + body}) for f in r.facts]
    assert [(f.device.label, f.rx_discards, f.rx_pause) for f in named] == [("eth7", 4, 3)]
    grep = "$ sudo ethtool -S eth7 | grep discards\n     rx_discards_phy: 4\n"
    assert [f.device.label for _, r in read({"a": grep}) for f in r.facts] == ["eth7"]
    file = facts(read_ethtool_statistics, body, "logs/ethtool_S_enp68s0.txt")["NicCounters"]
    assert file.device.label == "enp68s0"
    assert facts(read_ethtool_statistics, body, "x.txt")["NicCounters"].device.label is None


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("rx_out_of_buffer", "rx_no_buffer"), ("tx_discards_phy", "tx_discards"),
        ("rx_pcs_symbol_err_phy", "symbol_errors"), ("rx_total_discard_pkts", "rx_discards"),
        ("rx_dropped.nic", "rx_discards"), ("port.rx_dropped", "rx_discards"), ("rx_drops", "rx_dropped"),
        ("hw_rx_missed_errors", "rx_missed"), ("rx_missed_errors", "rx_missed"),
        ("rx_no_dma_resources", "rx_no_buffer"), ("link_down_events_phy", "link_downs"),
    ],
)  # fmt: skip
def test_names_of_drivers_become_ours(name: str, field: str) -> None:
    seen = facts(read_ethtool_statistics, f"NIC statistics:\n     {name}: 41\n")["NicCounters"]
    assert getattr(seen, field) == 41


@pytest.mark.parametrize("name", ["port_rcv_data", "port_xmit_data"])
def test_data_of_ports_is_counted_in_words_of_4_bytes(name: str) -> None:
    line = f"/sys/class/infiniband/mlx5_0/ports/1/counters/{name}:250\n"
    seen = facts(read_sysfs_infiniband, line)["RdmaCounters"]
    assert (seen.rx_bytes or seen.tx_bytes) == 1000
    packets = line.replace("_data", "_packets")
    seen = facts(read_sysfs_infiniband, packets)["RdmaCounters"]
    assert (seen.rx_packets or seen.tx_packets) == 250
    query = "# Port counters: Lid 3 port 1\nPortXmitData:....250\nPortXmitPkts:....7\n"
    seen = facts(read_perfquery, query)["RdmaCounters"]
    assert (seen.tx_bytes, seen.tx_packets, seen.device.label) == (1000, 7, "lid 3/1")


@pytest.mark.parametrize("value", ["N/A (no PMA)", "-1", "abc", "9" * 30, ""])
def test_a_file_without_a_number_gives_no_zero(value: str) -> None:
    line = f"mlx5_0/ports/1/hw_counters/out_of_sequence:{value}\n"
    assert not facts(read_sysfs_infiniband, line)


@pytest.mark.parametrize(
    ("reader", "text", "state", "physical"),
    [
        (read_ibstat, "CA 'm0'\n\tPort 1:\n\t\tState: Initializing\n\t\tPhysical state: LinkUp\n", "init", "linkup"),
        (read_ibstatus, "Infiniband device 'm0' port 1 status:\n\tstate:\t\t 1: DOWN\n\tphys state:\t 2: Polling\n", "down", "polling"),
        (read_ibv_devinfo, "hca_id:\tm0\n\t\tport:\t1\n\t\t\tstate:\t\tPORT_DOWN (1)\n\t\t\tphys_state:\tDISABLED (3)\n", "down", "disabled"),
        (read_rdma_link, "link m0/1 state ACTIVE physical_state LINK_UP netdev e1\n", "active", "linkup"),
        (read_rdma_link, "1/1: m0/1: state ACTIVE physical_state LINK_UP\n", "active", "linkup"),
        (read_rdma_link, '[{"ifindex":0,"ifname":"m0","port":1,"state":"DOWN","physical_state":"DISABLED"}]', "down", "disabled"),
        (read_sysfs_infiniband, "/sys/class/infiniband/m0/ports/1/state:4: ACTIVE\n/sys/class/infiniband/m0/ports/1/phys_state:5: LinkUp\n", "active", "linkup"),
    ],
)  # fmt: skip
def test_states_of_ports_are_one_word_whatever_the_tool(
    reader: Any, text: str, state: str, physical: str
) -> None:
    port = facts(reader, text)["RdmaPort"]
    assert (port.state, port.physical, port.device.label) == (state, physical, "m0/1")


def test_rates_and_mtus_are_in_bits_a_second_and_bytes() -> None:
    text = "CA 'm0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Down\n\t\tRate: 400\n"
    assert facts(read_ibstat, text)["RdmaPort"].rate_bits_s == 400_000_000_000
    text = "hca_id: m0\n\t\tport:\t1\n\t\t\tmax_mtu:\t4096 (5)\n\t\t\tactive_mtu:\t1024 (3)\n"
    port = facts(read_ibv_devinfo, text)["RdmaPort"]
    assert (port.max_mtu, port.active_mtu) == (4096, 1024)


def test_ibstat_that_panics_keeps_the_ports_before() -> None:
    text = "CA 'm0'\n\tPort 1:\n\t\tState: Active\nibpanic: [7] main: stat of IB device 'm8' failed: x\n"
    reading = read_ibstat(lines_of("n", text))
    assert len(reading.facts) == 1
    assert reading.read_to == 4


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (read_nstat, "#kernel\nTcpOutSegs    700  0.0\nTcpRetransSegs  8  0.0\n"),
        (read_netstat_s, "Tcp:\n    700 segments send out\n    8 segments retransmited\n"),
        (read_netstat_s, "Tcp:\n    700 segments sent out\n    8 segments retransmitted\n"),
        (read_proc_net_snmp, "Tcp: RtoAlgorithm OutSegs RetransSegs\nTcp: 1 700 8\n"),
    ],
)
def test_tcp_counts_segments_and_what_was_sent_again(reader: Any, text: str) -> None:
    seen = facts(reader, text)["TcpCounters"]
    assert (seen.segments_out, seen.retransmitted) == (700, 8)


def test_a_line_of_values_without_its_names_is_not_guessed() -> None:
    assert not facts(read_proc_net_snmp, "Tcp: 1 700 8\n")
    assert not facts(read_proc_net_snmp, "Tcp: OutSegs RetransSegs\nTcp: 1\n")


REAL = {
    "ibstat_h100_all_active_1.txt": 12, "ibstat_some_down_0.txt": 12, "ibstat_h100_down_polling.txt": 12,
    "ibstat_a100_ibpanic.txt": 8, "ibv_devinfo_pensando_ok.txt": 1, "rdma_link_ok.txt": 8,
    "rdma_link_one_init.txt": 8, "pensando_rdma_link.txt": 3, "ip_link_ok.txt": 9, "ip_link_one_down.txt": 9,
    "pensando_ethtool_S_enp68s0.txt": 1, "jc_generic_ethtool--default1.out.txt": 1,
    "jc_centos-7.7_ifconfig.out.txt": 6,
}  # fmt: skip


@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_real_files_are_read_whole(name: str) -> None:
    readings = [r for _, r in read({name: (SHARED / "evidence/files" / name).read_bytes()})]
    assert not [gap for reading in readings for gap in reading.gaps]
    assert sum(len(reading.facts) for reading in readings) == REAL[name]


@needs_shared
def test_the_files_of_a_real_host_are_read_as_grep_prints_them() -> None:
    text = ""
    with tarfile.open(SHARED / "evidence/files/gpud_infiniband_h100.tar") as tar:
        for member in tar:
            if member.isfile() and "/ports/" in member.name and (file := tar.extractfile(member)):
                text += f"/{member.name}:{file.read().decode().strip()}\n"
    ((_, reading),) = read({"sys": text})
    assert not reading.gaps
    assert reading.read_to == text.count("\n")
    ports = [f for f in reading.facts if type(f).__name__ == "RdmaPort"]
    assert len(ports) > 8
    assert all(port.state for port in ports)
