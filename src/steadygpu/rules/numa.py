"""Where the cards hang: beside which CPUs and memory, and how they reach each other."""

from collections.abc import Iterator

from steadygpu.evidence.cpu import CpuLayout
from steadygpu.evidence.device import DeviceRef, short_bdf
from steadygpu.evidence.gpu import CardListing, GpuProcess
from steadygpu.evidence.link import PciDevice
from steadygpu.evidence.memory import NumaNode
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.source import Source
from steadygpu.evidence.topology import GpuAffinity, PeerPath
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Maybe,
    NotHere,
    One,
    Seen,
    Unclear,
    cite,
    fine,
    rule,
    the_host,
)

TOPO = "nvidia-smi topo -m"
# nvidia-smi topo -m, its own legend: these paths cross a host bridge or the link between sockets.
OVER_HOST = ("PHB", "NODE", "SYS", "SOC")

Places = dict[DeviceRef, tuple[int | None, tuple[Source, ...]]]


def _places(cards: tuple[GpuAffinity, ...], devices: tuple[PciDevice, ...]) -> Places:
    """Return the node of each card, None where no text tells it, with what proves it."""
    out: Places = {}
    on_bus = tuple(d for d in devices if d.role == "card")
    records: tuple[GpuAffinity | PciDevice, ...] = (*cards, *on_bus)
    for record in records:
        if out.get(record.device, (None, ()))[0] is None:
            out[record.device] = record.numa_node, cite(record, "numa_node")
    return out


def _name(card: DeviceRef) -> str:
    if card.index is not None:
        return f"GPU {card.index}"
    return short_bdf(card.bdf) if card.bdf else card.label or "a card"


@rule(
    id="feed.numa-split",
    title="The cards hang on different NUMA nodes",
    severity="info",
    action="none",
    scope="host",
    meaning="Each card has its own near CPUs and memory. A loader that runs on the far node pays for every batch.",
    decision="Bind each process to the node of its card.",
    next_step="numactl --cpunodebind=NODE --membind=NODE for each process; "
    + TOPO
    + " names the nodes",
    references=("nvidia-smi(1), topo: CPU and NUMA affinity", "numactl(8)"),
)
def numa_split(
    cards: All[GpuAffinity], devices: All[PciDevice], layout: Maybe[CpuLayout]
) -> Iterator[Seen]:
    """One node by lscpu settles it; else every card must be known to be on the same one."""
    places = _places(cards, devices)
    known = {node for node, _ in places.values() if node is not None}
    given: list[Fact] = [*cards, *devices, *([layout] if layout else [])]
    if not given:
        return
    host = the_host(given[0])
    if len(known) > 1:
        says = ", ".join(
            f"{_name(card)} on node {node}"
            for card, (node, _) in places.items()
            if node is not None
        )
        proof = tuple(
            dict.fromkeys(
                s for node, sources in places.values() if node is not None for s in sources
            )
        )
        yield Finding(subject=host, says=says, sources=proof)
    elif layout is not None and layout.numa_nodes == 1:
        yield Fine(
            subject=host, because="the host has one NUMA node", sources=cite(layout, "numa_nodes")
        )
    elif not places:
        yield Unclear(subject=host, why="no text tells where the cards hang", ask=TOPO)
    elif any(node is None for node, _ in places.values()):
        yield Unclear(subject=host, why="the NUMA node of a card is not known", ask=TOPO)
    elif len(places) == 1:
        yield NotHere(subject=host, because="there is one card")
    else:
        proof = tuple(dict.fromkeys(s for _, sources in places.values() for s in sources))
        yield Fine(subject=host, because=f"all cards hang on node {known.pop()}", sources=proof)


