"""Rules on rows and pages that a card took out of use, branch by branch."""

from typing import Any

from rules.hand import at, found, one, weight
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.ecc import RetiredPages, RowRemap
from steadygpu.evidence.source import Absent, Source
from steadygpu.rules import memory_repair
from steadygpu.verdict.rule import Finding, Fine, NotHere, Unclear

CARD = DeviceRef(kind="card", bdf="0000:41:00.0")


def line(text: str, *fields: str) -> Source:
    return Source(name="q.txt", quote=text, fields=fields)


def make(cls: type[Any], **fields: Any) -> Any:
    proof = tuple(line(f"{cls.__name__} {tag}", tag) for tag in fields if tag != "absent")
    return cls(device=CARD, sources=proof or (line(cls.__name__),), **fields)


def not_there(*fields: str) -> dict[str, Any]:
    return {
        "absent": tuple(
            Absent(field=f, reason="not_supported", source=line("N/A", f)) for f in fields
        )
    }


def quotes(finding: Finding) -> list[str]:
    return [source.quote for source in finding.sources]


def test_a_row_that_waits_for_its_remap_asks_for_a_reset() -> None:
    rule = memory_repair.row_remap_pending
    rows = make(RowRemap, corrected=0, uncorrected=4, pending=True, failure=False)
    seen = found(one(rule, rows))
    assert weight(rule, seen) == ("warning", "reset-gpu")
    assert "4 rows for uncorrected" in seen.says
    assert "RowRemap failure" not in quotes(seen)
    assert quotes(found(one(rule, make(RowRemap, pending=True)))) == ["RowRemap pending"]
    assert isinstance(one(rule, make(RowRemap, uncorrected=8)), Unclear)
    assert isinstance(one(rule, make(RowRemap, **not_there("pending"))), NotHere)


def test_a_failed_remap_is_the_cards_own_word() -> None:
    rule = memory_repair.row_remap_failure
    seen = found(one(rule, make(RowRemap, failure=True, uncorrected=1)))
    assert weight(rule, seen) == ("critical", "drain")
    assert isinstance(one(rule, make(RowRemap, failure=False, uncorrected=500)), Fine)
    assert isinstance(one(rule, make(RowRemap, uncorrected=500)), Unclear)


def test_pages_that_wait_count_and_retired_ones_do_not() -> None:
    rule = memory_repair.retired_pages_pending
    seen = found(one(rule, make(RetiredPages, double_bit=2, pending=True)))
    assert weight(rule, seen) == ("warning", "reset-gpu")
    assert isinstance(one(rule, make(RetiredPages, double_bit=30, pending=False)), Fine)
    assert isinstance(one(rule, make(RetiredPages, double_bit=30)), Unclear)
    assert isinstance(one(rule, make(RetiredPages, **not_there("pending"))), NotHere)


def test_a_full_table_of_retired_pages_drains_the_card_and_a_few_are_history() -> None:
    rule = memory_repair.retired_pages_many
    seen = found(one(rule, make(RetiredPages, single_bit=60, double_bit=5), ()))
    assert weight(rule, seen) == ("warning", "drain")
    assert "65 pages" in seen.says
    few = found(one(rule, make(RetiredPages, single_bit=6, double_bit=0), ()))
    assert weight(rule, few) == ("info", "none")
    assert isinstance(one(rule, make(RetiredPages, single_bit=0, double_bit=0), ()), Fine)
    assert isinstance(one(rule, make(RetiredPages, single_bit=70), ()), Unclear)
    none = make(RetiredPages, **not_there("single_bit", "double_bit"))
    assert isinstance(one(rule, none, ()), NotHere)
    week = [
        make(RetiredPages, at=at(86_400.0 * day), single_bit=n, double_bit=1)
        for day, n in ((1, 3), (8, 9))
    ]
    rising = found(one(rule, week[1], week))
    assert weight(rule, rising) == ("warning", "watch")
    assert "single-bit 3 to 9 in 7 days" in rising.says
    fewer = [week[0], make(RetiredPages, at=at(86_400.0 * 9), single_bit=2, double_bit=1)]
    assert "reset in between" in found(one(rule, fewer[1], fewer)).says
