"""Whether disks keep the cards waiting."""

import re
from collections.abc import Iterator, Sequence

from steadygpu.evidence.cpu import CpuLoad
from steadygpu.evidence.gpu import GpuLoad
from steadygpu.evidence.moment import may_be_within
from steadygpu.evidence.mount import FileListing, NfsOp
from steadygpu.evidence.source import Source
from steadygpu.evidence.storage import DiskLoad
from steadygpu.evidence.units import KIB, MB
from steadygpu.verdict.rule import (
    All,
    Mine,
    NotHere,
    One,
    Seen,
    Unclear,
    cite,
    fine,
    lacking,
    rule,
    tell,
)

DISK_FULL = (
    0.90  # iostat(1): %util near 100 % is saturation for devices that serve one request at a time
)
DISK_AWAIT_MS = (
    20.0  # our choice: about two seeks of a 7200/min disk, so a request waited for others
)
DISK_QUEUE = 2.0  # our choice: more than one request in flight and one waiting on a single arm
NVME_AWAIT_MS = 5.0  # our choice: fifty times the 0.1 ms that an unloaded NVMe read takes
NVME_QUEUE = 8.0  # our choice: iostat(1) says %util does not show the limit of parallel devices
CARD_WORKS = 0.70  # our choice: a card this busy is not kept waiting
SMALL_REQUEST = 64 * KIB  # our choice: half of the kernel's default read-ahead of 128 KiB
LOW_RATE = 50 * MB  # our choice: a third of what one disk reads in sequence
MANY_READS = 50.0  # our choice: fewer reads a second do not fill a disk
MANY_FILES = 10_000  # our choice: fewer are opened in a minute even at a few ms each
MOSTLY = 0.5  # our choice: more than half of the files
IOWAIT_HIGH = 0.10  # our choice: a tenth of all CPU time spent waiting for disks
ONE_CAPTURE_S = 600.0  # our choice: outputs further apart than this are not of one moment

_NO_DISK = re.compile(r"(?:loop|ram|zram|sr|fd|dm-|md)\d+")
_NO_ASK = "iostat -xz 1 30"


@rule(
    id="feed.storage-saturated",
    title="A disk is at its limit",
    severity="warning",
    action="fix-feed",
    scope="host",
    points_to="storage",
    rules_out=True,
    meaning="Requests queue at a disk that has no time left: whoever reads from it waits.",
    decision="Do not buy a card: move the data set to a faster local disk, or cache or pack it, and measure again.",
    next_step="iostat -xz 1 30, beside nvidia-smi dmon -s u, while the job runs",
    references=("iostat(1): %util, aqu-sz, r_await",),
)
def storage_saturated(disk: One[DiskLoad], cards: All[GpuLoad]) -> Iterator[Seen]:
    """A full disk needs a queue or a wait beside it: an NVMe can be 100 % busy and answer at once."""
    if out := _not_judged(disk):
        yield out
        return
    if missing := lacking(disk, "busy_ratio"):
        yield missing
        return
    assert disk.busy_ratio is not None
    proof = _waiting(disk)
    if disk.busy_ratio > DISK_FULL and proof:
        says, fields = proof
        told, sources, severity = beside(disk, cards)
        yield tell(
            disk,
            f"{disk.busy_ratio:.0%} busy{_since(disk)}, {says}; {told}",
            "busy_ratio",
            *fields,
            also=sources,
            severity="info" if severity == "info" else None,
            action="none" if severity == "info" else None,
        )
    elif disk.since_boot:
        yield _only_since_boot(disk)
    elif disk.busy_ratio <= DISK_FULL:
        yield fine(disk, f"{_label(disk)} {disk.busy_ratio:.0%} busy", "busy_ratio")
    elif (missing := lacking(disk, "queue")) or (
        disk.await_ms is None and (missing := lacking(disk, "read_await_ms", "write_await_ms"))
    ):
        yield missing
    else:
        waits = max(_waits(disk).values())
        yield fine(
            disk,
            f"{_label(disk)} busy, but {waits:.3g} ms a request and {disk.queue:.3g} in the queue",
            "busy_ratio",
            "queue",
            *_waits(disk),
        )


