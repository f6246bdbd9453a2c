"""What is read of /proc/PID/maps."""

import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.proc_maps import read_proc_maps

MAPS = """55d0c1a2b000-55d0c1cd0000 r-xp 0002b000 fd:00 1181032    /usr/bin/python3.11
7e0f40000000-7e0f50000000 r--s 00000000 00:35 9001771    /m/a b.safetensors
7e0f50000000-7e0f60000000 r--s 10000000 00:35 9001771    /m/a b.safetensors
7e0f70000000-7e0f70001000 r--s 00000000 00:35 9001773    /m/config.json
7e0f80000000-7e0f90000000 rw-p 00000000 00:00 0
7ffd0a1f0000-7ffd0a211000 rw-p 00000000 00:00 0          [stack]
"""


def test_mappings_of_one_file_are_summed_and_code_is_passed_over() -> None:
    reading = read_proc_maps(lines_of("m", MAPS + "other\n"))
    (fact,) = reading.facts
    assert fact.path == "/m/a b.safetensors"
    assert fact.mapped_bytes == 512 << 20
    assert fact.pid is None
    assert [s.first for s in fact.sources] == [2, 3]
    assert reading.read_to == 6


def test_grep_names_the_process_and_smaps_has_more_lines() -> None:
    row = MAPS.split("\n")[1]
    text = f"/proc/812/maps:{row}\n/proc/813/maps:{row}\n"
    assert [f.pid for f in read_proc_maps(lines_of("m", text)).facts] == [812, 813]
    smaps = f"{row}\nSize:             262144 kB\nRss:  8 kB\nTHPeligible:    0\nVmFlags: rd mr me ms \n{row}\n"
    reading = read_proc_maps(lines_of("m", smaps))
    assert reading.read_to == 6
    assert reading.facts[0].mapped_bytes == 512 << 20
    many = read_proc_maps(lines_of("m", f"{row}\n" * 20)).facts[0]
    assert len(many.sources) == 9


@pytest.mark.parametrize("text", ["", "Rss: 8 kB\n", "7e0f-7e10 r--s\n", "f" * 9000])
def test_other_text_is_no_map(text: str) -> None:
    assert read_proc_maps(lines_of("m", text)).read_to == 0
