"""nvidia-smi topo -m."""

from pathlib import Path

import pytest

from steadygpu.evidence.gpu import CardListing
from steadygpu.evidence.text import lines_of
from steadygpu.evidence.topology import GpuAffinity, PeerPath
from steadygpu.readers.smi_topo import read_smi_topo

SHARED = Path(__file__).parents[2].parent / "shared"
TABS = (
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV6\tPXB\t0-7,16-23\t0-1\t\tN/A\n"
    "GPU1\tNV6\t X \tSYS\t8-15\t1\t\t3\n"
    "NIC0\tPXB\tSYS\t X \t\t\t\t\n"
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_7\n\nprose\n"
)


def read(text, **kwargs):
    return read_smi_topo(lines_of("topo.txt", text, **kwargs))


def of(reading, kind):
    return [fact for fact in reading.facts if isinstance(fact, kind)]


@pytest.mark.parametrize("tabs", [True, False])
def test_matrix(tabs):
    got = read(TABS if tabs else TABS.replace("\t\t", "\t").expandtabs(8))
    assert got.read_to == 13
    paths = {(p.device.index, p.peer.index, p.peer.label): p.path for p in of(got, PeerPath)}
    assert paths[0, 1, None] == "NV6"
    assert paths[1, None, "mlx5_7"] == "SYS"
    assert len(paths) == 6
    a, b = of(got, GpuAffinity)
    assert (a.cpus, a.numa_node, a.numa_nodes) == ("0-7,16-23", None, (0, 1))
    assert a.absent[0].field == "gpu_numa_id"
    assert (b.numa_node, b.gpu_numa_id) == (1, 3)
    assert of(got, CardListing)[0].listed == 2
    assert of(got, CardListing)[0].complete


def test_fragment_without_head_and_old_names():
    got = read("GPU0     X      SOC   0-7\nGPU1    SOC      X    8-15\n")
    assert [p.path for p in of(got, PeerPath)] == ["SOC", "SOC"]
    assert [a.cpus for a in of(got, GpuAffinity)] == ["0-7", "8-15"]
    assert not of(got, CardListing)[0].complete
    old = read("\tGPU0\tmlx5_0\tCPU Affinity\nGPU0\t X \tPHB\t0-7\nmlx5_0\tPHB\t X \t\n")
    assert of(old, PeerPath)[0].peer.label == "mlx5_0"
    assert of(old, CardListing)[0].complete


@pytest.mark.parametrize(
    ("tail", "cpus", "node", "reasons"),
    [
        ("\t\t\t\tN/A", None, None, {"gpu_numa_id"}),
        ("\t0-7\tN/A\t\tN/A", "0-7", None, {"numa_node", "gpu_numa_id"}),
        ("\t0-7\tx\t\tN/A", "0-7", None, {"gpu_numa_id"}),
        ("     0-7    N/A", "0-7", None, set()),
        ("     N/A", None, None, set()),
    ],
)
def test_empty_cells(tail, cpus, node, reasons):
    head = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    row = "GPU0\t X " + tail if "\t" in tail else "GPU0  X  " + tail
    found = of(read(head + row), GpuAffinity)
    if not found:
        assert cpus is None
        return
    assert (found[0].cpus, found[0].numa_node) == (cpus, node)
    assert {a.field for a in found[0].absent} == reasons


@pytest.mark.parametrize(
    "text",
    ["", "hello", "\tGPU0\tGPU1\n GPU0\tX\tOK\n", "\tGPU0\n", "x" * 5000, "GPU0 is hot"],
)
def test_other_texts(text):
    assert not read(text).facts


def test_short_row_is_a_gap_and_second_matrix_is_another_text():
    assert len(read("\tGPU0\tGPU1\nGPU0\t X \n").gaps) == 1
    assert read("GPU0  X  SYS\nGPU1  SYS  X\nGPU0  X  SYS\n").read_to == 2


def test_recorded_matrices():
    folder = SHARED / "evidence" / "files"
    if not folder.is_dir():
        pytest.skip("the recorded texts are not beside this checkout")
    for path in folder.glob("topo_*"):
        lines = lines_of(path.name, path.read_text())
        assert read_smi_topo(lines).read_to == len(lines)
