"""Burn tests, copies and collectives."""

from typing import Any

import pytest

from pipeline import evidence, read
from shared import SHARED, needs_shared
from steadygpu.evidence.bench import BurnResult
from steadygpu.evidence.text import lines_of
from steadygpu.readers.bandwidth_test import read_bandwidth_test
from steadygpu.readers.gpu_burn import read_gpu_burn
from steadygpu.readers.nccl_tests import read_nccl_tests
from steadygpu.readers.nvbandwidth import read_nvbandwidth


def burn(*prints: tuple[int, int, str, str], end: str = "") -> Any:
    """The record of one card after these prints (count, Gflop/s, errors, temperature) in one physical line."""
    text = "".join(
        f"\r{10.0 + i:.1f}%  proc'd: {count} ({rate} Gflop/s)   errors: {errors}   temps: {temp} "
        for i, (count, rate, errors, temp) in enumerate(prints)
    )
    (found,) = read_gpu_burn(lines_of("b", text + "\n" + end)).facts
    return found


def test_rates_count_once_and_not_the_start() -> None:
    steady = [(100 * i, 9000 - 10 * i, "0 ", f"{40 + i} C") for i in range(1, 10)]
    found = burn(*[one for one in steady for _ in range(20)])
    assert (found.early_gflops, found.late_gflops) == (8975, 8915)
    assert (found.early_temp_c, found.late_temp_c) == (42.5, 48.5)
    assert (found.errors, found.died, found.faulty) == (0, False, None)
    assert burn(*steady[:4]).early_gflops is None
    assert burn((0, 0, "0 ", "40 C"), (9, 0, "0 ", "41 C")).late_gflops is None


@pytest.mark.parametrize(
    ("errors", "wanted"),
    [
        (["0 ", "2  (WARNING!)", "5  (WARNING!)"], 5),
        (["3 (WARNING!) ", "3 (WARNING!) ", "0 ", "4 (WARNING!) "], 7),
        (["0 ", "1.2.3", "9" * 5000], 0),
        (["0 ", "-1  (DIED!)"], 0),
    ],
)
def test_errors_add_up_over_summaries(errors: list[str], wanted: int) -> None:
    found = burn(*[(10 * i, 900, word, "-- ") for i, word in enumerate(errors)])
    assert found.errors == wanted
    assert found.died is ("DIED" in errors[-1])
    assert found.late_temp_c is None


def test_the_list_of_cards_that_it_prints_names_them() -> None:
    text = "Burning for 60 seconds.\nGPU 0: NVIDIA A2 (UUID: GPU-0a1b2c3d-0000-1111-2222-333344445555)\n"
    text += "\r9.0%  proc'd: 10 (900 Gflop/s)   errors: 3  (WARNING!)  temps: 50 C \n"
    (host,) = evidence({"b": text})
    (found,) = [fact for fact in host.facts if isinstance(fact, BurnResult)]
    assert found.device.uuid == "GPU-0a1b2c3d-0000-1111-2222-333344445555"
    assert found.errors == 3


def test_the_verdicts_alone_are_read_and_a_second_run_stands_apart() -> None:
    end = "Tested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: FAULTY\n"
    reading = read_gpu_burn(lines_of("b", end + end))
    assert [fact.faulty for fact in reading.facts] == [False, True]
    assert reading.read_to == 3
    assert read_gpu_burn(lines_of("b", "\tGPU 3: FAULTY\nand so on\n")).read_to == 1
    assert not read_gpu_burn(lines_of("b", "GPU 0: NVIDIA A2\n")).facts


