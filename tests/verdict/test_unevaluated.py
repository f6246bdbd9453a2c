from pipeline import report
from steadygpu.evidence.source import Gap, Source
from steadygpu.verdict.unevaluated import from_gaps


def gap(name: str, ask: str | None = "sudo lspci -vv") -> Gap:
    return Gap(where=Source(name=name, first=1, last=1, quote="..."), why="not shown", ask=ask)


def test_all_gaps_of_a_host_are_one_finding_that_names_some_and_counts_the_rest() -> None:
    made = from_gaps([gap(f"{n}.txt") for n in range(5)])
    assert made is not None
    _, finding = made
    assert finding.count == 5
    assert "0.txt: not shown; run: sudo lspci -vv" in finding.says
    assert finding.says.endswith("and 2 more")
    assert len(finding.sources) == 5


def test_a_gap_with_nothing_to_run_is_no_finding() -> None:
    assert from_gaps([gap("a.txt", ask=None)]) is None


def test_a_missing_tool_is_said_and_the_host_is_unknown() -> None:
    (host,) = report({"a.txt": "bash: nvidia-smi: command not found\n"}).hosts
    (one,) = host.findings
    assert one.rule.id == "silent.check-not-evaluated"
    assert "nvidia-smi was not found" in one.finding.says
    assert host.answer.health == "unknown"
