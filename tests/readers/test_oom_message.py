from typing import Any

import pytest

from shared import SHARED, needs_shared
from steadygpu.evidence.text import lines_of
from steadygpu.evidence.units import GIB, MIB
from steadygpu.readers.oom_message import read_oom_message

NEW = (
    "OutOfMemoryError: CUDA out of memory. Tried to allocate 640.00 MiB. GPU 5 has a total capacity of 15.77 GiB "
    "of which 2.00 GiB is free. Process 71 has 1.50 GiB memory in use. Process 72 has 512.00 MiB memory in use. "
    "Including non-PyTorch memory, this process has 13.25 GiB memory in use. 14.00 GiB allowed; Of the allocated "
    "memory 12.00 GiB is allocated by PyTorch, and 512.50 KiB is reserved by PyTorch but unallocated."
)


def one(text: str) -> Any:
    (fact,) = read_oom_message(lines_of("o", text)).facts
    return fact


def test_all_figures_of_a_line_are_bytes() -> None:
    fact = one("[rank7]: torch." + NEW)
    assert (fact.device.kind, fact.device.index, fact.rank, fact.backend) == ("card", 5, 7, "CUDA")
    assert fact.tried_bytes == 640 * MIB
    assert fact.total_bytes == round(15.77 * GIB)
    assert fact.free_bytes == 2 * GIB
    assert fact.allowed_bytes == 14 * GIB
    assert fact.process_bytes == round(13.25 * GIB)
    assert fact.others_bytes == 2 * GIB
    assert fact.allocated_bytes == 12 * GIB
    assert fact.unallocated_bytes == round(512.5 * 1024)
    assert fact.absent == ()


@pytest.mark.parametrize(
    ("last", "unused"),
    [
        ("7.00 GiB reserved in total by PyTorch)", 1 * GIB),
        ("5.99 GiB reserved in total by PyTorch)", 0),
        ("300.00 MiB cached)", 300 * MIB),
        ("7.00 GiB reserved", None),
    ],
)
def test_old_forms_print_what_is_held_in_two_ways(last: str, unused: int | None) -> None:
    fact = one(
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; "
        f"6.00 GiB already allocated; 10.00 MiB free; {last}"
    )
    assert fact.allocated_bytes == 6 * GIB
    assert fact.free_bytes == 10 * MIB
    assert fact.unallocated_bytes == unused
    assert ("unallocated_bytes" in {a.field for a in fact.absent}) == (unused is None)


def test_a_cut_line_keeps_what_it_has() -> None:
    fact = one(NEW[: NEW.index(" of which")])
    assert fact.tried_bytes == 640 * MIB
    assert fact.free_bytes is None
    assert "cut" in {a.reason for a in fact.absent if a.field == "free_bytes"}
    bare = one("RuntimeError: HIP out of memory.")
    assert bare.device.kind == "host"
    assert bare.backend == "HIP"


def test_each_line_is_a_message_and_other_lines_end_it() -> None:
    reading = read_oom_message(lines_of("o", f"{NEW}\n\n{NEW}\nProcess 1 died\n{NEW}\n"))
    assert len(reading.facts) == 2
    assert reading.read_to == 3
    for text in (
        "",
        "RuntimeError: shape mismatch",
        "MemoryError",
        "we saw RuntimeError: CUDA out of memory.",
    ):
        assert read_oom_message(lines_of("o", text)).read_to == 0
    assert one(NEW + "9" * 100_000).tried_bytes == 640 * MIB
    assert one(NEW.replace("640.00", "9" * 40)).tried_bytes is None


@needs_shared
def test_the_message_of_the_shared_case_is_read() -> None:
    text = (SHARED / "cases/busy-oom-not-fragmentation/evidence/python.txt").read_text()
    fact = one(text)
    assert None not in (
        fact.tried_bytes,
        fact.free_bytes,
        fact.allocated_bytes,
        fact.unallocated_bytes,
    )
