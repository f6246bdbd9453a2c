from datetime import UTC, datetime

import pytest

from shared import SHARED, needs_shared
from steadygpu.evidence.cpu import CpuLoad
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.storage import DiskLoad
from steadygpu.evidence.text import lines_of
from steadygpu.readers.iostat import moment_at, moment_of, number, read_iostat

HEAD = "Linux 6.8.0-60-generic (data-04) \t04/17/2026 \t_x86_64_\t(32 CPU)\n\n"
CPU_HEAD = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
BOOT_CPU = "           9.00    1.00    5.00   10.00    0.00   75.00"
BUSY_CPU = "           4.00    0.00    2.00   60.00    1.00   33.00"

# columns of `iostat -x` in three generations, and of the plain report
OLD_X = "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util"
OLDER_X = "Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util"
MID_X = "Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util"
NEW_X = (
    "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz"
    "     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util"
)
PLAIN = (
    "Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd"
)
SHORT_X = "Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util"
FEW = "Device            r/s     w/s     rkB/s     wkB/s r_await w_await  aqu-sz  %util"


def report(cpu: str | None = BUSY_CPU, head: str | None = FEW, *disks: str) -> str:
    out = f"{CPU_HEAD}{cpu}\n\n" if cpu else ""
    return out + (f"{head}\n" + "".join(f"{disk}\n" for disk in disks) + "\n" if head else "")


def read(text: str) -> Reading:
    return read_iostat(lines_of("io.txt", text))


def of(reading: Reading, record: type[Fact]) -> list[Fact]:
    return [fact for fact in reading.facts if isinstance(fact, record)]


def disk(text: str, label: str | None = None) -> DiskLoad:
    found = of(read(text), DiskLoad)
    (chosen,) = [d for d in found if label in (None, d.device.label)]
    return chosen


def cpu(text: str) -> CpuLoad:
    (found,) = of(read(text), CpuLoad)
    return found


def moment(*when: int) -> float:
    return datetime(*when, tzinfo=UTC).timestamp()


IDLE = "nvme0n1  1.00  1.00  4.00  4.00  0.10  0.10  0.01  1.00"
BUSY = "nvme0n1  100.00  50.00  6400.00  3200.00  2.00  8.00  4.00  90.00"
BUSIER = "nvme0n1  300.00  0.00  19200.00  0.00  4.00  0.00  6.00  100.00"
TEXT = (
    HEAD + report(BOOT_CPU, FEW, IDLE) + report(BUSY_CPU, FEW, BUSY) + report(BUSY_CPU, FEW, BUSIER)
)


def test_the_first_report_is_since_boot_and_is_left_out() -> None:
    load = disk(TEXT)
    assert (load.samples, load.since_boot) == (2, False)
    assert load.busy_ratio == pytest.approx(0.95)
    assert load.queue == 5.0
    assert (load.reads_per_s, load.writes_per_s) == (200.0, 25.0)
    assert (load.read_bytes_per_s, load.write_bytes_per_s) == (12800 * 1024, 1600 * 1024)
    processors = cpu(TEXT)
    assert (processors.samples, processors.since_boot) == (2, False)
    assert processors.iowait_ratio == pytest.approx(0.6)


def test_means_of_times_count_by_their_requests() -> None:
    load = disk(TEXT)
    assert load.read_await_ms == pytest.approx((100 * 2 + 300 * 4) / 400)
    assert load.write_await_ms == pytest.approx(8.0)
    assert load.await_ms == pytest.approx((100 * 2 + 50 * 8 + 300 * 4) / 450)
    assert load.request_bytes == pytest.approx((9600 + 19200) * 1024 / 450)
    assert load.read_request_bytes == pytest.approx(64 * 1024)


def test_one_report_is_all_since_boot() -> None:
    text = HEAD + report(BOOT_CPU, FEW, BUSY)
    load, processors = disk(text), cpu(text)
    assert (load.since_boot, load.samples, load.busy_ratio) == (True, 1, pytest.approx(0.9))
    assert (processors.since_boot, processors.samples) == (True, 1)
    assert processors.idle_ratio == pytest.approx(0.75)


