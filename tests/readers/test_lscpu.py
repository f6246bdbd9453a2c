import csv

from shared import SHARED, needs_shared
from steadygpu.evidence.text import lines_of
from steadygpu.readers.lscpu import read_lscpu

OLD = """Architecture:          x86_64
CPU op-mode(s):        32-bit, 64-bit
CPU(s):                96
On-line CPU(s) list:   0-95
Thread(s) per core:    2
Core(s) per socket:    24
Socket(s):             2
NUMA node(s):          2
Model name:            Example CPU 8168
CPU MHz:               2700.000
CPU max MHz:           3700,0000
NUMA node0 CPU(s):     0-23,48-71
NUMA node1 CPU(s):     24-47,72-95
"""
NEW = """Architecture:             x86_64
  CPU op-mode(s):         32-bit, 64-bit
CPU(s):                   8
  On-line CPU(s) list:    0-7
Vendor ID:                AuthenticAMD
  Model name:             Example
    CPU(s) scaling MHz:   54%
NUMA:
  NUMA node(s):           1
  NUMA node0 CPU(s):      0-7
next
"""


def test_old_and_new_forms() -> None:
    (old,) = read_lscpu(lines_of("l", OLD)).facts
    assert (old.cpus, old.sockets, old.numa_nodes, old.max_mhz) == (96, 2, 2, 3700.0)
    assert old.node_cpus == ((0, "0-23,48-71"), (1, "24-47,72-95"))
    reading = read_lscpu(lines_of("l", NEW))
    assert reading.read_to == 10
    assert reading.facts[0].scaling_ratio == 0.54
    assert reading.facts[0].node_cpus == ((0, "0-7"),)


def test_two_hosts_in_one_text_are_two_outputs() -> None:
    assert read_lscpu(lines_of("l", OLD + OLD)).read_to == 13
    assert read_lscpu(lines_of("l", "hello\n")).read_to == 0
    assert read_lscpu(lines_of("l", "x" * 6000)).read_to == 0


@needs_shared
def test_real_files() -> None:
    with (SHARED / "evidence" / "manifest.csv").open() as file:
        names = [row["file"] for row in csv.DictReader(file) if row["kind"] == "lscpu"]
    for name in names:
        text = (SHARED / "evidence/files" / name).read_text()
        layout, *_ = read_lscpu(lines_of(name, text)).facts
        assert layout.cpus
        assert layout.numa_nodes == len(layout.node_cpus)
