from steadygpu.evidence.text import lines_of
from steadygpu.readers.numactl import read_numactl

TEXT = """available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3
node 0 size: 257000 MB
node 0 free: 512 MB
node 1 cpus:
node 1 size: 0 MB
node 1 free: 0 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
"""


def test_each_node_has_cpus_memory_and_distances() -> None:
    reading = read_numactl(lines_of("n", TEXT + "other\n"))
    zero, one = reading.facts
    assert reading.read_to == 11
    assert zero.cpus == (0, 1, 2, 3)
    assert zero.size_bytes == 257000 << 20
    assert zero.free_bytes == 512 << 20
    assert one.cpus == ()
    assert one.distances == (21, 10)
    assert zero.sources[1].first == 3


def test_a_fragment_a_second_output_and_another_text() -> None:
    assert read_numactl(lines_of("n", "node 0 free: 12 MB\n")).facts[0].free_bytes == 12 << 20
    assert read_numactl(lines_of("n", TEXT + TEXT)).read_to == 11
    assert read_numactl(lines_of("n", "node failure\n")).read_to == 0
    assert read_numactl(lines_of("n", "y" * 11_000)).read_to == 0
    assert read_numactl(lines_of("n", "")).read_to == 0
