"""The practical tasks of the two field guides, with other values: each alone, and each guide's in one paste."""

from pathlib import Path

import pytest

from pipeline import report
from steadygpu.verdict.answer import HostAnswer, Report

TASKS = Path(__file__).parent / "guide"
QUIET: set[str] = set()
BUY_NOTHING = "Buy nothing yet"
# The findings that a task's text must give, those above information among them, and how the decision begins.
EXPECTED: dict[str, tuple[set[str], set[str], str]] = {
    "a-01-table": ({"stack.persistence-off"}, QUIET, BUY_NOTHING),
    "a-02-dmon": (QUIET, QUIET, BUY_NOTHING),
    "a-03-link": (QUIET, {"feed.pcie-width-low"}, "Do not buy a card"),
    "a-04-modules": (QUIET, QUIET, BUY_NOTHING),  # what grep left out proves nothing
    "a-05-xid": (QUIET, {"silent.xid31-app-fault", "silent.xid43-app-fault"}, "Restart the job"),
    "a-06-ecc": ({"silent.ecc-history"}, QUIET, BUY_NOTHING),
    "a-07-persistence": (QUIET, QUIET, BUY_NOTHING),
    "a-08-power": ({"throttle.sw-power-cap"}, QUIET, BUY_NOTHING),
    "a-09-heat": (QUIET, {"throttle.sw-thermal"}, "Better air"),
    "a-10-cpus": (QUIET, QUIET, BUY_NOTHING),
    "a-11-topo": (QUIET, QUIET, BUY_NOTHING),
    "a-12-disk": ({"feed.iowait-high"}, {"feed.storage-saturated"}, "Do not buy a card"),
    "a-13-files": (QUIET, QUIET, BUY_NOTHING),  # four names do not tell how many there are
    "a-14-container": (QUIET, QUIET, BUY_NOTHING),
    "a-15-aer": (QUIET, {"silent.aer-corrected-on-gpu-path"}, "Reseat the card"),
    "b-01-list": (QUIET, QUIET, BUY_NOTHING),
    "b-02-pair": (QUIET, QUIET, BUY_NOTHING),
    "b-04-starved": (QUIET, QUIET, BUY_NOTHING),
    "b-05-topology": ({"feed.numa-split", "feed.no-p2p-path"}, QUIET, BUY_NOTHING),
    "b-06-cpu": (QUIET, QUIET, BUY_NOTHING),
    "b-08-container": (QUIET, QUIET, BUY_NOTHING),
    "b-11-disk": ({"feed.iowait-high"}, {"feed.storage-saturated"}, "Do not buy a card"),
    "b-12-drops": (QUIET, {"feed.nic-drops"}, ""),
    "b-13-lost": (QUIET, {"silent.xid79-fallen-off-bus", "silent.xid-other"}, "Drain the host"),
    "b-14-memory": ({"busy.memory-near-full"}, QUIET, BUY_NOTHING),
    "b-15-mig": ({"busy.mig-on"}, QUIET, BUY_NOTHING),
}


def the_host(result: Report) -> HostAnswer:
    (host,) = result.hosts
    assert not host.broken
    return host


def found(host: HostAnswer, *, loud: bool) -> set[str]:
    return {f.rule.id for f in host.findings if (f.severity != "info") == loud}


def test_each_task_has_its_expectation() -> None:
    assert {path.stem for path in TASKS.glob("*.txt")} == set(EXPECTED)


@pytest.mark.parametrize("task", EXPECTED)
def test_a_task_alone_leads_to_the_decision_of_its_guide(task: str) -> None:
    info, loud, decision = EXPECTED[task]
    host = the_host(report({"paste.txt": (TASKS / f"{task}.txt").read_bytes()}))
    assert host.host == {"a": "gpu-31", "b": "hx-07"}[task[0]]
    assert found(host, loud=True) == loud
    assert info <= found(host, loud=False)
    assert host.answer.decision.startswith(decision)


@pytest.mark.parametrize(
    ("guide", "kind", "decision"),
    [("a", "storage", "Do not buy a card"), ("b", "hardware", "Drain the host")],
)
def test_all_tasks_of_a_guide_in_one_paste(guide: str, kind: str, decision: str) -> None:
    """What each text shows stays shown; the worst decides, and a starved card is slowed by its feed, not by heat."""
    files = sorted(TASKS.glob(f"{guide}-*.txt"))
    host = the_host(report({"paste.txt": b"".join(file.read_bytes() for file in files)}))
    wanted = [EXPECTED[file.stem] for file in files]
    assert {one for _, loud, _ in wanted for one in loud} <= found(host, loud=True)
    # Task 7 of the first guide switches on what task 1 found off.
    switched = {"stack.persistence-off"} if guide == "a" else set()
    assert {one for info, _, _ in wanted for one in info} - switched <= found(host, loud=False)
    assert "busy.card-starved" in found(host, loud=True)
    assert host.answer.bottleneck.kind == kind
    assert host.answer.bottleneck.confidence == "high"
    assert host.answer.decision.startswith(decision)