ROW = (
    "  1048576   262144   float   sum   -1   112.4   9.33   9.33   {}   111.9   9.37   9.37   {}\n"
)


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        (ROW.format(0, 4), [0, 4]),
        (ROW.format("N/A", "2e-07"), [None, None]),
        (ROW.replace("   sum   -1", "").format("0e+00", 7), [None, 7]),
        ("  1024  256  float  none  -1  10.1  0.10  0.09  0\n", [0]),
        (ROW.format("9" * 5000, 0), []),
        (ROW.format(0, 0).replace("9.33", "x"), []),
    ],
)
def test_values_that_came_out_wrong(row: str, wrong: list[int | None]) -> None:
    facts: Any = read_nccl_tests(lines_of("n", row)).facts
    assert [fact.wrong for fact in facts] == wrong
    assert all(fact.bus_bytes_per_s for fact in facts)


@pytest.mark.parametrize(("line", "count"), [("3 FAILED", 3), ("0 OK", 0), ("0 FAILED", 1)])
def test_values_out_of_bounds(line: str, count: int) -> None:
    (found,) = read_nccl_tests(lines_of("n", f"# Out of bounds values : {line}\n")).facts
    assert found.out_of_bounds == count
    assert found.checked is None


def test_runs_one_after_the_other_stand_apart() -> None:
    text = (
        "# nThread 1 nGpus 2 minBytes 8\n" + ROW.format(0, 0) + "# Avg bus bandwidth    : 9.35\n#\n"
    )
    assert read_nccl_tests(lines_of("n", text + text)).read_to == 4
    assert read_nccl_tests(lines_of("n", "# a comment\n")).facts == ()


TABLE = """ Device 0: Card
 Quick Mode

 Host to Device Bandwidth, {used} Device(s)
 PAGEABLE Memory Transfers
   Transfer Size (Bytes)\tBandwidth({unit}/s)
   32000000\t\t\t6000.5
"""


def test_units_and_memory_of_copies() -> None:
    (old,) = read_bandwidth_test(lines_of("c", TABLE.format(used=1, unit="MB"))).facts
    (new,) = read_bandwidth_test(lines_of("c", TABLE.format(used=1, unit="GB"))).facts
    assert (old.bytes_per_s, new.bytes_per_s) == (round(6000.5 * 2**20), 6000.5e9)
    assert (old.how, old.direction, old.device.index) == ("pageable", "h2d", 0)
    assert not read_bandwidth_test(lines_of("c", TABLE.format(used=2, unit="GB"))).facts
    assert not read_bandwidth_test(
        lines_of("c", " Device 1: X\n" + TABLE.format(used=1, unit="GB"))
    ).facts


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Running host_to_device_memcpy_sm.\nmemcpy SM CPU(row) -> GPU(column) bandwidth (GB/s)\n  0 1\n0 6.20 12.36\n", 2),
        ("Running host_to_device_memcpy_sm.\n  0 1\n0 6.20\n", 0),
        ("Running all_to_host_memcpy_ce.\n  0 1\n0 6.20 12.36\n", 0),
        ("Running device_to_device_memcpy_write_sm.\n  0 1\n 0 N/A 6.20\n 1 6.1 N/A\n", 2),
        ("  0 1\n0 6.20 12.36\n", 0),
    ],
)  # fmt: skip
def test_cells_of_one_link_alone(text: str, count: int) -> None:
    assert len(read_nvbandwidth(lines_of("v", text)).facts) == count


REAL = {"sb_gpu_burn.log": 8, "sb_nccl_allreduce.log": 69, "sb_cuda_memory_h2d_bw.log": 81}


@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_real_files_are_read_whole(name: str) -> None:
    readings = [r for _, r in read({name: (SHARED / "evidence/files" / name).read_bytes()})]
    assert not [gap for reading in readings for gap in reading.gaps]
    assert len(readings[-1].facts) == REAL[name]


@pytest.mark.parametrize(
    "line", ["50.0%  proc'd: " + " " * 300_000, ("50.0%  proc'd: " + " " * 50_000 + "\r") * 20, "\r" * 300_000]
)  # fmt: skip
def test_a_line_of_blanks_takes_no_time(line: str) -> None:
    assert not read_gpu_burn(lines_of("b", line)).facts
