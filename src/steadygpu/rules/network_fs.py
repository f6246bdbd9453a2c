"""Whether network filesystems keep the cards waiting."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from steadygpu.evidence.gpu import GpuLoad
from steadygpu.evidence.mount import MappedFile, Mount, NfsOp
from steadygpu.evidence.source import Source
from steadygpu.evidence.units import GIB, KIB, MIB
from steadygpu.rules.storage import beside
from steadygpu.verdict.rule import (
    All,
    Mine,
    NotHere,
    Seen,
    Unclear,
    cite,
    fine,
    lacking,
    rule,
    tell,
    the_host,
)

CALL_MS = 20.0  # our choice: a server in the room answers in one or two ms, one that reads its disks in ten
IN_FLIGHT = 0.5  # our choice: by Little's law, somebody waits for the server half of the time
RETRANSMITS = 0.01  # our choice: one call in a hundred sent again; nfs(5) repeats after timeo, 60 s by default over TCP
MANY_CALLS = 1000  # our choice: a mean since the mount of fewer calls is of a few moments
LONGEST_S = 86_400.0  # our choice: a mean of more than a day is no interval, and the place may be mounted anew
SHARE_HIGH = (
    0.5  # our choice: more than half of all calls ask for names and attributes, not for data
)
FEW_RETRANSMITS = 5  # our choice: fewer may be one lost connection
_NO_READS = (
    "FLOCK",
    "FSYNC",
    "TRUNCATE",
    "UNLINK",
    "MKNOD",
    "WRITE",
    "COMMIT",
    "SETATTR",
    "CREATE",
    "REMOVE",
    "RENAME",
    "LINK",
    "SYMLINK",
    "MKDIR",
    "RMDIR",
)
_NAMES = ("GETATTR", "LOOKUP", "ACCESS", "READDIR", "READDIRPLUS", "OPEN", "OPEN_NOATTR", "CLOSE")
WEIGHTS = 64 * MIB  # our choice: less than this is read in a moment from anywhere
_WEIGHT_FILES = (".safetensors", ".gguf", ".ggml", ".bin", ".pt", ".pth", ".ckpt")
_NEEDED = ("ops_per_s", "exe_ms", "rtt_ms", "retransmits", "retransmit_ratio")
_ASK = "nfsiostat 5 6, beside nvidia-smi dmon -s u, while the job runs"
_QUEUE = (
    "Calls wait in the client before they are sent: the server answers faster than the connection takes them.",
    "Give the mount more connections (nconnect) or more slots, or make fewer and larger calls, then measure again.",
)
_LOSS = (
    "Calls were sent again because no answer came in time: the network or the server loses them.",
    "Look at the path to the server (drops, errors, a full server) before anything else.",
)
_LIFETIME = (
    "The means are of all time since the mount: they tell that the server is slow for this client, not when.",
    "Measure intervals while the job runs before you change anything.",
)


@rule(
    id="feed.network-fs-latency",
    title="A network filesystem answers slowly",
    severity="warning",
    action="fix-feed",
    scope="host",
    points_to="storage",
    meaning="Each call to the file server takes long, and a loader that opens many files waits for each.",
    decision="Do not buy a card: stage the data set on a local disk, or read it in large pieces with more in flight.",
    next_step=_ASK,
    references=("nfsiostat(8): avg RTT, avg exe, retrans", "nfs(5): timeo, retrans, nconnect"),
)
def network_fs_latency(calls: Mine[NfsOp], cards: All[GpuLoad]) -> Iterator[Seen]:
    """Intervals are judged where there are some: calls must be slow, and so many that somebody waits.

    A mean since the mount is information only, and acquits nobody. Writes do not feed a card.
    """
    reads = [c for c in calls if c.op not in _NO_READS]
    twice = [c for op in dict.fromkeys(c.op for c in reads) if len(c := _readings(reads, op)) > 1]
    recent = [c for c in reads if not c.since_mount] + [_between(one) for one in twice]
    if not reads:
        yield Unclear(subject=calls[0].device, why="no call that reads was printed", ask=_ASK)
    elif any(c.age_s is None for one in twice for c in one):
        why = "two readings since the mount, of which one does not tell its age"
        yield Unclear(subject=calls[0].device, why=why, ask=_ASK)
    elif recent:
        yield _judge(recent, cards)
    else:
        yield _lifetime(reads)


@rule(
    id="feed.mmap-on-network-fs",
    title="Weights are mapped from a network filesystem",
    severity="warning",
    action="fix-feed",
    scope="host",
    meaning="Mapped weights come over the network page by page as they are touched, each page a wait: a first start "
    "takes minutes, and a second one that finds them in memory hides it.",
    decision="Load the weights eagerly (without mmap) or copy them to a local disk first; no card loads them faster.",
    next_step="Start once with cold and once with warm cache, with mmap off, and compare the times.",
    references=(
        "safetensors issue 562: slow loading from network filesystems",
        "SGLang server arguments: --weight-loader-disable-mmap",
    ),
)
def mmap_on_network_fs(
    files: All[MappedFile],
    mounts: Mine[Mount],  # of the whole host, as nothing before is of one device
) -> Iterator[Seen]:
    """The mount with the longest path above a file holds it. The type of the mount tells whether a server does."""
    weights = [
        f for f in files
        if f.path.endswith(_WEIGHT_FILES) and (f.mapped_bytes is None or f.mapped_bytes >= WEIGHTS)
    ]  # fmt: skip
    by_mount: dict[Mount, list[MappedFile]] = {}
    for file in weights:
        if missing := lacking(file, "mapped_bytes"):
            yield missing
        elif (file.mapped_bytes or 0) >= WEIGHTS and (
            mount := _holds(file.path, mounts)
        ) is not None:
            by_mount.setdefault(mount, []).append(file)
        elif (file.mapped_bytes or 0) >= WEIGHTS:
            why = f"no text tells what is mounted at {file.path}"
            yield Unclear(subject=the_host(file), why=why, record="Mount")
    if not weights:
        for file in files[:1]:
            yield NotHere(
                subject=the_host(file), because="no large file of weights is among those mapped"
            )
    for mount, held in by_mount.items():
        yield _mapped(mount, held)


def _holds(path: str, mounts: Sequence[Mount]) -> Mount | None:
    above = [
        m for m in mounts
        if m.device.label and path.startswith(m.device.label.rstrip("/") + "/")
    ]  # fmt: skip
    return max(above, key=lambda m: len(m.device.label or ""), default=None)


def _mapped(mount: Mount, held: Sequence[MappedFile]) -> Seen:
    """Return what weights mapped from one mount mean."""
    if mount.network is None:
        what = f"the type {mount.fstype}" if mount.fstype else "this text"
        why = f"{what} does not tell whether a server holds the files at {mount.device.label}"
        return Unclear(subject=mount.device, why=why, ask="findmnt")
    total = sum({f.path: f.mapped_bytes or 0 for f in held}.values())
    count = len({f.path for f in held})
    says = f"{count} {'file' if count == 1 else 'files'} of weights, {total / GIB:.3g} GiB, mapped from {mount.fstype}"
    proof: list[Source] = [source for file in held for source in cite(file)]
    if not mount.network:
        return fine(mount, says, also=proof)
    where = f" {mount.source}" if mount.source else ""
    return tell(mount, f"{says}{where}", also=proof)


def _judge(calls: Sequence[NfsOp], cards: Sequence[GpuLoad]) -> Seen:
    """Return what intervals show: the call for which most is waited decides."""
    bad = [c for c in calls if _slow(c)] or [c for c in calls if _lossy(c)]
    worst = max(bad, key=_waiting, default=None)
    if worst is None:
        for call in calls:
            if call.ops_per_s != 0 and (missing := lacking(call, *_needed(call))):
                return missing
        one = max(calls, key=_waiting)
        also = tuple(s for c in calls for s in cite(c, *_needed(c)))
        if one.exe_ms is None or one.ops_per_s is None:
            return fine(one, "no call was made", "ops_per_s", also=also)
        said = f"{one.op} {one.exe_ms:.3g} ms each, {one.ops_per_s:.3g} a second"
        return fine(one, said, *_needed(one), also=also)
    told, sources, severity = beside(worst, cards)
    calm = severity == "info"
    says, fields, words = _words(worst)
    return tell(
        worst, f"{says}, {worst.ops_per_s or 0:.3g} a second; {told}", *fields, "ops_per_s", also=sources,
        severity="info" if calm else None, action="none" if calm else None,
        meaning=words and words[0], decision=words and words[1],
    )  # fmt: skip


def _readings(calls: Sequence[NfsOp], op: str) -> list[NfsOp]:
    """Return the readings since the mount of one kind of call, the youngest first; those of a host have no age."""
    found = [c for c in calls if c.op == op and c.since_mount and c.device.kind == "mount"]
    if any(c.age_s is None for c in found):
        return found
    by_age = {c.age_s or 0.0: c for c in found}
    ages = sorted(by_age)
    apart = bool(ages) and ages[-1] - ages[0] > LONGEST_S
    return [by_age[age] for age in (ages[:1] if apart else ages)]


def _between(readings: Sequence[NfsOp]) -> NfsOp:
    """Return what was done between the first and the last reading; a count that fell leaves all of it None."""
    first, last = readings[0], readings[-1]
    span = (last.age_s or 0.0) - (first.age_s or 0.0)
    ops = None if first.ops is None or last.ops is None else last.ops - first.ops
    good = ops is not None and ops >= 0 and span > 0

    def mean(field: str) -> float | None:
        was: float | None = getattr(first, field) if first.ops else 0.0
        now: float | None = getattr(last, field)
        if not good or not ops or was is None or now is None:
            return None
        return max(0.0, (now * (last.ops or 0) - was * (first.ops or 0)) / ops)

    def rise(field: str) -> int | None:
        was: int | None = getattr(first, field)
        now: int | None = getattr(last, field)
        return None if not good or was is None or now is None else max(0, now - was)

    again = rise("retransmits")
    return replace(
        last, since_mount=False, ops=ops if good else None, ops_per_s=ops / span if ops is not None and good else None,
        share_ratio=None, bytes_per_s=None, bytes_per_op=mean("bytes_per_op"), queue_ms=mean("queue_ms"),
        rtt_ms=mean("rtt_ms"), exe_ms=mean("exe_ms"), retransmits=again,
        retransmit_ratio=again / ops if again is not None and ops else (0.0 if good else None),
        timeouts=rise("timeouts"), errors=rise("errors"), sources=(*first.sources, *last.sources),
    )  # fmt: skip


def _needed(call: NfsOp) -> tuple[str, ...]:
    return _NEEDED if call.protocol == "NFS" else ("ops_per_s", "exe_ms")


def _lifetime(calls: Sequence[NfsOp]) -> Seen:
    """Return what means since the mount show: information where they are bad, else nothing."""
    often = [call for call in calls if (call.ops or 0) >= MANY_CALLS or _waiting(call) >= IN_FLIGHT]
    bad = [c for c in often if (c.exe_ms is not None and c.exe_ms > CALL_MS) or _lossy(c)]
    if not bad:
        why = "the figures are of all time since the mount or boot, in which a slow minute does not show"
        return Unclear(subject=calls[0].device, why=why, ask=_ASK)
    worst = max(bad, key=lambda call: (call.op == "READ", call.ops or 0, call.exe_ms or 0.0))
    says, fields, words = _words(worst)
    names = max(
        (c for c in calls if c.op in _NAMES and (c.share_ratio or 0) > SHARE_HIGH),
        key=lambda c: c.share_ratio or 0,
        default=None,
    )
    if names is not None:
        says += f"; {names.op} {names.share_ratio:.0%} of calls"
    meaning, decision = words if words == _LOSS else _LIFETIME
    return tell(
        worst, f"{says}, {_span(worst)}", *fields, "ops", "ops_per_s",
        also=cite(names, "share_ratio") if names else (),
        severity="info", action="none", meaning=meaning, decision=decision,
    )  # fmt: skip


def _span(call: NfsOp) -> str:
    return "counted since the boot" if call.device.kind == "host" else "as the mean since the mount"


def _waiting(call: NfsOp) -> float:
    """Return how many calls are under way on the mean: rate times duration."""
    return (call.ops_per_s or 0.0) * (call.exe_ms or 0.0) / 1000


def _slow(call: NfsOp) -> bool:
    return call.exe_ms is not None and call.exe_ms > CALL_MS and _waiting(call) >= IN_FLIGHT


def _lossy(call: NfsOp) -> bool:
    """Say whether calls were sent again so often that it is no accident."""
    many = call.retransmits is not None and call.retransmits >= FEW_RETRANSMITS
    return many and call.retransmit_ratio is not None and call.retransmit_ratio >= RETRANSMITS


def _words(call: NfsOp) -> tuple[str, tuple[str, ...], tuple[str, str] | None]:
    """Return what a call costs and where its time goes, with the fields and what that means."""
    fields = ["exe_ms", "rtt_ms"]
    exe, rtt = call.exe_ms or 0.0, call.rtt_ms or 0.0
    says = (
        f"{call.protocol} {call.op} {exe:.3g} ms each"
        if call.exe_ms is not None
        else f"{call.protocol} {call.op}: {call.ops} calls"
    )
    if call.op == "READ" and call.bytes_per_op:
        says += f" of {call.bytes_per_op / KIB:.0f} KiB"
        fields.append("bytes_per_op")
    words: tuple[str, str] | None = None
    wait = call.queue_ms if call.queue_ms is not None else max(0.0, exe - rtt)
    if call.rtt_ms is not None and exe > CALL_MS:
        says += f": {rtt:.3g} ms to the server and back"
        if wait > max(rtt, 1.0):
            says += f", {wait:.3g} ms in the queue of the client"
            fields.append("queue_ms")
            words = _QUEUE
    lost = [
        f"{value} {name}" for name in ("timeouts", "retransmits") if (value := getattr(call, name))
    ]
    if lost:
        says += f", {' and '.join(lost)}"
        fields += ["timeouts", "retransmits", "retransmit_ratio"]
        words = _LOSS if _lossy(call) else words
    return says, tuple(fields), words
