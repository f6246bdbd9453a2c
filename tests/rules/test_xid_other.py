"""Rules on fault numbers of the catalogue and on codes that one card repeats, branch by branch."""

from typing import Any

import pytest

from rules.hand import at, found, one, weight
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import CardListing, GpuIdentity
from steadygpu.evidence.kernel_log import XidEvent
from steadygpu.evidence.link import PciDevice
from steadygpu.evidence.source import Source
from steadygpu.rules import xid_other as other
from steadygpu.verdict.rule import Finding, Fine, Seen, Unclear

CARD = DeviceRef(kind="card", bdf="0000:41:00.0")
BESIDE = DeviceRef(kind="card", bdf="0000:81:00.0")


def make(cls: type[Any], device: DeviceRef, **fields: Any) -> Any:
    proof = (Source(name=f"{cls.__name__}.txt", quote=f"a line on {device.bdf}"),)
    return cls(device=device, sources=proof, **fields)


def event(code: int, device: DeviceRef = CARD, **fields: Any) -> Any:
    return make(XidEvent, device, code=code, **fields)


def crashes(times: int, code: int = 13, device: DeviceRef = CARD, apart: float = 600.0) -> Any:
    return tuple(event(code, device, at=at(n * apart)) for n in range(times))


def repeated(
    events: Any, everywhere: Any = (), *, pci: Any = (), cards: Any = (), listed: Any = (),
    whole: bool = False,
) -> Seen:  # fmt: skip
    return one(other.xid_repeated, events, everywhere or events, pci, cards, listed, whole)


@pytest.mark.parametrize(
    ("code", "severity", "action"),
    [
        (48, "critical", "reset-gpu"), (95, "critical", "reset-gpu"), (151, "critical", "reboot"),
        (54, "critical", "drain"), (173, "critical", "drain"),
        (63, "info", "none"), (78, "critical", "fix-config"), (92, "info", "watch"),
        (149, "warning", "watch"),  # depends on words that are not decoded
        (999, "warning", "watch"),  # no catalogue names it
    ],
)  # fmt: skip
def test_the_catalogue_weighs_a_code(code: int, severity: str, action: str) -> None:
    seen = found(one(other.xid_other, (event(code),), False))
    assert weight(other.xid_other, seen) == (severity, action)
    assert f"Xid {code}" in seen.says


@pytest.mark.parametrize(
    ("recovery", "severity", "action"),
    [
        ("none", "info", "none"), ("reset", "critical", "reset-gpu"), ("reboot", "critical", "reboot"),
        ("drain_p2p", "critical", "restart-job"), ("drain_and_reset", "critical", "reset-gpu"),
    ],
)  # fmt: skip
def test_the_recovery_that_the_driver_names_weighs_its_code(
    recovery: str, severity: str, action: str
) -> None:
    seen = found(one(other.xid_other, (event(154, recovery=recovery),), False))
    assert weight(other.xid_other, seen) == (severity, action)
    assert recovery.replace("_", " ") in seen.says


def test_a_recovery_that_is_not_named_or_of_another_code_weighs_nothing() -> None:
    rule = other.xid_other
    assert weight(rule, found(one(rule, (event(154),), False))) == ("warning", "watch")
    assert weight(rule, found(one(rule, (event(63, recovery="reboot"),), False))) == (
        "info", "none",
    )  # fmt: skip


def test_the_worst_code_comes_first_and_gives_the_weight() -> None:
    hits = (
        event(63, at=at(1)),
        event(48, at=at(2)),
        event(151, at=at(3), count=2, last_at=at(9)),
        event(13, at=at(20)),
    )
    seen = found(one(other.xid_other, hits, False))
    assert weight(other.xid_other, seen) == ("critical", "reboot")
    assert seen.says.index("Xid 151") < seen.says.index("Xid 48") < seen.says.index("Xid 63")
    assert "Xid 13" not in seen.says
    assert (seen.count, seen.first, seen.last) == (4, at(1), at(9))


def test_codes_with_a_rule_of_their_own_are_not_told_again() -> None:
    hits = tuple(event(code) for code in sorted(other.OWN_RULE))
    assert isinstance(one(other.xid_other, hits, True), Fine)
    cut = one(other.xid_other, hits, False)
    assert isinstance(cut, Unclear)
    assert cut.subject == CARD
    none = one(other.xid_other, (), False)
    assert isinstance(none, Unclear)
    assert none.subject == host_ref()


def test_an_application_code_that_one_card_of_several_repeats_is_watched() -> None:
    for code in (13, 31, 43, 8):
        seen = found(repeated(crashes(9, code), (*crashes(9, code), event(79, BESIDE))))
        assert weight(other.xid_repeated, seen) == ("warning", "watch")
        assert f"Xid {code} in 9 episodes" in seen.says
        assert (seen.subject, seen.count) == (CARD, 9)
        assert (seen.first, seen.last) == (at(0), at(8 * 600))


def test_a_code_that_other_cards_print_too_speaks_for_the_program() -> None:
    mine = crashes(9)
    fine = repeated(mine, (*mine, event(13, BESIDE)))
    assert isinstance(fine, Fine)
    assert fine.sources
    both = (*mine, *crashes(6, 43))
    seen = found(repeated(both, (*both, event(13, BESIDE))))
    assert "Xid 43 in 6 episodes" in seen.says
    assert "Xid 13" not in seen.says
    assert seen.count == 6


