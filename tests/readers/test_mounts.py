"""What is read of findmnt, mount and /proc/mounts."""

from typing import Any

import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.mounts import is_network, read_findmnt, read_mount


def places(reading: Any) -> dict[str, Any]:
    return {fact.device.label: fact for fact in reading.facts}


TREE = """TARGET        SOURCE        FSTYPE OPTIONS
/             /dev/sda2     ext4   rw,relatime
├─/var/lib/a/very/long/place
│             overlay       overlay rw,lowerdir=/x
├─/data       srv:/a        nfs4   rw,vers=4.2,hard
│ └─/data/in\\x20side srv:/b nfs  ro
└─/tmp        tmpfs         tmpfs
"""


def test_findmnt_draws_a_tree() -> None:
    reading = read_findmnt(lines_of("f", TREE + "other\n"))
    seen = places(reading)
    assert list(seen) == ["/", "/var/lib/a/very/long/place", "/data", "/data/in side"]
    assert seen["/data"].source == "srv:/a"
    assert seen["/data"].fstype == "nfs4"
    assert seen["/data"].options == ("rw", "vers=4.2", "hard")
    assert seen["/data"].network is True
    assert seen["/"].network is False
    long = seen["/var/lib/a/very/long/place"]
    assert long.network is None
    assert (long.sources[0].first, long.sources[0].last) == (3, 4)
    assert len(reading.gaps) == 1
    assert reading.read_to == 7


def test_findmnt_in_ascii_raw_and_by_size() -> None:
    ascii_tree = "TARGET SOURCE FSTYPE OPTIONS\n/ /dev/sda2 ext4 rw\n|-/sys sysfs sysfs rw\n`-/data srv:/a nfs rw\n"
    assert list(places(read_findmnt(lines_of("f", ascii_tree)))) == ["/", "/sys", "/data"]
    size = "SOURCE FSTYPE SIZE USED AVAIL USE% TARGET\nsrv:/a nfs4 9T 1T 8T 11% /data\n"
    seen = places(read_findmnt(lines_of("f", size)))
    assert seen["/data"].source == "srv:/a"
    assert seen["/data"].options is None


def test_a_cut_option_is_left_out() -> None:
    row = "/data srv:/a nfs rw,vers=4.2,".ljust(77, "x") + "har"
    seen = places(read_findmnt(lines_of("f", f"TARGET SOURCE FSTYPE OPTIONS\n{row}\n")))
    assert seen["/data"].options == ("rw", "vers=4.2")


MOUNT = """sysfs on /sys type sysfs (rw,nosuid)
srv:/a b on /data (old) type nfs4 (rw,hard,vers=4.1) [label]
auto on /x type autofs (rw)
srv:/c on /x type nfs (ro)
"""


def test_mount_and_proc_mounts() -> None:
    reading = read_mount(lines_of("m", MOUNT + "done\n"))
    seen = places(reading)
    assert reading.read_to == 4
    assert seen["/data (old)"].source == "srv:/a b"
    assert seen["/x"].fstype == "nfs"  # the last one covers the others
    proc = places(read_mount(lines_of("m", "srv:/a /d\\040e nfs4 rw,hard 0 0\n")))
    assert proc["/d e"].options == ("rw", "hard")


@pytest.mark.parametrize(
    "text", ["", "cat on /mat type of thing\n", "/a /b c rw x\n", "TARGET SOURCE\n", "z" * 20_000]
)
def test_other_text_is_no_mount(text: str) -> None:
    assert read_mount(lines_of("m", text)).read_to == 0
    assert read_findmnt(lines_of("m", text)).read_to == 0


@pytest.mark.parametrize(
    ("fstype", "network"),
    [("nfs4", True), ("lustre", True), ("fuse.sshfs", True), ("ext4", False), ("tmpfs", False),
     ("fuse", None), ("fuse.lxcfs", None), ("overlay", None)],
)  # fmt: skip
def test_the_type_tells_whether_a_server_holds_the_files(fstype: str, network: bool | None) -> None:
    assert is_network(fstype) is network
