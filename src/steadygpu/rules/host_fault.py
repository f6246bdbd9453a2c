"""What the kernel says of the host around the cards: its memory, its drivers that hang, its disks and ports."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

from steadygpu.evidence.derive import span, span_words
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.kernel_log import DiskEvent, KernelEvent, MemoryErrorEvent, NicEvent
from steadygpu.evidence.moment import seconds_between
from steadygpu.rules.xid import none_seen, sources_of
from steadygpu.verdict.rule import All, Finding, Fine, Seen, Severity, Unclear, Whole, rule

DAY_S = 86_400.0
CORRECTED_A_DAY = 10  # mcelog.conf, [dimm] ce-error-threshold = 10 / 24h
CORRECTED_MANY = 100  # our choice: ten times that threshold is no stray particle
SWAP_LEFT = 1 << 30  # bytes; our choice: a kill with so much free swap is not for want of swap
FLAPS = 3  # our choice: one cycle at the start is normal, a switch that is restarted gives one more
GIB = 1 << 30
VENDOR = ("nvidia", "amdgpu", "amdkfd", "nouveau", "i915", "xe", "habanalabs")
TOOLS = ("nvidia-smi", "nvidia-persiste", "nv-hostengine", "dcgmi", "rocm-smi", "amd-smi")
STALLS = ("hung_task", "soft_lockup", "hard_lockup", "rcu_stall")
_NVME = re.compile(r"nvme\d{1,4}")
E = TypeVar("E", MemoryErrorEvent, NicEvent, DiskEvent)


def _by_device(events: Sequence[E]) -> dict[DeviceRef, list[E]]:
    found: dict[DeviceRef, list[E]] = {}
    for event in events:
        found.setdefault(event.device, []).append(event)
    return found


def _times(count: int) -> str:
    return f", {count} times" if count > 1 else ""


@rule(
    id="silent.host-memory-error",
    title="The host's memory has errors",
    severity="critical",
    action="drain",
    scope="host",
    meaning="The host's own memory, not a card's, returned wrong bits. What could not be corrected ends a program or "
    "the host; data that cards read from there may be wrong.",
    decision="Drain the host and replace the module that is named; where none is named, ask the BMC which it is.",
    next_step="sudo ipmitool sel list | grep -i mem; sudo dmidecode -t memory | grep -E 'Locator|Serial'",
    references=("Linux Documentation/admin-guide/ras.rst", "mcelog.conf(5), ce-error-threshold"),
    points_to="hardware",
)
def host_memory_error(events: All[MemoryErrorEvent], whole: Whole) -> Iterator[Seen]:
    """Two reporters may tell one error, so the one that counted most counts; few corrected errors are normal."""
    modules = _by_device(events)
    for device, mine in modules.items():
        name = device.label or "no module is named"
        first, last = span(mine)
        bad = [e for e in mine if e.kind == "uncorrected"]
        count = _errors(bad or mine)
        if bad:
            yield Finding(
                subject=device, says=f"{count} uncorrected ({name}): {bad[0].says[:120]}",
                sources=sources_of(bad), first=first, last=last, count=count,
            )  # fmt: skip
            continue
        apart = seconds_between(first, last)
        days = max((apart or 0.0) / DAY_S, 1.0)
        over = f" in {span_words(apart)}" if apart else ""
        says = f"{count} corrected{over} ({name})"
        if count / days >= CORRECTED_MANY and device.kind == "dimm":
            yield Finding(
                subject=device, says=says, sources=sources_of(mine), first=first, last=last, count=count,
                meaning="One memory module of the host needs correction all the time; errors that cannot be corrected "
                "mostly follow.",
            )  # fmt: skip
            continue
        some = count / days >= CORRECTED_A_DAY
        yield Finding(
            subject=device, says=says, sources=sources_of(mine), first=first, last=last, count=count,
            severity="warning" if some else "info", action="watch" if some else "none",
            meaning="The host corrected errors of its own memory; no data was lost.",
            decision="Plan to replace the module if the count goes on rising." if some else "Watch the count; single errors are normal.",
        )  # fmt: skip
    if not modules:
        yield none_seen(host_ref(), whole, "error of the host's memory")


def _errors(events: Sequence[MemoryErrorEvent]) -> int:
    by: dict[str, int] = {}
    for event in events:
        by[event.by] = by.get(event.by, 0) + event.errors * event.count
    return max(by.values())


@rule(
    id="feed.host-ram-exhausted",
    title="The host ran out of memory",
    severity="critical",
    action="fix-feed",
    scope="host",
    meaning="The kernel ended processes because the host had no memory left. Pinned memory of loaders and shared "
    "memory cannot be swapped, so free swap does not help.",
    decision="Give the job less host memory: fewer loader workers, less prefetch and pinning, smaller caches; or more RAM.",
    next_step="free -h; df -h /dev/shm; ps -eo pid,rss,comm --sort=-rss | head",
    references=("Linux Documentation/admin-guide/mm/concepts.rst, OOM killer",),
)
def host_ram_exhausted(events: All[KernelEvent], whole: Whole) -> Iterator[Seen]:
    """A kill for a container's limit is about that limit, not about the host."""
    kills = [e for e in events if e.what == "oom_kill"]
    if not kills:
        yield none_seen(host_ref(), whole, "kill for want of memory")
        return
    for scope in ("host", "numa", "memcg"):
        hits = [e for e in kills if e.scope == scope]
        if hits:
            yield _killed(hits, scope)
            return
    yield Unclear(
        subject=kills[0].device,
        why="the lines do not tell whether the host or a container ran out of memory",
        ask="journalctl -k -b | grep -E 'oom-kill:|out of memory'",
    )


