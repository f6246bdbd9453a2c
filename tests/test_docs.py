import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from generate import RULES, pages  # noqa: E402 - docs/ is no package


def test_each_rule_has_its_page_and_no_page_is_old() -> None:
    made = pages()
    assert {path.name for path in RULES.glob("*.md")} == set(made), "run make docs"
    for name, text in made.items():
        assert (RULES / name).read_text() == text, f"{name} is old: run make docs"
