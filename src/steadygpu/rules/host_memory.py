"""Whether the memory beside a card is used up."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.link import PciDevice
from steadygpu.evidence.memory import HostMemory
from steadygpu.evidence.source import Source
from steadygpu.evidence.topology import GpuAffinity
from steadygpu.evidence.units import GIB
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Mine,
    NotHere,
    Seen,
    Unclear,
    cite,
    lacking,
    rule,
    the_host,
)

LITTLE = (
    0.05  # our choice: below a twentieth the kernel takes memory of another node for most requests
)
ASK = "cat /sys/devices/system/node/node*/meminfo"
TOPO = "nvidia-smi topo -m"
USED = ("free_bytes", "cached_bytes", "shmem_bytes")


@rule(
    id="feed.numa-node-exhausted",
    title="The memory beside a card is used up",
    severity="warning",
    action="fix-feed",
    scope="host",
    points_to="numa",
    meaning="New memory for processes beside this card comes from another node, so each copy to the card crosses the "
    "link between sockets.",
    decision="Free the node or move what holds its memory before you bind jobs to it.",
    next_step="numastat -m; numastat -p PID for each large process",
    references=(
        "proc(5), meminfo",
        "Linux, Documentation/admin-guide/sysctl/vm.rst: zone_reclaim_mode",
    ),
)
def numa_node_exhausted(
    memory: Mine[HostMemory], cards: All[GpuAffinity], devices: All[PciDevice]
) -> Iterator[Seen]:
    """Page cache can be dropped and does not count as used. A node without a card is none of our business."""
    last = {one.node: one for one in memory if one.node is not None}
    if not last:
        yield Unclear(
            subject=the_host(memory[0]), why="no text tells the memory of single nodes", ask=ASK
        )
        return
    for node, one in last.items():
        subject = DeviceRef(kind="numa", host=one.device.host, index=node)
        if len(last) == 1:
            yield NotHere(subject=subject, because="one node is listed")
        else:
            yield _judged(one, subject, *_here(node, cards, devices))


def _judged(
    one: HostMemory, subject: DeviceRef, here: bool | None, proof: Sequence[Source]
) -> Seen:
    if lacking(one, "total_bytes", "free_bytes") is not None:
        return Unclear(
            subject=subject, why="total or free memory of the node was not printed", ask=ASK
        )
    total, free = one.total_bytes or 0, one.free_bytes or 0
    if total == 0:
        return NotHere(subject=subject, because="the node has no memory")
    if free >= LITTLE * total:
        sources = cite(one, "total_bytes", "free_bytes")
        return Fine(subject=subject, because=f"{free / GIB:.3g} GiB free", sources=sources)
    if lacking(one, *USED) is not None:
        return Unclear(
            subject=subject, why="little is free, and the page cache was not printed", ask=ASK
        )
    droppable = max((one.cached_bytes or 0) - (one.shmem_bytes or 0), 0)
    if free + droppable >= LITTLE * total:
        because = f"{droppable / GIB:.3g} GiB of page cache can be dropped"
        return Fine(subject=subject, because=because, sources=cite(one, "total_bytes", *USED))
    if here is None:
        return Unclear(
            subject=subject, why="no text tells whether a card hangs on this node", ask=TOPO
        )
    if not here:
        return NotHere(subject=subject, because="no card hangs on this node")
    says = f"{free / GIB:.3g} GiB of {total / GIB:.3g} GiB free and {droppable / GIB:.3g} GiB of page cache, beside a card"
    sources = tuple(dict.fromkeys((*cite(one, "total_bytes", *USED), *proof)))
    return Finding(subject=subject, says=says, sources=sources, first=one.at, last=one.at)


def _here(
    node: int, cards: Sequence[GpuAffinity], devices: Sequence[PciDevice]
) -> tuple[bool | None, tuple[Source, ...]]:
    """Return whether a card hangs on the node, with the proof; None where a card's node is not known."""
    records: list[GpuAffinity | PciDevice] = [*cards, *(d for d in devices if d.role == "card")]
    proof = tuple(s for one in records if one.numa_node == node for s in cite(one, "numa_node"))
    if proof:
        return True, proof
    known = {one.device for one in records if one.numa_node is not None}
    if not known or {one.device for one in records} - known:
        return None, ()
    return False, ()
