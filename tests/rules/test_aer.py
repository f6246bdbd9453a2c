"""Rules on PCIe error reports, branch by branch."""

from collections.abc import Iterable
from typing import Any

from rules.hand import at, cited, found, weight
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.kernel_log import AerEvent, LinkDownEvent, NvrmEvent, XidEvent
from steadygpu.evidence.link import PciDevice, PciErrorStatus
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.source import Absent, Source
from steadygpu.rules import aer
from steadygpu.verdict.rule import Finding, Fine, NotHere, Seen, Unclear

CARD = DeviceRef(kind="card", bdf="0000:41:00.0")
PORT = DeviceRef(kind="port", bdf="0000:40:01.0")
SWITCH = DeviceRef(kind="port", bdf="0000:42:00.0")
NIC = DeviceRef(kind="nic", bdf="0000:22:00.0")
BARE = DeviceRef(kind="pci", bdf="0000:23:00.0")


def make(cls: type[Any], device: DeviceRef, **fields: Any) -> Any:
    proof = (Source(name=f"{cls.__name__}.txt", quote=f"a line on {device.bdf}"),)
    return cls(device=device, sources=proof, **fields)


def error(device: DeviceRef, severity: str = "corrected", **fields: Any) -> Any:
    return make(AerEvent, device, severity=severity, **fields)


def pci(device: DeviceRef, role: str, **fields: Any) -> Any:
    return make(PciDevice, device, role=role, **fields)


TREE = (pci(PORT, "port"), pci(CARD, "card", parent=PORT.bdf))
NIC_TREE = (pci(PORT, "port"), pci(NIC, "nic", parent=PORT.bdf))
LOST = make(XidEvent, CARD, code=79, at=at(204))


def worst(seen: Iterable[Seen]) -> Seen:
    """What decides: of one device and the host as a whole."""
    order = (Finding, Unclear, NotHere, Fine)
    return min(seen, key=lambda one: order.index(type(one)))


def on_path(
    *events: Any, status: Any = (), tree: Any = (), xids: Any = (), driver: Any = (), whole: Any = 0
) -> Seen:
    return worst(
        aer.aer_corrected_on_gpu_path.check(events, status, tree, xids, driver, bool(whole))
    )


def elsewhere(*events: Any, tree: Any = (), whole: bool = False) -> Seen:
    return worst(aer.aer_corrected_elsewhere.check(events, tree, (), (), whole))


def uncorrected(
    *events: Any, downs: Any = (), status: Any = (), tree: Any = (), xids: Any = (), whole: Any = 0
) -> Seen:
    return worst(aer.aer_uncorrected.check(events, downs, status, tree, xids, (), bool(whole)))


def test_corrected_errors_of_a_card_are_counted_into_one_warning() -> None:
    seen = found(
        on_path(
            error(CARD, names=("Bad TLP",), at=at(100)),
            error(CARD, names=("Bad TLP", "Bad DLLP"), at=at(200), count=3, last_at=at(260)),
        )
    )
    assert weight(aer.aer_corrected_on_gpu_path, seen) == ("warning", "watch")
    assert (seen.subject, seen.count) == (CARD, 4)
    assert (seen.first, seen.last) == (at(100), at(260))
    assert "4 corrected PCIe errors" in seen.says
    assert seen.says.count("Bad TLP") == 1
    single = found(on_path(error(CARD, at=at(100))))
    assert "1 corrected PCIe error " in single.says
    assert single.last == at(100)


def test_corrected_errors_of_a_port_count_where_a_card_lies_behind_it() -> None:
    seen = found(on_path(error(PORT), tree=TREE))
    assert seen.subject == PORT
    assert seen.touches == (CARD,)
    assert "0000:41:00.0" in seen.says
    assert cited(seen) == {"AerEvent", "PciDevice"}


def test_the_way_to_a_card_may_lead_through_a_switch() -> None:
    deep = (
        pci(PORT, "port"),
        pci(SWITCH, "port", parent=PORT.bdf),
        pci(CARD, "card", parent=SWITCH.bdf),
    )
    assert found(on_path(error(PORT), tree=deep)).touches == (CARD,)
    circle = (
        pci(PORT, "port", parent=SWITCH.bdf),
        pci(SWITCH, "port", parent=PORT.bdf),
        pci(CARD, "card", parent=SWITCH.bdf),
    )
    assert found(on_path(error(PORT), tree=circle)).touches == (CARD,)


def test_an_address_without_a_kind_is_what_the_tree_says() -> None:
    assert found(on_path(error(BARE), tree=(pci(BARE, "card"),))).subject == BARE
    assert isinstance(on_path(error(BARE), tree=(pci(BARE, "nic"),), whole=True), Fine)
    assert isinstance(on_path(error(BARE)), Unclear)


