"""Rules on whether a card works or waits."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.cpu import CpuLoad
from steadygpu.evidence.gpu import GpuLoad, GpuMemory, GpuMode, GpuPower
from steadygpu.evidence.moment import Moment, may_be_within
from steadygpu.evidence.source import Source
from steadygpu.evidence.storage import DiskLoad
from steadygpu.evidence.units import GIB
from steadygpu.rules.power import power_share
from steadygpu.rules.throttle import missing
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
    lacking,
    rule,
    tell,
)

STARVED = 0.3  # our choice: below this most of the time nothing runs on the card
IOWAIT = 0.05  # our choice: a share of all CPUs; on 64 it is three that only wait for disks
DISK_FULL = 0.9  # iostat(1), %util: near 100 % a device serves requests all the time
HELD = GIB  # our choice: a driver alone holds less than this
QUEUE_FULL = 1.0  # iostat(1), aqu-sz: above one, requests wait for each other
TOGETHER_S = 300.0  # our choice: samples further apart do not tell of one job
RESIDENT = 0.95  # our choice: what people read as a full card
FAR_BELOW = 0.6  # our choice: kernels that fill a card draw more than this share of its limit
UTIL = "nvidia-smi(1), GPU Utilization: share of time in which one or more kernels ran"
ASK_IO = "iostat -xz 1 30"


@rule(
    id="busy.card-idle",
    title="Nothing runs on the card",
    severity="info",
    action="none",
    meaning="The card was idle in this sample, so nothing can be said about what limits a job.",
    decision="Take the evidence again while the job runs.",
    next_step="nvidia-smi -q while the job runs",
    references=(UTIL,),
    points_to="idle",
)
def card_idle(load: One[GpuLoad], memory: Maybe[GpuMemory]) -> Iterator[Seen]:
    """Idle needs all: no kernel in the sample, no process in the list, and nobody who holds memory."""
    if load.busy_ratio is None:
        yield missing(load, load, "load", "busy_ratio")
    elif load.busy_ratio > 0:
        yield fine(load, f"{load.busy_ratio:.0%} busy", "busy_ratio")
    elif load.has_process is None:
        yield missing(load, load, "processes", "has_process", ask="nvidia-smi")
    elif load.has_process:
        yield fine(load, "a process is there", "has_process")
    elif memory is not None and memory.used_bytes is None:
        yield missing(memory, load, "memory", "used_bytes")
    elif memory is not None and (memory.used_bytes or 0) > HELD:
        because = "no process is listed, yet memory is held"
        yield NotHere(subject=load.device, because=because)
    else:
        yield tell(load, "0 % busy and no process", "busy_ratio", "has_process")


def _together(left: Moment, right: Moment) -> bool:
    return may_be_within(left, right, TOGETHER_S)


def _waits(
    load: GpuLoad, cpus: Sequence[CpuLoad], disks: Sequence[DiskLoad]
) -> tuple[str, tuple[Source, ...]] | None:
    """Return in words what waits for storage at the time of `load`, or None."""
    for cpu in cpus:
        if cpu.iowait_ratio is not None and cpu.iowait_ratio >= IOWAIT:
            return f"iowait is {cpu.iowait_ratio:.1%}", cite(cpu, "iowait_ratio")
    for disk in disks:
        if disk.busy_ratio is None or disk.queue is None:
            continue
        if disk.busy_ratio >= DISK_FULL and disk.queue >= QUEUE_FULL:
            name = disk.device.label or "a disk"
            says = f"{name} is {disk.busy_ratio:.0%} busy with a queue of {disk.queue:.1f}"
            return says, cite(disk, "busy_ratio", "queue")
    return None


@rule(
    id="busy.card-starved",
    title="The card waits while storage is busy",
    severity="warning",
    action="watch",
    meaning="The card is mostly without work at the same time as the host waits for its disks.",
    decision="Do not buy a card: look at what feeds it first.",
    next_step="See which process reads: iotop -oPa -d 5 or pidstat -d 5 6",
    references=(UTIL, "iostat(1), %iowait, %util and aqu-sz"),
    points_to="storage",
)
def card_starved(load: One[GpuLoad], cpus: All[CpuLoad], disks: All[DiskLoad]) -> Iterator[Seen]:
    """Both at once: an idle card alone, or a busy disk alone, proves nothing; nor does a mean since boot."""
    if load.busy_ratio is None:
        yield missing(load, load, "load", "busy_ratio")
        return
    if load.busy_ratio >= STARVED:
        yield fine(load, f"{load.busy_ratio:.0%} busy", "busy_ratio")
        return
    if load.busy_ratio == 0 and load.has_process is None:
        yield missing(load, load, "processes", "has_process", ask="nvidia-smi")
        return
    if load.busy_ratio == 0 and not load.has_process:
        yield NotHere(subject=load.device, because="no process on the card")
        return
    near_cpus = [c for c in cpus if not c.since_boot and _together(load.at, c.at)]
    near_disks = [
        d for d in disks if not d.since_boot and not d.partition and _together(load.at, d.at)
    ]
    waits = _waits(load, near_cpus, near_disks)
    known = [c.iowait_ratio for c in near_cpus] + [d.busy_ratio for d in near_disks]
    known += [d.queue for d in near_disks if d.busy_ratio and d.busy_ratio >= DISK_FULL]
    if waits is not None:
        fields = ("busy_ratio",) if load.busy_ratio else ("busy_ratio", "has_process")
        yield tell(load, f"{load.busy_ratio:.0%} busy while {waits[0]}", *fields, also=waits[1])
    elif not near_cpus or not near_disks or any(value is None for value in known):
        why = "no sample of CPU and disks of the same time, later than the mean since boot"
        yield Unclear(subject=load.device, why=why, ask=ASK_IO)
    else:
        because = "neither iowait nor a full disk beside the low load"
        yield Fine(subject=load.device, because=because)


@rule(
    id="busy.util-is-residency",
    title="Full utilisation, but not a full card",
    severity="info",
    action="none",
    meaning="Utilisation counts the time in which any kernel ran, however small. The low draw says "
    "that the card is not filled.",
    decision="Do not buy a card: larger batches or more work at once come first.",
    next_step="Measure SM activity: dcgmi dmon -e 1002,1003,1005 -d 1000 -c 30",
    references=(UTIL,),
)
def util_is_residency(load: One[GpuLoad], power: Maybe[GpuPower]) -> Iterator[Seen]:
    """Utilisation near 100 % while the draw is below 60 % of the limit."""
    share = power_share(power)
    if load.busy_ratio is None:
        yield missing(load, load, "load", "busy_ratio")
    elif load.busy_ratio < RESIDENT:
        yield fine(load, f"{load.busy_ratio:.0%} busy", "busy_ratio")
    elif share is None or power is None:
        yield missing(power, load, "power draw", "draw_w", "limit_w")
    elif share >= FAR_BELOW:
        yield Fine(
            subject=load.device, because=f"draw is {share:.0%} of the limit",
            sources=cite(power, "draw_w", "limit_w"),
        )  # fmt: skip
    else:
        yield tell(
            load,
            f"{load.busy_ratio:.0%} busy at {power.draw_w:g} W of {power.limit_w:g} W",
            "busy_ratio",
            also=cite(power, "draw_w", "limit_w"),
        )


@rule(
    id="busy.mig-on",
    title="The card is split into instances",
    severity="info",
    action="none",
    meaning="MIG is on: load and faults belong to instances, not to the whole card.",
    decision="Name the instance, not the card, when you compare or complain.",
    next_step="nvidia-smi -L",
    references=("NVIDIA Multi-Instance GPU User Guide",),
)
def mig_on(mode: One[GpuMode]) -> Iterator[Seen]:
    """The mode as printed."""
    if said := lacking(mode, "mig_on"):
        yield said
    elif mode.mig_on:
        yield tell(mode, "MIG is on", "mig_on")
    else:
        yield fine(mode, "MIG is off", "mig_on")


@rule(
    id="busy.util-not-available-mig",
    title="Utilisation is not reported while MIG is on",
    severity="info",
    action="none",
    meaning="The driver has no utilisation for a split card; N/A does not mean idle.",
    decision="Read the load of each instance from profiling fields.",
    next_step="dcgmi dmon -e 1001,1002 -d 1000 -c 30",
    references=("NVIDIA Multi-Instance GPU User Guide, monitoring",),
)
def util_not_available_mig(
    mode: One[GpuMode], load: Maybe[GpuLoad], power: Maybe[GpuPower]
) -> Iterator[Seen]:
    """Only where the tool itself says N/A: a value that is missing for another reason proves nothing."""
    if said := lacking(mode, "mig_on"):
        yield said
    elif not mode.mig_on:
        yield NotHere(subject=mode.device, because="MIG is off")
    elif load is not None and load.busy_ratio is not None:
        yield Fine(
            subject=mode.device, because=f"{load.busy_ratio:.0%} busy is reported",
            sources=cite(load, "busy_ratio"),
        )  # fmt: skip
    elif load is None or not isinstance(lacking(load, "busy_ratio"), NotHere):
        yield missing(load, mode, "load", "busy_ratio")
    else:
        told = [a.source for a in load.absent if a.field == "busy_ratio" and a.source is not None]
        proof = [*cite(mode, "mig_on"), *(told or load.sources)]
        says = "MIG is on and utilisation is not reported"
        if power is not None and power.draw_w is not None:
            says += f"; the card draws {power.draw_w:g} W"
            proof += cite(power, "draw_w")
        yield Finding(
            subject=mode.device, says=says, sources=tuple(proof), first=mode.at, last=mode.at
        )
