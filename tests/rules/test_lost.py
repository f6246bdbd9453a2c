"""Rules on cards that are there and do not answer, branch by branch."""

from typing import Any

import pytest

from rules.hand import cited, found, one, weight
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.driver import ToolMessage
from steadygpu.evidence.ecc import GpuRecovery
from steadygpu.evidence.gpu import CardListing, GpuErrorCells, GpuIdentity
from steadygpu.evidence.link import PciDevice
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.setting import Setting
from steadygpu.evidence.source import Absent, Source
from steadygpu.rules import lost
from steadygpu.verdict.rule import Finding, Fine, NotHere, Seen, Unclear

HOST = host_ref("node7")


def card(number: int = 0) -> DeviceRef:
    return DeviceRef(kind="card", host="node7", bdf=f"0000:{0x41 + number:02x}:00.0", index=number)


def make(cls: type[Any], device: DeviceRef, **fields: Any) -> Any:
    proof = (Source(name=f"{cls.__name__}.txt", quote=f"a line on {device.bdf}"),)
    return cls(device=device, sources=proof, **fields)


def cells(*fields: str, word: str = "ERR!", readable: int = 8, number: int = 0) -> Any:
    words = (word,) * len(fields)
    return make(GpuErrorCells, card(number), fields=fields, words=words, readable=readable)


def message(meaning: str, device: DeviceRef = HOST, **fields: Any) -> Any:
    return make(
        ToolMessage, device, tool="nvidia-smi", meaning=meaning, says=f"{meaning}.", **fields
    )


def pci(number: int = 0, **fields: Any) -> Any:
    known = {"role": "card", "pci_id": "10de:2330", "driver": "nvidia", "driver_listed": True}
    return make(PciDevice, fields.pop("device", card(number)), **{**known, **fields})


def listing(listed: int, **fields: Any) -> Any:
    return make(CardListing, HOST, **{"tool": "nvidia-smi-list", "listed": listed, **fields})


def known(*numbers: int) -> tuple[Any, ...]:
    return tuple(make(GpuIdentity, card(n), name="NVIDIA H100") for n in numbers)


def missing(pci_devices: Any, listings: Any = (), cards: Any = ()) -> Seen:
    return one(lost.gpu_missing, tuple(pci_devices), tuple(listings), tuple(cards))


FOUR = tuple(pci(n) for n in range(4))


@pytest.mark.parametrize(
    ("cell", "severity", "action"),
    [
        (cells("Fan", "Pwr:Usage", "Memory-Usage"), "critical", "drain"),
        (cells("GPU-Util", word="GPU is lost"), "critical", "drain"),
        (cells("GPU-Util", word="GPU requires reset"), "critical", "reset-gpu"),
        (cells("Fan"), "info", "none"),
        (cells("Addressing Mode", "Display Active"), "info", "none"),
        (cells("Pwr:Usage"), "warning", "watch"),
        (cells("Pwr:Usage", readable=1), "critical", "drain"),
        (cells("Fan", "Pwr:Usage"), "critical", "drain"),
    ],
)
def test_error_cells_weigh_by_word_and_number(cell: Any, severity: str, action: str) -> None:
    seen = found(one(lost.gpu_err_fields, (cell,), ()))
    assert weight(lost.gpu_err_fields, seen) == (severity, action)
    assert seen.subject == card()


def test_error_cells_name_six_fields_and_each_word_once() -> None:
    fields = tuple(f"field {n}" for n in range(1, 9))
    says = found(one(lost.gpu_err_fields, (cells(*fields),), ())).says
    assert says.count("ERR!") == 1
    assert "8 cells" in says
    assert "field 6, ..." in says
    assert "field 7" not in says
    assert "..." not in found(one(lost.gpu_err_fields, (cells(*fields[:6]),), ())).says


def test_cards_without_error_cells_are_fine_beside_one_that_has_them() -> None:
    at = Moment(wall=5.0)
    bad = make(GpuErrorCells, card(), fields=("a", "b"), words=("ERR!",), readable=1, at=at)
    none = make(GpuErrorCells, card(1), fields=(), words=(), readable=9)
    seen = list(lost.gpu_err_fields.check((bad, none), known(0, 1)))
    assert [(type(s), s.subject) for s in seen] == [(Finding, card(0)), (Fine, card(1))]
    assert found(seen[0]).first == found(seen[0]).last == at


