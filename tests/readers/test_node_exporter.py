from typing import Any

import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.node_exporter import read_node_exporter


def facts(text: str) -> dict[str, Any]:
    return {type(f).__name__: f for f in read_node_exporter(lines_of("n", text)).facts}


CPU = "".join(f'node_cpu_seconds_total{{cpu="{c}",mode="{m}"}} {v}\n' for c in (0, 1) for m, v in (("idle", 60), ("user", 30), ("iowait", 10)))  # fmt: skip


def test_shares_of_time_are_means_since_boot() -> None:
    found = facts(CPU + 'node_time_seconds 1.7e+09\nnode_uname_info{nodename="gpu-44"} 1\n')
    load = found["CpuLoad"]
    assert (load.user_ratio, load.iowait_ratio, load.since_boot) == (0.3, 0.1, True)
    assert load.steal_ratio is None
    assert load.at.wall == 1.7e9
    assert load.device.host == "gpu-44"
    assert found["CpuLayout"].cpus == 2


def test_disks_need_the_time_of_the_boot() -> None:
    disk = 'node_disk_io_time_seconds_total{device="sda"} 25\nnode_disk_reads_completed_total{device="sda"} 500\n'
    assert not facts(disk + "node_time_seconds 1100\n")
    load = facts(disk + "node_time_seconds 1100\nnode_boot_time_seconds 1000\n")["DiskLoad"]
    assert (load.busy_ratio, load.reads_per_s, load.since_boot) == (0.25, 5.0, True)
    assert load.device.label == "sda"
    assert load.at.wall == 1100


def test_memory_nodes() -> None:
    node = facts(
        'node_memory_numa_MemTotal{node="1"} 1.34e+11\nnode_memory_numa_MemFree{node="1"} 5\n'
    )
    assert (node["NumaNode"].node, node["NumaNode"].size_bytes) == (1, 134_000_000_000)
    assert node["NumaNode"].free_bytes == 5


@pytest.mark.parametrize(
    "text",
    [
        "node_cpu_seconds_total 5\n", 'node_cpu_seconds_total{cpu="0",mode="user"} NaN\n',
        'node_memory_numa_MemFree{node="x"} 5\n', "go_goroutines 8\n",
    ],
)  # fmt: skip
def test_what_tells_nothing(text: str) -> None:
    read = read_node_exporter(lines_of("n", text))
    assert not read.facts
    assert read.read_to == 1


def test_it_ends_where_another_exporter_begins() -> None:
    text = CPU + '# HELP DCGM_FI_DEV_SM_CLOCK x\nDCGM_FI_DEV_SM_CLOCK{gpu="0"} 3\n'
    assert read_node_exporter(lines_of("n", text)).read_to == 6


def test_networks_have_counters_states_and_labels_of_their_ports() -> None:
    found = facts(
        'node_network_receive_drop_total{device="ens6"} 12\nnode_network_speed_bytes{device="ens6"} 1.25e+10\n'
        'node_network_speed_bytes{device="lo"} -125000\nnode_network_info{device="ens6",operstate="up"} 1\n'
        'node_infiniband_state_id{device="mlx5_0",port="1"} 4\n'
        'node_infiniband_local_ack_timeout_errors_total{device="mlx5_0",port="1"} 7\n'
        "node_netstat_Tcp_RetransSegs 40\n"
    )
    assert (found["NicCounters"].rx_dropped, found["NicCounters"].device.label) == (12, "ens6")
    assert found["NicCounters"].tx_dropped is None
    assert (found["NicState"].speed_bits_s, found["NicState"].state) == (100_000_000_000, "UP")
    assert (found["RdmaPort"].state, found["RdmaPort"].device.label) == ("active", "mlx5_0/1")
    assert found["RdmaCounters"].ack_timeouts == 7
    assert found["TcpCounters"].retransmitted == 40
