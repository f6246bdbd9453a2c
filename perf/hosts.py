"""What a host costs in a folder of many: CPU time for each, beside `grep -c` over the same files.

    python perf/hosts.py [HOSTS]

Writes HOSTS (200) folders of about 60 KB of texts each, runs `steadygpu diagnose FOLDER --format json` and, in
the same run, one host alone, and prints the CPU time for each host. The budget is 40 ms with reading.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from texts import a_host

BUDGET_MS = 40.0


def run(*words: str) -> tuple[float, str]:
    """Run a command; return its CPU seconds and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=3600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main() -> None:
    hosts = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    steady = (
        sys.executable,
        "-m",
        "steadygpu",
        "diagnose",
        "--fail-on",
        "never",
        "--format",
        "json",
    )
    with tempfile.TemporaryDirectory() as place:
        size = 0
        for host in range(hosts):
            folder = Path(place) / f"gpu-{host:04}"
            folder.mkdir()
            for name, text in a_host(log_bytes=16_000, cards=8, host=host).items():
                (folder / name).write_text(text)
                size += len(text)
        one, _ = run(*steady, str(Path(place) / "gpu-0000"))
        took, out = run(*steady, place)
        grep, _ = run("grep", "-rcE", "Xid|Uncorr|Width", place)
    told = out.count('"host_from"')
    each = (took - one) / (hosts - 1) * 1000
    print(f"{hosts} hosts of {size / hosts / 1000:.0f} KB, {told} in the report")
    print(f"all {took:.2f} s, one alone {one:.2f} s, grep {grep:.3f} s")
    print(
        f"each further host {each:.1f} ms of CPU (budget {BUDGET_MS:g}), {took / grep:.0f} x grep"
    )


if __name__ == "__main__":
    main()
