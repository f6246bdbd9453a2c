"""Rules on the link of a card, branch by branch."""

from typing import Any

import pytest

from rules.hand import cited, found, one, weight
from steadygpu.evidence.amd import DpmLink
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import GpuClock, GpuLoad
from steadygpu.evidence.link import PciDevice, PcieLink
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.setting import Setting
from steadygpu.evidence.source import Absent, Source
from steadygpu.rules import pcie
from steadygpu.verdict.rule import Finding, Fine, NotHere, Seen, Unclear

CARD = DeviceRef(kind="card", bdf="0000:41:00.0")
PORT = DeviceRef(kind="port", bdf="0000:40:01.0")
NOW = Moment(wall=1000.0)


def make(cls: type[Any], device: DeviceRef = CARD, **fields: Any) -> Any:
    proof = (Source(name=f"{device.kind} {cls.__name__}.txt", quote="a line"),)
    return cls(device=device, sources=proof, **fields)


def link(device: DeviceRef = CARD, **fields: Any) -> Any:
    whole = {"width": 16, "max_width": 16, "speed_gts": 32.0, "max_speed_gts": 32.0, "at": NOW}
    return make(PcieLink, device, **{**whole, **fields})


def device(ref: DeviceRef, **fields: Any) -> Any:
    return make(PciDevice, ref, **{"role": ref.kind, **fields})


BUSY, IDLE = make(GpuLoad, busy_ratio=0.9), make(GpuLoad, busy_ratio=0.0)
UNREAD = make(GpuLoad)
BELOW = (device(PORT), device(CARD, parent=PORT.bdf))
HIDDEN = (device(PORT), device(CARD))
NOT_PERMITTED = tuple(
    Absent(field=f, reason="not_permitted", ask="sudo lspci -vvnn")
    for f in ("width", "max_width", "speed_gts", "max_speed_gts")
)


def width(own: Any, port: Any = None, devices: Any = ()) -> Seen:
    return one(pcie.pcie_width_low, own, (own, *([port] if port else [])), devices)


def speed(
    own: Any, load: Any = BUSY, port: Any = None, devices: Any = (), clock: Any = None
) -> Seen:
    links = (own, *([port] if port else []))
    return one(pcie.pcie_speed_low_under_load, own, load, clock, links, devices)


def slot(own: Any, port: Any = None, devices: Any = BELOW) -> Seen:
    return one(pcie.pcie_limited_by_slot, own, (own, *([port] if port else [])), devices)


def test_lost_lanes_count_at_any_load() -> None:
    seen = found(width(link(width=1)))
    assert weight(pcie.pcie_width_low, seen) == ("warning", "fix-feed")
    assert "x1 where x16" in seen.says
    assert seen.first == seen.last == NOW
    assert isinstance(width(link()), Fine)
    assert isinstance(width(link(width=0)), NotHere)


def test_the_narrower_end_is_what_a_link_can_have() -> None:
    narrow = link(PORT, max_width=8)
    assert isinstance(width(link(width=8), narrow, BELOW), Fine)
    seen = found(width(link(width=4), narrow, BELOW))
    assert "x8 is expected (port above)" in seen.says
    assert cited(seen) == {"card PcieLink", "port PcieLink"}
    wide = found(width(link(width=8), link(PORT), BELOW))
    assert "x16 is expected (card)" in wide.says
    assert cited(wide) == {"card PcieLink", "port PcieLink"}


def test_a_port_that_is_not_read_or_not_known_leaves_the_width_open() -> None:
    assert isinstance(width(link(width=8), link(PORT, max_width=None), BELOW), Unclear)
    assert isinstance(width(link(width=8), devices=HIDDEN), Unclear)
    assert isinstance(width(link(), devices=HIDDEN), Fine)
    assert found(width(link(width=8), devices=(device(CARD),)))
    assert found(width(link(width=8), link(PORT, max_width=8), ()))


def test_a_link_that_may_not_be_read_says_what_to_run() -> None:
    dark = make(PcieLink, absent=NOT_PERMITTED)
    for seen in (width(dark), speed(dark), one(pcie.pcie_speed_idle, dark, IDLE)):
        assert isinstance(seen, Unclear)
        assert seen.ask == "sudo lspci -vvnn"
    dark_below = slot(dark, link(PORT))
    assert isinstance(dark_below, Unclear)
    assert dark_below.ask == "sudo lspci -vvnn"


def test_links_of_other_devices_are_not_judged() -> None:
    port = link(PORT, width=1, speed_gts=2.5, replays=0)
    later = link(PORT, replays=900, at=Moment(wall=1060.0))
    for seen in (
        width(port),
        speed(port),
        one(pcie.pcie_speed_idle, port, None),
        slot(port),
        one(pcie.link_errors, (port, later)),
    ):
        assert isinstance(seen, NotHere)


