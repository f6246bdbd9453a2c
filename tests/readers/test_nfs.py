"""What is read of /proc/self/mountstats and of nfsiostat."""

from typing import Any

import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.mountstats import read_mountstats
from steadygpu.readers.nfsiostat import read_nfsiostat

STATS = """device proc mounted on /proc with fstype proc
no device mounted on /x with fstype tmpfs
device srv:/a mounted on /data/a\\040b with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.1,nconnect=4
\tage:\t1000
\tcaps:\tcaps=0x3ffdf
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 1 2 3
\tper-op statistics
\t        NULL: 0 0 0 0 0 0 0 0 0
\t        READ: 200 202 1 4000 1048576 400 8200 8800 7
\t       WRITE: 100 100 0 6400 1000 0 500 500 0
\t     GETATTR: 700 700 0 1 1 0 350 350 0
"""
HEAD = "srv:/a mounted on /data:\n\n           ops/s       rpc bklog\n          73.187           0.000\n\n"
COLUMNS = "ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)"
ROW = (
    "                  {}         400.000          10.000        3 (1.5%)           {}           {}"
)


def ops(reading: Any) -> dict[str, Any]:
    return {fact.op: fact for fact in reading.facts}


def test_mountstats_gives_means_a_call_since_the_mount() -> None:
    reading = read_mountstats(lines_of("m", STATS + "other\n"))
    assert reading.read_to == 13
    seen = ops(reading)
    assert list(seen) == ["READ", "WRITE", "GETATTR"]
    read = seen["READ"]
    assert read.device.kind == "mount"
    assert read.device.label == "/data/a b"
    assert (read.ops, read.retransmits, read.timeouts, read.errors) == (200, 2, 1, 7)
    assert (read.queue_ms, read.rtt_ms, read.exe_ms) == (2.0, 41.0, 44.0)
    assert read.bytes_per_op == 1048576 / 200
    assert seen["WRITE"].bytes_per_op == 64
    assert read.ops_per_s == 0.2
    assert read.retransmit_ratio == 0.01
    assert seen["GETATTR"].share_ratio == 0.7
    assert read.since_mount
    assert {s.first for s in read.sources if "ops_per_s" in s.fields} == {5, 11}


def test_mountstats_of_old_kernels_of_a_filter_and_in_part() -> None:
    old = ops(read_mountstats(lines_of("m", "        READ: 10 10 0 5 6 20 30 50\n")))["READ"]
    assert old.errors is None
    assert old.rtt_ms == 3.0
    assert old.share_ratio is None
    assert old.ops_per_s is None
    assert old.device.label is None
    grep = ops(read_mountstats(lines_of("m", STATS, filtered="grep")))
    assert grep["READ"].share_ratio is None
    none = ops(read_mountstats(lines_of("m", "        READ: 0 0 0 0 0 0 0 0\n")))["READ"]
    assert none.ops == 0
    assert none.rtt_ms is None
    two = read_mountstats(lines_of("m", "  READ: 10 10 0 5 6 20 30 50\n" * 2))
    assert len(two.facts) == 2


@pytest.mark.parametrize(
    "text", ["", "device driver loaded\n", "READ: 1 2 3\n", "READ: all is well\n", "y" * 9000]
)
def test_other_text_is_no_mountstats(text: str) -> None:
    assert read_mountstats(lines_of("m", text)).read_to == 0
    assert read_nfsiostat(lines_of("m", text)).read_to == 0


def report(rate: str, rtt: str, exe: str, columns: str = COLUMNS, row: str = ROW) -> str:
    return f"{HEAD}read:              {columns}\n{row.format(rate, rtt, exe)}\n\n"


def test_the_first_report_is_since_the_mount_and_later_ones_count() -> None:
    one = ops(read_nfsiostat(lines_of("n", report("40.000", "2.000", "3.000"))))["READ"]
    assert one.since_mount
    assert (one.ops_per_s, one.rtt_ms, one.exe_ms) == (40.0, 2.0, 3.0)
    assert one.bytes_per_op == 10 * 1024
    assert one.bytes_per_s == 400 * 1024
    assert (one.retransmits, one.retransmit_ratio) == (3, 0.015)
    assert one.queue_ms is None
    text = "".join(
        report(*v)
        for v in (
            ("40.0", "2.0", "3.0"),
            ("10.0", "40.0", "60.0"),
            ("30.0", "20.0", "20.0"),
        )
    )
    reading = read_nfsiostat(lines_of("n", text + "$ date\n"))
    later = ops(reading)["READ"]
    assert not later.since_mount
    assert later.samples == 2
    assert later.ops_per_s == 20.0
    assert later.rtt_ms == 25.0  # by calls, not by reports
    assert later.retransmits == 6
    assert [s.first for s in later.sources] == [15, 23]
    assert reading.read_to == 23


def test_new_columns_and_figures_on_lines_of_their_own() -> None:
    new = ops(
        read_nfsiostat(
            lines_of(
                "n",
                report(
                    "5.0", "1.0", "9.0", COLUMNS + "  avg queue (ms)          errors",
                    ROW + "   7.900   1 (11.1%)",
                ),
            )
        )
    )["READ"]  # fmt: skip
    assert (new.queue_ms, new.errors) == (7.9, 1)
    garbled = f"{HEAD}read:\n  {COLUMNS}\n\t\t  5.0\n\t 40.0\n\t 8.0\n\t 0 (0.0%)\n\t 4.5\n\t 5.5\n"
    old = ops(read_nfsiostat(lines_of("n", garbled)))["READ"]
    assert (old.ops_per_s, old.rtt_ms, old.exe_ms) == (5.0, 4.5, 5.5)


def test_a_mount_that_nobody_uses_has_rates_and_no_times() -> None:
    idle = report("0.000", "0.000", "0.000").replace("400.000", "0.000").replace("10.000", "0.000")
    read = ops(read_nfsiostat(lines_of("n", idle)))["READ"]
    assert read.ops_per_s == 0
    assert read.rtt_ms is None


def test_a_cut_row_and_figures_without_columns_are_lost_alone() -> None:
    text = (
        f"read:  {COLUMNS}\n     5.0  40.0\nwrite:  {COLUMNS}\n{ROW.format('4.0', '1.0', '2.0')}\n"
    )
    reading = read_nfsiostat(lines_of("n", text))
    assert list(ops(reading)) == ["WRITE"]
    assert read_nfsiostat(lines_of("n", HEAD + "   1.0 2.0 3.0\n")).gaps
