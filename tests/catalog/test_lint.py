"""The checks of the catalogue: our own files have no mistake, and each kind of mistake is told."""

import pytest

from steadygpu.catalog import lint
from steadygpu.catalog.table import package_text
from steadygpu.rules import SUBJECTS, rules_of
from steadygpu.verdict.rule import Action, Scope, Severity

FILES = lint.package_files()


@pytest.mark.parametrize("file", FILES)
def test_our_own_file_has_no_mistake_and_a_source_and_a_day_in_each_row(file: str) -> None:
    assert file in lint.SPECS, "write down in SPECS what this file may hold"
    assert [str(m) for m in lint.lint_text(file, package_text(file))] == []
    assert {"source", "date"} <= set(lint.SPECS[file].columns)
    assert all(row["source"] and row["date"] for _, row in lint.parse(package_text(file))[1])


def test_the_whole_package_is_checked_at_once() -> None:
    assert lint.lint_package() == []


def test_severities_actions_and_scopes_are_words_of_the_rules() -> None:
    columns = lint.SPECS["xids.csv"].columns
    for name, words in (("severity", Severity), ("action", Action), ("scope", Scope)):
        assert set(columns[name].accepted.split(", ")) <= set(words.__args__)


def test_causes_name_rules_that_exist() -> None:
    ids = {rule.id for module in SUBJECTS for rule in rules_of(module)}
    for line, row in lint.parse(package_text("causes.csv"))[1]:
        assert {row["cause"], row["consequence"]} <= ids, f"causes.csv, line {line}"


CARD = {
    "vendor": "NVIDIA", "model": "X", "names": "", "pci_ids": "", "segment": "consumer",
    "architecture": "Y", "compute_capability": "", "memory_gb": "8", "ecc": "no", "pcie_gen": "4",
    "pcie_lanes": "16", "tdp_w": "300", "source": "a paper", "date": "2026-11-30",
}  # fmt: skip
XID = {
    "code": "48", "name": "A_NAME", "severity": "info", "action": "none", "scope": "gpu",
    "meaning": "It is so.", "decision": "Do it.", "depends_on_decode": "no", "source": "a paper",
    "date": "2026-11-30",
}  # fmt: skip
CAUSE = {
    "cause": "silent.a", "consequence": "silent.b", "relation": "same-card", "window_s": "",
    "source": "a paper", "date": "2026-11-30",
}  # fmt: skip


def text(*rows: dict[str, str]) -> str:
    return "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)])


@pytest.mark.parametrize(
    ("file", "row", "column", "cell"),
    [
        ("cards.csv", CARD, "memory_gb", "0"),
        ("cards.csv", CARD, "memory_gb", "-8"),
        ("cards.csv", CARD, "memory_gb", "2000"),
        ("cards.csv", CARD, "memory_gb", "8 GB"),
        ("cards.csv", CARD, "memory_gb", "9" * 400),
        ("cards.csv", CARD, "pcie_gen", "8"),
        ("cards.csv", CARD, "pcie_gen", "4.0"),
        ("cards.csv", CARD, "pcie_lanes", "12"),
        ("cards.csv", CARD, "tdp_w", "9"),
        ("cards.csv", CARD, "tdp_w", "2001"),
        ("cards.csv", CARD, "vendor", "Matrox"),
        ("cards.csv", CARD, "pci_ids", "10DE:2684"),
        ("cards.csv", CARD, "source", ""),
        ("cards.csv", CARD, "date", ""),
        ("cards.csv", CARD, "date", "30.11.2026"),
        ("cards.csv", CARD, "date", "2026-02-30"),
        ("cards.csv", CARD, "date", "20261130xx"),
        ("xids.csv", XID, "severity", "fatal"),
        ("xids.csv", XID, "action", "rma"),
        ("xids.csv", XID, "scope", "rack"),
        ("xids.csv", XID, "code", "0"),
        ("xids.csv", XID, "code", "-1"),
        ("xids.csv", XID, "code", "٤"),
        ("xids.csv", XID, "meaning", "no full stop"),
        ("xids.csv", XID, "depends_on_decode", "perhaps"),
        ("causes.csv", CAUSE, "relation", "same-rack"),
        ("causes.csv", CAUSE, "window_s", "0"),
        ("causes.csv", CAUSE, "cause", "Silent.A"),
    ],
)
def test_a_cell_that_cannot_be_is_told_with_its_place_and_what_can(
    file: str, row: dict[str, str], column: str, cell: str
) -> None:
    assert lint.lint_text(file, text(row)) == []
    (mistake,) = lint.lint_text(file, text(row | {column: cell}))
    assert (mistake.file, mistake.line, mistake.column) == (file, 2, column)
    said = str(mistake)
    assert said.startswith(f"{file}, line 2, column {column}: ")
    assert lint.SPECS[file].columns[column].accepted in said
    assert "empty" in said if not cell else repr(cell[:60]) in said


def test_a_row_that_stands_twice_is_told() -> None:
    (mistake,) = lint.lint_text("xids.csv", text(XID, XID | {"name": "OTHER"}))
    assert "line 3" in str(mistake)
    assert "48 stands already in line 2" in str(mistake)


def test_columns_that_are_unknown_missing_or_doubled_are_told() -> None:
    (mistake,) = lint.lint_text("xids.csv", text(XID | {"colour": "red"}))
    assert (mistake.line, mistake.column, mistake.wrong) == (1, "colour", "unknown column")
    assert "severity" in mistake.accepted
    short = {k: v for k, v in XID.items() if k != "date"}
    (mistake,) = lint.lint_text("xids.csv", text(short))
    assert (mistake.column, mistake.wrong) == ("date", "the column is missing")
    doubled = text(XID).replace("name", "code", 1)
    assert any("twice" in m.wrong for m in lint.lint_text("xids.csv", doubled))
    assert len(lint.lint_text("xids.csv", "")) == len(XID)


def test_rows_with_too_many_or_too_few_cells_are_told() -> None:
    head, row = text(XID).split("\n")
    (mistake,) = lint.lint_text("xids.csv", f"{head}\n{row},more")
    assert "more cells" in mistake.wrong
    (mistake,) = lint.lint_text("xids.csv", f"{head}\n{row.rpartition(',')[0]}")
    assert (mistake.column, mistake.wrong) == ("date", "the cell is missing")


def test_a_file_that_is_none_of_the_catalogue_is_told() -> None:
    (mistake,) = lint.lint_text("mine.csv", "a\n1")
    assert "xids.csv" in mistake.accepted


def test_causes_that_form_a_circle_are_told() -> None:
    back = CAUSE | {"cause": "silent.b", "consequence": "silent.a"}
    found = lint.lint_text("causes.csv", text(CAUSE, back))
    assert [m.line for m in found] == [2, 3]
    assert "explains itself" in found[0].wrong
    (itself,) = lint.lint_text("causes.csv", text(CAUSE | {"consequence": "silent.a"}))
    assert itself.line == 2