def test_shares_of_the_processors() -> None:
    found = cpu(HEAD + report(BOOT_CPU, None) + report(BUSY_CPU, None))
    assert found.user_ratio == pytest.approx(0.04)
    assert found.nice_ratio == 0.0
    assert found.system_ratio == pytest.approx(0.02)
    assert found.iowait_ratio == pytest.approx(0.6)
    assert found.steal_ratio == pytest.approx(0.01)
    assert found.idle_ratio == pytest.approx(0.33)
    assert (found.device.kind, found.device.host) == ("host", "data-04")


def test_the_reports_that_count_are_the_sources() -> None:
    load = disk(TEXT)
    assert [(s.first, s.quote) for s in load.sources] == [(13, BUSY), (19, BUSIER)]
    assert "busy_ratio" in load.sources[0].fields
    processors = cpu(TEXT)
    assert [(s.first, s.quote) for s in processors.sources] == [(10, BUSY_CPU), (16, BUSY_CPU)]
    assert set(processors.sources[0].fields) == {
        f"{name}_ratio" for name in ("user", "nice", "system", "iowait", "steal", "idle")
    }


def test_eight_samples_are_cited_and_the_rest_as_one_stretch() -> None:
    text = HEAD + "".join(report(None, FEW, BUSY) for _ in range(13))
    load = disk(text)
    assert load.samples == 12
    assert len(load.sources) == 9
    last = load.sources[-1]
    assert (last.first, last.last) == (load.sources[7].first + 3, 3 * 13 + 1)


def test_who_a_disk_is() -> None:
    load = disk(TEXT)
    assert (load.device.kind, load.device.host, load.device.label, load.device.text) == (
        "disk", "data-04", "nvme0n1", "io.txt",
    )  # fmt: skip
    assert load.rotational is False
    assert disk(HEAD + report(None, FEW, BUSY.replace("nvme0n1", "sda"))).rotational is None


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        ("sda", False), ("sda1", True), ("vdb", False), ("vdb12", True), ("hda3", True),
        ("xvda", False), ("xvda1", True), ("nvme0n1", False), ("nvme0n1p2", True),
        ("nvme10n1p11", True), ("nvme0c0n1", False), ("mmcblk0p1", True), ("md0", False),
        ("md127p1", True), ("loop3", False), ("loop3p1", True), ("dm-1", False), ("sr0", False),
    ],
)  # fmt: skip
def test_partitions_by_their_names(name: str, partition: bool) -> None:
    assert disk(HEAD + report(None, FEW, BUSY.replace("nvme0n1", name))).partition is partition


def test_old_extended_columns() -> None:
    row = "sdb  0.00  1.50  80.00  20.00  5120.00  1280.00  128.00  3.50  12.00  10.00  20.00  2.00  95.50"
    load = disk(HEAD + report(None, OLD_X, row))
    assert load.busy_ratio == pytest.approx(0.955)
    assert load.queue == 3.5
    assert (load.await_ms, load.read_await_ms, load.write_await_ms) == (12.0, 10.0, 20.0)
    assert (load.reads_per_s, load.writes_per_s) == (80.0, 20.0)
    assert (load.read_bytes_per_s, load.write_bytes_per_s) == (5120 * 1024, 1280 * 1024)
    assert load.request_bytes == 128 * 512
    assert load.read_request_bytes == pytest.approx(64 * 1024)


def test_sectors_of_the_oldest_columns() -> None:
    row = "sdb  0.00  1.50  80.00  20.00  10240.00  2560.00  128.00  3.50  12.00  2.00  95.50"
    load = disk(HEAD + report(None, OLDER_X, row))
    assert (load.read_bytes_per_s, load.write_bytes_per_s) == (10240 * 512, 2560 * 512)
    assert (load.await_ms, load.read_await_ms, load.write_await_ms) == (12.0, None, None)


def test_columns_of_the_middle_generation() -> None:
    row = "sdb  100.00  10.00  800.00  160.00  0.00  5.00  0.00  33.33  5.00  16.00  0.66  8.00  16.00  0.50  55.00"
    load = disk(HEAD + report(None, MID_X, row))
    assert (load.read_await_ms, load.write_await_ms, load.queue) == (5.0, 16.0, 0.66)
    assert load.await_ms == pytest.approx(6.0)
    assert load.read_request_bytes == 8 * 1024
    assert load.request_bytes == pytest.approx(960 * 1024 / 110)
    assert load.busy_ratio == pytest.approx(0.55)