@rule(
    id="feed.small-files",
    title="A disk is full of small reads",
    severity="warning",
    action="fix-feed",
    scope="host",
    points_to="small-files",
    rules_out=True,
    meaning="The disk is busy all the time while it delivers little: the reads are small and scattered.",
    decision="Do not buy a card: pack the small files into large ones, or stage the set in memory or on NVMe.",
    next_step="find DATASET -type f -printf '%s %p\\n'",
    references=("iostat(1): rareq-sz, rkB/s",),
)
def small_files(
    disks: All[DiskLoad],
    listings: All[FileListing],
    cards: Mine[GpuLoad],  # of the whole host, as nothing before is of one device
) -> Iterator[Seen]:
    """The mean size is taken from the rates, so that writes do not count. A card at work does not starve.

    A listing of files proves a layout, not that anybody waits for it: alone it is information.
    """
    small = [one for one in listings if _many_small(one)]
    for disk in disks:
        yield from _small_reads(disk, small, cards)
    for listing in listings:
        yield _layout(listing)


def _many_small(listing: FileListing) -> bool:
    ratio = listing.small_ratio
    return listing.files >= MANY_FILES and ratio is not None and ratio >= MOSTLY


def _layout(listing: FileListing) -> Seen:
    """Return what a listing shows of the layout of a data set."""
    where = f" in {listing.root}" if listing.root else ""
    if listing.files < MANY_FILES:
        return NotHere(
            subject=listing.device, because=f"{listing.files} files{where}: not many",
            source=cite(listing)[0],
        )  # fmt: skip
    if missing := lacking(listing, "small_ratio", "median_bytes"):
        return missing
    size = f"median {(listing.median_bytes or 0) / KIB:.3g} KiB"
    if not _many_small(listing):
        return NotHere(
            subject=listing.device, because=f"{listing.files} files{where}, {size}: not small",
            source=cite(listing)[0],
        )  # fmt: skip
    return tell(
        listing,
        f"{listing.files} files{where}, {listing.small_ratio:.0%} of them below 64 KiB, {size}",
        severity="info",
        action="none",
        meaning="Most files of this set are small: each costs a lookup and an open beside the read. The listing does "
        "not tell that anybody waits for them.",
        decision="Measure disk and cards while the job reads the set; pack it into large files if they wait.",
    )


def _small_reads(
    disk: DiskLoad, small: Sequence[FileListing], cards: Sequence[GpuLoad]
) -> Iterator[Seen]:
    if out := _not_judged(disk):
        yield out
        return
    fields = ("busy_ratio", "reads_per_s", "read_bytes_per_s", "writes_per_s")
    if missing := lacking(disk, *fields):
        yield missing
        return
    assert disk.busy_ratio is not None
    assert disk.reads_per_s is not None
    assert disk.read_bytes_per_s is not None
    assert disk.writes_per_s is not None
    mean = disk.read_bytes_per_s / disk.reads_per_s if disk.reads_per_s else 0.0
    reading = disk.reads_per_s >= max(MANY_READS, disk.writes_per_s)
    little = mean < SMALL_REQUEST and disk.read_bytes_per_s < LOW_RATE
    if disk.busy_ratio > DISK_FULL and reading and little:
        told, sources, severity = beside(disk, cards)
        for one in small[:1]:
            told += f"; {one.root or 'the set listed'} holds {one.files} files, most below 64 KiB"
            sources += cite(one)
        yield tell(
            disk,
            f"{disk.busy_ratio:.0%} busy{_since(disk)} with {disk.reads_per_s:.0f} reads a second of "
            f"{mean / KIB:.0f} KiB: {disk.read_bytes_per_s / MB:.1f} MB/s; {told}",
            *fields,
            also=sources,
            severity="info" if severity == "info" else None,
            action="none" if severity == "info" else None,
        )
    elif disk.since_boot:
        yield _only_since_boot(disk)
    else:
        yield fine(
            disk,
            f"{_label(disk)} {disk.busy_ratio:.0%} busy, {disk.reads_per_s:.0f} reads a second of {mean / KIB:.0f} KiB",
            *fields,
        )


