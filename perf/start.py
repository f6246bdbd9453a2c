"""How long `--help` and a diagnosis take: each beside `python -I -c pass`, in turn, in CPU time.

    python perf/start.py [ROUNDS]

Prints the smallest of ROUNDS (20) alternating runs of each, the ratio, and the budget: at most 6 for
`--help`, at most 40 for a diagnosis of 2 MB of texts (a bug report's worth: eight cards, a kernel log, lspci).
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from texts import a_host

ROOT = Path(__file__).resolve().parents[1]


def cpu_s(*words: str) -> float:
    """Run a command and return its CPU time in seconds, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=600
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as place:
        size = 0
        for name, text in a_host(log_bytes=1_970_000, cards=8).items():
            (Path(place) / name).write_text(text)
            size += len(text)
        steady = (sys.executable, "-m", "steadygpu")
        # The installed script starts a little faster than -m; the slower of the two is measured.
        runs = {
            "pass": (sys.executable, "-I", "-c", "pass"),
            "--help": (*steady, "--help"),
            f"diagnose {size / 1e6:.1f} MB": (*steady, "diagnose", place),
        }
        best = dict.fromkeys(runs, float("inf"))
        for _ in range(rounds):
            for name, words in runs.items():
                best[name] = min(best[name], cpu_s(*words))
    print(f"python {sys.version.split()[0]}, {rounds} rounds, CPU time, smallest of each")
    for (name, took), budget in zip(best.items(), (1, 6, 40), strict=True):
        ratio = took / best["pass"]
        print(f"{name:18} {took * 1000:8.1f} ms  {ratio:5.1f} x pass  (budget {budget})")


if __name__ == "__main__":
    main()
