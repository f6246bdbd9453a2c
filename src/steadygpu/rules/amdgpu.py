"""What the amdgpu driver says in the kernel log: timeouts, resets and page faults of AMD cards."""

from collections.abc import Callable, Iterator, Sequence

from steadygpu.evidence.amd import AmdgpuEvent
from steadygpu.evidence.derive import span
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.kernel_log import KernelEvent
from steadygpu.evidence.moment import may_be_within
from steadygpu.rules.xid import none_seen, sources_of
from steadygpu.verdict.rule import All, Finding, Seen, Whole, rule

DRIVER = "Linux kernel, drivers/gpu/drm/amd/amdgpu and amdkfd, read 2026-12"
RESETS = ("reset_begin", "reset_succeeded", "vram_lost")
NAMED_LINES = 4  # our choice: up to three registers are printed before the process
NAMED_S = 1.0  # our choice: the driver prints the process right after the fault


def by_card(events: Sequence[AmdgpuEvent]) -> dict[DeviceRef, list[AmdgpuEvent]]:
    """Return the events by card; those that name none belong to the card where only one is named."""
    out: dict[DeviceRef, list[AmdgpuEvent]] = {}
    cards = list(dict.fromkeys(e.device for e in events if e.device.kind == "card"))
    for event in events:
        device = cards[0] if event.device.kind != "card" and len(cards) == 1 else event.device
        out.setdefault(device, []).append(event)
    return out


def _who(events: Sequence[AmdgpuEvent], owners: Sequence[AmdgpuEvent]) -> list[AmdgpuEvent]:
    """Return the process lines that stand right below one of `owners`."""
    below: dict[tuple[str, int], AmdgpuEvent] = {}
    for owner in owners:
        for source in owner.sources:
            below.update(((source.name, source.last + n), owner) for n in range(1, NAMED_LINES + 1))
    out = []
    for event in events:
        if event.what != "process" or not event.process:
            continue
        found = below.get((event.sources[0].name, event.sources[0].first))
        if found is not None and may_be_within(event.at, found.at, NAMED_S):
            out.append(event)
    return out


def _named(events: Sequence[AmdgpuEvent]) -> str:
    names = list(
        dict.fromkeys(
            f"process {e.process}" + (f" (pid {e.pid})" if e.pid is not None else "")
            for e in events
            if e.process
        )
    )
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _found(device: DeviceRef, events: Sequence[AmdgpuEvent], says: str) -> Finding:
    first, last = span(events)
    return Finding(
        subject=device, says=says, sources=sources_of(events), first=first, last=last,
        count=sum(e.count for e in events if e.what != "process"),
    )  # fmt: skip


def _each(
    events: Sequence[AmdgpuEvent], whole: bool, what: str, see: Callable[..., Finding | None]
) -> Iterator[Seen]:
    """Yield one thing for each card: the finding of `see`, or what its absence means."""
    cards = by_card(events)
    for device, own in cards.items():
        yield see(device, own) or none_seen(device, whole, what)
    if not cards:
        yield none_seen(host_ref(), whole, what)


def _rings(events: Sequence[AmdgpuEvent]) -> str:
    names = list(dict.fromkeys(e.ring for e in events if e.ring))
    kind = "compute ring" if any(n.startswith("comp") for n in names) else "ring"
    return f"{kind} {', '.join(names[:3])}" if names else "a ring"