def _killed(hits: Sequence[KernelEvent], scope: str) -> Finding:
    names = list(dict.fromkeys(e.process for e in hits if e.process))
    who = f": {', '.join(names[:4])}" + (" and more" if len(names) > 4 else "") if names else ""
    count = sum(e.count for e in hits)
    whose = {"host": "the host", "numa": "the memory nodes that it may use", "memcg": "a container's limit"}  # fmt: skip
    says = f"{count} {'kill' if count == 1 else 'kills'} for want of memory of {whose[scope]}{who}"
    swap = max((e.swap_free_bytes for e in hits if e.swap_free_bytes is not None), default=None)
    if swap is not None:
        free = f"{swap / GIB:.1f} GiB" if swap >= GIB else f"{swap >> 20} MiB"
        says += f"; {free} of swap were free"
        says += ": what filled the memory cannot be swapped" if swap >= SWAP_LEFT else ""
    first, last = span(hits)
    weights: dict[str, Severity | None] = {"host": None, "numa": "warning", "memcg": "info"}
    return Finding(
        subject=hits[0].device, says=says, sources=sources_of(hits), first=first, last=last, count=count,
        severity=weights[scope],
        action="none" if scope == "memcg" else None,
        meaning={
            "host": None,
            "numa": "The kernel ended processes because the memory nodes that they may use were full; others may have "
            "had room.",
            "memcg": "A container or service reached its own memory limit and the kernel ended a process in it. The host "
            "itself had memory.",
        }[scope],
        decision={
            "host": None,
            "numa": "Let the job use more memory nodes, or give it less memory.",
            "memcg": "Raise the memory limit of that container if it was your job; otherwise do nothing.",
        }[scope],
    )  # fmt: skip


@rule(
    id="silent.query-stall",
    title="Processes hang inside the driver of a card",
    severity="critical",
    action="drain",
    scope="host",
    meaning="A process has waited in the card's driver for minutes and cannot be ended. Queries and jobs that come "
    "after it hang as well.",
    decision="Drain the host and restart it; read what the driver printed before the first stall.",
    next_step="ps -eo pid,stat,wchan:30,comm | grep ' D'; journalctl -k -b | grep -E 'NVRM|Xid|amdgpu' | head",
    references=("Linux Documentation/admin-guide/sysctl/kernel.rst, hung_task_timeout_secs",),
    points_to="hardware",
)
def query_stall(events: All[KernelEvent], whole: Whole) -> Iterator[Seen]:
    """A hung task there needs a restart; a processor that stood still for seconds went on mostly."""
    stalls = [e for e in events if e.what in STALLS]
    hits = [e for e in stalls if _in_driver(e)]
    if not hits:
        vague = [e for e in stalls if e.inside is None]
        if vague:
            yield Unclear(
                subject=vague[0].device,
                why=f"no stack tells where {vague[0].process or 'it'} stood still",
                ask="journalctl -k -b --no-pager, with the lines after 'blocked for more than'",
            )
        else:
            yield none_seen(
                stalls[0].device if stalls else host_ref(), whole, "stall inside a card's driver"
            )
        return
    hung = [e for e in hits if e.what == "hung_task"]
    shown = hung or hits
    names = list(dict.fromkeys(e.process for e in shown if e.process))
    inside = list(dict.fromkeys(e.inside for e in shown if e.inside and e.inside != "kernel"))
    count = sum(e.count for e in shown)
    says = f"{', '.join(names[:4]) or 'a process'} {'blocked' if hung else 'stood still'}"
    says += f" in {', '.join(inside)}" if inside else ""
    first, last = span(shown)
    yield Finding(
        subject=hits[0].device, says=says + _times(count), sources=sources_of(shown), first=first, last=last,
        count=count, severity=None if hung else "warning", action=None if hung else "watch",
        meaning=None if hung else "A processor ran in the card's driver for many seconds without a pause.",
        decision=None if hung else "Watch whether it comes back; look at what the driver printed before it.",
    )  # fmt: skip


def _in_driver(event: KernelEvent) -> bool:
    if event.inside is not None and event.inside.startswith(VENDOR):
        return True
    return event.what == "hung_task" and event.process in TOOLS


