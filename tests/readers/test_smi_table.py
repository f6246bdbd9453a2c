"""The table of nvidia-smi."""

from pathlib import Path

import pytest

from steadygpu.evidence.driver import DriverVersion
from steadygpu.evidence.ecc import EccCounters
from steadygpu.evidence.gpu import (
    CardListing,
    GpuClock,
    GpuErrorCells,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuMode,
    GpuPower,
    GpuProcess,
    GpuTemperature,
    MigInstance,
)
from steadygpu.evidence.text import decode, lines_of
from steadygpu.evidence.units import MIB
from steadygpu.readers.smi_table import read_smi_table

SHARED = Path(__file__).parents[2].parent / "shared"
RULE = "+-----------------------------------------+------------------------+----------------------+"
WIDE = "+-----------------------------------------------------------------------------------------+"
HEAD = f"""\
Sun Mar 15 10:20:30 2026
{WIDE}
| NVIDIA-SMI 575.10.01              Driver Version: 575.10.01      CUDA Version: 12.9     |
{RULE}
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
"""
PROCESSES = f"""\
{WIDE}
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
"""


def card(index, name, mode, bus, disp, ecc, second, mig="N/A"):
    first = f"|{index:>4}  {name:<26} {mode:>6}  |   {bus:<16} {disp:>3} | {ecc:>20} |\n"
    third = f"|{'':41}|{'':24}| {mig:>20} |\n"
    return first + second + "\n" + third + RULE + "\n"


GOOD = "| 35%   61C    P2            211W /  300W |   10240MiB /  24576MiB |     87%      Default |"
IDLE = "| N/A   28C    P0             66W /  700W |       4MiB /  81559MiB |      0%   E. Process |"
LOST = "|ERR!  ERR!  ERR!            ERR! /  ERR! |       4MiB /  81559MiB |    ERR!   Prohibited |"
FAN = "|ERR!   44C    P8             30W /  300W |       1MiB /  24576MiB |     N/A   E. Thread  |"
BARE = "| N/A   N/A  N/A               N/A /  N/A |          Not Supported |     N/A          N/A |"


def read(text, name="smi.txt", **kwargs):
    return read_smi_table(lines_of(name, text, **kwargs))


def of(reading, kind):
    return [fact for fact in reading.facts if isinstance(fact, kind)]


def test_whole_table_gives_cards_versions_and_processes():
    text = (
        HEAD
        + card(0, "NVIDIA Card X", "On", "00000000:0A:00.0", "Off", "0", IDLE, "Disabled")
        + card(1, "NVIDIA Card Long Name ...", "Off", "00000000:0B:00.0", "On", "Off", GOOD)
        + "\n"
        + PROCESSES
        + "|    1   N/A  N/A            4321      C   /opt/a b/python                     1024MiB |\n"
        + "|    1   N/A  N/A            4322    C+G   Insufficient Permissions              N/A   |\n"
        + WIDE
        + "\n\nsome prose\n"
    )
    got = read(text)
    assert not got.gaps
    assert got.read_to == len(text.split("\n")) - 3
    versions = {v.part: v.version or v.cuda_max for v in of(got, DriverVersion)}
    assert versions == {"tool": "575.10.01", "module": "575.10.01", "library": "12.9"}
    one, two = of(got, GpuIdentity)
    assert (one.name, one.name_cut, two.name_cut) == ("NVIDIA Card X", False, True)
    assert one.device.bdf == "0000:0a:00.0"
    assert one.at.wall == 1773570030.0
    first, second = of(got, GpuMode)
    assert (first.persistence_on, first.mig_on, first.ecc_on) == (True, False, True)
    assert (first.compute_mode, first.display_active) == ("exclusive_process", False)
    assert (second.persistence_on, second.ecc_on, second.display_active) == (False, False, True)
    assert [a.reason for a in second.absent] == ["not_supported"]
    assert [e.uncorrected for e in of(got, EccCounters)] == [0]
    assert [load.busy_ratio for load in of(got, GpuLoad)] == [0.0, 0.87]
    assert [load.has_process for load in of(got, GpuLoad)] == [False, True]
    assert of(got, GpuMemory)[1].used_bytes == 10240 * MIB
    assert of(got, GpuPower)[1].limit_w == 300
    assert of(got, GpuTemperature)[1].fan_ratio == 0.35
    assert of(got, GpuClock)[1].pstate == 2
    a, b = of(got, GpuProcess)
    assert (a.pid, a.name, a.kind, a.used_bytes) == (4321, "/opt/a b/python", "C", 1024 * MIB)
    assert (b.name, b.used_bytes) == (None, None)
    assert {x.field: x.reason for x in b.absent} == {
        "name": "not_permitted",
        "used_bytes": "not_supported",
    }
    assert a.device == two.device
    (listing,) = of(got, CardListing)
    assert (listing.listed, listing.complete, listing.container) == (2, True, False)