@rule(
    id="feed.numa-unknown",
    title="The platform does not say where the card hangs",
    severity="info",
    action="none",
    meaning="The host has several NUMA nodes and firmware or hypervisor names none for this card, so nobody can bind to it.",
    decision="Measure copies from each node and bind to the faster one; ask for the firmware or guest setting that names it.",
    next_step="for n in 0 1; do numactl --cpunodebind=$n --membind=$n nvbandwidth -t host_to_device_memcpy_ce; done",
    references=(
        "Linux, Documentation/ABI/testing/sysfs-bus-pci: numa_node is -1 where firmware names none",
    ),
)
def numa_unknown(
    card: One[GpuAffinity], layouts: All[CpuLayout], nodes: All[NumaNode]
) -> Iterator[Seen]:
    """N/A on a host of one node is no loss."""
    counts = [
        (one.numa_nodes, cite(one, "numa_nodes")) for one in layouts if one.numa_nodes is not None
    ]
    if nodes:
        counts.append((len(nodes), tuple(s for node in nodes for s in node.sources)))
    most = max(counts, key=lambda c: c[0] or 0, default=None)
    if card.node_known is None:
        yield Unclear(subject=card.device, why="no NUMA affinity was printed", ask=TOPO)
    elif card.node_known:
        yield fine(card, "its node is named", "node_known")
    elif most is None:
        why = "its node is N/A, and no text tells how many nodes the host has"
        yield Unclear(subject=card.device, why=why, ask="lscpu")
    elif most[0] == 1:
        yield NotHere(subject=card.device, because="the host has one NUMA node")
    else:
        says = f"NUMA affinity is N/A on a host of {most[0]} nodes"
        yield Finding(subject=card.device, says=says, sources=(*cite(card, "node_known"), *most[1]))


@rule(
    id="feed.no-p2p-path",
    title="Cards reach each other only through the host",
    severity="warning",
    action="fix-feed",
    scope="host",
    meaning="Without NVLink or a shared PCIe switch, what one card sends another goes through the CPU's bridges: "
    "work that splits each layer over cards is bound by that path.",
    decision="Keep such jobs on cards that share a switch or NVLink, or split the work by layers or by data instead.",
    next_step=TOPO
    + "; then measure: nvbandwidth -t device_to_device_memcpy_read_ce, or nccl-tests all_reduce_perf",
    references=("nvidia-smi(1), topo: legend of PHB, NODE and SYS",),
)
def no_p2p_path(
    paths: All[PeerPath], processes: All[GpuProcess], listings: All[CardListing]
) -> Iterator[Seen]:
    """A warning where one process holds both cards of such a pair; else only good to know."""
    pairs: dict[frozenset[DeviceRef], list[PeerPath]] = {}  # the matrix prints each pair twice
    for path in paths:
        if path.device.kind == path.peer.kind == "card":
            pairs.setdefault(frozenset((path.device, path.peer)), []).append(path)
    given: list[Fact] = [*paths, *listings, *processes]
    if not given:
        return
    host = the_host(given[0])
    slow = [both for both in pairs.values() if any(path.path in OVER_HOST for path in both)]
    if not pairs and (paths or any(one.complete and one.listed == 1 for one in listings)):
        yield NotHere(subject=host, because="there is one card")
        return
    if not pairs:
        yield Unclear(subject=host, why="no text tells how the cards reach each other", ask=TOPO)
        return
    if not slow:
        because = "every pair of cards has NVLink or a PCIe switch"
        yield Fine(subject=host, because=because, sources=next(iter(pairs.values()))[0].sources)
        return
    says = ", ".join(f"{_name(p.device)} to {_name(p.peer)}: {p.path}" for p, *_ in slow[:4])
    says += f" and {len(slow) - 4} more pairs" if len(slow) > 4 else ""
    proof = [s for both in slow for path in both for s in path.sources]
    for path, *_ in slow:
        mine = {p.pid: p for p in processes if p.device == path.device}
        there = next((p for p in processes if p.device == path.peer and p.pid in mine), None)
        if there is not None:
            says += f"; process {there.pid} works on both cards of a pair"
            proof += [*mine[there.pid].sources, *there.sources]
            yield Finding(subject=host, says=says, sources=tuple(dict.fromkeys(proof)))
            return
    yield Finding(
        subject=host, says=says, sources=tuple(dict.fromkeys(proof)), severity="info", action="none"
    )
