from typing import get_args

import pytest

from steadygpu.catalog.cause import CauseRow, Relation, causes
from steadygpu.rules import SUBJECTS, rules_of

ROWS = causes()
IDS = {rule.id for module in SUBJECTS for rule in rules_of(module)}
NAMES = [f"{row.cause}>{row.consequence}" for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_row_names_rules_that_exist_a_known_relation_and_a_source(row: CauseRow) -> None:
    assert row.cause in IDS
    assert row.consequence in IDS
    assert row.relation in get_args(Relation)
    assert row.window_s is None or row.window_s > 0
    assert row.source.strip()


def test_no_pair_stands_twice() -> None:
    assert len(set(NAMES)) == len(NAMES) > 60


def test_nothing_explains_itself_by_any_way() -> None:
    downs: dict[str, set[str]] = {}
    for row in ROWS:
        downs.setdefault(row.cause, set()).add(row.consequence)
    for start in downs:
        seen: set[str] = set()
        todo = list(downs[start])
        while todo:
            one = todo.pop()
            assert one != start
            if one not in seen:
                seen.add(one)
                todo.extend(downs.get(one, ()))


def test_the_card_that_fell_off_the_bus_explains_what_follows_and_its_port_explains_it() -> None:
    pairs = {(row.cause, row.consequence): row for row in ROWS}
    lost = "silent.xid79-fallen-off-bus"
    assert pairs["silent.aer-uncorrected", lost].relation == "port-above"
    assert pairs[lost, "silent.xid45-cleanup"].relation == "same-card"
    assert pairs[lost, "silent.gpu-missing"].window_s is None


def test_rows_are_read_once() -> None:
    assert causes() is ROWS