def test_low_speed_is_a_finding_of_a_busy_card_only() -> None:
    slow = link(speed_gts=2.5)
    seen = found(speed(slow))
    assert weight(pcie.pcie_speed_low_under_load, seen) == ("warning", "fix-feed")
    assert "2.5 GT/s while 90% busy, 32 expected" in seen.says
    assert cited(seen) == {"card PcieLink", "card GpuLoad"}
    assert seen.first == seen.last == NOW
    for load in (IDLE, UNREAD, None):
        unclear = speed(slow, load)
        assert isinstance(unclear, Unclear)
        assert "nvidia-smi" in (unclear.ask or "")
    assert isinstance(speed(link(), IDLE), Fine)


def test_the_slower_end_is_what_a_link_can_reach() -> None:
    old = link(PORT, max_speed_gts=8.0)
    assert isinstance(speed(link(speed_gts=8.0), BUSY, old, BELOW), Fine)
    seen = found(speed(link(speed_gts=5.0), BUSY, old, BELOW))
    assert "8 expected (port above)" in seen.says
    assert cited(seen) == {"card PcieLink", "port PcieLink", "card GpuLoad"}
    unread = link(PORT, max_speed_gts=None)
    assert isinstance(speed(link(speed_gts=5.0), BUSY, unread, BELOW), Unclear)
    assert isinstance(speed(link(speed_gts=5.0), devices=HIDDEN), Unclear)


def test_low_speed_of_an_idle_card_is_no_fault() -> None:
    rule, slow = pcie.pcie_speed_idle, link(speed_gts=2.5)
    seen = found(one(rule, slow, IDLE))
    assert weight(rule, seen) == ("info", "none")
    assert "2.5 of 32 GT/s" in seen.says
    assert cited(seen) == {"card PcieLink", "card GpuLoad"}
    assert isinstance(one(rule, slow, BUSY), Fine)
    assert isinstance(one(rule, link(), IDLE), Fine)
    for load in (UNREAD, None):
        assert isinstance(one(rule, slow, load), Unclear)


def test_exactly_one_rule_speaks_of_a_slow_link() -> None:
    for load in (BUSY, IDLE):
        slow = link(speed_gts=2.5)
        both = (speed(slow, load), one(pcie.pcie_speed_idle, slow, load))
        assert sum(isinstance(seen, Finding) for seen in both) == 1


@pytest.mark.parametrize(
    ("port", "words", "others"),
    [
        ({"max_width": 8}, "port x8, card x16", "GT/s"),
        ({"max_speed_gts": 8.0}, "port 8, card 32 GT/s", "x16"),
        ({"max_width": 4, "max_speed_gts": 8.0}, "port x4, card x16; port 8, card 32 GT/s", "?"),
    ],
)
def test_a_slot_that_is_less_than_the_card(port: Any, words: str, others: str) -> None:
    seen = found(slot(link(), link(PORT, **port)))
    assert weight(pcie.pcie_limited_by_slot, seen) == ("info", "none")
    assert words in seen.says
    assert others not in seen.says
    assert cited(seen) == {"card PcieLink", "port PcieLink"}


def test_a_slot_needs_both_ends_to_be_read() -> None:
    assert isinstance(slot(link(), link(PORT)), Fine)
    assert isinstance(slot(link(max_width=8), link(PORT)), Fine)
    for port, devices in (
        (None, BELOW),
        (link(PORT, max_width=8), HIDDEN),
        (link(PORT, max_width=8), ()),
        (link(PORT, max_width=8, max_speed_gts=None), BELOW),
    ):
        seen = slot(link(), port, devices)
        assert isinstance(seen, Unclear)
        assert seen.subject == CARD
        assert "lspci" in (seen.ask or "")
    assert isinstance(slot(link(max_width=None), link(PORT)), Unclear)


UP, ROOT = (DeviceRef(kind="port", bdf=f"0000:{bus}:00.0") for bus in ("3f", "3e"))
SWITCH = (
    device(ROOT, port_type="root"), device(UP, parent=ROOT.bdf, port_type="upstream"),
    device(PORT, parent=UP.bdf, port_type="downstream"), device(CARD, parent=PORT.bdf),
)  # fmt: skip


def above(rule: Any, up: Any, root: Any, *more: Any, devices: Any = SWITCH) -> Seen:
    links = (link(), link(PORT), *(one for one in (up, root) if one is not None))
    return one(rule, link(), *more, links, devices)


