"""The house: who may import whom, one id a rule, rows that agree with their modules."""

import ast
import csv
from pathlib import Path

import pytest

from shared import SHARED, needs_shared
from steadygpu.readers.kinds import KINDS
from steadygpu.rules import SUBJECTS, rules_of

SRC = Path(__file__).parents[1] / "src" / "steadygpu"
FLOOR = {
    "evidence": set(),
    "catalog": {"evidence"},
    "contracts": {"evidence"},
    "readers": {"evidence", "catalog", "contracts"},
    "verdict": {"evidence", "catalog", "contracts"},
    "rules": {"evidence", "catalog", "contracts", "verdict"},
    "report": {"evidence", "catalog", "contracts", "verdict"},
    "wire": {"evidence", "catalog", "contracts", "verdict"},
    "assemble": {"evidence", "catalog", "contracts", "readers"},
    "archives": {"evidence", "catalog", "contracts", "readers"},
}
HEAVY = {"rich", "jinja2", "msgspec", "yaml", "numpy", "asyncio", "importlib.metadata"}


def imports(path: Path) -> list[tuple[str, bool]]:
    """Return (module, whether at the top of the file) of each import, those in functions too."""
    tree = ast.parse(path.read_text())
    top = set(tree.body)
    out = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            out.append((node.module, node in top))
        elif isinstance(node, ast.Import):
            out += [(alias.name, node in top) for alias in node.names]
    return out


@pytest.mark.parametrize("room", sorted(FLOOR))
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    for path in (SRC / room).rglob("*.py"):
        for module, _ in imports(path):
            if module.startswith("steadygpu."):
                other = module.split(".")[1]
                assert other == room or other in FLOOR[room], f"{path.name} imports {module}"


def test_rules_use_only_the_contract_of_the_verdict_room() -> None:
    for path in (SRC / "rules").glob("*.py"):
        for module, _ in imports(path):
            assert not module.startswith("steadygpu.verdict.") or module == "steadygpu.verdict.rule"


def test_heavy_modules_are_imported_where_they_are_used() -> None:
    for path in SRC.rglob("*.py"):
        for module, at_top in imports(path):
            assert not (at_top and module.split(".")[0] in HEAVY), f"{path.name} imports {module}"


def test_only_wire_knows_the_serialiser() -> None:
    users = {
        p.parent.name
        for p in SRC.rglob("*.py")
        if any(m == "msgspec" or m.startswith("msgspec.") for m, _ in imports(p))
    }
    assert users <= {"wire"}


def test_evidence_uses_the_standard_library_only_and_re_exports_nothing() -> None:
    assert not imports(SRC / "evidence" / "__init__.py")


@pytest.mark.parametrize("module", sorted(SUBJECTS))
def test_the_row_of_a_subject_agrees_with_its_module(module: str) -> None:
    rules = rules_of(module)
    assert len(rules) == SUBJECTS[module].rules
    assert set().union(*(r.about() for r in rules)) == set(SUBJECTS[module].needs)
    assert not any("annotations" in m for m, _ in imports(SRC / "rules" / f"{module}.py"))


def test_each_rule_module_has_a_row() -> None:
    modules = (SRC / "rules").glob("*.py")
    assert {p.stem for p in modules if "\n@rule(" in p.read_text()} == set(SUBJECTS)


def test_ids_are_words_and_unique() -> None:
    ids = [r.id for module in SUBJECTS for r in rules_of(module)]
    assert len(ids) == len(set(ids))


# Ids that we added to the vocabulary, in its style.
OWN = {
    "silent.gpu-init-failed", "silent.retired-pages-many", "silent.disk-errors", "silent.nic-health",
    "feed.nic-link-flaps", "feed.copies-late", "feed.loader-late", "silent.wrong-results", "feed.copy-slow",
    "silent.dcgm-diag-failed", "silent.dcgm-health",
}  # fmt: skip


@needs_shared
def test_ids_are_of_the_vocabulary() -> None:
    with (SHARED / "design" / "finding-ids.csv").open() as file:
        known = {row["id"]: row for row in csv.DictReader(file)}
    assert {r.id for module in SUBJECTS for r in rules_of(module)} - OWN <= set(known)
    assert not OWN & set(known), "the vocabulary has it now: take it out of OWN"


def test_every_kind_has_a_reader_and_gives_records_that_exist() -> None:
    names = set()
    for path in (SRC / "evidence").glob("*.py"):
        names |= {n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef)}
    for kind in KINDS:
        assert callable(kind.read())
        assert set(kind.gives) <= names
        assert kind.logs is False or callable(kind.read_blocks())


def test_no_address_of_an_index_stands_in_a_file() -> None:
    root = SRC.parents[1]
    for name in ("constraints.txt", "pyproject.toml", "Makefile"):
        text = (root / name).read_text()
        assert "://" not in text
        assert "index-url" not in text


def test_no_source_file_is_longer_than_400_lines() -> None:
    long = [p.name for p in SRC.rglob("*.py") if len(p.read_text().splitlines()) > 400]
    assert not long
