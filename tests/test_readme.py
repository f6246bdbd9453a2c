from pathlib import Path

from pipeline import folder, report
from steadygpu.report.terminal import render_terminal

ROOT = Path(__file__).resolve().parents[1]


def test_the_report_in_the_readme_is_a_real_one() -> None:
    real = render_terminal(report(folder(ROOT / "examples/starved-host")), width=80, colour=False)
    block = (ROOT / "README.md").read_text().split("```")[1]
    shown = [line for line in block.split("\n")[2:] if line.strip() and line.strip() != "..."]
    assert len(shown) > 20
    missing = [line for line in shown if line not in real.split("\n")]
    assert not missing
