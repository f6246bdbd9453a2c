"""The readers of numastat -p, /proc/PID/status and taskset."""

from typing import Any

import pytest

from steadygpu.evidence.placement import numbers_of
from steadygpu.evidence.text import lines_of
from steadygpu.evidence.units import MIB
from steadygpu.readers.numastat import read_numastat
from steadygpu.readers.proc_status import read_proc_status, read_taskset

HEAD = "Per-node process memory usage (in MBs)"


def facts(reader: Any, text: str) -> Any:
    return reader(lines_of("t", text)).facts


def test_numastat_of_one_process_takes_its_totals_over_all_tables() -> None:
    text = (
        f"{HEAD} for PID 22 (bash (x))\n   Node 0   Node 1\n  ------ -----\nHeap 1.00 2.00\nTotal 1.50 2.00\n\n"
        "   Node 2   Total\n ----- ------\nHeap 1.00 2.00\nTotal 3.00 6.50\nnext\n"
    )
    (one,) = facts(read_numastat, text)
    assert (one.pid, one.name) == (22, "bash (x)")
    assert one.node_bytes == ((0, MIB * 3 // 2), (1, 2 * MIB), (2, 3 * MIB))
    assert [s.first for s in one.sources] == [1, 2, 5, 7, 10]
    assert read_numastat(lines_of("t", text)).read_to == 10


def test_numastat_of_many_processes() -> None:
    one, two = facts(
        read_numastat,
        f" {HEAD}\n PID  Node 0 Node 1 Total\n ---- ---- ---- ----\n 7 (a)  1 2 3\n 8 (qemu_x  4 5 9\n Total 1 2 3\n",
    )
    assert (one.pid, one.node_bytes) == (7, ((0, MIB), (1, 2 * MIB)))
    assert (two.pid, two.name) == (8, "qemu_x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Total 1 2\n",
        f"{HEAD}\n",
        f"{HEAD} for PID 3 (a)\nTotal 1 2 3\n",
        f"{HEAD} for PID 3 (a)\n Node 0 Total\nTotal {'9' * 50} 1\n",
    ],
)
def test_numastat_damage(text: str) -> None:
    assert not facts(read_numastat, text)


STATUS = "Name:\ta b\nUmask:\t0022\nPid:\t5\nGroups:\t\nCpus_allowed_list:\t0-3,8\nMems_allowed_list:\t1\n"


def test_status_of_processes() -> None:
    one, two = facts(read_proc_status, STATUS + STATUS.replace("Pid:\t5", "Pid:\t6"))
    assert (one.pid, one.name, one.cpus, one.nodes) == (5, "a b", "0-3,8", "1")
    assert (two.pid, two.cpus) == (6, "0-3,8")
    one, two = facts(
        read_proc_status,
        "/proc/3/status:Cpus_allowed_list:\t1\n/proc/4/status:Mems_allowed_list:\t0-1\n",
    )
    assert (one.pid, one.cpus, two.pid, two.nodes) == (3, "1", 4, "0-1")
    for text in (
        "",
        "Name:\tpod\nNamespace:\tx\n",
        "Cpus_allowed_list:\t1\n",
        STATUS.replace("0-3,8", "x").replace("Mems", "M"),
    ):
        assert not [f for f in facts(read_proc_status, text) if f.cpus or f.nodes]


def test_taskset_and_lists() -> None:
    reading = read_taskset(lines_of("t", "pid 9's current affinity list: 0-3\nbye\n"))
    assert (reading.facts[0].pid, reading.facts[0].cpus, reading.read_to) == (9, "0-3", 1)
    assert numbers_of("0-2,8") == {0, 1, 2, 8}
    assert numbers_of("") == numbers_of("a-b") == numbers_of("1-999999") == frozenset()
