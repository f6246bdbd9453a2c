"""The readers of meminfo, free, pressure files and control groups."""

from typing import Any

import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.evidence.units import GIB, KIB, MIB
from steadygpu.readers.cgroup_limits import read_cgroup_limits
from steadygpu.readers.free import read_free
from steadygpu.readers.meminfo import read_meminfo
from steadygpu.readers.pressure import read_pressure


def facts(reader: Any, text: str) -> Any:
    return reader(lines_of("t", text)).facts


def test_meminfo_of_the_host_and_of_nodes_are_records_of_their_own() -> None:
    host, node = facts(
        read_meminfo,
        "MemTotal: 100 kB\nCached: 7 kB\nHugePages_Total: 3\nNode 4 MemTotal: 50 kB\nNode 4 FilePages: 9 kB\n",
    )
    assert (host.node, host.total_bytes, host.cached_bytes) == (None, 100 * KIB, 7 * KIB)
    assert (node.node, node.total_bytes, node.cached_bytes, node.free_bytes) == (
        4,
        50 * KIB,
        9 * KIB,
        None,
    )
    assert [s.fields for s in node.sources] == [("total_bytes",), ("cached_bytes",)]


def test_meminfo_damage_and_a_second_file() -> None:
    twice = read_meminfo(lines_of("t", "MemTotal: 1 kB\nMemFree: 1 kB\nMemTotal: 1 kB\n"))
    assert twice.read_to == 2
    for text in ("", "MemTotal: many\n", "Total: 3 kB apples\n", "MemTotal: " + "9" * 40):
        assert not facts(read_meminfo, text)


HEAD = "               total        used        free      shared  buff/cache   available\n"


def test_free_counts_only_with_a_unit_or_a_size_that_can_only_be_kib() -> None:
    (one,) = facts(
        read_free, HEAD + "Mem: 251Gi 120Gi 3.1Gi 906Mi 128Gi 124Gi\nSwap: 8.0Gi 0B 8.0Gi\n"
    )
    assert (one.total_bytes, one.shmem_bytes, one.swap_free_bytes) == (
        251 * GIB,
        906 * MIB,
        8 * GIB,
    )
    assert one.available_bytes == 124 * GIB
    (one,) = facts(read_free, HEAD + "Mem: 65891360 1 2 3 4 5\nSwap: 7 0 7\n")
    assert one.total_bytes == 65891360 * KIB
    assert one.swap_total_bytes == 7 * KIB
    unknown = read_free(lines_of("t", HEAD + "Mem: 257344 1 2 3 4 5\nSwap: 7 0 7\nend\n"))
    assert not unknown.facts
    assert unknown.gaps[0].ask == "free -h"
    assert unknown.read_to == 3
    assert not facts(read_free, "Mem: 65891360 1 2 3 4 5\n")


def test_pressure_needs_the_path() -> None:
    cpu, io = facts(
        read_pressure,
        "==> /proc/pressure/cpu <==\nsome avg10=1.50 avg60=2.00 avg300=3.00 total=9\n\n"
        "/proc/pressure/io:full avg10=100.00 avg60=0.00 avg300=0.00 total=9\n",
    )
    assert (cpu.resource, cpu.some_10_ratio, cpu.full_10_ratio) == (
        "cpu",
        pytest.approx(0.015),
        None,
    )
    assert (io.resource, io.full_10_ratio) == ("io", 1.0)
    (one,) = facts(
        read_pressure,
        "u@h:~$ cat /proc/pressure/io\nsome avg10=1.00 avg60=1.00 avg300=1.00 total=1\n",
    )
    assert one.resource == "io"
    bare = read_pressure(lines_of("t", "some avg10=1.00 avg60=1.00 avg300=1.00 total=1\nmore\n"))
    assert (bare.facts, len(bare.gaps), bare.read_to) == ((), 1, 1)


def test_control_groups_with_and_without_limits() -> None:
    one, two = facts(
        read_cgroup_limits,
        "/sys/fs/cgroup/a/memory.max:1024\n/sys/fs/cgroup/a/cpu.max:250000 100000\n/sys/fs/cgroup/a/memory.current:9\n"
        "==> /sys/fs/cgroup/b/cpu.max <==\nmax 100000\n\n==> /sys/fs/cgroup/b/memory.events <==\nlow 0\nmax 7\noom_kill 1\n"
        "==> /sys/fs/cgroup/b/memory.max <==\nmax\n",
    )
    assert (one.path, one.memory_max_bytes, one.memory_limited, one.cpus) == ("/a", 1024, True, 2.5)
    assert (two.path, two.memory_max_bytes, two.memory_limited, two.cpu_limited) == (
        "/b",
        None,
        False,
        False,
    )
    assert (two.at_max_count, two.oom_kill_count, two.cpus) == (7, 1, None)
    for text in (
        "",
        "max\n",
        "/sys/fs/cgroup/a/memory.max:lots\n",
        "/sys/fs/cgroup/a/cpu.max:5 0\n",
    ):
        assert not facts(read_cgroup_limits, text)
