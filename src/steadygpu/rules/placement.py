"""Whether a process keeps its memory beside its card."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.gpu import GpuProcess
from steadygpu.evidence.link import PciDevice
from steadygpu.evidence.placement import ProcessPlacement, numbers_of
from steadygpu.evidence.source import Source
from steadygpu.evidence.topology import GpuAffinity
from steadygpu.evidence.units import GIB
from steadygpu.verdict.rule import All, Finding, Fine, NotHere, One, Seen, Unclear, cite, rule

REMOTE = 0.60  # our choice: more than the half that interleaving over two nodes gives
SMALL = GIB  # our choice: what the runtime of a card maps anyway
TOPO = "nvidia-smi topo -m"


@rule(
    id="feed.numa-remote-memory",
    title="A process keeps its memory far from its card",
    severity="warning",
    action="fix-feed",
    scope="job",
    points_to="numa",
    meaning="Each batch crosses the link between sockets before it reaches the card.",
    decision="Bind the job to the node of its card at launch; memory that lies elsewhere does not follow later.",
    next_step="numactl --cpunodebind=NODE --membind=NODE for the job, then numastat -p PID again",
    references=("numastat(8), -p", "proc_pid_status(5): Mems_allowed_list", "numactl(8)"),
)
def numa_remote_memory(
    process: One[ProcessPlacement],
    holders: All[GpuProcess],
    cards: All[GpuAffinity],
    devices: All[PciDevice],
) -> Iterator[Seen]:
    """By where the memory lies, else by where it may lie."""
    subject = DeviceRef(kind="process", host=process.device.host, index=process.pid)
    mine = [one for one in holders if one.pid == process.pid]
    if not holders:
        why = "no text tells which card the process works on"
        yield Unclear(subject=subject, why=why, ask="nvidia-smi")
        return
    if not mine:
        yield NotHere(subject=subject, because="the process holds no card")
        return
    near, proof = _near({one.device for one in mine}, cards, devices)
    if near is None:
        yield Unclear(subject=subject, why="the NUMA node of its card is not known", ask=TOPO)
        return
    sources = (*proof, *(s for one in mine for s in one.sources))
    yield _judged(process, subject, near, sources)


def _judged(
    process: ProcessPlacement, subject: DeviceRef, near: frozenset[int], sources: Sequence[Source]
) -> Seen:
    where = ", ".join(map(str, sorted(near)))
    if process.node_bytes is not None:
        total = sum(size for _, size in process.node_bytes)
        far = sum(size for node, size in process.node_bytes if node not in near)
        proof = tuple(dict.fromkeys((*cite(process, "node_bytes"), *sources)))
        says = f"{far / GIB:.3g} GiB of {total / GIB:.3g} GiB lie off node {where}, where its card hangs"
        if total >= SMALL and far > REMOTE * total:
            return Finding(
                subject=subject, says=says, sources=proof, first=process.at, last=process.at
            )
        return Fine(subject=subject, because=says, sources=proof)
    may = numbers_of(process.nodes or "")
    if may and not may & near:
        says = (
            f"its memory may only lie on node {process.nodes}, and its card hangs on node {where}"
        )
        proof = tuple(dict.fromkeys((*cite(process, "nodes"), *sources)))
        return Finding(subject=subject, says=says, sources=proof, first=process.at, last=process.at)
    return Unclear(
        subject=subject, why="no text tells where its memory lies", ask=f"numastat -p {process.pid}"
    )


def _near(
    held: set[DeviceRef], cards: Sequence[GpuAffinity], devices: Sequence[PciDevice]
) -> tuple[frozenset[int] | None, tuple[Source, ...]]:
    """Return the nodes of these cards with the proof; None where one of them is not known."""
    records: list[GpuAffinity | PciDevice] = [*cards, *devices]
    known = [one for one in records if one.device in held and one.numa_node is not None]
    if {one.device for one in known} != held:
        return None, ()
    nodes = frozenset(one.numa_node for one in known if one.numa_node is not None)
    return nodes, tuple(s for one in known for s in cite(one, "numa_node"))