@rule(
    id="silent.disk-errors",
    title="A disk fails or stops answering",
    severity="warning",
    action="watch",
    scope="host",
    meaning="The kernel could not read or write a disk, or its controller had to be reset. Jobs that read from it stall.",
    decision="Save what is on the disk, check it and replace it if the errors come back.",
    next_step="sudo nvme smart-log /dev/DISK, or sudo smartctl -a /dev/DISK",
    references=("Linux drivers/nvme/host/pci.c; block/blk-core.c",),
    points_to="storage",
)
def disk_errors(events: All[DiskEvent], whole: Whole) -> Iterator[Seen]:
    """A single timeout that nothing follows is for the record."""
    disks: dict[tuple[str | None, str], list[DiskEvent]] = {}
    for event in events:
        disks.setdefault((event.device.host, _stem(event.device.label or "")), []).append(event)
    for mine in disks.values():
        kinds = {e.what: 0 for e in mine}
        for event in mine:
            kinds[event.what] += event.count
        mild = kinds == {"timeout": 1}
        first, last = span(mine)
        yield Finding(
            subject=mine[0].device, says=", ".join(f"{n} {k.replace('_', ' ')}" for k, n in kinds.items()),
            sources=sources_of(mine), first=first, last=last, count=sum(kinds.values()),
            severity="info" if mild else None, action="none" if mild else None,
            decision="Do nothing for a single timeout." if mild else None,
        )  # fmt: skip
    if not disks:
        yield none_seen(host_ref(), whole, "error of a disk")


def _stem(label: str) -> str:
    """Return the controller of an NVMe name: nvme0 for nvme0n1p2."""
    found = _NVME.match(label)
    return found[0] if found is not None else label


@rule(
    id="feed.nic-link-flaps",
    title="A network link goes down again and again",
    severity="warning",
    action="fix-feed",
    scope="host",
    meaning="A network port lost its link several times. Collectives and network storage stall each time.",
    decision="Look at cable, module and switch port of this port; swap the cable first.",
    next_step="ethtool PORT; ethtool -m PORT; the counters of the switch port",
    references=("Linux drivers/net/ethernet, link messages",),
    points_to="network",
)
def nic_link_flaps(events: All[NicEvent], whole: Whole) -> Iterator[Seen]:
    """Each start of a host and each change of its settings takes a link down once."""
    ports = _by_device([e for e in events if e.what in ("link_down", "link_up")])
    for device, mine in ports.items():
        downs = [e for e in mine if e.what == "link_down"]
        count = sum(e.count for e in downs)
        worst = _in_a_day(downs)
        if worst < FLAPS:
            yield Fine(
                subject=device,
                because=f"the link went down {count} times, at most {worst} in a day",
                sources=sources_of(mine),
            )
            continue
        first, last = span(downs)
        yield Finding(
            subject=device, says=f"the link went down {count} times, {worst} within a day",
            sources=sources_of(downs), first=first, last=last, count=count,
        )  # fmt: skip
    if not ports:
        yield none_seen(host_ref(), whole, "network link that goes down")


def _in_a_day(downs: Sequence[NicEvent]) -> int:
    """Return the most losses within a day; losses without a time count as one day's."""
    most, start, held = 0, 0, 0
    for number, event in enumerate(downs):
        held += event.count
        while (seconds_between(downs[start].at, event.at) or 0.0) > DAY_S and start < number:
            held -= downs[start].count
            start += 1
        most = max(most, held)
    return most


@rule(
    id="silent.nic-health",
    title="A network adapter reports a fault of its own",
    severity="warning",
    action="watch",
    scope="host",
    meaning="The driver says that the adapter's firmware or heat is not as it should be, or that it stopped answering.",
    decision="Update the adapter's firmware and check its cooling; replace it if it comes back.",
    next_step="sudo mlxfwmanager --query; sudo mget_temp -d ADDRESS; ethtool -S PORT",
    references=("Linux drivers/net/ethernet/mellanox/mlx5/core/health.c",),
    points_to="network",
)
def nic_health(events: All[NicEvent], whole: Whole) -> Iterator[Seen]:
    """Link messages are another rule's."""
    words = {
        "health": "health report", "hot": "too hot", "command_timeout": "command not answered",
        "queue_timeout": "transmit queue stood still",
    }  # fmt: skip
    ports = _by_device([e for e in events if e.what in words])
    for device, mine in ports.items():
        kinds = {words[e.what]: 0 for e in mine}
        for event in mine:
            kinds[words[event.what]] += event.count
        first, last = span(mine)
        yield Finding(
            subject=device, says=", ".join(k + _times(n) for k, n in kinds.items()),
            sources=sources_of(mine), first=first, last=last, count=sum(kinds.values()),
        )  # fmt: skip
    if not ports:
        yield none_seen(host_ref(), whole, "fault of a network adapter")