def test_columns_of_the_new_generation() -> None:
    row = (
        "nvme1n1  4000.00  512000.00  3.00  0.07  0.30  128.00  200.00  25600.00  1.00  0.50  1.30  128.00"
        "  7.00  70.00  0.00  0.00  9.90  10.00  2.00  5.50  1.47  99.20"
    )
    load = disk(HEAD + report(None, NEW_X, row))
    assert (load.reads_per_s, load.writes_per_s) == (4000.0, 200.0)
    assert (load.read_bytes_per_s, load.write_bytes_per_s) == (512000 * 1024, 25600 * 1024)
    assert (load.read_await_ms, load.write_await_ms, load.queue) == (0.3, 1.3, 1.47)
    assert load.await_ms == pytest.approx((4000 * 0.3 + 200 * 1.3) / 4200)
    assert load.busy_ratio == pytest.approx(0.992)
    assert load.read_request_bytes == 128 * 1024


def test_the_short_extended_report() -> None:
    load = disk(
        HEAD + report(None, SHORT_X, "sdb  120.00  9600.00  3.00  7.50  80.00  0.90  45.00")
    )
    assert (load.await_ms, load.queue) == (7.5, 0.9)
    assert load.request_bytes == 80 * 1024
    assert load.busy_ratio == pytest.approx(0.45)
    assert (load.reads_per_s, load.read_bytes_per_s) == (None, None)


def test_the_plain_report_has_rates_only() -> None:
    row = "sdb  12.50  100.00  25.00  0.00  900000  50000  0"
    load = disk(HEAD + report(BOOT_CPU, PLAIN, row))
    assert (load.read_bytes_per_s, load.write_bytes_per_s) == (100 * 1024, 25 * 1024)
    assert (load.busy_ratio, load.queue, load.await_ms, load.reads_per_s) == (None,) * 4


@pytest.mark.parametrize(
    ("head", "factor"),
    [
        ("Device:  tps  kB_read/s  kB_wrtn/s  kB_read  kB_wrtn", 1024),
        ("Device:  tps  MB_read/s  MB_wrtn/s  MB_read  MB_wrtn", 1024**2),
        ("Device:  tps  Blk_read/s  Blk_wrtn/s  Blk_read  Blk_wrtn", 512),
        ("Device  r/s  rkB/s  wkB/s  w/s  f/s", 1024),
        ("Device  r/s  rMB/s  wMB/s  w/s  f/s", 1024**2),
        ("Device  r/s  rsec/s  wsec/s  w/s  f/s", 512),
    ],
)
def test_kilobytes_megabytes_and_blocks(head: str, factor: int) -> None:
    load = disk(HEAD + report(None, head, "sdb  3.00  12.50  2.00  400  300"))
    assert (load.read_bytes_per_s, load.write_bytes_per_s) == (12.5 * factor, 2 * factor)


def test_megabytes_do_not_change_the_size_of_requests() -> None:
    row = "sdb  100.00  10.00  12.50  1.25  0.00  5.00  0.00  33.33  5.00  16.00  0.66  128.00  128.00  0.50  55.00"
    load = disk(HEAD + report(None, MID_X.replace("kB/s", "MB/s"), row))
    assert load.read_bytes_per_s == 12.5 * 1024**2
    assert load.read_request_bytes == 128 * 1024
    assert load.request_bytes == pytest.approx(13.75 * 1024**2 / 110)


def test_commas_in_place_of_points() -> None:
    points = HEAD + report(BOOT_CPU, FEW, IDLE) + report(BUSY_CPU, FEW, BUSY)
    commas = HEAD + (
        report(BOOT_CPU, FEW, IDLE) + report(BUSY_CPU, FEW, BUSY)
    ).replace(".", ",")  # fmt: skip
    for record in (DiskLoad, CpuLoad):
        (one,), (other,) = of(read(points), record), of(read(commas), record)
        for field in ("busy_ratio", "await_ms", "read_bytes_per_s", "iowait_ratio", "idle_ratio"):
            assert getattr(one, field, None) == getattr(other, field, None)
    assert disk(commas).sources[0].quote == BUSY.replace(".", ",")


