"""Rules on the hardware errors of AMD cards."""

import pytest

from rules.hand import one, says
from rules.test_amdgpu import event
from steadygpu.evidence.amd import AmdgpuEvent
from steadygpu.rules import amd_ras
from steadygpu.verdict.rule import Finding, Fine, Unclear


def test_sums_of_one_block_are_not_added() -> None:
    new = event("ras_uncorrectable", 1, block="umc", errors=2)
    total = event("ras_uncorrectable", 2, block="umc", errors=5)
    assert "umc (5 counted)" in says(one(amd_ras.ras_uncorrectable, (new, total), False))


def test_an_interrupt_without_a_count_is_an_error() -> None:
    told = says(one(amd_ras.ras_uncorrectable, (event("ras_uncorrectable", block="athub"),), True))
    assert told.endswith("errors in athub")


def test_poison_that_was_used_is_said() -> None:
    both = (event("ras_uncorrectable", 1, block="umc", errors=1), event("poison", 2))
    assert "damaged data was used" in says(one(amd_ras.ras_uncorrectable, both, True))


@pytest.mark.parametrize("errors", [1_048_560, 2_097_120, 3_145_680])
def test_a_full_register_is_no_count(errors: int) -> None:
    events = (event("ras_uncorrectable", errors=errors, block="umc"),)
    assert isinstance(one(amd_ras.ras_uncorrectable, events, True), Unclear)
    assert "no count" in says(one(amd_ras.ras_implausible_counter, events, True))


def test_a_plausible_count_is_one() -> None:
    events = (event("ras_uncorrectable", errors=1_048_561, block="umc"),)
    assert isinstance(one(amd_ras.ras_uncorrectable, events, True), Finding)
    assert isinstance(one(amd_ras.ras_implausible_counter, events, True), Fine)


@pytest.mark.parametrize(
    ("pages", "limit", "word"),
    [(6, 128, "below its threshold"), (128, 128, "at or above"), (7, None, "7 bad pages")],
)
def test_bad_pages_are_told_with_their_threshold(pages: int, limit: int | None, word: str) -> None:
    events = (event("bad_page_threshold", errors=pages, limit=limit),)
    assert word in says(one(amd_ras.bad_pages, events, False))


@pytest.mark.parametrize("events", [(), (event("fence_timer"),)])
def test_silence_is_fine_in_a_whole_log_only(events: tuple[AmdgpuEvent, ...]) -> None:
    for rule in (amd_ras.ras_uncorrectable, amd_ras.ras_deferred, amd_ras.bad_pages):
        assert isinstance(one(rule, events, True), Fine)
        assert isinstance(one(rule, events, False), Unclear)
