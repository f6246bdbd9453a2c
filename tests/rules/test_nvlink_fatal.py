"""Fatal NVLink errors: one finding for the card where it began."""

from typing import Any

import pytest

from rules.hand import at, found, one, weight
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.kernel_log import XidEvent
from steadygpu.evidence.source import Source
from steadygpu.rules.nvlink_fatal import nvlink_fatal
from steadygpu.verdict.rule import Finding, Fine, Unclear

CARDS = [DeviceRef(kind="card", bdf=f"0000:{n}1:00.0") for n in range(1, 9)]
DOWN = "NETIR_LINK_EVT Fatal XC0 i0 Link 05 (0x{sub:08x} 0x00000000 0x00000000)"


def event(code: int, says: str = "", card: int = 0, **fields: Any) -> Any:
    device = CARDS[card]
    proof = (Source(name="log.txt", quote=f"{code} {says} {device.bdf} {fields}"),)
    return XidEvent(device=device, code=code, says=says, sources=proof, **fields)


def down(card: int = 0, sub: int = 4, **fields: Any) -> Any:
    return event(149, DOWN.format(sub=sub << 20 | 0x1C6), card, **fields)


def track(card: int, word: str = "Fatal", status: int = 1, **fields: Any) -> Any:
    return event(
        145, f"RLW_SRC_TRACK {word} XC0 i0 Link 02 (0x000000e2 0x{status:08x} 0x0)", card, **fields
    )


def findings(*events: Any) -> list[Finding]:
    return [seen for seen in nvlink_fatal.check(events, False) if isinstance(seen, Finding)]


@pytest.mark.parametrize(
    "fatal",
    [
        down(),
        track(0),
        event(150, "MSE_WATCHDOG Fatal XC0 i0 Link -1 (0x00000000 0x00000000)"),
        event(147, "TREX Fatal XC0 i0 Link 01"),
        event(144, "UNIT_OF_TOMORROW Fatal"),
        event(45, previous=149),
        event(45, previous=150),
    ],
)
def test_a_fatal_error_drains(fatal: Any) -> None:
    seen = found(one(nvlink_fatal, (fatal,), False))
    assert weight(nvlink_fatal, seen) == ("critical", "drain")
    assert (seen.subject, seen.sources) == (CARDS[0], fatal.sources)


@pytest.mark.parametrize(
    "mild",
    [
        track(0, "Nonfatal", 2),
        event(149),
        event(149, "NETIR_BER_EVENT Nonfatal XC0 i0 Link 01 (0x00000226 0x00000001)"),
        down(sub=38),  # NVIDIA asks to ignore it: software took the link down
        event(45, previous=145),  # some errors of this code end programs and are not fatal
        event(45, previous=48),
        event(45),
        event(79),
        event(48, "Fatal"),
    ],
)
def test_what_is_not_fatal_is_left_to_other_rules(mild: Any) -> None:
    assert isinstance(one(nvlink_fatal, (mild,), True), Fine)
    assert isinstance(one(nvlink_fatal, (mild,), False), Unclear)


def test_no_event_at_all() -> None:
    assert isinstance(one(nvlink_fatal, (), True), Fine)
    none = one(nvlink_fatal, (), False)
    assert isinstance(none, Unclear)
    assert none.subject == host_ref()


def test_the_card_whose_link_failed_is_the_cause_and_the_others_suffered() -> None:
    events = (
        down(0, at=at(10)),
        track(1, at=at(11)),
        track(2, "Nonfatal", 4, at=at(11)),
        event(45, card=3, previous=145, at=at(12)),
        event(13, card=4, at=at(12)),
    )
    (seen,) = findings(*events)
    assert seen.subject == CARDS[0]
    assert seen.touches == (CARDS[1], CARDS[2], CARDS[3])
    assert "fatal errors followed on 1 other card" in seen.says
    assert (seen.first, seen.last, seen.count) == (at(10), at(11), 2)
    rest = [s.subject for s in nvlink_fatal.check(events, False) if not isinstance(s, Finding)]
    assert rest == [CARDS[2], CARDS[3], CARDS[4]]


def test_a_line_that_blames_the_other_end_is_no_beginning_unless_all_do() -> None:
    (seen,) = findings(down(0, sub=33, at=at(9)), down(1, sub=4, at=at(10)))
    assert seen.subject == CARDS[1]
    assert len(findings(down(0, sub=33), down(1, sub=34))) == 2


def test_errors_long_after_or_before_are_of_their_own() -> None:
    assert len(findings(down(0, at=at(10)), track(1, at=at(2000)))) == 2
    assert len(findings(down(0, at=at(1000)), track(1, at=at(10)))) == 2
    assert len(findings(down(0), track(1))) == 1
    assert len(findings(track(0), track(1))) == 2


def test_the_words_name_unit_link_and_meaning_and_no_more_than_two() -> None:
    (seen,) = findings(down(0), event(45, previous=149))
    assert "Xid 149 NETIR_LINK_EVT Fatal on link 5: An NVLink of the card went down" in seen.says
    assert "which only Xid 45 names" not in seen.says
    assert seen.decision is not None
    assert "signal path" in seen.decision
    many = [event(149, f"NETIR_LINK_EVT Fatal XC0 i0 Link 0{n}") for n in range(5)]
    (seen,) = findings(*many)
    assert "and 3 more" in seen.says
