"""Rules on NVLinks, branch by branch."""

from typing import Any

import pytest

from rules.hand import at, found, one, says, weight
from steadygpu.evidence.dcgm import HealthResult
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.nvlink import ALL_LINKS, NvlinkErrors, NvlinkLink
from steadygpu.evidence.source import Absent, Source
from steadygpu.rules.nvlink import nvlink_errors, nvlink_inactive
from steadygpu.verdict.rule import Finding, Fine, NotHere, Unclear

LINE = Source(name="n.txt", first=4, last=4, quote="Link 5: CRC Errors: 9", fields=("crc", "says"))


def card(n: int, name: str = "NVIDIA H200") -> DeviceRef:
    return DeviceRef(kind="card", index=n, label=name, uuid=f"GPU-{n}")


def counts(link: int, when: Moment = UNKNOWN, **fields: Any) -> NvlinkErrors:
    return NvlinkErrors(device=card(0), at=when, link=link, sources=(LINE,), **fields)


def state(device: DeviceRef, link: int, active: bool | None, **more: Any) -> NvlinkLink:
    source = Source(name="s.txt", first=link + 2, last=link + 2, quote=f"{device.index} {link}")
    return NvlinkLink(device=device, link=link, active=active, sources=(source,), **more)


def test_a_single_reading_is_told_and_weighs_nothing() -> None:
    seen = found(one(nvlink_errors, (counts(0, crc=0), counts(5, crc=9, replay=2)), ()))
    assert weight(nvlink_errors, seen) == ("info", "none")
    assert "link 5 2 replays, 9 CRC errors" in seen.says


def test_a_rise_is_a_warning_and_names_span_and_rate() -> None:
    readings = (counts(5, at(0), crc=9), counts(5, at(7200), crc=29), counts(6, at(0), crc=0))
    seen = found(one(nvlink_errors, readings, ()))
    assert weight(nvlink_errors, seen) == ("warning", "watch")
    assert "link 5 CRC errors 9 to 29 in 2 h" in seen.says
    assert "reset" in says(
        one(nvlink_errors, (counts(5, at(0), crc=9), counts(5, at(60), crc=3)), ())
    )


def test_counts_that_stand_still_are_fine_and_so_are_zeros() -> None:
    still = (counts(5, at(0), crc=9), counts(5, at(7200), crc=9))
    assert isinstance(one(nvlink_errors, still, ()), Fine)
    assert isinstance(one(nvlink_errors, (counts(5, crc=0, replay=0),), ()), Fine)


def test_the_watch_of_dcgm_weighs_a_warning() -> None:
    told = HealthResult(
        device=card(0), system="nvlink", status="warning", says="9 CRC", sources=(LINE,)
    )
    seen = found(one(nvlink_errors, (counts(5, crc=9),), (told,)))
    assert weight(nvlink_errors, seen) == ("warning", "watch")


@pytest.mark.parametrize(("reason", "kind"), [("not_supported", NotHere), ("error", Unclear)])
def test_what_is_not_counted(reason: Any, kind: type) -> None:
    absent = (Absent(field="crc", reason=reason),)
    assert isinstance(one(nvlink_errors, (counts(0, absent=absent),), ()), kind)
    assert isinstance(one(nvlink_errors, (counts(0),), ()), Unclear)


def outcome(*links: NvlinkLink) -> list[object]:
    return [type(seen) for seen in nvlink_inactive.check(links)]


def test_peers_decide_whether_a_link_should_be_up() -> None:
    up = [state(card(0), n, True) for n in range(2)]
    down = [state(card(1), 0, True), state(card(1), 1, False)]
    fine, bad = nvlink_inactive.check((*up, *down))
    assert isinstance(fine, Fine)
    assert "link 1 down, up on 1 other card" in found(bad).says
    assert outcome(*up, state(card(1), ALL_LINKS, False)) == [Fine, Finding]
    assert outcome(*down) == [Unclear]
    assert outcome(*down, state(card(2), 1, False)) == [NotHere, NotHere]
    assert outcome(*up, state(card(2, "NVIDIA L40S"), ALL_LINKS, False)) == [Fine, Unclear]
    assert outcome(state(card(1), 1, False), state(card(2), 1, None)) == [Unclear, Unclear]


def test_a_card_with_a_bridge_proves_nothing_of_one_without() -> None:
    bridged = [state(card(n, "NVIDIA H100 PCIe"), 0, True) for n in range(2)]
    bare = state(card(2, "NVIDIA H100 PCIe"), 0, False)
    assert outcome(*bridged, bare) == [Fine, Fine, Unclear]