def test_a_port_whose_errors_came_before_the_loss_of_a_card_is_on_its_path() -> None:
    seen = found(on_path(error(PORT, at=at(100)), xids=(LOST,)))
    assert seen.touches == (CARD,)
    assert cited(seen) == {"AerEvent", "XidEvent"}
    gone = make(NvrmEvent, CARD, what="off_bus", at=at(204))
    assert found(on_path(error(PORT, at=at(100)), driver=(gone,))).touches == (CARD,)
    folded = error(PORT, at=at(-900), count=9, last_at=at(200))
    assert found(on_path(folded, xids=(LOST,))).touches == (CARD,)
    one_of_two = (error(PORT, at=at(-900)), error(PORT, at=at(150)))
    assert found(on_path(*one_of_two, xids=(LOST,))).count == 2


def test_a_loss_long_after_before_or_at_no_known_time_does_not_place_a_port() -> None:
    for moment in (at(-900), at(205), UNKNOWN, Moment(wall=100.0, zone_known=True)):
        seen = on_path(error(PORT, at=moment), xids=(LOST,))
        assert isinstance(seen, Unclear)
        assert "lspci" in (seen.ask or "")
    assert isinstance(on_path(error(BARE, at=at(100)), xids=(LOST,)), Unclear)
    other = make(XidEvent, CARD, code=13, at=at(204))
    assert isinstance(on_path(error(PORT, at=at(100)), xids=(other,)), Unclear)


def test_an_address_that_was_lost_itself_is_a_card() -> None:
    lost = make(XidEvent, DeviceRef(kind="card", bdf=BARE.bdf), code=79)
    seen = found(on_path(error(BARE), xids=(lost,)))
    assert seen.touches == ()
    assert cited(seen) == {"AerEvent", "XidEvent"}


def test_corrected_errors_away_from_the_cards_are_information_only() -> None:
    disk = DeviceRef(kind="disk", bdf="0000:05:00.0")
    named = DeviceRef(kind="pci", bdf="0000:06:00.0", label="xhci_hcd")
    for device in (NIC, disk, named):
        assert isinstance(on_path(error(device), whole=True), Fine)
        seen = found(elsewhere(error(device)))
        assert weight(aer.aer_corrected_elsewhere, seen) == ("info", "none")
    assert isinstance(on_path(error(PORT), tree=NIC_TREE, whole=True), Fine)
    assert cited(found(elsewhere(error(PORT), tree=NIC_TREE))) == {"AerEvent", "PciDevice"}


def test_corrected_elsewhere_leaves_cards_and_unknown_ports_alone() -> None:
    assert isinstance(elsewhere(error(CARD), whole=True), Fine)
    assert isinstance(elsewhere(error(PORT), tree=TREE, whole=True), Fine)
    assert isinstance(elsewhere(error(PORT)), Unclear)
    assert isinstance(elsewhere(error(NIC, "fatal"), whole=True), Fine)


def test_no_error_proves_something_only_in_a_whole_log() -> None:
    for check in (on_path, elsewhere, uncorrected):
        whole, cut = check(whole=True), check(whole=False)
        assert isinstance(whole, Fine)
        assert isinstance(cut, Unclear)
        assert cut.subject == whole.subject == host_ref()
        assert "dmesg" in (cut.ask or "")


def test_corrected_bits_kept_since_boot_are_history() -> None:
    seen = found(on_path(status=(make(PciErrorStatus, CARD, corrected=("RxErr", "BadTLP")),)))
    assert weight(aer.aer_corrected_on_gpu_path, seen) == ("info", "none")
    assert "RxErr, BadTLP" in seen.says
    assert seen.first == seen.last == UNKNOWN
    clear = on_path(status=(make(PciErrorStatus, CARD, corrected=()),))
    assert isinstance(clear, Fine)
    assert clear.sources
    assert isinstance(on_path(status=(make(PciErrorStatus, CARD),)), Unclear)
    none = (Absent(field="corrected", reason="not_supported"),)
    assert isinstance(on_path(status=(make(PciErrorStatus, CARD, absent=none),)), NotHere)


def test_kept_bits_are_judged_on_the_path_and_once_a_device() -> None:
    kept = make(PciErrorStatus, PORT, corrected=("RxErr",), uncorrected=("CmpltTO",))
    assert found(on_path(status=(kept,), tree=TREE)).subject == PORT
    assert isinstance(on_path(status=(kept,), tree=NIC_TREE, whole=True), Fine)
    assert isinstance(on_path(status=(kept,)), Unclear)
    told = found(on_path(error(PORT, names=("Bad TLP",)), status=(kept,), tree=TREE))
    assert "Bad TLP" in told.says
    fatal = found(uncorrected(error(PORT, "fatal"), status=(kept,), tree=TREE))
    assert weight(aer.aer_uncorrected, fatal) == ("critical", "drain")


def test_uncorrected_errors_drain_the_host_only_on_the_path_to_a_card() -> None:
    for severity in ("nonfatal", "fatal"):
        seen = found(uncorrected(error(CARD, severity, names=("Poisoned TLP",))))
        assert weight(aer.aer_uncorrected, seen) == ("critical", "drain")
        assert "Poisoned TLP" in seen.says
        assert isinstance(uncorrected(error(PORT, severity)), Unclear)
        away = found(uncorrected(error(NIC, severity)))
        assert weight(aer.aer_uncorrected, away) == ("warning", "watch")
        assert "no card" in away.says
    assert found(uncorrected(error(PORT, "fatal"), tree=TREE)).touches == (CARD,)
    assert isinstance(uncorrected(error(CARD), whole=True), Fine)


