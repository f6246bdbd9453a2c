from itertools import permutations
from typing import Any

import pytest

from pipeline import evidence
from steadygpu.assemble.clock import with_wall_times
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.kernel_log import ClockAnchor, KernelLogSpan, XidEvent
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.source import Source

CARD = DeviceRef(kind="card", bdf="0000:17:00.0")
PROOF = (Source(name="dmesg", quote="a line"),)


def anchor(by: str, wall: float, boot_s: float = 2.0, boot_id: str | None = "b1") -> ClockAnchor:
    return ClockAnchor(
        device=host_ref(), at=Moment(boot_id=boot_id, boot_s=boot_s), wall=wall, boot_s=boot_s,
        error_s=0.5, by=by, sources=PROOF,
    )  # fmt: skip


def xid(at: Moment, **fields: Any) -> XidEvent:
    return XidEvent(device=CARD, at=at, code=31, sources=PROOF, **fields)


def wall_of(event: XidEvent, *anchors: ClockAnchor) -> float | None:
    """The wall time of the event; the order in which the facts come changes nothing."""
    walls = {
        next(f.at.wall for f in with_wall_times(facts) if isinstance(f, XidEvent))
        for facts in permutations((event, *anchors))
    }
    (wall,) = walls
    return wall


def test_seconds_of_an_anchored_boot_become_wall_time() -> None:
    event = xid(Moment(boot_id="b1", boot_s=12.0))
    (_, out) = with_wall_times([anchor("rtc", 1000.0), event])
    assert out.at == Moment(wall=1010.0, boot_id="b1", boot_s=12.0, error_s=0.5, zone_known=True)
    assert out.sources == PROOF


def test_what_came_before_the_anchor_counts_backwards() -> None:
    assert wall_of(xid(Moment(boot_id="b1", boot_s=0.5)), anchor("rtc", 1000.0)) == 998.5


def test_without_an_anchor_there_is_no_wall_time() -> None:
    event = xid(Moment(boot_id="b1", boot_s=12.0))
    assert with_wall_times([event]) == [event]
    assert wall_of(event, anchor("rtc", 1000.0, boot_id="b2")) is None
    assert wall_of(event, anchor("rtc", 1000.0, boot_id=None)) is None


def test_seconds_of_no_known_boot_stay_seconds() -> None:
    assert wall_of(xid(Moment(boot_s=12.0)), anchor("rtc", 1000.0)) is None
    assert wall_of(xid(UNKNOWN), anchor("rtc", 1000.0)) is None


def test_a_printed_wall_time_stays() -> None:
    event = xid(Moment(wall=5.0, boot_id="b1", boot_s=12.0))
    assert wall_of(event, anchor("rtc", 1000.0)) == 5.0


@pytest.mark.parametrize(
    ("better", "worse"), [("rtc", "audit"), ("audit", "journal"), ("journal", "btime"), ("btime", "x")]
)  # fmt: skip
def test_of_two_anchors_the_surer_one_counts(better: str, worse: str) -> None:
    event = xid(Moment(boot_id="b1", boot_s=12.0))
    assert wall_of(event, anchor(worse, 5000.0), anchor(better, 1000.0)) == 1010.0


def test_of_two_anchors_of_one_kind_the_earlier_one_counts() -> None:
    event = xid(Moment(boot_id="b1", boot_s=12.0))
    early, late = anchor("audit", 1000.0, 2.0), anchor("audit", 1009.0, 10.0)
    assert wall_of(event, late, early) == 1010.0


def test_each_boot_has_its_own_anchor() -> None:
    facts = [
        anchor("rtc", 1000.0), anchor("rtc", 9000.0, boot_id="b2"),
        xid(Moment(boot_id="b1", boot_s=3.0)), xid(Moment(boot_id="b2", boot_s=3.0)),
    ]  # fmt: skip
    assert [f.at.wall for f in with_wall_times(facts)[2:]] == [1001.0, 9001.0]


def test_the_last_of_folded_events_and_the_ends_of_a_log_get_wall_times_too() -> None:
    event = xid(Moment(boot_id="b1", boot_s=3.0), last_at=Moment(boot_id="b1", boot_s=8.0), count=4)
    span = KernelLogSpan(
        device=host_ref(), first=Moment(boot_id="b1", boot_s=0.0),
        last=Moment(boot_id="b1", boot_s=9.0), sources=PROOF,
    )  # fmt: skip
    _, folded, log = with_wall_times([anchor("rtc", 1000.0), event, span])
    assert isinstance(folded, XidEvent)
    assert (folded.at.wall, folded.last_at.wall, folded.count) == (1001.0, 1006.0, 4)
    assert isinstance(log, KernelLogSpan)
    assert (log.first.wall, log.last.wall, log.at.wall) == (998.0, 1007.0, None)


# As texts


LINUX = "[    0.000000] Linux version 6.8.0-64-generic (buildd@lcy02) #67-Ubuntu SMP\n"
RTC = (
    "[    2.500000] rtc_cmos 00:01: setting system clock to 2026-11-16T06:12:04 UTC (1794809524)\n"
)
XID = "[  102.500000] NVRM: Xid (PCI:0000:17:00): 31, pid=7, name=python, Ch 00000008\n"


def walls(log: str) -> list[float | None]:
    return [f.at.wall for host in evidence({"dmesg": log}) for f in host.facts if isinstance(f, XidEvent)]  # fmt: skip


def test_the_clock_that_a_boot_sets_dates_its_events_only() -> None:
    assert walls(LINUX + RTC + XID) == [1794809624.0]
    assert walls(LINUX + XID) == [None]
    assert walls(LINUX + RTC + LINUX + XID) == [None]
    later = XID.replace("102.5", "304.5")
    assert walls(LINUX + RTC + XID + LINUX + later) == [1794809624.0, None]
