"""What is read of the statistics of a Lustre client."""

import pytest

from rules.hand import found, one, weight
from steadygpu.evidence.text import lines_of
from steadygpu.readers.llite_stats import read_llite_stats
from steadygpu.rules.network_fs import network_fs_latency

TEXT = """llite.flash-ffff8e0c41d77800.stats=
snapshot_time             1792140164.5 secs.nsecs
elapsed_time              1000.0 secs.nsecs
read_bytes                2000 samples [bytes] 1 9 8192000 7
read                      2000 samples [usecs] 1 9 62000000 7
open                      12 samples [regs]
ioctl                     3 samples [reqs]
"""


def test_calls_of_a_lustre_client_have_counts_bytes_and_times() -> None:
    reading = read_llite_stats(lines_of("l", TEXT + "osc.flash-OST0000.stats=\n"))
    assert reading.read_to == 7
    seen = {fact.op: fact for fact in reading.facts}
    assert list(seen) == ["READ", "OPEN", "IOCTL"]
    read = seen["READ"]
    assert (read.ops, read.bytes_per_op, read.exe_ms, read.ops_per_s) == (2000, 4096, 31.0, 2.0)
    assert read.protocol == "Lustre"
    assert read.device.label == "flash"
    assert read.at.wall == 1792140164.5
    assert seen["OPEN"].exe_ms is None
    old = read_llite_stats(
        lines_of(
            "l",
            "llite.a-b.stats=\nsnapshot_time 99.5 secs.nsecs\nread_bytes 4 samples [bytes] 1 9 16\n",
        )
    )
    assert (old.facts[0].ops, old.facts[0].bytes_per_op) == (4, 4)
    assert old.facts[0].at.wall is None


def test_slow_reads_since_the_mount_are_information() -> None:
    calls = read_llite_stats(lines_of("l", TEXT)).facts
    seen = found(one(network_fs_latency, calls, ()))
    assert weight(network_fs_latency, seen) == ("info", "none")
    assert seen.says == "Lustre READ 31 ms each of 4 KiB, as the mean since the mount"


@pytest.mark.parametrize(
    "text", ["", "snapshot_time 1.5 secs.nsecs\n", "llite.x\n", "open 3 samples [usecs] 1 2 3\n"]
)
def test_other_text_is_no_llite(text: str) -> None:
    assert read_llite_stats(lines_of("l", text)).read_to == 0
