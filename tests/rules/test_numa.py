"""Rules on where the cards hang, branch by branch."""

from typing import Any

from rules.hand import found, one, weight
from steadygpu.evidence.cpu import CpuLayout
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import CardListing, GpuProcess
from steadygpu.evidence.link import PciDevice
from steadygpu.evidence.memory import NumaNode
from steadygpu.evidence.source import Source
from steadygpu.evidence.topology import GpuAffinity, PeerPath
from steadygpu.rules import numa
from steadygpu.verdict.rule import Finding, Fine, NotHere, Seen, Unclear

HOST = host_ref("node7")
NIC = DeviceRef(kind="nic", host="node7", label="mlx5_0")


def card(index: int) -> DeviceRef:
    return DeviceRef(kind="card", host="node7", bdf=f"0000:{0x41 + index:02x}:00.0", index=index)


def make(cls: type[Any], device: DeviceRef, **fields: Any) -> Any:
    proof = (Source(name=f"{cls.__name__}.txt", quote=f"{device.index} {fields}"),)
    return cls(device=device, sources=proof, **fields)


def beside(index: int, node: int | None = None, **fields: Any) -> Any:
    return make(GpuAffinity, card(index), numa_node=node, **fields)


def on_bus(device: DeviceRef, node: int | None = None, role: str = "card") -> Any:
    return make(PciDevice, device, numa_node=node, role=role)


def layout(nodes: int | None) -> Any:
    return make(CpuLayout, HOST, numa_nodes=nodes)


def split(cards: Any = (), devices: Any = (), cpus: Any = None) -> Seen:
    seen = one(numa.numa_split, cards, devices, cpus)
    assert seen.subject == HOST
    return seen


def cited(seen: Finding | Fine) -> list[str]:
    return [s.name.removesuffix(".txt") for s in seen.sources]


def test_cards_on_different_nodes_are_named_with_theirs() -> None:
    seen = found(split((beside(0, 0), beside(1, 1), beside(2))))
    assert weight(numa.numa_split, seen) == ("info", "none")
    assert "GPU 0 on node 0, GPU 1 on node 1" in seen.says
    assert "GPU 2" not in seen.says
    assert cited(seen) == ["GpuAffinity", "GpuAffinity"]


def test_the_node_of_a_card_may_stand_on_the_bus_only() -> None:
    both = (on_bus(card(0), 0), on_bus(card(1), 1))
    assert cited(found(split((beside(0), beside(1)), both))) == ["PciDevice", "PciDevice"]
    assert cited(found(split((beside(0, 0),), both))) == ["GpuAffinity", "PciDevice"]
    bare = DeviceRef(kind="card", host="node7", bdf="0000:81:00.0")
    label = DeviceRef(kind="card", host="node7", label="NVIDIA H100")
    nameless = DeviceRef(kind="card", host="node7")
    says = found(split((), (on_bus(bare, 0), on_bus(label, 1), on_bus(nameless, 2)))).says
    assert "81:00.0 on node 0, NVIDIA H100 on node 1, a card on node 2" in says


def test_other_devices_split_no_cards() -> None:
    nic = on_bus(NIC, 1, role="nic")
    assert isinstance(split((beside(0, 0), beside(1, 0)), (nic,)), Fine)
    alone = split((), (nic,))
    assert isinstance(alone, Unclear)
    assert alone.ask == numa.TOPO


def test_cards_on_one_node_are_fine_only_where_each_is_known() -> None:
    same = split((beside(0, 1), beside(1, 1)))
    assert isinstance(same, Fine)
    assert len(same.sources) == 2
    assert isinstance(split((beside(0, 1), beside(1))), Unclear)
    assert isinstance(split((beside(0, 1),)), NotHere)
    assert isinstance(split((beside(0),)), Unclear)


def test_a_host_of_one_node_splits_nothing() -> None:
    seen = split((beside(0), beside(1)), (), layout(1))
    assert isinstance(seen, Fine)
    assert cited(seen) == ["CpuLayout"]
    assert isinstance(split((), (), layout(1)), Fine)
    assert isinstance(split((), (), layout(2)), Unclear)
    assert isinstance(split((beside(0), beside(1)), (), layout(None)), Unclear)
    assert not list(numa.numa_split.check((), (), None))