def test_the_name_may_stand_last() -> None:
    head = "      tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn Device"
    text = HEAD + report(
        BOOT_CPU, head, "  5.00  146.50  23.25  508  806 sda", "  0.00  0.00  0.00  0  0 dm-0"
    )
    assert [d.device.label for d in of(read(text), DiskLoad)] == ["sda", "dm-0"]
    assert disk(text, "sda").read_bytes_per_s == 146.5 * 1024


def test_a_ratio_is_never_above_one() -> None:
    row = BUSY.replace("90.00", "101.73")
    assert disk(HEAD + report(None, FEW, row)).busy_ratio == 1.0
    assert cpu(HEAD + report(BUSY_CPU.replace(" 60.00", "100.20"), None)).iowait_ratio == 1.0


def test_a_disk_that_z_left_out_did_nothing() -> None:
    text = TEXT + report(BUSY_CPU, FEW) + report(BUSY_CPU, FEW)
    load = disk(text)
    assert load.samples == 4
    assert load.busy_ratio == pytest.approx(1.9 / 4)
    assert (load.queue, load.reads_per_s) == (2.5, 100.0)
    assert load.read_bytes_per_s == 6400 * 1024
    assert load.read_await_ms == pytest.approx(3.5)
    assert load.request_bytes == disk(TEXT).request_bytes


def test_a_disk_of_the_first_report_only_is_since_boot() -> None:
    other = BUSY.replace("nvme0n1", "sda")
    text = HEAD + report(BOOT_CPU, FEW, IDLE, other) + report(BUSY_CPU, FEW, BUSIER)
    load = disk(text, "sda")
    assert (load.since_boot, load.samples, load.busy_ratio) == (True, 1, pytest.approx(0.9))
    assert [s.first for s in load.sources] == [8]
    assert disk(text, "nvme0n1").since_boot is False


def test_a_disk_that_came_later_counts_from_the_second_report() -> None:
    other = BUSY.replace("nvme0n1", "sdz")
    text = HEAD + report(None, FEW, IDLE) + report(None, FEW, BUSY) + report(None, FEW, BUSY, other)
    load = disk(text, "sdz")
    assert (load.since_boot, load.samples) == (False, 2)
    assert load.busy_ratio == pytest.approx(0.45)


def test_without_requests_times_are_as_printed() -> None:
    row = "sda  0.00  0.00  0.00  0.00  0.00  0.00  0.00  0.00"
    load = disk(HEAD + report(None, FEW, row))
    assert (load.read_await_ms, load.write_await_ms, load.busy_ratio) == (0.0, 0.0, 0.0)
    assert (load.await_ms, load.request_bytes, load.read_request_bytes) == (None, None, None)


def test_writes_alone_have_no_size_of_reads() -> None:
    load = disk(HEAD + report(None, FEW, "sda  0.00  10.00  0.00  80.00  0.00  4.00  0.04  3.00"))
    assert (load.await_ms, load.request_bytes) == (4.0, 8 * 1024)
    assert load.read_request_bytes is None


def test_disks_alone_and_processors_alone() -> None:
    disks = HEAD + report(None, FEW, IDLE) + report(None, FEW, BUSY)
    assert not of(read(disks), CpuLoad)
    assert disk(disks).busy_ratio == pytest.approx(0.9)
    processors = HEAD + report(BOOT_CPU, None) + report(BUSY_CPU, None)
    assert not of(read(processors), DiskLoad)
    assert cpu(processors).samples == 1


def test_a_listing_without_its_head_has_no_host_and_no_time() -> None:
    text = report(BOOT_CPU, FEW, IDLE) + report(BUSY_CPU, FEW, BUSY)
    load = disk(text)
    assert (load.device.host, load.at) == (None, UNKNOWN)
    assert load.busy_ratio == pytest.approx(0.9)


