"""Whether the processors keep the cards waiting."""

from collections.abc import Iterator

from steadygpu.evidence.cpu import CpuLoad
from steadygpu.evidence.gpu import GpuLoad
from steadygpu.evidence.moment import may_be_within
from steadygpu.evidence.storage import DiskLoad
from steadygpu.rules.storage import CARD_WORKS, DISK_FULL, ONE_CAPTURE_S
from steadygpu.verdict.rule import (
    All,
    Fine,
    One,
    Seen,
    Unclear,
    cite,
    fine,
    lacking,
    rule,
    tell,
)

CPU_FULL = (
    0.10  # our choice: with less than a tenth of all processor time left, workers wait for a turn
)
SAMPLE = "iostat -x 1 30, beside nvidia-smi dmon -s u, while the job runs"


@rule(
    id="feed.loader-cpu-bound",
    title="Processors keep the card waiting",
    severity="warning",
    action="fix-feed",
    scope="host",
    points_to="cpu",
    meaning="All processors are at work while no disk is at its limit and the card idles: what prepares the data "
    "sets the pace.",
    decision="Do not buy a card: prepare the data ahead, move decoding to the card, or add processors.",
    next_step="py-spy top --pid LOADER, and the number of loader workers against the number of processors",
    references=("iostat(1): %user, %idle",),
)
def loader_cpu_bound(
    cpu: One[CpuLoad], cards: All[GpuLoad], disks: All[DiskLoad]
) -> Iterator[Seen]:
    """Three witnesses of one time: processors full, disks not, a card with work that waits."""
    if missing := lacking(cpu, "idle_ratio", "iowait_ratio"):
        yield missing
        return
    assert cpu.idle_ratio is not None
    assert cpu.iowait_ratio is not None
    left = cpu.idle_ratio + cpu.iowait_ratio
    if cpu.since_boot:
        why = "the only sample is the mean since boot"
        yield Unclear(subject=cpu.device, why=why, ask=SAMPLE)
    elif left > CPU_FULL:
        because = f"processors have {left:.0%} of their time left"
        yield fine(cpu, because, "idle_ratio", "iowait_ratio")
    else:
        yield _waits(cpu, left, cards, disks)


def _waits(
    cpu: CpuLoad, left: float, cards: tuple[GpuLoad, ...], disks: tuple[DiskLoad, ...]
) -> Seen:
    beside = [c for c in cards if may_be_within(cpu.at, c.at, ONE_CAPTURE_S)]
    known = [c for c in beside if c.busy_ratio is not None and c.has_process is not False]
    full = [d for d in disks if d.busy_ratio is None or d.busy_ratio > DISK_FULL]
    if not known:
        why = "processors are full, and no text of that time shows a card with work"
        return Unclear(subject=cpu.device, why=why, ask="nvidia-smi dmon -s u -c 30")
    busiest = max(known, key=lambda c: c.busy_ratio or 0.0)
    busy = busiest.busy_ratio or 0.0
    if busy >= CARD_WORKS:
        return Fine(
            subject=cpu.device,
            because=f"a card is {busy:.0%} busy",
            sources=cite(busiest, "busy_ratio"),
        )
    if full:
        return Unclear(
            subject=cpu.device,
            why="a disk is at its limit too, or its load was not read",
            ask=SAMPLE,
        )
    return tell(
        cpu,
        f"processors have {left:.0%} of their time left while the busiest card is {busy:.0%} busy",
        "idle_ratio",
        "iowait_ratio",
        also=cite(busiest, "busy_ratio"),
    )