def test_a_bad_link_above_the_switch_is_named() -> None:
    rule = pcie.pcie_width_low
    seen = found(above(rule, link(UP, width=4), link(ROOT, width=4)))
    assert "x4 between 3e:00.0 and 3f:00.0 above the card, where x16" in seen.says
    assert seen.touches == (UP, ROOT)
    assert isinstance(above(rule, link(UP), link(ROOT)), Fine)
    assert isinstance(above(rule, link(UP, width=8), link(ROOT, width=8, max_width=8)), Fine)
    for up, root in ((link(UP), None), (link(UP, max_width=None), link(ROOT)), (None, None)):
        assert isinstance(above(rule, up, root), Unclear)
    cut = tuple(d for d in SWITCH if d.device != ROOT)
    assert isinstance(above(rule, link(UP), None, devices=cut), Unclear)


def test_a_slow_link_above_the_switch_needs_a_card_at_work() -> None:
    rule, slow = (
        pcie.pcie_speed_low_under_load,
        (link(UP, speed_gts=8.0), link(ROOT, speed_gts=8.0)),
    )
    seen = found(above(rule, *slow, BUSY, None))
    assert "8 GT/s between 3e:00.0 and 3f:00.0" in seen.says
    assert "90% busy" in seen.says
    assert isinstance(above(rule, *slow, IDLE, None), Unclear)
    assert isinstance(above(rule, *slow, BUSY, make(GpuClock, pstate=8)), Unclear)
    assert isinstance(above(rule, link(UP), link(ROOT), BUSY, None), Fine)


def test_the_narrowest_link_of_the_path_limits_the_card() -> None:
    rule = pcie.pcie_limited_by_slot
    seen = found(above(rule, link(UP), link(ROOT, max_width=8)))
    assert "between 3e:00.0 and 3f:00.0 can be x8 at 32 GT/s" in seen.says
    assert isinstance(above(rule, link(UP), link(ROOT)), Fine)
    assert isinstance(above(rule, link(UP), None), Unclear)


def replays(*counts: int | None, apart_s: float = 60.0) -> Seen:
    links = tuple(
        link(replays=n, at=Moment(wall=1000.0 + i * apart_s)) for i, n in enumerate(counts)
    )
    return one(pcie.link_errors, links)


def test_replays_count_by_their_rate_and_are_a_warning_only() -> None:
    seen = found(replays(100, None, 140, apart_s=60.0))
    assert weight(pcie.link_errors, seen) == ("warning", "watch")
    assert seen.count == 40
    assert "replays 100 to 140 in 2 min (20 a minute)" in seen.says
    assert (seen.first, seen.last) == (NOW, Moment(wall=1120.0))
    assert isinstance(replays(100, 108), Fine)
    assert found(replays(100, 109)).count == 9
    assert isinstance(replays(0, 400, apart_s=3600.0), Fine)
    assert isinstance(replays(100, 105, apart_s=1.0), Fine)


def test_one_count_of_replays_tells_no_rate() -> None:
    for counts in ((90_000,), (90_000, None), (None, None)):
        seen = replays(*counts)
        assert isinstance(seen, Unclear)
        assert "twice" in (seen.ask or "")
    assert isinstance(replays(100, 3), Unclear)
    assert not list(pcie.link_errors.check(()))


def test_replays_of_times_that_cannot_be_compared_give_no_rate() -> None:
    first = link(replays=0, at=Moment(wall=1000.0))
    last = link(replays=50, at=Moment(wall=90000.0, zone_known=True))
    (seen,) = pcie.link_errors.check((first, last))
    assert isinstance(seen, Unclear)


def test_low_speed_in_a_slow_state_of_the_card_is_left_open() -> None:
    slow = link(speed_gts=2.5)
    assert isinstance(speed(slow, clock=make(GpuClock, pstate=8)), Unclear)
    assert isinstance(speed(slow, clock=make(GpuClock, pstate=2)), Finding)


def setting(kind: Any) -> Any:
    return make(Setting, host_ref(), kind=kind, by="lscpu")


GUEST, METAL = (setting("vm"),), (setting("bare-metal"),)


def test_a_guest_says_nothing_of_the_slot() -> None:
    rule, virtual = pcie.pcie_limited_by_slot, link(PORT, max_width=1, max_speed_gts=2.5)
    links = (link(), virtual)
    assert isinstance(one(rule, link(), links, BELOW, GUEST), NotHere)
    assert isinstance(one(rule, link(), links, BELOW, METAL), Finding)
    assert isinstance(one(rule, link(), links, BELOW, ()), Finding)


@pytest.mark.parametrize(("lanes", "port", "wanted"), [
    (16, 1, Fine), (8, 1, Unclear), (1, 1, Unclear), (8, 32, Finding), (16, 32, Fine), (8, None, Finding),
])  # fmt: skip
def test_lanes_in_a_guest_count_against_the_card_alone(
    lanes: int, port: int | None, wanted: type[Seen]
) -> None:
    own = link(width=lanes)
    links = (own, link(PORT, width=1, max_width=port)) if port else (own,)
    devices = BELOW if port else ()
    assert isinstance(one(pcie.pcie_width_low, own, links, devices, GUEST), wanted)
    if port == 1:
        assert isinstance(one(pcie.pcie_width_low, own, links, devices, METAL), Fine)