def test_no_number_is_an_error_of_that_field_only() -> None:
    for word in ("nan", "-nan", "inf", "-"):
        load = disk(HEAD + report(None, FEW, BUSY.replace("90.00", word)))
        assert (load.busy_ratio, load.queue) == (None, 4.0)
        assert [(a.field, a.reason) for a in load.absent] == [("busy_ratio", "error")]
        assert load.absent[0].source.quote.endswith(word)
        assert load.absent[0].source.fields == ("busy_ratio",)


def test_an_error_in_one_sample_leaves_the_others() -> None:
    text = TEXT + report(None, FEW, BUSY.replace("90.00", "nan"))
    load = disk(text)
    assert load.busy_ratio == pytest.approx(0.95)
    assert not load.absent


def test_an_error_in_the_shares() -> None:
    found = cpu(HEAD + report(BOOT_CPU.replace("10.00", "nan"), None))
    assert (found.iowait_ratio, found.user_ratio) == (None, pytest.approx(0.09))
    assert [(a.field, a.reason) for a in found.absent] == [("iowait_ratio", "error")]


def test_a_share_that_nobody_knows_is_passed_over() -> None:
    text = HEAD + CPU_HEAD.replace("%idle", "%guest %idle") + BUSY_CPU + "   5.00\n"
    found = cpu(text)
    assert (found.steal_ratio, found.idle_ratio) == (pytest.approx(0.01), pytest.approx(0.05))


def test_a_damaged_row_of_a_disk_is_a_gap() -> None:
    other = BUSY.replace("nvme0n1", "sda")
    for damaged in ("sda  100.00  50.00", other + "  1.00", other.replace("4.00", "4.0.0")):
        reading = read(HEAD + report(None, FEW, IDLE) + report(None, FEW, damaged, BUSY))
        (gap,) = reading.gaps
        assert (gap.where.first, gap.where.quote) == (7, damaged)
        assert gap.why == "a damaged line of a disk"
        assert [d.device.label for d in of(reading, DiskLoad)] == ["nvme0n1"]
        assert reading.read_to == 8


def test_a_damaged_row_of_shares_is_a_gap_and_the_disks_stand() -> None:
    for damaged in ("  4.00  0.00  2.00", "  4.00  0.00  2.00  60.00  1.00  33.00  7.00"):
        reading = read(HEAD + report(damaged, FEW, BUSY))
        assert [(g.where.first, g.why) for g in reading.gaps] == [(4, "not a line of CPU shares")]
        assert not of(reading, CpuLoad)
        assert of(reading, DiskLoad)[0].busy_ratio == pytest.approx(0.9)


def test_words_in_place_of_shares_end_the_text() -> None:
    reading = read(HEAD + report(BOOT_CPU, FEW, IDLE) + CPU_HEAD + "a b c d e f\n" + BUSY_CPU)
    assert [g.why for g in reading.gaps] == ["not a line of CPU shares"]
    assert reading.read_to == 9
    assert of(reading, DiskLoad)[0].since_boot


def test_a_cut_row_of_the_last_sample_is_a_gap() -> None:
    other = IDLE.replace("nvme0n1", "sda")
    text = HEAD + report(None, FEW, IDLE, other) + report(None, FEW, BUSY, other)
    reading = read(text[: text.rindex("0.10")].rstrip())
    assert [g.where.first for g in reading.gaps] == [9]
    by_name = {d.device.label: d for d in of(reading, DiskLoad)}
    assert by_name["nvme0n1"].busy_ratio == pytest.approx(0.9)
    assert by_name["sda"].since_boot


def test_a_cut_after_the_first_head_has_no_facts() -> None:
    for text in (HEAD, HEAD + CPU_HEAD, HEAD + f"{FEW}\n", HEAD + f"{FEW}\nsda"):
        assert not read(text).facts


def test_it_stops_at_the_next_text() -> None:
    reading = read(TEXT + "Filesystem  1K-blocks  Used\n/dev/sda1  1  1\n")
    assert reading.read_to == 19
    assert disk(TEXT + "\nThe disk looks slow.\n").samples == 2


def test_a_second_head_begins_another_text() -> None:
    reading = read(TEXT + TEXT.replace("data-04", "data-05"))
    assert reading.read_to == 20 - 1
    assert {d.device.host for d in of(reading, DiskLoad)} == {"data-04"}