def test_a_card_that_the_tool_cannot_open() -> None:
    rule = lost.gpu_handle_lost
    first = message("handle_lost", card(), at=Moment(wall=1.0))
    last = message("gpu_lost", card(), at=Moment(wall=9.0))
    seen = found(one(rule, (first, last)))
    assert weight(rule, seen) == ("critical", "drain")
    assert (seen.subject, seen.says, seen.count) == (card(), "handle_lost.", 2)
    assert (seen.first, seen.last) == (Moment(wall=1.0), Moment(wall=9.0))
    assert not list(rule.check(()))


def test_a_tool_that_is_missing_or_may_not_look_proves_no_loss() -> None:
    rule = lost.gpu_handle_lost
    for meaning in ("not_permitted", "unknown_error", "other", "command_missing"):
        seen = one(rule, (message(meaning),))
        assert isinstance(seen, Unclear)
        assert "nvidia-smi" in (seen.ask or "")
    for meaning in ("library_mismatch", "driver_not_loaded", "no_devices"):
        assert isinstance(one(rule, (message(meaning),)), NotHere)


def test_a_card_that_the_driver_does_not_list_is_named() -> None:
    seen = found(missing(FOUR, [listing(3)], known(0, 1, 3)))
    assert weight(lost.gpu_missing, seen) == ("critical", "drain")
    assert seen.subject == card(2)
    assert seen.touches == (card(2),)
    assert "43:00.0" in seen.says
    assert "4 cards" in seen.says
    assert cited(seen) == {"CardListing", "PciDevice"}


def test_missing_cards_that_cannot_be_named_or_are_several_are_the_hosts() -> None:
    nameless = found(missing(FOUR, [listing(3)]))
    assert (nameless.subject, nameless.touches) == (HOST, ())
    two = found(missing(FOUR, [listing(2)], known(0, 3)))
    assert (two.subject, two.touches) == (HOST, (card(1), card(2)))


def test_all_cards_listed_is_fine() -> None:
    assert isinstance(missing(FOUR, [listing(4)], known(0, 1, 2, 3)), Fine)
    assert isinstance(missing(FOUR, [listing(4)]), Fine)
    assert isinstance(missing(FOUR, [listing(3, attached=4), listing(3)]), Fine)
    assert isinstance(missing(FOUR, [listing(1), listing(4)]), Fine)


def test_pci_and_driver_that_name_different_cards_are_unclear() -> None:
    assert isinstance(missing(FOUR, [listing(4)], known(0, 1, 2, 9)), Unclear)


def test_a_listing_that_is_cut_or_of_a_container_proves_nothing() -> None:
    for part in (
        listing(3, complete=False),
        listing(3, container=True),
        listing(3, tool="lspci"),
    ):
        seen = missing(FOUR, [part], known(0, 1, 2))
        assert isinstance(seen, Unclear)
        assert "nvidia-smi -L" in (seen.ask or "")
    assert isinstance(missing(FOUR), Unclear)


@pytest.mark.parametrize(
    "other",
    [
        {"role": "nic", "pci_id": "15b3:101b"},
        {"pci_id": "1002:740f", "driver": "amdgpu"},
        {"pci_id": None, "vendor": "Advanced Micro Devices"},
        {"driver": "vfio-pci"},
        {"device": DeviceRef(kind="card", bdf="0000:41:00.4")},
        {"pci_id": "10de:1eb8", "driver": None},  # another model that the driver holds nowhere
    ],
)
def test_devices_that_the_driver_should_not_offer_are_not_missed(other: dict[str, Any]) -> None:
    cards = (*FOUR[:3], pci(3, **other))
    assert isinstance(missing(cards, [listing(3)], known(0, 1, 2)), Fine)


