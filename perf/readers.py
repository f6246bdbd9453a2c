"""Our readers beside those of jc and insights-core, on the same text in the same run.

    pip install jc insights-core; python perf/readers.py [ROUNDS]

Prints the smallest time of ROUNDS (20) alternating runs of each and how many values each gave. A peer that is
not installed, or that does not read the text, is named with the reason. Times are of parsing alone.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import texts

from steadygpu.evidence.text import lines_of
from steadygpu.readers.kinds import BY_NAME


def values(found: Any) -> int:
    """Count the plain values in what a parser returned."""
    if isinstance(found, dict):
        return sum(values(one) for one in found.values())
    if isinstance(found, list | tuple):
        return sum(values(one) for one in found)
    return found is not None


def ours(kind: str, text: str) -> Callable[[], int]:
    read = BY_NAME[kind].read()

    def run() -> int:
        facts = read(lines_of("text", text)).facts
        frame = {"device", "at", "absent", "sources"}
        return sum(
            getattr(fact, name) is not None
            for fact in facts for name in fact.__slots__ if name not in frame
        )  # fmt: skip

    return run


def by_jc(parser: str, text: str) -> Callable[[], int]:
    import jc

    return lambda: values(jc.parse(parser, text, quiet=True))


def by_insights(where: str, text: str) -> Callable[[], int]:
    from importlib import import_module

    from insights.tests import context_wrap

    module, _, name = where.partition(":")
    parser = getattr(import_module(module), name)

    def run() -> int:
        made = parser(context_wrap(text))
        return values(getattr(made, "data", None) or getattr(made, "info", None) or vars(made))

    return run


def best(run: Callable[[], int]) -> tuple[float, int]:
    begun = time.perf_counter()
    count = run()
    return time.perf_counter() - begun, count


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    lscpu = "Architecture: x86_64\nCPU(s): 128\nThread(s) per core: 2\nSocket(s): 2\nNUMA node(s): 2\nNUMA node0 CPU(s): 0-63\nNUMA node1 CPU(s): 64-127\n"
    rows: tuple[tuple[str, str, str | None, str | None], ...] = (
        ("iostat", texts.iostat(200), "iostat", None),
        ("lsmod", texts.lsmod(), "lsmod", "insights.parsers.lsmod:LsMod"),
        ("lscpu", lscpu, None, "insights.parsers.lscpu:LsCPU"),
        ("lspci", texts.lspci(28), "lspci", "insights.parsers.lspci:LsPci"),
        ("nvidia-smi-q", texts.smi_q(0, 8), None, None),
    )
    for kind, text, jc_name, insights_name in rows:
        runs: dict[str, Callable[[], int]] = {"steadygpu": ours(kind, text)}
        reasons: dict[str, str] = {}
        for peer, make, name in (
            ("jc", by_jc, jc_name),
            ("insights-core", by_insights, insights_name),
        ):
            if name is None:
                reasons[peer] = "has no parser of this text"
                continue
            try:
                run = make(name, text)
                run()
            except Exception as error:  # noqa: BLE001 - a peer may raise anything
                reasons[peer] = f"{type(error).__name__}: {error}"[:70]
            else:
                runs[peer] = run
        took = dict.fromkeys(runs, float("inf"))
        counts = dict.fromkeys(runs, 0)
        for _ in range(rounds):
            for name, run in runs.items():
                seconds, counts[name] = best(run)
                took[name] = min(took[name], seconds)
        print(f"{kind}, {len(text) / 1000:.0f} KB")
        for name in took:
            print(
                f"  {name:14} {took[name] * 1000:8.2f} ms  {took[name] / took['steadygpu']:6.2f} x ours  {counts[name]} values"
            )
        for name, why in reasons.items():
            print(f"  {name:14} {why}")


if __name__ == "__main__":
    main()