def test_a_node_that_the_platform_does_not_name_matters_on_several_nodes() -> None:
    rule, unnamed = numa.numa_unknown, beside(0, node_known=False)
    nodes = (make(NumaNode, HOST, node=0), make(NumaNode, HOST, node=1))
    seen = found(one(rule, unnamed, (layout(2), layout(None)), ()))
    assert weight(rule, seen) == ("info", "none")
    assert "2 nodes" in seen.says
    assert cited(seen) == ["GpuAffinity", "CpuLayout"]
    assert cited(found(one(rule, unnamed, (layout(1),), nodes)))[1:] == ["NumaNode", "NumaNode"]
    assert isinstance(one(rule, unnamed, (layout(1),), nodes[:1]), NotHere)
    unknown = one(rule, unnamed, (layout(None),), ())
    assert isinstance(unknown, Unclear)
    assert unknown.ask == "lscpu"


def test_a_node_that_is_named_or_not_printed_is_not_unknown() -> None:
    rule = numa.numa_unknown
    named = one(rule, beside(0, 1, node_known=True), (layout(2),), ())
    assert isinstance(named, Fine)
    assert named.sources
    silent = one(rule, beside(0), (layout(2),), ())
    assert isinstance(silent, Unclear)
    assert silent.ask == numa.TOPO


def path(left: int, right: int, word: str) -> tuple[Any, Any]:
    """Return both cells that a matrix prints for a pair of cards."""
    return (
        make(PeerPath, card(left), peer=card(right), path=word),
        make(PeerPath, card(right), peer=card(left), path=word),
    )


def matrix(count: int, word: str) -> tuple[Any, ...]:
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    return tuple(cell for a, b in pairs for cell in path(a, b, word))


def process(index: int, pid: int) -> Any:
    return make(GpuProcess, card(index), pid=pid)


def listing(listed: int, **fields: Any) -> Any:
    return make(CardListing, HOST, tool="nvidia-smi-list", listed=listed, **fields)


def test_cards_that_meet_in_the_host_only_are_good_to_know() -> None:
    rule = numa.no_p2p_path
    for word in ("PHB", "NODE", "SYS", "SOC"):
        seen = found(one(rule, path(0, 1, word), (), ()))
        assert weight(rule, seen) == ("info", "none")
        assert seen.subject == HOST
        assert seen.says == f"GPU 0 to GPU 1: {word}"
        assert len(seen.sources) == 2


def test_a_process_on_both_cards_of_such_a_pair_makes_it_a_warning() -> None:
    rule, pair = numa.no_p2p_path, path(0, 1, "SYS")
    seen = found(one(rule, pair, (process(0, 5), process(0, 7), process(1, 7)), ()))
    assert weight(rule, seen) == ("warning", "fix-feed")
    assert "process 7" in seen.says
    assert cited(seen) == ["PeerPath", "PeerPath", "GpuProcess", "GpuProcess"]
    for apart in (
        (process(0, 5), process(1, 7)),  # one process a card
        (process(0, 7), process(2, 7)),  # both cards of another pair
    ):
        mild = found(one(rule, (*pair, *path(0, 2, "NV4")), apart, ()))
        assert weight(rule, mild) == ("info", "none")


def test_any_slow_pair_may_be_the_one_that_works() -> None:
    rule = numa.no_p2p_path
    seen = found(one(rule, matrix(4, "SYS"), (process(2, 7), process(3, 7)), ()))
    assert weight(rule, seen) == ("warning", "fix-feed")
    assert "and 2 more pairs" in seen.says
    assert "more" not in found(one(rule, matrix(3, "SYS"), (), ())).says


def test_nvlink_or_a_switch_is_fine() -> None:
    for word in ("NV12", "PIX", "PXB"):
        seen = one(numa.no_p2p_path, path(0, 1, word), (process(0, 7), process(1, 7)), ())
        assert isinstance(seen, Fine)
        assert seen.sources


def test_the_path_to_a_network_card_is_no_path_between_cards() -> None:
    to_nic = make(PeerPath, card(0), peer=NIC, path="SYS")
    from_nic = make(PeerPath, NIC, peer=card(0), path="SYS")
    assert isinstance(one(numa.no_p2p_path, (to_nic, from_nic), (), ()), NotHere)
    assert isinstance(one(numa.no_p2p_path, (to_nic, *path(0, 1, "NV4")), (), ()), Fine)


def test_paths_that_no_text_tells_are_unclear_but_for_a_single_card() -> None:
    rule = numa.no_p2p_path
    assert isinstance(one(rule, (), (), (listing(1),)), NotHere)
    for listings in ((listing(4),), (listing(1, complete=False),)):
        seen = one(rule, (), (), listings)
        assert isinstance(seen, Unclear)
        assert seen.ask == numa.TOPO
    assert isinstance(one(rule, (), (process(0, 7),), ()), Unclear)
    assert not list(rule.check((), (), ()))
