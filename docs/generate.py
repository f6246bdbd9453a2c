"""Writes docs/rules/ anew from the rules. Run by `make docs`; a test fails where a page is old."""

from pathlib import Path

from steadygpu.readers.kinds import ask_for
from steadygpu.report.rule_page import rule_index, rule_page
from steadygpu.rules import SUBJECTS, rules_of
from steadygpu.verdict.unevaluated import CHECK_NOT_EVALUATED

RULES = Path(__file__).parent / "rules"


def pages() -> dict[str, str]:
    """Return the text of each page by file name."""
    rules = [*(rule for module in SUBJECTS for rule in rules_of(module)), CHECK_NOT_EVALUATED]
    out = {f"{rule.id}.md": rule_page(rule, ask_for) for rule in rules}
    return out | {"README.md": rule_index(rules)}


def main() -> None:
    """Write the pages and remove those of rules that are gone."""
    RULES.mkdir(exist_ok=True)
    made = pages()
    for path in RULES.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (RULES / name).write_text(text)


if __name__ == "__main__":
    main()
