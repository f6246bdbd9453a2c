"""Rules on the memory health of a card, branch by branch."""

from typing import Any

import pytest

from rules.hand import at, found, one, weight
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.ecc import EccCounters, RowRemap
from steadygpu.evidence.gpu import GpuIdentity, GpuMode
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.source import Absent, Source
from steadygpu.rules import ecc, memory_repair
from steadygpu.verdict.rule import Finding, Fine, NotHere, Unclear

CARD = DeviceRef(kind="card", bdf="0000:41:00.0")
CORRECTED = ("corrected", "sram_corrected", "dram_corrected")
TOTALS = ("corrected", "uncorrected")


def line(text: str, *fields: str) -> Source:
    return Source(name="q.txt", quote=text, fields=fields)


def make(cls: type[Any], **fields: Any) -> Any:
    tags = [name for name in fields if name not in ("at", "scope", "absent")]
    proof = tuple(line(f"{fields.get('scope', cls.__name__)} {tag}", tag) for tag in tags)
    return cls(device=CARD, sources=proof or (line(cls.__name__),), **fields)


def now(**fields: Any) -> Any:
    return make(EccCounters, scope="volatile", **fields)


def life(**fields: Any) -> Any:
    return make(EccCounters, scope="aggregate", **fields)


def not_there(*fields: str) -> dict[str, Any]:
    return {"absent": tuple(Absent(field=f, reason="not_supported", source=line("N/A", f)) for f in fields)}  # fmt: skip


def quotes(seen: Finding | Fine) -> list[str]:
    return [s.quote for s in seen.sources]


@pytest.mark.parametrize("field", ecc.UNCORRECTED)
def test_any_uncorrectable_count_since_load_drains_the_card(field: str) -> None:
    rule = ecc.ecc_uncorrectable_volatile
    seen = found(one(rule, (now(at=at(5), **{field: 2}),)))
    assert weight(rule, seen) == ("critical", "drain")
    assert f"{field.replace('_', ' ')} 2" in seen.says
    assert quotes(seen) == [f"volatile {field}"]
    assert seen.first == seen.last == at(5)


def test_counts_for_life_are_no_alarm_after_a_remap() -> None:
    before = life(uncorrected=4, corrected=90)
    rows = make(RowRemap, uncorrected=4, corrected=0, pending=False, failure=False)
    assert isinstance(one(ecc.ecc_uncorrectable_volatile, (now(uncorrected=0), before)), Fine)
    assert isinstance(one(memory_repair.row_remap_pending, rows), Fine)
    assert isinstance(one(memory_repair.row_remap_failure, rows), Fine)
    seen = found(one(ecc.ecc_history, (now(uncorrected=0), before)))
    assert weight(ecc.ecc_history, seen) == ("info", "none")
    assert ecc.ecc_history.points_to is None
    assert quotes(seen) == ["aggregate uncorrected", "aggregate corrected", "volatile uncorrected"]


def test_the_latest_reading_since_load_counts() -> None:
    rule = ecc.ecc_uncorrectable_volatile
    reset = (now(at=at(1), uncorrected=3), life(uncorrected=3), now(at=at(9), uncorrected=0))
    assert isinstance(one(rule, reset), Fine)
    assert found(one(rule, reset[:2])).first == at(1)
    assert not list(rule.check((life(uncorrected=3),)))
    assert not list(rule.check(()))


def test_zero_is_proven_by_the_total_or_by_all_parts() -> None:
    rule = ecc.ecc_uncorrectable_volatile
    for parts in (
        {"uncorrected": 0},
        {"dram_uncorrected": 0, "sram_uncorrected": 0},
        {"dram_uncorrected": 0, "sram_uncorrected_parity": 0, "sram_uncorrected_secded": 0},
    ):
        seen = one(rule, (now(**parts),))
        assert isinstance(seen, Fine)
        assert quotes(seen) == [f"volatile {part}" for part in parts]
    for part in ("dram_uncorrected", "sram_uncorrected", "sram_uncorrected_parity"):
        assert isinstance(one(rule, (now(**{part: 0}),)), Unclear)
    assert isinstance(one(rule, (now(**not_there("uncorrected")),)), NotHere)


def test_history_needs_to_know_that_nothing_is_counted_now() -> None:
    rule, past = ecc.ecc_history, life(at=at(9), dram_corrected=7)
    alone = one(rule, (past,))
    assert isinstance(alone, Unclear)
    assert "nvidia-smi" in (alone.ask or "")
    assert isinstance(one(rule, (now(at=at(1), uncorrected=0), past)), Unclear)
    assert isinstance(one(rule, (now(at=at(9)), past)), Unclear)
    assert isinstance(one(rule, (now(at=at(9), uncorrected=1), past)), Fine)
    assert "dram corrected 7" in found(one(rule, (now(at=at(9), uncorrected=0), past))).says


def test_history_is_empty_only_where_both_totals_are_read() -> None:
    rule = ecc.ecc_history
    assert isinstance(one(rule, (life(corrected=0, uncorrected=0),)), Fine)
    assert isinstance(one(rule, (life(uncorrected=0),)), Unclear)
    assert isinstance(one(rule, (life(corrected=0),)), Unclear)
    assert isinstance(one(rule, (life(**not_there(*TOTALS)),)), NotHere)
    assert not list(rule.check((now(uncorrected=0),)))


