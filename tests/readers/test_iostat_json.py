import json

from steadygpu.evidence.text import Body, Text
from steadygpu.readers.paste import read_text

DISK = {"disk_device": "sda", "r/s": 190.0, "w/s": 1.0, "rkB/s": 1520.0, "wkB/s": 8.0, "r_await": 40.0,
        "rareq-sz": 8.0, "aqu-sz": 7.5, "util": 99.0}  # fmt: skip
CPU = {"user": 3.0, "nice": 0.0, "system": 2.0, "iowait": 41.0, "steal": 0.0, "idle": 54.0}
LOG = {"sysstat": {"hosts": [{"nodename": "st05", "sysname": "Linux", "release": "6.1.0", "machine": "x86_64",
       "number-of-cpus": 8, "date": "03/11/2026",
       "statistics": [{"avg-cpu": CPU, "disk": [DISK]}, {"avg-cpu": CPU, "disk": [DISK]}]}]}}  # fmt: skip


def test_it_is_recognised_however_it_is_broken_into_lines() -> None:
    for indent in (None, 1, 4, "\t"):
        body = json.dumps(LOG, indent=indent).encode()
        ((text, reading),) = read_text(Text(name="x", body=Body(data=body)))
        assert text.kind == "iostat-json"
        disks = [f for f in reading.facts if type(f).__name__ == "DiskLoad"]
        assert [d.busy_ratio for d in disks] == [0.99]
        assert disks[0].read_bytes_per_s == 1520 * 1024
