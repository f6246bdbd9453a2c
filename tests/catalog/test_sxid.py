"""The catalogue of SXids: every row is whole, and codes keep to the units that they belong to."""

from steadygpu.catalog.sxid import sxid_row, sxid_rows, sxid_unit


def test_every_row_is_whole() -> None:
    rows = sxid_rows()
    assert len(rows) >= 90
    for code, row in rows.items():
        assert row.code == code
        assert sxid_unit(code)
        assert row.severity in ("nonfatal", "fatal", "always-fatal")
        assert (row.action == "drain") == (row.severity != "nonfatal")
        assert row.name.isupper()
        assert row.meaning.endswith(".")
        assert row.decision.endswith(".")
        assert row.source
        assert row.date.startswith("2026-")


def test_codes_of_each_weight() -> None:
    weights = {code: sxid_row(code) for code in (12028, 20034, 23009)}
    assert [r.severity for r in weights.values() if r] == ["nonfatal", "fatal", "always-fatal"]
    assert sxid_row(28003) is None
    assert sxid_unit(28003) == "cable temperature"
    assert sxid_unit(99000) is None
