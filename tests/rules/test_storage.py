"""Rules on disks, branch by branch."""

from typing import Any

from rules.hand import cited, found, one, weight
from steadygpu.evidence.cpu import CpuLoad
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import GpuLoad
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.mount import FileListing
from steadygpu.evidence.source import Absent, Source
from steadygpu.evidence.storage import DiskLoad
from steadygpu.evidence.units import KIB, MB
from steadygpu.rules import storage
from steadygpu.verdict.rule import Fine, NotHere, Unclear

CARD = DeviceRef(kind="card", index=0)
NOW = Moment(wall=1000.0)


def make(cls: type[Any], device: DeviceRef, **fields: Any) -> Any:
    return cls(
        device=device, sources=(Source(name=f"{cls.__name__}.txt", quote="a line"),), **fields
    )


def disk(label: str = "sda", **fields: Any) -> Any:
    return make(DiskLoad, DeviceRef(kind="disk", label=label), **{"samples": 9, **fields})


def full(label: str = "sda", **fields: Any) -> Any:
    return disk(label, **{"busy_ratio": 0.99, "queue": 12.0, "await_ms": 80.0, **fields})


def at_limit(disk: Any) -> str:
    return found(one(storage.storage_saturated, disk, ())).says


def small(disk: Any, *listings: Any) -> str:
    return found(one(storage.small_files, (disk,), listings, ())).says


def card(busy: float | None, **fields: Any) -> Any:
    return make(GpuLoad, CARD, busy_ratio=busy, **fields)


def test_a_full_disk_beside_a_waiting_card_is_a_warning() -> None:
    rule = storage.storage_saturated
    seen = found(one(rule, full(at=NOW), (card(0.1, at=NOW), card(0.18, at=NOW), card(None))))
    assert weight(rule, seen) == ("warning", "fix-feed")
    assert "99% busy" in seen.says
    assert "80 ms" in seen.says
    assert "12 requests" in seen.says
    assert "18%" in seen.says
    assert cited(seen) == {"DiskLoad", "GpuLoad"}
    assert seen.first == seen.last == NOW


def test_a_full_disk_beside_a_card_at_work_is_information() -> None:
    rule = storage.storage_saturated
    busy = found(one(rule, full(), (card(0.2), card(0.95))))
    assert weight(rule, busy) == ("info", "none")
    assert cited(busy) == {"DiskLoad", "GpuLoad"}
    unread = found(one(rule, full(), (card(None),)))
    assert weight(rule, unread) == ("info", "none")
    assert cited(unread) == {"DiskLoad"}


def test_a_card_of_another_hour_tells_nothing_of_the_disk() -> None:
    rule = storage.storage_saturated
    for cards in ((), (card(0.95, at=Moment(wall=9000.0)),)):
        seen = found(one(rule, full(at=NOW), cards))
        assert weight(rule, seen) == ("warning", "fix-feed")
        assert cited(seen) == {"DiskLoad"}
    near = found(one(rule, full(at=NOW), (card(0.95, at=Moment(wall=1300.0)),)))
    assert weight(rule, near) == ("info", "none")


def test_a_disk_is_full_by_its_queue_or_by_its_slowest_wait() -> None:
    rule = storage.storage_saturated
    for fields in (
        {"queue": 3.0},
        {"await_ms": 25.0},
        {"read_await_ms": 1.0, "write_await_ms": 25.0},
        {"read_await_ms": 25.0},
    ):
        assert found(one(rule, disk(busy_ratio=0.99, **fields), ()))


def test_an_nvme_is_held_to_other_limits_than_a_rotating_disk() -> None:
    rule, calm = storage.storage_saturated, {"busy_ratio": 1.0, "queue": 6.0, "await_ms": 0.4}
    nvme = one(rule, disk("nvme0n1", rotational=False, **calm), ())
    assert isinstance(nvme, Fine)
    assert nvme.sources
    assert found(one(rule, disk("sda", **calm), ()))
    slow = disk("nvme0n1", rotational=False, busy_ratio=1.0, queue=1.0, await_ms=9.0)
    assert found(one(rule, slow, ()))
    assert isinstance(one(rule, disk(busy_ratio=1.0, queue=1.0, await_ms=9.0), ()), Fine)


def test_a_disk_below_its_limit_is_fine_whatever_its_queue() -> None:
    rule = storage.storage_saturated
    seen = one(rule, full(busy_ratio=0.90), ())
    assert isinstance(seen, Fine)
    assert seen.sources
    assert isinstance(one(rule, disk(busy_ratio=0.02), ()), Fine)


def test_a_busy_disk_needs_its_queue_and_its_waits_to_be_told_fine() -> None:
    rule = storage.storage_saturated
    assert isinstance(one(rule, disk(), ()), Unclear)
    assert isinstance(one(rule, disk(busy_ratio=0.99, await_ms=1.0), ()), Unclear)
    half = disk(busy_ratio=0.99, queue=1.0, read_await_ms=1.0)
    assert isinstance(one(rule, half, ()), Unclear)
    both = disk(busy_ratio=0.99, queue=1.0, read_await_ms=1.0, write_await_ms=2.0)
    assert isinstance(one(rule, both, ()), Fine)