def test_lost_lanes_in_a_guest_are_milder() -> None:
    rule, half, few = pcie.pcie_width_low, link(width=8), link(width=4)
    assert weight(rule, found(one(rule, half, (half,), (), GUEST))) == ("info", "none")
    assert weight(rule, found(one(rule, few, (few,), (), GUEST))) == ("warning", "watch")
    assert weight(rule, found(one(rule, half, (half,), (), METAL))) == ("warning", "fix-feed")
    links = (link(), link(PORT), link(UP, width=4), link(ROOT, width=4))
    assert isinstance(one(rule, link(), links, SWITCH, GUEST), Fine)
    assert isinstance(one(rule, link(), links, SWITCH, METAL), Finding)


def test_speed_in_a_guest_counts_against_the_card_alone() -> None:
    rule, slow = pcie.pcie_speed_low_under_load, link(speed_gts=2.5)
    port = link(PORT, max_speed_gts=2.5)
    assert isinstance(one(rule, slow, BUSY, None, (slow, port), BELOW, GUEST), Unclear)
    assert isinstance(one(rule, slow, BUSY, None, (slow, port), BELOW, METAL), Fine)
    assert isinstance(one(rule, link(), BUSY, None, (link(), port), BELOW, GUEST), Fine)
    assert isinstance(one(rule, slow, BUSY, None, (slow,), (), GUEST), Finding)


def plain(bdf: str, width: int, top: int | None, speed: float = 16.0) -> PcieLink:
    source = Source(name=f"{bdf}.txt", first=1, last=1, quote=bdf)
    return PcieLink(
        device=DeviceRef(kind="pci", bdf=bdf), width=width, max_width=top, speed_gts=speed, sources=(source,)
    )  # fmt: skip


def test_a_board_with_a_switch_of_its_own_is_judged_before_it() -> None:
    ups = [DeviceRef(kind="port", bdf=b) for b in ("0000:01:00.0", "0000:02:00.0")]
    own = DeviceRef(kind="card", bdf="0000:03:00.0")
    devices = (
        device(ups[0], pci_id="1002:1478", parent="0000:00:01.0"),
        device(ups[1], pci_id="1002:1479", parent="0000:01:00.0"),
        device(own, parent="0000:02:00.0"),
    )
    inner, narrow = link(own), link(ups[0], width=8)
    seen = found(one(pcie.pcie_width_low, inner, (inner, narrow), devices))
    assert (seen.subject, seen.touches) == (ups[0], (own,))
    wide = link(ups[0])
    assert isinstance(one(pcie.pcie_width_low, inner, (inner, wide), devices), Fine)
    assert isinstance(one(pcie.pcie_width_low, inner, (inner,), devices), Unclear)
    slow = link(ups[0], speed_gts=8.0)
    assert isinstance(speed(inner, BUSY, slow, devices), Finding)
    assert isinstance(speed(inner, BUSY, None, devices), Unclear)


HELD = DpmLink(
    device=DeviceRef(kind="card", text="p"), width=8, speed_gts=16.0,
    sources=(Source(name="p", first=2, last=2, quote="1: 16.0GT/s, x8 *"),),
)  # fmt: skip
ROOT_AT, UP_AT, OWN_AT = "0000:00:01.0", "0000:0b:00.0", "0000:0d:00.0"


@pytest.mark.parametrize(
    ("others", "held", "kind"),
    [
        ([plain(ROOT_AT, 8, 16), plain(OWN_AT, 16, 16, 32.0)], [HELD], Finding),
        ([plain(OWN_AT, 16, 16, 32.0)], [], NotHere),
        ([plain(OWN_AT, 16, 16, 32.0)], [HELD, HELD], NotHere),
        ([plain("0000:0a:00.0", 8, 8)], [HELD], NotHere),
        ([plain("0000:0a:00.0", 8, 16)], [HELD], NotHere),
        ([plain("0000:0a:00.0", 8, None)], [HELD], Unclear),
    ],
)
def test_the_port_of_an_amd_board_is_known_by_the_link_its_driver_holds(
    others: list[PcieLink], held: list[DpmLink], kind: type
) -> None:
    up = plain(UP_AT, 8, 16)
    seen = one(pcie.pcie_width_low, up, (up, *others), (), (), tuple(held))
    assert isinstance(seen, kind)
    own = others[-1]
    assert isinstance(
        one(pcie.pcie_width_low, own, (up, *others), (), (), tuple(held)), NotHere | Unclear
    )