def test_few_crashes_are_no_repetition() -> None:
    beside = (event(79, BESIDE),)
    for few in (
        crashes(4),
        crashes(30, apart=1.0),  # the lines of one crash
        crashes(9, 48),  # no code of a program
        crashes(9, 94),  # a memory error, not the program's
        crashes(9, 999),
        tuple(event(13) for _ in range(9)),  # no time tells them apart
    ):
        assert isinstance(repeated(few, (*few, *beside), whole=True), Fine)
        assert isinstance(repeated(few, (*few, *beside)), Unclear)
    assert isinstance(repeated((), beside), Unclear)


def test_events_that_were_folded_are_as_many_crashes_as_their_span_allows() -> None:
    beside = event(79, BESIDE)
    slow = event(13, at=at(0), count=9, last_at=at(3600))
    assert "Xid 13 in 9 episodes" in found(repeated((slow,), (slow, beside))).says
    burst = event(13, at=at(0), count=900, last_at=at(30))
    assert isinstance(repeated((burst,), (burst, beside), whole=True), Fine)
    hours = event(13, at=at(0), count=900, last_at=at(600))
    more = (hours, event(13, at=at(650)), event(13, at=at(900)))
    assert "Xid 13 in 12 episodes" in found(repeated(more, (*more, beside))).says


def test_a_card_is_alone_only_where_another_one_is_shown() -> None:
    mine = crashes(5)
    alone = repeated(mine)
    assert isinstance(alone, Unclear)
    assert "nvidia-smi -L" in (alone.ask or "")
    host = host_ref()
    shown = {
        "GpuIdentity": {"cards": (make(GpuIdentity, CARD), make(GpuIdentity, BESIDE))},
        "PciDevice": {"pci": (make(PciDevice, BESIDE, role="card"),)},
        "CardListing": {"listed": (make(CardListing, host, tool="nvidia-smi", listed=2),)},
    }
    for name, records in shown.items():
        assert found(repeated(mine, **records)).sources[0].name == f"{name}.txt"
    for hidden in (
        {"cards": (make(GpuIdentity, CARD),)},
        {"pci": (make(PciDevice, DeviceRef(kind="nic", bdf="0000:22:00.0"), role="nic"),)},
        {"listed": (make(CardListing, host, tool="nvidia-smi", listed=1),)},
    ):
        assert isinstance(repeated(mine, **hidden), Unclear)


def test_of_xid_154_the_last_word_that_was_read_counts() -> None:
    reboot, none = event(154, recovery="reboot", at=at(1)), event(154, recovery="none", at=at(2))
    (seen,) = other.xid_other.check((reboot, none), False)
    assert (seen.severity, seen.action) == ("info", "none")
    assert "after reboot" in seen.says
    (seen,) = other.xid_other.check((reboot, event(154, at=at(2))), False)
    assert (seen.severity, seen.action) == ("critical", "reboot")


def test_a_repeated_fault_lasts_until_its_latest_print() -> None:
    folded = event(13, at=at(0), count=9, last_at=at(3600))
    (seen,) = other.xid_repeated.check((folded,), (folded, event(79, BESIDE)), (), (), (), False)
    assert (seen.first, seen.last) == (at(0), at(3600))


def test_a_cause_that_only_xid_45_names_is_told() -> None:
    (seen,) = other.xid_other.check((event(45, previous=145),), False)
    assert isinstance(seen, Finding)
    assert "Xid 145 (named by Xid 45)" in seen.says
    (seen,) = other.xid_other.check((event(45, previous=31),), False)
    assert not isinstance(seen, Finding)


def nvlink(code: int, unit: str, word: str, status: int = 0, **fields: Any) -> Any:
    says = f"{unit} {word} XC0 i0 Link 05 (0x00000006 0x{status:08x} 0x00000000 0x00000000)"
    return event(code, says=says, **fields)


def test_a_fatal_nvlink_error_has_a_rule_of_its_own() -> None:
    assert isinstance(one(other.xid_other, (nvlink(149, "NETIR_LINK_EVT", "Fatal"),), True), Fine)
    assert isinstance(one(other.xid_other, (event(45, previous=149),), True), Fine)


@pytest.mark.parametrize(
    ("code", "unit", "status", "severity", "action"),
    [
        (149, "NETIR_BER_EVENT", 1, "warning", "watch"),
        (145, "RLW_SRC_TRACK", 4, "warning", "restart-job"),
        (145, "RLW_REMAP", 0x100, "info", "none"),
        (144, "UNIT_OF_TOMORROW", 1, "warning", "watch"),
    ],
)
def test_an_nvlink_error_that_is_not_fatal_weighs_what_its_row_says(
    code: int, unit: str, status: int, severity: str, action: str
) -> None:
    seen = found(one(other.xid_other, (nvlink(code, unit, "Nonfatal", status),), False))
    assert weight(other.xid_other, seen) == (severity, action)
    assert f"{unit} on link 5" in seen.says


def test_of_one_code_the_worst_line_counts() -> None:
    lines = (
        nvlink(145, "RLW_SRC_TRACK", "Nonfatal", 4),
        nvlink(145, "RLW_REMAP", "Nonfatal", 0x100),
    )
    for both in (lines, lines[::-1]):
        seen = found(one(other.xid_other, both, False))
        assert weight(other.xid_other, seen) == ("warning", "restart-job")
        assert seen.meaning is not None
        assert "program was ended" in seen.meaning


def test_a_code_that_no_catalogue_names_is_told_in_words_of_its_own() -> None:
    seen = found(one(other.xid_other, (event(999),), False))
    assert "no catalogue names" in seen.says
    assert seen.decision is not None
    assert "watch the card" in seen.decision


def test_a_code_that_the_device_plugin_ignores_is_told_as_such() -> None:
    seen = found(one(other.xid_other, (event(109),), False))
    assert seen.decision is not None
    assert other.PLUGIN in seen.decision
    assert other.PLUGIN not in str(found(one(other.xid_other, (event(48),), False)).decision)
