"""Whether a process prepares its data with one thread while processors idle."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.cpu import CpuLoad
from steadygpu.evidence.gpu import GpuLoad
from steadygpu.evidence.moment import may_be_within
from steadygpu.evidence.process_log import ThreadSetting
from steadygpu.rules.storage import CARD_WORKS, ONE_CAPTURE_S
from steadygpu.verdict.rule import All, One, Seen, Unclear, cite, fine, lacking, rule, tell

IDLE = 0.50  # our choice: with half of all processor time left, threads would have found a place
SAMPLE = "mpstat -P ALL 5 6, beside nvidia-smi dmon -s u, while the job runs"


@rule(
    id="feed.omp-threads-one",
    title="Each process may use one thread while processors idle",
    severity="warning",
    action="fix-feed",
    scope="job",
    points_to="cpu",
    meaning="What each process computes on processors before it feeds its card runs on one of them.",
    decision="Do not buy a card: give each process its share of the processors and measure again.",
    next_step="OMP_NUM_THREADS=N for the job, N being processors divided by processes on this host",
    references=(
        "PyTorch, torch/distributed/run.py: OMP_NUM_THREADS is 1 unless set",
        "OpenMP, OMP_NUM_THREADS",
    ),
)
def omp_threads_one(
    setting: One[ThreadSetting], loads: All[CpuLoad], cards: All[GpuLoad]
) -> Iterator[Seen]:
    """Three witnesses: one thread, processors with time left, and cards that wait. One thread alone is no fault."""
    if missing := lacking(setting, "threads"):
        yield missing
        return
    if setting.threads != 1:
        yield fine(setting, f"{setting.threads} threads for each process", "threads")
        return
    now = [one for one in loads if not one.since_boot]
    if not now or any(one.idle_ratio is None for one in now):
        why = "one thread for each process, and no text tells whether processors idle meanwhile"
        yield Unclear(subject=setting.device, why=why, ask=SAMPLE)
        return
    idlest = min(now, key=lambda one: one.idle_ratio or 0.0)
    idle = idlest.idle_ratio or 0.0
    if idle < IDLE:
        yield fine(
            setting, f"processors have {idle:.0%} left", "threads", also=cite(idlest, "idle_ratio")
        )
        return
    yield _told(
        setting, idlest, [c for c in cards if may_be_within(idlest.at, c.at, ONE_CAPTURE_S)]
    )


def _told(setting: ThreadSetting, load: CpuLoad, cards: Sequence[GpuLoad]) -> Seen:
    if not cards or any(card.busy_ratio is None for card in cards):
        why = "one thread for each process, and no text of that time tells whether the cards wait"
        return Unclear(subject=setting.device, why=why, ask="nvidia-smi dmon -s u -c 30")
    busiest = max(cards, key=lambda card: card.busy_ratio or 0.0)
    busy = busiest.busy_ratio or 0.0
    proof = (*cite(load, "idle_ratio"), *cite(busiest, "busy_ratio"))
    if busy >= CARD_WORKS or busy == 0.0:
        because = f"a card is {busy:.0%} busy" if busy else "no card has work"
        return fine(setting, because, "threads", also=proof)
    says = f"OMP_NUM_THREADS is 1, processors have {load.idle_ratio:.0%} of their time left and the busiest card is {busy:.0%} busy"
    return tell(setting, says, "threads", also=proof)
