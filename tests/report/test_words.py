from dataclasses import replace

import pytest

from report.sample_report import AER_FOUND, DISK_FOUND, LOST_FOUND, SILENT
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.source import Source
from steadygpu.report.words import device_label, iso, moment_words, open_core, place, tree


@pytest.mark.parametrize(
    ("device", "label"),
    [
        (DeviceRef(kind="card", index=3, bdf="0000:3b:00.0"), "GPU 3 (0000:3b:00.0)"),
        (DeviceRef(kind="card", label="GPU0"), "GPU 0"),
        (DeviceRef(kind="card", bdf="0000:3b:00.0"), "GPU 0000:3b:00.0"),
        (DeviceRef(kind="card"), "GPU"),
        (DeviceRef(kind="mig", index=1, mig="2/0"), "MIG 2/0 of GPU 1"),
        (DeviceRef(kind="disk", label="sda"), "disk sda"),
        (DeviceRef(kind="nic", label="mlx5_0", bdf="0000:01:00.0"), "network card mlx5_0 (0000:01:00.0)"),
        (DeviceRef(kind="process", index=42), "process 42"),
        (host_ref("gpu-07"), "host gpu-07"),
        (host_ref(), "the host"),
    ],
)  # fmt: skip
def test_device_label(device: DeviceRef, label: str) -> None:
    assert device_label(device) == label


def test_iso_has_a_z_only_where_the_zone_is_known() -> None:
    assert iso(Moment(wall=1769000000.25, zone_known=True)) == "2026-01-21T12:53:20.25Z"
    assert iso(Moment(wall=1769000000.0)) == "2026-01-21T12:53:20"
    assert iso(UNKNOWN) is None


@pytest.mark.parametrize("wall", [1e300, float("inf"), float("nan"), -1e15])
def test_a_time_that_no_calendar_holds_is_none(wall: float) -> None:
    assert iso(Moment(wall=wall)) is None


def test_moment_since_boot() -> None:
    assert moment_words(Moment(boot_s=12.5)) == "12.5 s after boot"


def test_place() -> None:
    assert place(Source(name="a", first=3, last=3)) == "a:3"
    assert place(Source(name="a", first=3, last=5)) == "a:3-5"
    assert place(Source(name="a", unit="byte", first=3, last=5)) == "a:byte 3-5"


def test_tree_keeps_every_finding_once() -> None:
    assert [d for d, _ in tree((AER_FOUND, DISK_FOUND, LOST_FOUND))] == [0, 1, 0]
    assert [d for d, _ in tree((LOST_FOUND,))] == [0]


def test_a_ring_of_causes_is_not_lost() -> None:
    ring = (replace(AER_FOUND, caused_by=LOST_FOUND.key), LOST_FOUND)
    assert [r.key for _, r in tree(ring)] == [AER_FOUND.key, LOST_FOUND.key]


def test_a_core_question_that_nobody_answered_is_open() -> None:
    assert len(open_core(SILENT.answer)) == 5
