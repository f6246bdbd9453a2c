"""How fast a kernel log is read: our block reader beside `grep -cE` of the same words through a pipe.

    python perf/kernel_log.py [MB] [ROUNDS]

Makes a log of MB megabytes (200) with one matching line in ten thousand, reads it with both in turn, and
prints both times, their ratio, peak memory beside that of a log of 1 MB, and whether all lines were found.
With STEADYGPU_NO_RE2=1 the standard library's search is measured where re2 is installed.
"""

import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EVERY = 10_000


def make(path: Path, megabytes: float) -> tuple[int, int]:
    """Write the log; return its lines and how many of them carry a fault number."""
    dice = random.Random(7)
    senders = ("systemd[1]: Started Session {} of user root.", "veth{:x}: entered promiscuous mode",
               "docker0: port {}(veth) entered forwarding state", "IPv6: ADDRCONF(NETDEV_CHANGE): eth{}: link ready",
               "CPU{}: Package power limit notification", "EXT4-fs (dm-{}): mounted filesystem with ordered data")  # fmt: skip
    lines = planted = 0
    size = int(megabytes * 1e6)
    with path.open("w") as file:
        while file.tell() < size:
            rows = []
            for _ in range(EVERY):
                lines += 1
                said = senders[lines % len(senders)].format(dice.getrandbits(20))
                if lines % EVERY == EVERY // 2:
                    planted += 1
                    said = f"NVRM: Xid (PCI:0000:3b:00): {13 + planted % 60}, pid={planted}, name=train, Ch {planted:08x}"
                rows.append(f"[{lines / 50:12.6f}] {said}\n")
            file.write("".join(rows))
    return lines, planted


def child(path: str) -> None:
    """Read the log in a process of its own and print what came out as JSON."""
    if os.environ.get("STEADYGPU_NO_RE2"):
        sys.modules["re2"] = None  # type: ignore[assignment]
    from steadygpu.readers.kernel_log import read_kernel_log_blocks

    begun = time.perf_counter()
    with Path(path).open("rb") as file:
        reading = read_kernel_log_blocks(iter(lambda: file.read(1_000_000), b""), "big.log", None)
    took = time.perf_counter() - begun
    found = sum(
        getattr(fact, "count", 0) for fact in reading.facts if type(fact).__name__ == "XidEvent"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"s": took, "lines": reading.read_to, "found": found, "peak": peak}))


def ours(path: Path) -> dict[str, float]:
    told = subprocess.run(
        [sys.executable, __file__, "--child", str(path)],
        capture_output=True,
        check=True,
        timeout=3600,
    )
    return json.loads(told.stdout)


def grep(path: Path, words: str) -> float:
    begun = time.perf_counter()
    cat = subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE)
    subprocess.run(["grep", "-acE", "-e", words], stdin=cat.stdout, capture_output=True, timeout=3600,
                   env={**os.environ, "LC_ALL": "C"}, check=False)  # fmt: skip
    cat.wait()
    return time.perf_counter() - begun


def main() -> None:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 200.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    from steadygpu.readers.kernel_log import WORDS

    words = "|".join(re.sub(r"([\[\](){}.*+?^$|\\])", r"\\\1", word.decode()) for word in WORDS)
    place = Path(tempfile.mkdtemp(prefix="kernel-log-"))
    try:
        small, big = place / "small.log", place / "big.log"
        make(small, 1)
        lines, planted = make(big, megabytes)
        size = big.stat().st_size
        base = ours(small)
        print(f"log: {size / 1e6:.0f} MB, {lines} lines, {planted} planted; python {sys.version.split()[0]}, "
              f"search: {'bytes.find' if os.environ.get('STEADYGPU_NO_RE2') or not _has_re2() else 're2'}")  # fmt: skip
        mine, theirs = [], []
        for turn in range(rounds):
            told = ours(big)
            other = grep(big, words)
            mine.append(told["s"])
            theirs.append(other)
            print(f"round {turn + 1}: ours {told['s']:.3f} s ({size / told['s'] / 1e6:.0f} MB/s), "
                  f"grep {other:.3f} s ({size / other / 1e6:.0f} MB/s)")  # fmt: skip
        middle, other = sorted(mine)[rounds // 2], sorted(theirs)[rounds // 2]
        print(
            f"median: ours {middle:.3f} s, grep {other:.3f} s: grep is {middle / other:.1f} times as fast (goal: at most 20)"
        )
        print(f"peak memory: {told['peak'] / 1e6:.1f} MB, with a log of 1 MB {base['peak'] / 1e6:.1f} MB: "
              f"{(told['peak'] - base['peak']) / 1e6:+.1f} MB")  # fmt: skip
        print(f"lines counted: {told['lines']} of {lines}; planted lines found: {told['found']} of {planted}: "
              f"{'all' if told['found'] == planted and told['lines'] == lines else 'NOT ALL'}")  # fmt: skip
    finally:
        shutil.rmtree(place)


def _has_re2() -> bool:
    try:
        import re2  # noqa: F401
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2])
    else:
        main()
