"""Rules on the hardware errors of AMD cards."""

import pytest

from rules.hand import one, says
from rules.test_amdgpu import CARD, event
from steadygpu.evidence.amd import AmdBadPages, AmdgpuEvent, AmdPeer, AmdRasCounters
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.source import Absent, Source
from steadygpu.rules import amd_ras
from steadygpu.verdict.rule import Finding, Fine, NotHere, Unclear


def test_sums_of_one_block_are_not_added() -> None:
    new = event("ras_uncorrectable", 1, block="umc", errors=2)
    total = event("ras_uncorrectable", 2, block="umc", errors=5)
    assert "umc (5 counted)" in says(one(amd_ras.ras_uncorrectable, (new, total), (), False))


def test_an_interrupt_without_a_count_is_an_error() -> None:
    told = says(
        one(amd_ras.ras_uncorrectable, (event("ras_uncorrectable", block="athub"),), (), True)
    )
    assert told.endswith("errors in athub")


def test_poison_that_was_used_is_said() -> None:
    both = (event("ras_uncorrectable", 1, block="umc", errors=1), event("poison", 2))
    assert "damaged data was used" in says(one(amd_ras.ras_uncorrectable, both, (), True))


@pytest.mark.parametrize("errors", [1_048_560, 2_097_120, 3_145_680])
def test_a_full_register_is_no_count(errors: int) -> None:
    events = (event("ras_uncorrectable", errors=errors, block="umc"),)
    assert isinstance(one(amd_ras.ras_uncorrectable, events, (), True), Unclear)
    assert "no count" in says(one(amd_ras.ras_implausible_counter, events, (), True))


def test_a_plausible_count_is_one() -> None:
    events = (event("ras_uncorrectable", errors=1_048_561, block="umc"),)
    assert isinstance(one(amd_ras.ras_uncorrectable, events, (), True), Finding)
    assert isinstance(one(amd_ras.ras_implausible_counter, events, (), True), Fine)


@pytest.mark.parametrize(
    ("pages", "limit", "word"),
    [(6, 128, "below its threshold"), (128, 128, "at or above"), (7, None, "7 bad pages")],
)
def test_bad_pages_are_told_with_their_threshold(pages: int, limit: int | None, word: str) -> None:
    events = (event("bad_page_threshold", errors=pages, limit=limit),)
    assert word in says(one(amd_ras.bad_pages, events, (), False))


@pytest.mark.parametrize("events", [(), (event("fence_timer"),)])
def test_silence_is_fine_in_a_whole_log_only(events: tuple[AmdgpuEvent, ...]) -> None:
    for rule in (amd_ras.ras_uncorrectable, amd_ras.ras_deferred, amd_ras.bad_pages):
        assert isinstance(one(rule, events, (), True), Fine)
        assert isinstance(one(rule, events, (), False), Unclear)


SOURCE = (Source(name="a", first=1, last=1, quote="a line"),)


def counters(**fields: int) -> AmdRasCounters:
    return AmdRasCounters(device=CARD, sources=SOURCE, **fields)


@pytest.mark.parametrize(
    ("count", "kind"), [(0, Fine), (3, Finding), (1_048_560, Unclear), (None, Unclear)]
)
def test_the_counter_of_the_card_tells_without_a_log(count: int | None, kind: type) -> None:
    record = AmdRasCounters(device=CARD, sources=SOURCE, uncorrectable=count)
    assert isinstance(one(amd_ras.ras_uncorrectable, (), (record,), False), kind)


def test_counters_of_zero_do_not_clear_an_error_in_the_log() -> None:
    told = (event("ras_uncorrectable", errors=2, block="umc"),)
    seen = one(amd_ras.ras_uncorrectable, told, (counters(uncorrectable=0),), False)
    assert isinstance(seen, Finding)
    quiet = one(
        amd_ras.ras_uncorrectable, (event("fence_timer"),), (counters(uncorrectable=0),), False
    )
    assert isinstance(quiet, Fine)


def test_a_full_counter_is_said_whatever_it_counts() -> None:
    record = counters(correctable=2_097_120, uncorrectable=0, deferred=0)
    assert "correctable" in says(one(amd_ras.ras_implausible_counter, (), (record,), False))
    plain = counters(correctable=5, uncorrectable=0, deferred=0)
    assert isinstance(one(amd_ras.ras_implausible_counter, (), (plain,), False), Fine)


def test_pages_are_told_by_the_tool_and_waiting_ones_apart() -> None:
    pages = AmdBadPages(device=CARD, sources=SOURCE, retired=4, pending=0)
    assert "4" in says(one(amd_ras.bad_pages, (), (pages,), False))
    assert isinstance(one(amd_ras.bad_pages_pending, pages), Fine)
    gone = (Absent(field="pending", reason="not_printed"),)
    unread = AmdBadPages(device=CARD, sources=SOURCE, absent=gone)
    assert isinstance(one(amd_ras.bad_pages_pending, unread), Unclear)


def peers(*types: tuple[int, int, str | None]) -> tuple[AmdPeer, ...]:
    def card(n: int) -> DeviceRef:
        return DeviceRef(kind="card", index=n)

    return tuple(
        AmdPeer(device=card(a), peer=card(b), link_type=t, sources=SOURCE) for a, b, t in types
    )


def test_a_card_without_xgmi_among_cards_that_have_it() -> None:
    joined = ((0, 1, "XGMI"), (1, 0, "XGMI"), (0, 2, "PCIE"), (1, 2, "PCIE"))
    seen = list(amd_ras.xgmi_missing.check(peers(*joined, (2, 0, "PCIE"), (2, 1, "PCIE"))))
    assert [type(s) for s in seen] == [Fine, Fine, Finding]
    unread = list(amd_ras.xgmi_missing.check(peers(*joined, (2, 0, "PCIE"), (2, 1, None))))
    assert [type(s) for s in unread] == [Fine, Fine, Unclear]
    assert isinstance(one(amd_ras.xgmi_missing, peers((0, 1, "PCIE"), (1, 0, "PCIE"))), NotHere)
