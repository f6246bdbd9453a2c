"""docs/guide-map.csv: each rule of the field guides, the findings that carry it, and what shows it."""

import csv
from pathlib import Path

from shared import SHARED, needs_shared
from steadygpu.rules import SUBJECTS, rules_of
from steadygpu.verdict.unevaluated import CHECK_NOT_EVALUATED

ROOT = Path(__file__).resolve().parents[1]
IDS = {rule.id for module in SUBJECTS for rule in rules_of(module)} | {CHECK_NOT_EVALUATED.id}


def rows() -> list[dict[str, str]]:
    with (ROOT / "docs/guide-map.csv").open() as file:
        return list(csv.DictReader(file))


def test_findings_are_rules_of_ours() -> None:
    named = {one for row in rows() for one in row["findings"].split()}
    assert named <= IDS
    assert len(named) > 40


def test_tests_exist() -> None:
    for row in rows():
        for test in row["tests"].split():
            path, _, function = test.partition("::")
            assert (ROOT / path).exists(), f"{row['rule_id']}: {test}"
            assert not function or f"def {function}(" in (ROOT / path).read_text()


def test_each_row_is_done_or_says_which_issue_does_it() -> None:
    for row in rows():
        assert bool(row["findings"]) == bool(row["tests"]), row["rule_id"]
        assert row["findings"] or row["later_issue"], row["rule_id"]
        for later in filter(None, row["later_issue"].split("; ")):
            number, _, what = later.partition(": ")
            assert number.isdecimal(), row["rule_id"]
            assert what, row["rule_id"]
    assert len({row["rule_id"] for row in rows()}) == len(rows())


@needs_shared
def test_every_rule_of_the_guides_for_diagnose_has_a_row() -> None:
    with (SHARED / "guides/rules.csv").open() as file:
        wanted = {row["rule_id"] for row in csv.DictReader(file) if row["home"] == "diagnose"}
    assert {row["rule_id"] for row in rows()} == wanted
