"""Why a card had no memory for a job: scattered free pieces, or none free."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.process_log import OomMessage
from steadygpu.evidence.units import GIB, MIB
from steadygpu.verdict.rule import Finding, Log, NotHere, Seen, Unclear, fine, lacking, rule, tell

# our choice: PyTorch's message says "large" and gives no figure; a tenth of what it holds is worth the setting
LARGE_SHARE = 0.10
FIELDS = ("tried_bytes", "free_bytes", "allocated_bytes", "unallocated_bytes")
NOTE = (
    "PyTorch documentation, CUDA semantics, memory management: expandable_segments and memory_stats"
)


@rule(
    id="busy.oom-fragmentation",
    title="Free card memory lay in pieces too small for the request",
    severity="warning",
    action="restart-job",
    scope="job",
    meaning="PyTorch held enough memory that nobody used, in pieces none of which was large enough.",
    decision="Do not buy a larger card for this: start the job anew with segments that can grow.",
    next_step="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True for the job (PYTORCH_HIP_ALLOC_CONF on AMD)",
    references=(NOTE,),
)
def oom_fragmentation(messages: Log[OomMessage]) -> Iterator[Seen]:
    """Held without use at least as much as was asked for, or a large share that would do with what is free."""
    yield from _judged(messages, fragmented=True)


@rule(
    id="busy.oom-not-fragmentation",
    title="A card was out of memory, and not because of scattered pieces",
    severity="warning",
    action="watch",
    scope="job",
    meaning="What PyTorch held without use would not have served the request: other settings of its allocator change nothing.",
    decision="Compare what was free with what was asked for before you change settings or buy.",
    next_step="nvidia-smi, for all processes on the card; then a smaller batch, or torch.cuda.memory_summary() before the request",
    references=(NOTE,),
)
def oom_not_fragmentation(messages: Log[OomMessage]) -> Iterator[Seen]:
    """The message advises expandable segments in every case; here its own figures speak against it."""
    yield from _judged(messages, fragmented=False)


def _judged(messages: Sequence[OomMessage], *, fragmented: bool) -> Iterator[Seen]:
    unclear: NotHere | Unclear | None = None
    hits: list[OomMessage] = []
    for one in messages:
        if missing := lacking(one, *FIELDS):
            unclear = missing
        elif _in_pieces(one) is fragmented:
            hits.append(one)
    if hits:
        yield _told(hits, fragmented=fragmented)
    elif unclear is not None:
        yield unclear
    elif messages:
        because = "too little lay unused" if fragmented else "enough lay unused, in pieces"
        yield fine(messages[-1], because, *FIELDS)
    else:
        yield Unclear(subject=host_ref(), why="no message names a request that failed")


def _in_pieces(one: OomMessage) -> bool:
    tried, free = one.tried_bytes or 0, one.free_bytes or 0
    held, unused = one.allocated_bytes or 0, one.unallocated_bytes or 0
    if free >= tried:
        return False
    return unused >= tried or (unused >= LARGE_SHARE * (held + unused) and unused + free >= tried)


def _told(hits: Sequence[OomMessage], *, fragmented: bool) -> Finding:
    last = hits[-1]
    says = f"{_size(last.tried_bytes)} asked for, {_size(last.free_bytes)} free, {_size(last.unallocated_bytes)} held unused"
    meaning = None
    if not fragmented:
        says += _why(last)
        if (last.free_bytes or 0) >= (last.tried_bytes or 0):
            meaning = (
                "The card had more free than was asked for, so a limit elsewhere stopped the request: one set for the "
                "process, memory of the host, or what the display driver may promise on Windows."
            )
    also = tuple(s for one in hits for s in one.sources)
    found = tell(last, says, *FIELDS, also=also, meaning=meaning)
    return Finding(
        subject=found.subject, says=says, sources=found.sources, first=hits[0].at, last=last.at,
        count=len(hits), meaning=meaning,
    )  # fmt: skip


def _why(one: OomMessage) -> str:
    tried, free = one.tried_bytes or 0, one.free_bytes or 0
    if free >= tried:
        limit = (
            f" of which this process may have {_size(one.allowed_bytes)}"
            if one.allowed_bytes
            else ""
        )
        return f": free memory was not what it lacked{limit}"
    if (
        one.others_bytes
        and one.others_bytes + free >= tried
        and one.others_bytes > (one.allocated_bytes or 0)
    ):
        return f": other processes hold {_size(one.others_bytes)}"
    return f": {_size(one.allocated_bytes)} are in use by the job itself"


def _size(count: int | None) -> str:
    if count is None:
        return "an unknown amount"
    return f"{count / GIB:.3g} GiB" if count >= GIB else f"{count / MIB:.3g} MiB"