@pytest.mark.parametrize("field", CORRECTED)
def test_corrected_errors_that_rise_between_two_moments_are_watched(field: str) -> None:
    rule = ecc.ecc_corrected_rising
    later, first = life(at=at(900), **{field: 57}), life(at=at(1), **{field: 2})
    for readings in ((first, later), (later, first), (first, life(at=at(3)), later)):
        seen = found(one(rule, readings))
        assert weight(rule, seen) == ("warning", "watch")
        assert "2 to 57" in seen.says
        assert (seen.first, seen.last) == (at(1), at(900))
        assert len(seen.sources) == 2


def test_only_like_is_compared_with_like() -> None:
    rule = ecc.ecc_corrected_rising
    total, parts = life(at=at(1), corrected=2), life(at=at(9), dram_corrected=57)
    assert isinstance(one(rule, (total, parts)), Unclear)
    half = (life(at=at(1), dram_corrected=2), life(at=at(9), dram_corrected=2))
    assert isinstance(one(rule, half), Unclear)
    assert not list(rule.check((now(at=at(1), corrected=2), now(at=at(9), corrected=57))))
    uptime = (life(at=Moment(boot_s=9.0), corrected=3), life(at=Moment(boot_s=1.0), corrected=2))
    assert "2 to 3" in found(one(rule, uptime)).says


def test_corrected_errors_that_stay_are_fine_and_one_moment_shows_nothing() -> None:
    rule = ecc.ecc_corrected_rising
    assert isinstance(one(rule, (life(at=at(1), corrected=9), life(at=at(9), corrected=9))), Fine)
    zero = {"sram_corrected": 0, "dram_corrected": 0}
    assert isinstance(one(rule, (life(at=at(1), **zero), life(at=at(9), **zero))), Fine)
    single = one(rule, (life(at=at(1), corrected=900),))
    assert isinstance(single, Unclear)
    assert single.ask
    assert isinstance(one(rule, (life(at=at(1), **not_there("corrected")),)), NotHere)


def test_the_sram_threshold_is_the_cards_own_word() -> None:
    rule = ecc.ecc_sram_threshold
    over = life(sram_threshold_exceeded=True, sram_uncorrected_parity=0)
    seen = found(one(rule, (over, now(uncorrected=0))))
    assert weight(rule, seen) == ("critical", "drain")
    assert quotes(seen) == ["aggregate sram_threshold_exceeded"]
    assert isinstance(one(rule, (life(sram_threshold_exceeded=False),)), Fine)
    assert isinstance(one(rule, (life(sram_uncorrected_parity=40),)), Unclear)
    assert isinstance(one(rule, (life(uncorrected=40),)), NotHere)
    assert not list(rule.check((now(uncorrected=40),)))


def test_ecc_mode_that_is_set_to_change() -> None:
    rule = ecc.ecc_mode_pending
    seen = found(one(rule, make(GpuMode, ecc_on=False, ecc_pending_on=True)))
    assert weight(rule, seen) == ("warning", "watch")
    assert len(seen.sources) == 2
    for mode in (True, False):
        assert isinstance(one(rule, make(GpuMode, ecc_on=mode, ecc_pending_on=mode)), Fine)
    assert isinstance(one(rule, make(GpuMode, ecc_on=True)), Unclear)
    absent = not_there("ecc_on", "ecc_pending_on")
    assert isinstance(one(rule, make(GpuMode, **absent)), NotHere)


def test_ecc_off_is_information_on_a_card_that_has_it() -> None:
    rule = ecc.ecc_off
    assert weight(rule, found(one(rule, make(GpuMode, ecc_on=False)))) == ("info", "none")
    assert isinstance(one(rule, make(GpuMode, ecc_on=True)), Fine)
    assert isinstance(one(rule, make(GpuMode)), Unclear)
    assert isinstance(one(rule, make(GpuMode, **not_there("ecc_on"))), NotHere)


def test_a_card_without_ecc_is_told_by_the_tool_and_beside_it_what_the_model_can() -> None:
    rule, none = ecc.ecc_unsupported, make(GpuMode, **not_there("ecc_on"))

    def model(name: str) -> Any:
        return make(GpuIdentity, name=name)

    plain = found(one(rule, none, None))
    assert weight(rule, plain) == ("info", "none")
    assert quotes(plain) == ["N/A"]
    a100 = found(one(rule, none, model("NVIDIA A100-SXM4-80GB")))
    assert "A100" in a100.says
    assert quotes(a100) == ["N/A", "GpuIdentity name"]
    for other in ("NVIDIA GeForce RTX 3090", "a card of tomorrow"):
        assert found(one(rule, none, model(other))).says == plain.says
    bare = make(GpuMode, absent=(Absent(field="ecc_on", reason="not_supported"),))
    assert found(one(rule, bare, None))
    for mode in (True, False):
        assert isinstance(one(rule, make(GpuMode, ecc_on=mode), model("Tesla T4")), Fine)
    assert isinstance(one(rule, make(GpuMode), model("Tesla T4")), Unclear)


def test_a_card_without_ecc_under_a_driver_that_prints_parts_only_has_no_such_thing() -> None:
    gone = not_there("sram_corrected", "sram_uncorrected", "dram_corrected", "dram_uncorrected")
    (seen,) = ecc.ecc_uncorrectable_volatile.check((now(**gone),))
    assert isinstance(seen, NotHere)
    (seen,) = ecc.ecc_history.check((life(**gone),))
    assert isinstance(seen, NotHere)
    (seen,) = ecc.ecc_corrected_rising.check((life(**gone),))
    assert isinstance(seen, NotHere)
