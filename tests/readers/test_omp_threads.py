import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.omp_threads import read_omp_threads

NOTICE = (
    "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid"
)
STARS = "*" * 41
LOGGER = "W0304 15:04:47.404000 507927 torch/distributed/run.py:803] "


@pytest.mark.parametrize(
    ("text", "threads", "by"),
    [
        (f"{NOTICE}\n{STARS}", 1, "torchrun"),
        (f"WARNING:torch.distributed.run:\n{STARS}\n{NOTICE}\n{STARS}", 1, "torchrun"),
        (f"{LOGGER.strip()}\n{LOGGER}{STARS}\n{LOGGER}{NOTICE}", 1, "torchrun"),
        (f"[2024-01-02 03:04:05,678] torch.distributed.run: [WARNING] {NOTICE}", 1, "torchrun"),
        ("OMP_NUM_THREADS=8", 8, "environment"),
        ('declare -x OMP_NUM_THREADS="16"', 16, "environment"),
    ],
)
def test_forms(text: str, threads: int, by: str) -> None:
    reading = read_omp_threads(lines_of("o", text + "\nnext line\n"))
    (one,) = reading.facts
    assert (one.threads, one.by) == (threads, by)  # type: ignore[attr-defined]
    assert reading.read_to == text.count("\n") + 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        STARS,
        "OMP_NUM_THREADS=",
        f"OMP_NUM_THREADS={'1' * 40}",
        "OMP_NUM_THREADS=$N",
        "echo OMP_NUM_THREADS=1",
        LOGGER + "Sending process 9 closing signal",
        "y" * 90_000,
    ],
)
def test_other_lines(text: str) -> None:
    assert read_omp_threads(lines_of("o", text)).read_to == 0