def test_error_cells_are_counted_card_by_card():
    text = (
        HEAD
        + card(0, "ERR!", "ERR!", "00000000:0A:00.0", "Off", "ERR!", LOST, "ERR!")
        + card(1, "NVIDIA Card Y", "Off", "00000000:0B:00.0", "Off", "N/A", FAN)
    )
    lost, fan = of(read(text), GpuErrorCells)
    assert fan.fields == ("fan",)
    assert fan.readable == 11
    assert "power_draw" in lost.fields
    assert set(lost.words) == {"ERR!"}
    assert [s.first for s in lost.sources] == [9, 10, 11]
    assert fan.device.index == 1
    assert lost.device.label is None
    busy = of(read(text), GpuLoad)[0]
    assert (busy.busy_ratio, busy.absent[0].reason, busy.has_process) == (None, "error", None)


def test_fragments_are_read_without_head():
    rows = card(3, "NVIDIA Card X", "WDDM", "0000:0A:00.0", "Off", "On", GOOD, "Enabled")
    got = read("\n".join(rows.split("\n")[:3]))
    (mode,) = of(got, GpuMode)
    assert (mode.driver_model, mode.mig_on, mode.ecc_on) == ("WDDM", True, True)
    assert not of(got, EccCounters)
    assert of(got, CardListing)[0].complete is False
    alone = read(GOOD + "\n" + FAN)
    refs = {fact.device for fact in alone.facts}
    assert len(refs) == 2
    assert not of(alone, CardListing)
    assert read("|=========================================+======|\n" + rows).read_to == 5
    head = "| NVIDIA-SMI 575.10.01              Driver Version: N/A      CUDA Version: ERR!     |"
    assert [f.absent and f.absent[0].reason for f in read(head).facts] == [
        (),
        "not_supported",
        "error",
    ]


def test_old_box_without_persistence_and_mig():
    text = """\
+------------------------------------------------------+
| NVIDIA-SMI 304.10   Driver Version: 304.10         |
|-------------------------------+----------------------+----------------------+
| GPU  Name                     | Bus-Id        Disp.  | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap| Memory-Usage         | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla Z9                 | 0000:0A:00.0     Off |                    7 |
| 30%   49C    P0    N/A /  N/A |  11%  600MB / 5000MB |     99%      Default |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Compute processes:                                               GPU Memory |
|  GPU       PID  Process name                                     Usage      |
|=============================================================================|
|    0      777  ./solve                                                500MB |
+-----------------------------------------------------------------------------+
"""
    got = read(text)
    assert of(got, GpuMode)[0].persistence_on is None
    assert of(got, EccCounters)[0].uncorrected == 7
    assert of(got, GpuMemory)[0].total_bytes == 5000 * MIB
    process = of(got, GpuProcess)[0]
    assert (process.pid, process.name, process.kind) == (777, "./solve", None)
    assert read(text.replace("    0      777  ./solve  ", "    0    Not Supported   ")).facts[
        0
    ].device.kind == ("host")
    unlisted = read(
        text.replace("|    0      777  ./solve ", "|    0   Not Supported    ").replace("500MB", "")
    )
    assert of(unlisted, GpuLoad)[0].absent[0].reason == "not_supported"