@rule(
    id="feed.iowait-high",
    title="Processors wait for disks",
    severity="info",
    action="none",
    scope="host",
    meaning="Processors had nothing to run while requests to disks were open.",
    decision="Look at the disks first; this figure alone proves nothing about the cards.",
    next_step="iostat -xz 1 30",
    references=("iostat(1): %iowait", "proc_stat(5): iowait is not reliable on several CPUs"),
)
def iowait_high(load: One[CpuLoad]) -> Iterator[Seen]:
    """A mean since boot says nothing of now."""
    if missing := lacking(load, "iowait_ratio"):
        yield missing
        return
    assert load.iowait_ratio is not None
    if load.since_boot:
        yield Unclear(
            subject=load.device, why="the only sample is the mean since boot", ask=_NO_ASK
        )
    elif load.iowait_ratio > IOWAIT_HIGH:
        yield tell(
            load, f"processors waited for disks {load.iowait_ratio:.0%} of the time", "iowait_ratio"
        )
    else:
        yield fine(load, f"iowait {load.iowait_ratio:.1%}", "iowait_ratio")


def _not_judged(disk: DiskLoad) -> NotHere | None:
    """Return why a device is no disk of its own, or None where it is one."""
    if disk.partition:
        return NotHere(subject=disk.device, because="a partition: its disk is judged")
    if _NO_DISK.fullmatch(disk.device.label or ""):
        return NotHere(
            subject=disk.device, because="no disk of its own: what lies below it is judged"
        )
    return None


def _waits(disk: DiskLoad) -> dict[str, float]:
    """Return the known waits in milliseconds, by field."""
    fields = ("await_ms", "read_await_ms", "write_await_ms")
    return {f: value for f in fields if (value := getattr(disk, f)) is not None}


def _waiting(disk: DiskLoad) -> tuple[str, tuple[str, ...]] | None:
    """Return what shows that requests wait at the disk, with its fields, or None."""
    nvme = disk.rotational is False
    await_limit, queue_limit = (NVME_AWAIT_MS, NVME_QUEUE) if nvme else (DISK_AWAIT_MS, DISK_QUEUE)
    words: list[str] = []
    fields: list[str] = []
    for field, value in sorted(_waits(disk).items(), key=lambda item: -item[1])[:1]:
        if value > await_limit:
            words.append(f"{value:.3g} ms a request")
            fields.append(field)
    if disk.queue is not None and disk.queue > queue_limit:
        words.append(f"{disk.queue:.3g} requests in the queue")
        fields.append("queue")
    return (", ".join(words), tuple(fields)) if words else None


def beside(disk: DiskLoad | NfsOp, cards: Sequence[GpuLoad]) -> tuple[str, tuple[Source, ...], str]:
    """Return what the cards did meanwhile, where that stands, and how much it weighs."""
    sampled = [c for c in cards if may_be_within(disk.at, c.at, ONE_CAPTURE_S)]  # or of no clock
    known = [c for c in sampled if c.busy_ratio is not None]
    if not sampled:
        return "no card was sampled with it", (), "warning"
    if not known:
        return "the load of the cards could not be read", (), "info"
    busiest = max(known, key=lambda c: c.busy_ratio or 0.0)
    busy = busiest.busy_ratio or 0.0
    sources = cite(busiest, "busy_ratio")
    if busy >= CARD_WORKS:
        return f"yet a card is {busy:.0%} busy and does not starve", sources, "info"
    return f"the busiest card is {busy:.0%} busy", sources, "warning"


def _since(disk: DiskLoad) -> str:
    return " as the mean since boot" if disk.since_boot else ""


def _label(disk: DiskLoad) -> str:
    return disk.device.label or "disk"


def _only_since_boot(disk: DiskLoad) -> Unclear:
    """Return what to say of a mean since boot that is not at the limit: bursts hide in it."""
    return Unclear(
        subject=disk.device,
        why="the only sample is the mean since boot, in which a busy minute does not show",
        ask=_NO_ASK,
    )
