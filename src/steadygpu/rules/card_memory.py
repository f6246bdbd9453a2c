"""Rules on who holds the memory of a card, and how much of it."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from steadygpu.evidence.gpu import CardListing, GpuLoad, GpuMemory, GpuMode, GpuProcess
from steadygpu.evidence.setting import Setting, setting_of
from steadygpu.evidence.units import GIB, MIB
from steadygpu.rules.throttle import missing
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Maybe,
    Mine,
    NotHere,
    One,
    Seen,
    cite,
    fine,
    lacking,
    rule,
)

FULL = 0.97  # our choice: servers that fill a card on purpose (vLLM, JAX) leave more than this free
BRIM = 0.985  # our choice: what is left is less than one step of the usual allocators
HELD = GIB  # our choice: a driver alone holds less than this
SHORT = 0.9  # our choice: with this much in use one copy less makes room for work
ALIKE = 0.05  # our choice: copies of one model differ by their cached blocks only


@rule(
    id="busy.memory-near-full",
    title="The memory of the card is nearly full",
    severity="warning",
    action="watch",
    meaning="Next to no memory is free: a slightly longer input or another process fails.",
    decision="Leave room: a smaller batch or cache, or one process less.",
    next_step="List who holds it: nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv",
    references=("nvidia-smi(1), FB Memory Usage",),
)
def memory_near_full(memory: One[GpuMemory]) -> Iterator[Seen]:
    """Used over total as the card prints them."""
    if memory.used_bytes is None or not memory.total_bytes:
        yield missing(memory, memory, "memory", "used_bytes", "total_bytes")
        return
    proof = cite(memory, "used_bytes", "total_bytes")
    says = f"{memory.used_bytes // MIB} of {memory.total_bytes // MIB} MiB used"
    if memory.used_bytes > FULL * memory.total_bytes:
        calm = memory.used_bytes <= BRIM * memory.total_bytes
        yield Finding(
            subject=memory.device, says=says, sources=proof, first=memory.at, last=memory.at,
            severity="info" if calm else None, action="none" if calm else None,
        )  # fmt: skip
    else:
        yield Fine(subject=memory.device, because=says, sources=proof)


def _elsewhere(settings: Sequence[Setting], load: GpuLoad) -> NotHere | None:
    """Return that only processes of this place are listed, where a text says what it is."""
    setting = setting_of(settings)
    if setting is None or setting.kind not in ("wsl", "container"):
        return None
    because = f"{setting.words} does not list processes of others, who may hold this memory"
    return NotHere(subject=load.device, because=because)


def _hides_processes(mode: GpuMode | None, load: GpuLoad) -> Seen | None:
    """Return what to say where this card lists no processes by design or that is not known."""
    if mode is None:
        return missing(mode, load, "mode")
    if mode.mig_on:
        return NotHere(subject=load.device, because="processes belong to MIG instances")
    if mode.mig_on is None and not isinstance(lacking(mode, "mig_on"), NotHere):
        return missing(mode, load, "MIG mode", "mig_on")
    if (mode.driver_model or "").upper() in ("WDDM", "MCDM"):
        because = f"{mode.driver_model} does not tell the memory of processes"
        return NotHere(subject=load.device, because=because)
    if mode.driver_model is None and mode.persistence_on is None:
        return missing(mode, load, "driver model", "driver_model")
    return None


@rule(
    id="busy.memory-without-visible-process",
    title="Memory in use, but no process to be seen",
    severity="warning",
    action="watch",
    meaning="Somebody holds memory of the card, and the list of processes is empty: a process of "
    "another container, or one left over from a job.",
    decision="Find the holder before anyone reboots.",
    next_step="On the host, outside containers: fuser -v /dev/nvidia*",
    references=("nvidia-smi(1), Processes",),
)
def memory_without_visible_process(
    load: One[GpuLoad], memory: Maybe[GpuMemory], mode: Maybe[GpuMode], settings: All[Setting] = ()
) -> Iterator[Seen]:
    """The list was printed and is empty while more than 1 GiB is used; not on MIG, WDDM or WSL, nor in a container."""
    if load.has_process is None:
        yield missing(load, load, "processes", "has_process", ask="nvidia-smi")
    elif load.has_process:
        yield fine(load, "a process is listed", "has_process")
    elif memory is None or memory.used_bytes is None:
        yield missing(memory, load, "memory", "used_bytes")
    elif memory.used_bytes <= HELD:
        yield Fine(
            subject=load.device, because=f"{memory.used_bytes // MIB} MiB used",
            sources=cite(memory, "used_bytes"),
        )  # fmt: skip
    elif hidden := _hides_processes(mode, load) or _elsewhere(settings, load):
        yield hidden
    else:
        yield Finding(
            subject=load.device,
            says=f"{memory.used_bytes // MIB} MiB used and the process list is empty",
            sources=(*cite(memory, "used_bytes"), *cite(load, "has_process")),
            # Every container hides its processes from the next one: this alone is no fault.
            severity="info", action="none",
            decision="Find the holder outside this container before you call the card free.",
            first=load.at, last=load.at,
        )  # fmt: skip


@rule(
    id="busy.pid-namespace",
    title="The container does not see who uses the card",
    severity="info",
    action="none",
    meaning="A container sees processes of its own only: an empty list says nothing of other containers and the host.",
    decision="Ask the host before you call the card free or its memory lost.",
    next_step="On the host: nvidia-smi; sudo fuser -v /dev/nvidia*",
    references=("pid_namespaces(7)", "nvidia-smi(1), Processes"),
)
def pid_namespace(
    load: One[GpuLoad],
    memory: Maybe[GpuMemory],
    mode: Maybe[GpuMode],
    listings: All[CardListing],
) -> Iterator[Seen]:
    """Only where the text itself was taken in a container, and the card is held or at work all the same."""
    names = {source.name for source in load.sources}
    inside = [
        one for one in listings if one.container and any(s.name in names for s in one.sources)
    ]
    used = None if memory is None else memory.used_bytes
    held, works = used is not None and used > HELD, bool(load.busy_ratio)
    if not inside:
        yield NotHere(subject=load.device, because="the list was not taken in a container")
    elif load.has_process is None:
        yield missing(load, load, "processes", "has_process", ask="nvidia-smi")
    elif load.has_process:
        yield fine(load, "a process is listed", "has_process")
    elif held or works:
        if hidden := _hides_processes(mode, load):
            yield hidden
            return
        says = f"{(used or 0) // MIB} MiB used" if held else f"{load.busy_ratio:.0%} busy"
        proof = [
            *cite(load, "has_process"),
            *(cite(memory, "used_bytes") if held and memory else cite(load, "busy_ratio")),
        ]
        yield Finding(
            subject=load.device, says=f"{says}, and the list in the container is empty",
            sources=tuple(dict.fromkeys(proof)), first=load.at, last=load.at,
        )  # fmt: skip
    elif used is None:
        yield missing(memory, load, "memory", "used_bytes")
    elif load.busy_ratio is None:
        yield missing(load, load, "load", "busy_ratio")
    else:
        yield fine(load, "the card is neither held nor at work", "has_process", "busy_ratio")


def _copies(processes: Sequence[GpuProcess]) -> list[GpuProcess]:
    """Return the largest group with one name and nearly equal memory of at least 1 GiB."""

    def key(p: GpuProcess) -> tuple[str, str]:
        return p.name or "", p.mig or ""

    usable = [p for p in processes if p.name and p.used_bytes is not None and p.used_bytes >= HELD]
    best: list[GpuProcess] = []
    for _, group in groupby(sorted(usable, key=key), key=key):
        rows = sorted(group, key=lambda p: p.used_bytes or 0)
        for i, first in enumerate(rows):
            top = (first.used_bytes or 0) * (1 + ALIKE)
            alike = {p.pid: p for p in rows[i:] if (p.used_bytes or 0) <= top}
            best = max(best, list(alike.values()), key=len)
    return best


@rule(
    id="busy.duplicate-model-copies",
    title="Several processes hold the same amount on one card",
    severity="warning",
    action="watch",
    meaning="Processes of one name hold nearly equal memory: each may keep its own copy of one model.",
    decision="Serve from one process, if they are workers of one service.",
    next_step="Compare their command lines: ps -o pid,ppid,args -p PID,PID",
    references=("nvidia-smi(1), Processes",),
)
def duplicate_model_copies(processes: Mine[GpuProcess], memory: Maybe[GpuMemory]) -> Iterator[Seen]:
    """At least two processes of one moment, one name and one instance, 1 GiB each, within 5 %.

    A warning only where memory is short: two servers of one model may be meant.
    """
    moments = list(dict.fromkeys(p.at for p in processes))
    best = max((_copies([p for p in processes if p.at == m]) for m in moments), key=len)
    device = processes[0].device
    if len(best) >= 2:
        sizes = sorted((p.used_bytes or 0) // MIB for p in best)
        used = memory.used_bytes if memory is not None else None
        total = memory.total_bytes if memory is not None else None
        short = used is not None and total is not None and used > SHORT * total
        yield Finding(
            subject=device,
            says=f"{len(best)} processes {best[0].name} hold {sizes[0]} to {sizes[-1]} MiB each",
            sources=tuple(dict.fromkeys(s for p in best for s in cite(p, "name", "used_bytes"))),
            first=best[0].at, last=best[0].at,
            severity=None if short else "info", action=None if short else "none",
        )  # fmt: skip
        return
    told = [said for p in processes if (said := lacking(p, "used_bytes", "name"))]
    if told:
        yield told[0]
    else:
        yield Fine(subject=device, because="no two processes look like copies")
