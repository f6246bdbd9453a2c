"""Rules on fault numbers that have a rule of their own, branch by branch."""

from typing import Any

import pytest

from rules.hand import at, cited, found, one, weight
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.driver import DriverVersion, ToolMessage
from steadygpu.evidence.gpu import GpuIdentity
from steadygpu.evidence.kernel_log import NvrmEvent, XidEvent
from steadygpu.evidence.source import Source
from steadygpu.rules import xid
from steadygpu.verdict.rule import Finding, Fine, Rule, Unclear

CARD = DeviceRef(kind="card", bdf="0000:41:00.0")
OTHER = DeviceRef(kind="card", bdf="0000:81:00.0")
THIRD = DeviceRef(kind="card", bdf="0000:c1:00.0")
BY_CODE = (
    (xid.xid43_app_fault, 13, "warning", "restart-job"),
    (xid.xid43_app_fault, 43, "warning", "restart-job"),
    (xid.xid45_cleanup, 45, "info", "none"),
    (xid.xid74_nvlink, 74, "warning", "watch"),
    (xid.xid94_contained, 94, "warning", "restart-job"),
)


def make(cls: type[Any], device: DeviceRef, **fields: Any) -> Any:
    proof = (Source(name=f"{cls.__name__}.txt", quote=f"a line on {device.bdf}"),)
    return cls(device=device, sources=proof, **fields)


def event(code: int, device: DeviceRef = CARD, **fields: Any) -> Any:
    return make(XidEvent, device, code=code, **fields)


def test_a_lost_card_is_told_by_number_sentence_or_refusal() -> None:
    rule = xid.xid79_fallen_off_bus
    number = event(79, at=at(5))
    sentence = make(NvrmEvent, CARD, what="off_bus", at=at(6))
    refusal = make(ToolMessage, CARD, tool="nvidia-smi", meaning="gpu_lost", says="GPU is lost")
    for records, words in (
        (((number,), (), ()), "Xid 79"),
        (((), (sentence,), ()), "without an Xid"),
        (((), (), (refusal,)), "tool"),
    ):
        seen = found(one(rule, *records, False))
        assert weight(rule, seen) == ("critical", "drain")
        assert seen.subject == CARD
        assert words in seen.says
    both = found(one(rule, (number,), (sentence,), (), False))
    assert "Xid 79" in both.says
    assert cited(both) == {"XidEvent", "NvrmEvent"}
    assert (both.first, both.last) == (at(5), at(6))


def test_each_lost_card_is_a_finding_and_each_other_card_an_answer() -> None:
    records = (event(79), event(79, OTHER), event(13, THIRD))
    seen = list(xid.xid79_fallen_off_bus.check(records, (), (), True))
    assert [(type(s), s.subject) for s in seen] == [
        (Finding, CARD), (Finding, OTHER), (Fine, THIRD),
    ]  # fmt: skip
    assert isinstance(one(xid.xid79_fallen_off_bus, (event(13),), (), (), False), Unclear)


def test_other_messages_of_driver_and_tool_lose_no_card() -> None:
    rule = xid.xid79_fallen_off_bus
    driver = (make(NvrmEvent, CARD, what="reset"),)
    tool = (make(ToolMessage, host_ref(), tool="nvidia-smi", meaning="no_devices", says="none"),)
    fine, cut = one(rule, (), driver, tool, True), one(rule, (), driver, tool, False)
    assert isinstance(fine, Fine)
    assert isinstance(cut, Unclear)
    assert cut.subject == host_ref()
    assert "dmesg" in (cut.ask or "")


def test_gsp_timeout_names_a_driver_with_a_known_fault() -> None:
    rule, hits = xid.xid119_gsp_timeout, (event(119), event(120))

    def driver(version: str | None, part: str = "module") -> Any:
        return make(DriverVersion, host_ref(), part=part, version=version)

    for version in ("525.60.13", "525.105"):
        old = found(one(rule, hits, (driver(version),), False))
        assert weight(rule, old) == ("critical", "reset-gpu")
        assert version in old.says
        assert cited(old) == {"XidEvent", "DriverVersion"}
    for sound in (
        driver("525.105.17"), driver("525.147.05"), driver("535.54.03"), driver("515.43"),
        driver("525"), driver(None), driver("525.60.13", "library"),
    ):  # fmt: skip
        seen = found(one(rule, hits, (sound,), False))
        assert "known fault" not in seen.says
        assert cited(seen) == {"XidEvent"}
    assert "Xid 119, Xid 120" in seen.says
    assert isinstance(one(rule, (event(13),), (driver("525.60.13"),), True), Fine)


def test_page_fault_of_a_program_is_no_fault_of_the_card() -> None:
    rule = xid.xid31_app_fault
    hit = event(31, process="python", pid=4711, at=at(1), count=3, last_at=at(9))
    alone = found(one(rule, (hit,), (hit,), False))
    assert weight(rule, alone) == ("warning", "restart-job")
    assert rule.scope == "job"
    assert rule.points_to is None
    assert "process python pid 4711" in alone.says
    assert "more card" not in alone.says
    assert (alone.count, alone.first, alone.last) == (3, at(1), at(9))


def test_page_faults_on_several_cards_speak_for_the_program() -> None:
    rule, hit = xid.xid31_app_fault, event(31)
    two = found(one(rule, (hit,), (hit, event(31, OTHER)), False))
    assert "1 more card" in two.says
    assert "1 more cards" not in two.says
    assert len(two.sources) == 2
    many = (hit, event(31, OTHER), event(31, OTHER, at=at(9)), event(31, THIRD))
    assert "2 more cards" in found(one(rule, (hit,), many, False)).says
    odd = (hit, event(13, OTHER), event(31, THIRD, unrecognised_client=True))
    assert "more card" not in found(one(rule, (hit,), odd, False)).says