def test_rows_after_a_blank_line_are_of_no_table() -> None:
    reading = read(HEAD + report(None, FEW, IDLE) + BUSY + "\n")
    assert reading.read_to == 4
    assert of(reading, DiskLoad)[0].since_boot


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "Linux version 6.8.0-60-generic (buildd@host) #1 SMP\n",
        "some prose with tps 5 in it\n",
        "sda  1.00  2.00\n",
        "17:00:01 avg 1 2 3\n",
    ],
)
def test_other_texts_give_nothing(text: str) -> None:
    assert read(text) == Reading()


def test_the_day_of_the_head_is_known_to_half_a_day() -> None:
    load = disk(HEAD + report(None, FEW, BUSY))
    assert load.at == Moment(wall=moment(2026, 4, 17, 12), error_s=43_200.0)
    assert cpu(TEXT).at == load.at


@pytest.mark.parametrize(
    ("printed", "day"),
    [
        ("04/17/2026", (2026, 4, 17)),
        ("04/17/26", (2026, 4, 17)),
        ("17/04/2026", (2026, 4, 17)),
        ("17/04/26", (2026, 4, 17)),
        ("03/04/2026", (2026, 3, 4)),
        ("17.04.2026", (2026, 4, 17)),
        ("04.03.2026", (2026, 3, 4)),
        ("2026-04-17", (2026, 4, 17)),
        ("2026/04/17", (2026, 4, 17)),
    ],
)
def test_days_in_the_forms_of_several_locales(printed: str, day: tuple[int, int, int]) -> None:
    assert moment_of(printed).wall == moment(*day, 12)
    assert not moment_of(printed).zone_known


@pytest.mark.parametrize(
    "printed", ["", "yesterday", "Fri 17 Apr 2026", "2026-13-01", "02/30/2026", "04/17"]
)
def test_days_of_other_forms_are_unknown(printed: str) -> None:
    assert moment_of(printed) == UNKNOWN


def test_a_head_with_a_day_of_another_form_still_names_the_host() -> None:
    load = disk(HEAD.replace("04/17/2026", "17 avril 2026") + report(None, FEW, BUSY))
    assert (load.device.host, load.at) == ("data-04", UNKNOWN)


@pytest.mark.parametrize(
    ("printed", "wall", "zone"),
    [
        ("04/17/2026 08:05:09 AM", (2026, 4, 17, 8, 5, 9), False),
        ("04/17/2026 08:05:09 PM", (2026, 4, 17, 20, 5, 9), False),
        ("04/17/2026 12:05:09 AM", (2026, 4, 17, 0, 5, 9), False),
        ("04/17/2026 12:05:09 PM", (2026, 4, 17, 12, 5, 9), False),
        ("04/17/26 20:05:09", (2026, 4, 17, 20, 5, 9), False),
        ("17.04.2026 20:05:09", (2026, 4, 17, 20, 5, 9), False),
        ("2026-04-17 08:05:09 PM", (2026, 4, 17, 20, 5, 9), False),
        ("2026-04-17T20:05:09+0200", (2026, 4, 17, 18, 5, 9), True),
        ("2026-04-17T20:05:09-07:30", (2026, 4, 18, 3, 35, 9), True),
        ("2026-04-17T20:05:09+0000", (2026, 4, 17, 20, 5, 9), True),
        ("2026-04-17T20:05:09Z", (2026, 4, 17, 20, 5, 9), True),
    ],
)
def test_times_in_the_forms_of_several_locales(
    printed: str, wall: tuple[int, ...], zone: bool
) -> None:
    assert moment_at(printed) == Moment(wall=moment(*wall), error_s=0.5, zone_known=zone)
    load = disk(f"{HEAD}{printed}\n{report(None, FEW, BUSY)}")
    assert load.at == moment_at(printed)


@pytest.mark.parametrize(
    "printed", ["", "soon", "20:05:09", "2026-04-17", "2026-02-30T20:05:09Z", "31/31/2026 20:05:09"]
)
def test_times_of_other_forms_are_unknown(printed: str) -> None:
    assert moment_at(printed) == UNKNOWN