def test_a_card_of_the_drivers_model_without_a_driver_is_missed() -> None:
    cards = (*FOUR[:3], pci(3, driver=None))
    assert found(missing(cards, [listing(3)], known(0, 1, 2))).subject == card(3)


def test_where_no_driver_is_listed_the_commonest_model_is_expected() -> None:
    bare = {"driver": None, "driver_listed": False}
    cards = (*(pci(n, **bare) for n in range(3)), pci(3, pci_id="10de:1eb8", **bare))
    assert isinstance(missing(cards, [listing(3)], known(0, 1, 2)), Fine)
    named = tuple(pci(n, pci_id=None, vendor="NVIDIA Corporation", name="H100", **bare) for n in range(3))  # fmt: skip
    assert found(missing(named, [listing(2)], known(0, 1))).subject == card(2)


def test_no_card_on_pci_asks_nothing_and_an_unknown_model_is_unclear() -> None:
    assert isinstance(missing([pci(role="nic")], [listing(0)]), NotHere)
    assert not list(lost.gpu_missing.check((), (listing(0),), ()))
    no_driver = (Absent(field="driver", reason="cut"),)
    vague = pci(3, driver=None, absent=no_driver)
    alone = missing([vague], [listing(1)])
    assert isinstance(alone, Unclear)
    assert "lspci" in (alone.ask or "")
    assert isinstance(missing((*FOUR[:3], vague), [listing(3)], known(0, 1, 2)), Unclear)


@pytest.mark.parametrize(
    ("fields", "action"),
    [
        ({"action": "reset"}, "reset-gpu"),
        ({"action": "reboot", "reset_required": False}, "reboot"),
        ({"action": "drain_and_reset"}, "reset-gpu"),
        ({"reset_required": True}, "reset-gpu"),
        ({"reset_required": False, "drain_reset_recommended": True}, "reset-gpu"),
    ],
)
def test_a_recovery_that_the_driver_asks_for(fields: dict[str, Any], action: str) -> None:
    rule = lost.gpu_recovery_action
    seen = found(one(rule, make(GpuRecovery, card(), **fields)))
    assert weight(rule, seen) == ("critical", action)


def test_no_recovery_is_asked_for_by_the_new_line_or_by_both_old_ones() -> None:
    rule = lost.gpu_recovery_action

    def asked(**fields: Any) -> Seen:
        return one(rule, make(GpuRecovery, card(), **fields))

    assert isinstance(asked(action="none", reset_required=True), Fine)
    assert isinstance(asked(reset_required=False, drain_reset_recommended=False), Fine)
    assert isinstance(asked(reset_required=False), Unclear)
    assert isinstance(asked(), Unclear)
    absent = (Absent(field="action", reason="not_supported"),)
    assert isinstance(asked(absent=absent), NotHere)


def test_cards_of_a_guest_lie_side_by_side_on_bus_0() -> None:
    cards = tuple(
        pci(n, device=DeviceRef(kind="card", bdf=f"0000:00:{0x1B + n:02x}.0", index=n))
        for n in range(4)
    )
    (seen,) = lost.gpu_missing.check(cards, (listing(3),), ())
    assert isinstance(seen, Finding)


def test_a_card_that_cannot_be_opened_before_a_reset_asks_for_one() -> None:
    (seen,) = lost.gpu_handle_lost.check((message("reset_required", card()),))
    assert isinstance(seen, Finding)
    assert seen.action == "reset-gpu"


def test_many_missing_cards_may_be_a_container_and_drain_nothing() -> None:
    eight = [pci(n) for n in range(8)]
    assert weight(lost.gpu_missing, found(missing(eight, [listing(7)]))) == ("critical", "drain")
    assert weight(lost.gpu_missing, found(missing(eight, [listing(1)]))) == ("warning", "watch")


def test_a_listing_within_a_container_is_not_all() -> None:
    box, vm = (make(Setting, HOST, kind=kind, by="text") for kind in ("container", "vm"))
    assert isinstance(one(lost.gpu_missing, FOUR, (listing(3),), (), (vm,)), Finding)
    assert isinstance(one(lost.gpu_missing, FOUR, (listing(3),), (), (vm, box)), Unclear)