@rule(
    id="silent.amdgpu-ring-reset",
    title="A queue of the card hung and was reset",
    severity="critical",
    action="restart-job",
    meaning="Work on the card did not end in time, and the driver reset the queue or the whole card. The process "
    "that the driver names had its work on the ring; it need not be the one that matters to you.",
    decision="Start anew from a checkpoint what ran on this card then, and keep other users of the card away.",
    next_step="journalctl -k -b | grep -E 'amdgpu.*(timeout|reset|Process)'; note the process it names",
    references=(DRIVER, "ROCm issues 6127 and 6273"),
    points_to="hardware",
)
def amdgpu_ring_reset(events: All[AmdgpuEvent], whole: Whole) -> Iterator[Seen]:
    """One finding for all timeouts of a card; how the last of them ended is said."""

    def see(device: DeviceRef, own: Sequence[AmdgpuEvent]) -> Finding | None:
        hung = [e for e in own if e.what == "ring_timeout"]
        if not hung:
            return None
        ends = [
            e for e in own if e.what in ("ring_reset", "ring_reset_failed", "reset_failed", *RESETS)
        ]
        named = _who(own, hung)
        kinds = {e.what for e in ends}
        if "reset_failed" in kinds:
            end = "the reset failed"
        elif "vram_lost" in kinds:
            end = "recovered by a reset that lost the card's memory"
        elif "reset_succeeded" in kinds:
            end = "recovered by a reset of the card"
        elif "ring_reset" in kinds:
            end = "recovered by a reset of the ring"
        else:
            end = "the log shows no recovery"
        times = f", {n} times" if (n := sum(e.count for e in hung)) > 1 else ""
        whose = f" in the work of {_named(named)}" if named else ""
        says = f"{_rings(hung)} timed out{whose}{times}; {end}: jobs on the card at that time are suspect"
        return _found(device, (*hung, *named, *ends), says)

    yield from _each(events, whole, "ring timeout", see)


@rule(
    id="silent.amdgpu-soft-recovery",
    title="A queue was freed without a reset",
    severity="info",
    action="none",
    meaning="A job ran too long on a ring and the driver took it off. The card was not reset and lost nothing.",
    decision="Nothing to do, unless it comes back again and again.",
    next_step="journalctl -k -b | grep -c 'soft recovered'",
    references=(DRIVER,),
)
def amdgpu_soft_recovery(events: All[AmdgpuEvent], whole: Whole) -> Iterator[Seen]:
    """A success of the driver, told so that nobody takes the word timeout for a reset."""

    def see(device: DeviceRef, own: Sequence[AmdgpuEvent]) -> Finding | None:
        hits = [e for e in own if e.what == "soft_recovered"]
        times = sum(e.count for e in hits)
        says = f"{_rings(hits)} timed out and was freed without a reset" + (
            f", {times} times" if times > 1 else ""
        )
        return _found(device, hits, says) if hits else None

    yield from _each(events, whole, "soft recovery", see)


@rule(
    id="silent.amdgpu-mes-hang",
    title="The queue scheduler of the card does not answer",
    severity="critical",
    action="reboot",
    meaning="The firmware that puts queues on the card (MES) is stuck: no job can start or end on it.",
    decision="Take the host out of use and boot it anew; then bring firmware and kernel up to date.",
    next_step="cat /sys/kernel/debug/dri/0/amdgpu_firmware_info | grep MES; then reboot",
    references=(DRIVER, "ROCm issue 2533"),
    points_to="hardware",
)
def amdgpu_mes_hang(events: All[AmdgpuEvent], whole: Whole) -> Iterator[Seen]:
    """What cannot be evicted afterwards is part of it."""

    def see(device: DeviceRef, own: Sequence[AmdgpuEvent]) -> Finding | None:
        hits = [e for e in own if e.what == "mes_hang"]
        if not hits:
            return None
        stuck = [e for e in own if e.what == "evict_failed"]
        says = f"the driver says: {hits[0].says[:80]}"
        if (times := sum(e.count for e in hits)) > 1:
            says += f"; {times} such messages"
        if stuck:
            says += "; queues could not be taken off the card"
        return _found(device, (*hits, *stuck), says)

    yield from _each(events, whole, "hang of the queue scheduler", see)