def test_a_link_that_went_away_by_surprise_counts_without_a_known_place() -> None:
    seen = found(uncorrected(error(PORT, "fatal", surprise_down=True, at=at(7))))
    assert weight(aer.aer_uncorrected, seen) == ("warning", "watch")  # an NVMe slot says the same
    assert "went away" in seen.says
    assert seen.first == seen.last == at(7)
    away = found(uncorrected(error(NIC, "fatal", surprise_down=True)))
    assert weight(aer.aer_uncorrected, away) == ("warning", "watch")


def test_a_slot_that_lost_its_link_needs_a_card_behind_it() -> None:
    first = make(LinkDownEvent, PORT, says="Link Down", at=at(1), count=2, last_at=at(3))
    again = make(LinkDownEvent, PORT, says="Link Down", at=at(9))
    more = make(LinkDownEvent, PORT, says="Card not present", at=at(10), count=2, last_at=at(12))
    seen = found(uncorrected(downs=(first, again, more), tree=TREE))
    assert weight(aer.aer_uncorrected, seen) == ("critical", "drain")
    assert (seen.count, seen.first, seen.last) == (5, at(1), at(12))
    assert seen.touches == (CARD,)
    assert seen.says.count("Link Down") == 1
    assert "0000:41:00.0" in seen.says
    assert isinstance(uncorrected(downs=(again,), tree=NIC_TREE, whole=True), NotHere)
    assert isinstance(uncorrected(downs=(again,)), Unclear)
    fell = found(uncorrected(downs=(make(LinkDownEvent, CARD, says="rev ff", at=at(1)),)))
    assert (fell.subject, fell.touches, fell.last) == (CARD, (), at(1))


def test_a_slot_may_report_its_link_just_after_the_driver_reports_the_card() -> None:
    for moment, kind in ((207, Finding), (211, Unclear), (150, Finding)):
        down = make(LinkDownEvent, PORT, says="Link Down", at=at(moment))
        assert isinstance(uncorrected(downs=(down,), xids=(LOST,)), kind)


def test_an_error_and_a_link_down_of_one_slot_are_one_finding() -> None:
    down = make(LinkDownEvent, PORT, says="Link Down")
    seen = found(uncorrected(error(PORT, "fatal"), downs=(down,), tree=TREE))
    assert "uncorrected" in seen.says


def test_uncorrected_bits_kept_since_boot_are_a_warning_unless_set_by_probing() -> None:
    def kept(bits: Any) -> Seen:
        return uncorrected(status=(make(PciErrorStatus, CARD, uncorrected=bits),))

    seen = found(kept(("UnsupReq", "CmpltTO")))
    assert weight(aer.aer_uncorrected, seen) == ("warning", "watch")
    assert "CmpltTO" in seen.says
    assert "UnsupReq" not in seen.says
    assert isinstance(kept(("UnsupReq",)), Fine)
    assert isinstance(kept(()), Fine)
    assert isinstance(kept(None), Unclear)


def test_an_error_elsewhere_does_not_make_a_cut_log_whole() -> None:
    assert isinstance(on_path(error(NIC)), Unclear)
    assert isinstance(elsewhere(error(CARD)), Unclear)
    down = make(LinkDownEvent, NIC, says="Link Down")
    assert isinstance(uncorrected(downs=(down,)), Unclear)


def test_the_sound_function_of_a_card_shares_its_link() -> None:
    sound = DeviceRef(kind="pci", bdf="0000:41:00.1")
    tree = (*TREE, pci(sound, "audio", parent=PORT.bdf))
    seen = found(on_path(error(sound), tree=tree))
    assert seen.touches == (CARD,)
    fatal = found(uncorrected(error(sound, "fatal"), tree=tree))
    assert weight(aer.aer_uncorrected, fatal) == ("critical", "drain")


def test_an_unplaced_error_does_not_hide_that_its_slot_lost_the_link() -> None:
    event = error(PORT, "nonfatal", names=("Completion Timeout",), at=at(205))
    down = make(LinkDownEvent, PORT, says="Link Down", at=at(206))
    seen = found(uncorrected(event, downs=(down,), xids=(LOST,)))
    assert weight(aer.aer_uncorrected, seen) == ("critical", "drain")
    assert seen.touches == (CARD,)
    assert {"AerEvent", "LinkDownEvent", "XidEvent"} == cited(seen)


def test_the_last_moment_is_the_latest_end_not_the_last_item() -> None:
    folded = error(CARD, names=("Bad TLP",), at=at(200), count=801, last_at=at(1000))
    seen = found(on_path(folded, error(CARD, names=("Timeout",), at=at(500))))
    assert (seen.first, seen.last) == (at(200), at(1000))


def test_kept_bits_of_a_port_name_the_card_behind_it() -> None:
    kept = make(PciErrorStatus, PORT, corrected=("RxErr",))
    seen = found(on_path(status=(kept,), tree=TREE))
    assert seen.touches == (CARD,)
    assert "PciDevice" in cited(seen)