def test_mig_box():
    mig = f"""\

{WIDE}
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |
|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |
|                  |                                  |        ECC|                       |
|==================+==================================+===========+=======================|
|  0    1   0   0  |            1000MiB / 40000MiB    | 60      0 |  3   0    3    0    3 |
|                  |               0MiB / 20000MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
|  0    2   1   1  |             N/A / N/A            | 32      0 |  2   0    2    0    2 |
|                  |               0MiB / 12369MiB    |           |                       |
+------------------+----------------------------------+-----------+-----------------------+

"""
    row = (
        "|    0    2    1             99      C   ./x                                      7MiB |\n"
    )
    top = HEAD + card(0, "NVIDIA Card X", "On", "00000000:0A:00.0", "Off", "On", IDLE, "Enabled")
    text = top + mig + PROCESSES + row + WIDE + "\n"
    got = read(text)
    assert not got.gaps
    a, b = of(got, MigInstance)
    assert (a.gi, a.ci, a.memory_used_bytes) == (1, 0, 1000 * MIB)
    assert (b.memory_total_bytes, b.absent[0].reason) == (None, "not_supported")
    assert of(got, GpuProcess)[0].mig == "2/1"
    assert got.read_to == len(text.split("\n")) - 1
    none = top + mig.split("|  0    1")[0] + "|  No MIG devices found        |\n" + WIDE + "\n"
    assert read(none).read_to == len(none.split("\n")) - 1


def test_second_table_and_damage_end_or_lose_a_line():
    one = HEAD + card(0, "NVIDIA Card X", "N/A", "N/A", "N/A", "N/A", BARE)
    assert read(one + "\n" + one).read_to == one.count("\n")
    assert read(one + one.split("\n", 1)[1]).read_to == one.count("\n")
    memory = of(read(one), GpuMemory)[0]
    assert {a.reason for a in memory.absent} == {"not_supported"}
    bad = one.replace(BARE, "| what     |     is    |   this |")
    assert len(read(bad).gaps) == 1
    torn = one + PROCESSES + "|   ????   |\n"
    assert len(read(torn).gaps) == 1
    assert of(read(torn), GpuLoad)[0].has_process is None
    closed = one + PROCESSES + "|  No running processes found      |\n" + WIDE + "\n"
    assert of(read(closed), GpuLoad)[0].has_process is False
    assert of(read(closed, filtered="| head"), GpuLoad)[0].has_process is None
    assert of(read(one, name="container.txt"), CardListing)[0].container


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sun Mar 15 10:20:30 2026\nhello\n",
        "Sun Feb 31 10:20:30 2026\n",
        WIDE + "\n| amd-smi table |\n",
        "|===+===|\n",
        "|" + "9" * 5000 + "|\n",
        "| Fan  Temp   Perf  |\nx",
    ],
)
def test_other_texts_give_nothing(text):
    assert read(text).read_to == 0
    assert not read(text).facts


def test_every_cut_is_read_without_raising():
    text = (
        HEAD
        + card(0, "NVIDIA Card X", "On", "00000000:0A:00.0", "Off", "0", GOOD, "Disabled")
        + PROCESSES
        + "|    0   N/A  N/A            4321      C   python            1024MiB |\n"
        + WIDE
    )
    for end in range(0, len(text), 7):
        assert read(text[:end]).read_to <= text[:end].count("\n") + 1
        read(text[end:])


def test_recorded_tables():
    folder = SHARED / "evidence" / "files"
    if not folder.is_dir():
        pytest.skip("the recorded texts are not beside this checkout")
    for path in sorted(folder.glob("smi_*.txt")):
        lines = lines_of(path.name, decode(path.read_bytes()))
        if not lines.clean[0].startswith(("+", "|")) and "nvidia-smi" in lines.clean[0]:
            lines = lines.part(1, len(lines))
        got = read_smi_table(lines)
        assert of(got, CardListing)[0].complete, path.name
        assert not got.gaps, path.name