def test_a_mean_since_boot_cannot_acquit_a_disk() -> None:
    for rule, few in ((storage.storage_saturated, False), (storage.small_files, True)):
        reads = {"reads_per_s": 400.0, "read_bytes_per_s": 400 * 8.0 * KIB, "writes_per_s": 0.0}
        slow = disk(busy_ratio=0.3, since_boot=True, samples=1, **reads)
        calm = one(rule, (slow,), (), ()) if few else one(rule, slow, ())
        assert isinstance(calm, Unclear)
        assert "iostat" in (calm.ask or "")
        assert "since boot" in (small if few else at_limit)(full(since_boot=True, **reads))


def test_partitions_and_devices_above_disks_are_not_judged() -> None:
    reads = {"reads_per_s": 400.0, "read_bytes_per_s": 1.0 * MB, "writes_per_s": 0.0}
    for label in ("dm-0", "md127", "loop3", "sr0", "zram0"):
        assert isinstance(one(storage.storage_saturated, full(label), ()), NotHere)
        assert isinstance(one(storage.small_files, (full(label, **reads),), (), ()), NotHere)
    part = full("sda1", partition=True, **reads)
    assert isinstance(one(storage.storage_saturated, part, ()), NotHere)
    assert isinstance(one(storage.small_files, (part,), (), ()), NotHere)
    nameless = make(DiskLoad, DeviceRef(kind="disk"), busy_ratio=0.5)
    assert isinstance(one(storage.storage_saturated, nameless, ()), Fine)


def test_small_files_are_many_small_reads_on_a_full_disk() -> None:
    rule = storage.small_files

    def reads(
        busy: float = 0.99, rate: float = 400.0, kib: float = 8.0, writes: float = 1.0
    ) -> Any:
        return disk(
            busy_ratio=busy, reads_per_s=rate, read_bytes_per_s=rate * kib * KIB,
            writes_per_s=writes, at=NOW,
        )  # fmt: skip

    seen = found(one(rule, (reads(),), (), ()))
    assert weight(rule, seen) == ("warning", "fix-feed")
    assert "400 reads" in seen.says
    assert "8 KiB" in seen.says
    assert seen.first == seen.last == NOW
    for other in (
        reads(busy=0.5),  # time left
        reads(kib=256.0),  # large reads
        reads(rate=40.0),  # few reads
        reads(rate=0.0),  # none
        reads(writes=900.0),  # writes keep it busy
        reads(rate=20_000.0),  # small, but it delivers
    ):
        fine = one(rule, (other,), (), ())
        assert isinstance(fine, Fine)
        assert fine.sources
    assert isinstance(one(rule, (full(),), (), ()), Unclear)


def test_iowait_is_information_and_a_mean_since_boot_says_nothing() -> None:
    rule, host = storage.iowait_high, host_ref()
    seen = found(one(rule, make(CpuLoad, host, iowait_ratio=0.3, at=NOW)))
    assert weight(rule, seen) == ("info", "none")
    assert "30%" in seen.says
    assert seen.first == seen.last == NOW
    assert isinstance(one(rule, make(CpuLoad, host, iowait_ratio=0.02)), Fine)
    assert isinstance(one(rule, make(CpuLoad, host, iowait_ratio=0.3, since_boot=True)), Unclear)
    absent = (Absent(field="iowait_ratio", reason="not_printed"),)
    assert isinstance(one(rule, make(CpuLoad, host, absent=absent)), Unclear)


def test_small_reads_beside_a_card_at_work_are_no_alarm() -> None:
    busy = make(GpuLoad, DeviceRef(kind="card", index=0), busy_ratio=0.97, at=NOW)
    reads = {"reads_per_s": 400.0, "read_bytes_per_s": 400 * 8.0 * KIB, "writes_per_s": 0.0}
    seen = found(one(storage.small_files, (full(at=NOW, **reads),), (), (busy,)))
    assert weight(storage.small_files, seen) == ("info", "none")
    assert "97%" in seen.says


def listing(files: int = 900_000, ratio: float | None = 0.9, **fields: Any) -> Any:
    usual = {"files": files, "small_ratio": ratio, "median_bytes": 30 * 1024, "root": "/data/x"}
    return make(FileListing, host_ref(), **{**usual, **fields})


def test_a_listing_alone_is_information_on_the_layout() -> None:
    rule = storage.small_files
    seen = found(one(rule, (), (listing(),), ()))
    assert weight(rule, seen) == ("info", "none")
    assert "900000 files in /data/x, 90% of them below 64 KiB, median 30 KiB" in seen.says
    assert isinstance(one(rule, (), (listing(900),), ()), NotHere)
    assert isinstance(one(rule, (), (listing(ratio=0.1),), ()), NotHere)
    assert isinstance(one(rule, (), (listing(ratio=None),), ()), Unclear)


def test_a_listing_beside_small_reads_is_named_with_them() -> None:
    reads = {"reads_per_s": 400.0, "read_bytes_per_s": 400 * 8.0 * KIB, "writes_per_s": 0.0}
    both = list(storage.small_files.check((full(**reads),), (listing(),), ()))
    first = found(both[0])
    assert "/data/x holds 900000 files" in first.says
    assert cited(first) == {"DiskLoad", "FileListing"}
    assert weight(storage.small_files, first) == ("warning", "fix-feed")
    assert len(both) == 2
