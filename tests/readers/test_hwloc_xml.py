"""The XML of lstopo, old and new."""

from pathlib import Path
from typing import Any

import pytest

from pipeline import read
from shared import SHARED, needs_shared
from steadygpu.evidence.text import lines_of
from steadygpu.readers.hwloc_xml import read_hwloc_xml

RECORDED = Path(__file__).parents[1] / "recorded"
NEW = (RECORDED / "hwloc-xml--two-packages.txt").read_text()
OLD = (RECORDED / "hwloc-xml--old-and-cut.txt").read_text()


def of(text: str, name: str) -> list[Any]:
    return [f for f in read_hwloc_xml(lines_of("x", text)).facts if type(f).__name__ == name]


def cards(text: str) -> dict[str, Any]:
    return {f.device.bdf: f for f in of(text, "PciDevice") if f.role == "card"}


def test_cards_stand_beside_the_node_of_their_package() -> None:
    one, two = cards(NEW)["0000:41:00.0"], cards(NEW)["0000:c1:00.0"]
    assert (one.numa_node, two.numa_node) == (0, 1)
    assert (one.parent, one.pci_id, one.class_code) == ("0000:40:01.1", "10de:2235", "0302")
    assert (one.device.index, one.device.serial, one.device.label) == (
        0,
        "1562220033417",
        "NVIDIA A40",
    )
    assert one.device.host == "trainer4"
    port = next(f for f in of(NEW, "PciDevice") if f.device.bdf == "0000:40:01.1")
    assert (port.role, port.port_type, port.parent) == ("port", "root", None)


def test_the_layout_is_counted_where_the_text_is_whole() -> None:
    (whole,) = of(NEW, "CpuLayout")
    assert (whole.sockets, whole.numa_nodes, whole.cpus, whole.cores_per_socket) == (2, 2, 4, 2)
    (cut,) = of(OLD + '<info name="CPUModel" value="X"/>\n', "CpuLayout")
    assert (cut.sockets, cut.numa_nodes, cut.cpus) == (None, None, None)
    assert {a.reason for a in cut.absent} == {"cut"}


def test_old_texts_put_what_is_beside_a_node_into_it() -> None:
    (card,) = cards(OLD).values()
    assert (card.numa_node, card.vendor, card.device.label) == (0, "amd", "Instinct MI50 32GB")
    zero, one = of(OLD, "NumaNode")
    assert (zero.cpus, one.cpus) == ((0, 1), (32,))
    assert zero.size_bytes == 68552552448 // 2**20 * 2**20
    assert one.size_bytes is None


NODE = '<object type="NUMANode" os_index="{}"/>'
CARD = '<object type="PCIDev" pci_busid="0000:05:00.0" pci_type="0302 [10de:2235] [0000:0000] a1"/>'


@pytest.mark.parametrize(
    ("body", "node"),
    [
        (NODE.format(3) + CARD, 3),
        (NODE.format(0) + NODE.format(1) + CARD, None),
        ('<object type="Group">' + NODE.format(4) + "</object>" + CARD, None),
        (NODE.format("9" * 5000) + CARD, None),
        ('<object type="NUMANode" os_index="2" subtype="GPUMemory"/>' + CARD, None),
        (CARD, None),
    ],
)
def test_a_node_is_told_only_where_it_is_the_only_one(body: str, node: int | None) -> None:
    text = f'<topology version="2.0"><object type="Machine">{body}</object></topology>\n'
    assert cards(text)["0000:05:00.0"].numa_node == node


def test_other_texts_and_a_second_one() -> None:
    assert read_hwloc_xml(lines_of("x", NEW + NEW)).read_to == NEW.count("\n")
    assert read_hwloc_xml(lines_of("x", "<html>\n")).read_to == 0
    assert read_hwloc_xml(lines_of("x", "")).read_to == 0
    assert not cards('<object type="PCIDev" pci_busid="05:00" pci_type="?"/>')


REAL = {
    "hwloc_chimera.xml": 2,
    "hwloc_corona11.xml": 4,
    "hwloc_corona240.xml": 8,
    "hwloc_dgx2.xml": 16,
    "hwloc_gb10.xml": 0,
}


@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_real_files_are_read_whole(name: str) -> None:
    readings = [r for _, r in read({name: (SHARED / "evidence/files" / name).read_bytes()})]
    assert not [gap for reading in readings for gap in reading.gaps]
    found: list[Any] = [f for r in readings for f in r.facts if getattr(f, "role", "") == "card"]
    assert len(found) == REAL[name]
    assert all(card.numa_node is not None for card in found)
