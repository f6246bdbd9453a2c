from typing import get_args

import pytest

from steadygpu.catalog.xid import xid_row, xid_rows
from steadygpu.verdict.rule import Action, Scope, Severity

ROWS = list(xid_rows().values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.code))
def test_row_has_a_source_a_date_and_known_words(row):
    assert row.source
    assert len(row.date) == 10
    assert row.severity in get_args(Severity)
    assert row.action in get_args(Action)
    assert row.scope in get_args(Scope)
    assert row.meaning.endswith(".")
    assert row.decision.endswith(".")


def test_every_code_is_there_once():
    assert [row.code for row in ROWS] == sorted({row.code for row in ROWS})
    assert len(ROWS) == 176


def test_unknown_code_has_no_row():
    assert xid_row(9999) is None


@pytest.mark.parametrize(
    ("code", "severity", "action"),
    [
        (48, "critical", "reset-gpu"),
        (79, "critical", "drain"),
        (94, "warning", "restart-job"),
        (149, "warning", "watch"),
        (63, "info", "none"),
    ],
)
def test_first_action_follows_the_catalogue(code, severity, action):
    row = xid_row(code)
    assert (row.severity, row.action) == (severity, action)
