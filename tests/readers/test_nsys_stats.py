from typing import Any

import pytest

from pipeline import read
from steadygpu.evidence.trace import CallStat


def stats(text: str) -> dict[tuple[str, str], CallStat]:
    facts: list[Any] = [f for _, r in read({"t": text}) for f in r.facts]
    return {(f.table, f.name): f for f in facts if isinstance(f, CallStat)}


HEAD = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"


def test_csv_keeps_commas_of_names_and_of_thousands() -> None:
    text = HEAD + '50.0,"2,000,000",10,200000.0,190000.0,1,2,0.0,"void f<int, float>(T1 *, int)"\n'
    row = stats(text)["kernel", "void f<int, float>(T1 *, int)"]
    assert (row.total_s, row.count) == (pytest.approx(2e-3), 10)
    assert (row.mean_s, row.median_s) == (pytest.approx(2e-4), pytest.approx(1.9e-4))


@pytest.mark.parametrize(
    ("unit", "total"), [("ns", 5e-9), ("us", 5e-6), ("ms", 5e-3), ("sec", 5.0)]
)
def test_units_are_those_of_the_head(unit: str, total: float) -> None:
    assert stats(HEAD.replace("(ns)", f"({unit})") + "1.0,5,1,5.0,5.0,5,5,0.0,k\n")[
        "kernel", "k"
    ].total_s == pytest.approx(total)


OLD = """CUDA API Statistics:

 Time(%)  Total Time (ns)  Num Calls    Average     Minimum    Maximum            Name
 -------  ---------------  ---------  -----------  ---------  ---------  ---------------------
    88.5       2298324729          1  2298324729.0  2298324729  2298324729  cudaDeviceSynchronize
     1.5         38324729        400       95811.8        8811    98324729  cudaLaunchKernel

CUDA Memory Operation Statistics (by size in KiB):

   Total     Operations  Average   Minimum   Maximum       Operation
"""


def test_tables_of_2021_are_read() -> None:
    row = stats(OLD)["api", "cudaLaunchKernel"]
    assert (row.total_s, row.count, row.median_s) == (pytest.approx(0.038324729), 400, None)


def test_sizes_are_decimal_megabytes() -> None:
    text = "Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation\n8.389,2,4.194,4.194,4.194,4.194,0.0,[CUDA memcpy HtoD]\n"
    assert stats(text)["memory", "[CUDA memcpy HtoD]"].total_bytes == 8_389_000


def test_calls_of_the_system_are_no_calls_of_cuda() -> None:
    text = (
        HEAD.replace("Instances", "Num Calls")
        + "9.0,90,1,90.0,90.0,1,1,0.0,poll\n1.0,10,1,10.0,10.0,1,1,0.0,cuLaunchKernel\n"
    )
    assert set(stats(text)) == {("os", "poll"), ("api", "cuLaunchKernel")}


def test_rows_of_one_cut_name_are_added_up() -> None:
    text = (
        HEAD + "9.0,90,3,30.0,30.0,1,1,0.0,void f<\u2026\n1.0,10,2,5.0,5.0,1,1,0.0,void f<\u2026\n"
    )
    row = stats(text)["kernel", "void f<\u2026"]
    assert (row.total_s, row.count, row.median_s) == (pytest.approx(1e-7), 5, None)


def test_a_bad_row_is_lost_alone_and_other_text_is_left() -> None:
    text = (
        HEAD
        + "9.0,x,3,30.0,30.0,1,1,0.0,a\n9.0,90\n1.0,10,2,5.0,5.0,1,1,0.0,b\nGPU 0: NVIDIA A30 (UUID: GPU-0)\n"
    )
    assert ("kernel", "b") in stats(text)
    assert any(t.kind == "nvidia-smi-L" for t, _ in read({"t": text}))
    grid = "Time (%)  Total Time (ns)  Instances  Avg (ns)  GridXYZ  BlockXYZ  Name\n50.0  100  1  100.0  1 1 1  64 1 1  k\n"
    assert not stats(grid)