def test_a_page_fault_of_an_unrecognised_client_is_the_cards() -> None:
    rule = xid.xid31_unrecognized_client
    strange, plain = event(31, unrecognised_client=True), event(31)
    seen = found(one(rule, (plain, strange), False))
    assert weight(rule, seen) == ("critical", "reboot")
    assert rule.points_to == "hardware"
    assert seen.count == 1
    assert isinstance(one(rule, (plain,), True), Fine)
    assert isinstance(one(rule, (plain,), False), Unclear)
    assert isinstance(one(xid.xid31_app_fault, (strange,), (strange,), True), Fine)


@pytest.mark.parametrize(("rule", "code", "severity", "action"), BY_CODE)
def test_a_code_with_a_rule_of_its_own(rule: Rule, code: int, severity: str, action: str) -> None:
    hits = (event(code, at=at(1)), event(31, at=at(5)), event(code, at=at(9)))
    more = ((),) if code == 74 else ()
    seen = found(one(rule, hits, *more, False))
    assert weight(rule, seen) == (severity, action)
    assert f"Xid {code}" in seen.says
    assert "2 times" in seen.says
    assert (seen.count, seen.first, seen.last) == (2, at(1), at(9))
    assert "times" not in found(one(rule, hits[:1], *more, False)).says
    fine, cut = one(rule, (event(31),), *more, True), one(rule, (event(31),), *more, False)
    assert isinstance(fine, Fine)
    assert isinstance(cut, Unclear)
    assert cut.subject == CARD
    assert isinstance(one(rule, (), *more, False), Unclear)


def test_the_registers_of_an_nvlink_fault_are_told_for_what_they_are_worth() -> None:
    says = "NVLink: fatal error detected on link 7(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
    hopper = make(GpuIdentity, CARD, name="NVIDIA H200")
    older = make(GpuIdentity, CARD, name="NVIDIA A100-SXM4-80GB", architecture="Ampere")
    seen = found(one(xid.xid74_nvlink, (event(74, says=says),), (hopper,), False))
    assert "on link 7; perhaps bad contact" in seen.says
    assert hopper.sources[0] in seen.sources
    assert weight(xid.xid74_nvlink, seen) == ("warning", "watch")
    for cards in ((), (older,)):
        seen = found(one(xid.xid74_nvlink, (event(74, says=says),), cards, False))
        assert "on Hopper cards the registers say: perhaps bad contact" in seen.says
    strange = event(74, says=says.replace("0x10000", "0x8"))
    assert "does not describe" in found(one(xid.xid74_nvlink, (strange,), (hopper,), False)).says
    zero = event(74, says=says.replace("0x10000", "0x0"))
    assert found(one(xid.xid74_nvlink, (zero,), (), False)).says == "Xid 74: NVLink fault on link 7"


def test_faults_of_programs_are_none_of_the_cards() -> None:
    for rule in (xid.xid43_app_fault, xid.xid45_cleanup, xid.xid94_contained):
        assert rule.scope == "job"
        assert rule.points_to is None


def test_an_exception_and_the_stopped_channel_after_it_are_one_finding() -> None:
    both = (event(13, pid=7), event(43, pid=7))
    seen = found(one(xid.xid43_app_fault, both, False))
    assert "Xid 13, Xid 43" in seen.says
    assert seen.says.count("pid 7") == 1


def test_who_did_it_is_named_three_at_most() -> None:
    rule = xid.xid43_app_fault
    slices = tuple(event(43, process="trigger_xid", pid=n, mig="1/0") for n in range(1, 6))
    says = found(one(rule, slices, False)).says
    assert "process trigger_xid pid 1 MIG slice 1/0" in says
    assert "pid 3" in says
    assert "pid 4" not in says
    assert "2 more" in says
    assert "more" not in found(one(rule, slices[:3], False)).says
    assert "(" not in found(one(rule, (event(43),), False)).says


def test_cleared_channels_name_the_code_that_caused_them() -> None:
    rule = xid.xid45_cleanup
    echo = (event(45, previous=109), event(45, previous=43), event(45, previous=109))
    assert "Xid 43, 109" in found(one(rule, echo, False)).says
    assert "caused" not in found(one(rule, (event(45),), False)).says


def test_a_lost_card_is_counted_and_spans_all_its_signs() -> None:
    check = xid.xid79_fallen_off_bus.check
    (seen,) = check((event(79, count=9, at=at(5), last_at=at(900)),), (), (), False)
    assert (seen.count, seen.first, seen.last) == (9, at(5), at(900))
    off = make(NvrmEvent, CARD, what="off_bus", at=at(6))
    (seen,) = check((event(79, at=at(10)),), (off,), (), False)
    assert (seen.first, seen.last) == (at(6), at(10))
    said = make(ToolMessage, CARD, tool="nvidia-smi", meaning="gpu_lost", says="x")
    (seen,) = check((event(79, at=at(10)),), (), (said,), False)
    assert seen.last == at(10)


def test_the_last_moment_is_the_latest_end_of_a_folded_event() -> None:
    events = (event(13, at=at(200), count=801, last_at=at(1000)), event(43, at=at(500)))
    (seen,) = xid.xid43_app_fault.check(events, False)
    assert seen.last == at(1000)