def test_the_last_time_is_when_it_was_true() -> None:
    text = HEAD + "".join(
        f"04/17/2026 08:05:0{i} AM\n{report(BUSY_CPU, FEW, BUSY)}" for i in range(4)
    )
    assert disk(text).at.wall == moment(2026, 4, 17, 8, 5, 3)
    assert cpu(text).at == disk(text).at
    assert disk(text).samples == 3


def test_numbers_of_any_locale() -> None:
    assert [number(n) for n in ("1", "1.5", "1,5", "-0.01")] == [1.0, 1.5, 1.5, -0.01]
    assert [number(n) for n in ("", "1.2.3", "1.5k", "nan", "x", "1.")] == [None] * 6


def files(name: str) -> Reading:
    content = (SHARED / "evidence/files" / name).read_text()
    return read_iostat(lines_of(name, content))


@needs_shared
def test_real_reports_of_three_samples() -> None:
    reading = files("jc_centos-7.7_iostat-1.out.txt")
    assert not reading.gaps
    assert [(d.device.label, d.samples, d.since_boot) for d in of(reading, DiskLoad)] == [
        ("sda", 2, False), ("dm-0", 2, False), ("dm-1", 2, False),
    ]  # fmt: skip
    (processors,) = of(reading, CpuLoad)
    assert (processors.idle_ratio, processors.samples) == (1.0, 2)
    assert processors.at.wall == moment(2021, 11, 30, 12)


@needs_shared
@pytest.mark.parametrize(
    ("name", "disks", "label", "busy", "read_bytes"),
    [
        ("jc_centos-7.7_iostat-x.out.txt", 3, "sda", 0.0001, 5.27 * 1024),
        ("jc_ubuntu-18.04_iostat-x.out.txt", None, "sda", 0.1514, 8595.16 * 1024),
        ("jc_ubuntu-18.04_iostat-mx.out.txt", None, "sda", 0.0466, 1.93 * 1024**2),
    ],
)
def test_real_extended_reports(
    name: str, disks: int | None, label: str, busy: float, read_bytes: float
) -> None:
    reading = files(name)
    assert not reading.gaps
    found = of(reading, DiskLoad)
    assert disks in (None, len(found))
    (chosen,) = [d for d in found if d.device.label == label]
    assert chosen.since_boot
    assert chosen.busy_ratio == pytest.approx(busy)
    assert chosen.read_bytes_per_s == pytest.approx(read_bytes)


def test_a_second_report_that_is_cut_at_its_head_does_not_make_the_first_current() -> None:
    text = HEAD + report(BOOT_CPU, FEW, "sda 1.0 1.0 8.0 8.0 1.0 1.0 0.0 99.0") + CPU_HEAD
    assert cpu(text).since_boot
    assert disk(text).since_boot
    prose = HEAD + report(BOOT_CPU, FEW, "sda 1.0 1.0 8.0 8.0 1.0 1.0 0.0 99.0")
    reading = read(prose + "As you see %util is low\n")
    assert reading.read_to == len(prose.rstrip("\n").split("\n"))


def test_a_damaged_row_is_no_idle_disk() -> None:
    full = "sda 400.0 1.0 3200.0 8.0 9.0 1.0 9.0 100.0"
    text = HEAD + report(BOOT_CPU, FEW, full) + report(BUSY_CPU, FEW, full)
    text += report(BUSY_CPU, FEW, "sda 400.0 1.0 3200.0") + report(BUSY_CPU, FEW, full)
    found = disk(text)
    assert (found.busy_ratio, found.samples) == (1.0, 2)


def test_a_disk_that_the_cut_last_report_does_not_reach_is_not_idle_in_it() -> None:
    one, two = (f"{d} 400.0 1.0 3200.0 8.0 9.0 1.0 9.0 100.0" for d in ("sda", "sdb"))
    text = HEAD + report(BOOT_CPU, FEW, one, two) + report(BUSY_CPU, FEW, one, two)
    text += report(BUSY_CPU, FEW, one).rstrip("\n")
    found = disk(text, "sdb")
    assert (found.busy_ratio, found.samples) == (1.0, 1)