@rule(
    id="silent.amdgpu-reset-failed",
    title="The reset did not bring the card back",
    severity="critical",
    action="reboot",
    meaning="The driver reset the card and could not start it again; it does no work until the host boots.",
    decision="Drain and boot the host. Power it off fully where the card does not come back.",
    next_step="sudo reboot; then lspci | grep -i amd, and read the kernel log of the new boot",
    references=(DRIVER,),
    points_to="hardware",
)
def amdgpu_reset_failed(events: All[AmdgpuEvent], whole: Whole) -> Iterator[Seen]:
    """A failure that a later success of the same card answers is history and told by the other rules."""

    def see(device: DeviceRef, own: Sequence[AmdgpuEvent]) -> Finding | None:
        hits = [e for e in own if e.what == "reset_failed"]
        if not hits:
            return None
        says = f"the driver says: {hits[-1].says[:80]}"
        return _found(device, hits, says)

    yield from _each(events, whole, "failed reset", see)


@rule(
    id="silent.gpu-reset",
    title="The driver reset the card",
    severity="critical",
    action="reboot",
    meaning="The whole card was reset without a hung queue before it: after a fault of its memory, on request, or "
    "because a neighbour in its hive was reset. What ran on it is gone.",
    decision="Start anew what ran on this card, and look at the fault that came before.",
    next_step="journalctl -k -b | grep -B20 'GPU reset begin'",
    references=(DRIVER,),
)
def gpu_reset(events: All[AmdgpuEvent], others: All[KernelEvent], whole: Whole) -> Iterator[Seen]:
    """Resets after a timeout of an AMD queue are that rule's. Intel's drivers restart the engine that hung by themselves."""

    def see(device: DeviceRef, own: Sequence[AmdgpuEvent]) -> Finding | None:
        hits = [e for e in own if e.what in RESETS]
        if not hits or any(e.what in ("ring_timeout", "mes_hang") for e in own):
            return None
        back = [e for e in hits if e.what == "reset_succeeded"]
        lost = [e for e in hits if e.what == "vram_lost"]
        says = f"{sum(e.count for e in hits if e.what == 'reset_begin') or len(back) or 1} reset(s) of the card"
        says += "; it came back" if back else "; no line says that it came back"
        says += ", its memory was lost" if lost else ""
        return _found(device, hits, says)

    hung: dict[DeviceRef, list[KernelEvent]] = {}
    for event in others:
        if event.what in ("gpu_hang", "gpu_reset") and event.device.kind == "card":
            hung.setdefault(event.device, []).append(event)
    for device, own in hung.items():
        first, last = span(own)
        built_in = (device.bdf or "")[
            5:7
        ] == "00"  # the processor's own graphics, which computes nothing here
        yield Finding(
            subject=device, says=f"the driver says: {own[-1].says[:120]}", sources=sources_of(own),
            first=first, last=last, count=sum(e.count for e in own),
            severity="info" if built_in else "warning", action="none" if built_in else "restart-job",
            meaning="Work on the card hung and the driver reset it. What ran on it is gone.",
            decision="Start anew what ran on this card; keep the kernel log if it comes back.",
        )  # fmt: skip
    if events or not hung:
        yield from _each(events, whole, "reset of a card", see)


@rule(
    id="silent.amdgpu-vm-fault",
    title="A program used memory of the card that is not its own",
    severity="warning",
    action="restart-job",
    meaning="The card refused an access of a program: nearly always an error of that program or of a library it uses.",
    decision="Look for the error in the program; the card needs nothing.",
    next_step="Run the program again with AMD_SERIALIZE_KERNEL=3 HIP_LAUNCH_BLOCKING=1",
    references=(DRIVER,),
)
def amdgpu_vm_fault(events: All[AmdgpuEvent], whole: Whole) -> Iterator[Seen]:
    """Faults in address space 0 without a process are the driver's own, after a reset; they name no program."""

    def see(device: DeviceRef, own: Sequence[AmdgpuEvent]) -> Finding | None:
        hits = [e for e in own if e.what == "vm_fault" and (e.vmid or e.pasid or e.process)]
        if not hits:
            return None
        named = _who(own, hits)
        direct = [e for e in hits if e.process]
        who = _named((*direct, *named)) or f"address space {hits[0].vmid}, process not named"
        times = sum(e.count for e in hits)
        says = f"page fault of {who}" + (f", {times} times" if times > 1 else "")
        return _found(device, (*hits, *named), says)

    yield from _each(events, whole, "page fault of a program", see)
