"""nvidia-smi dmon and pmon."""

from pathlib import Path

import pytest

from steadygpu.evidence.ecc import EccCounters
from steadygpu.evidence.gpu import (
    GpuClock,
    GpuErrorCells,
    GpuLoad,
    GpuMemory,
    GpuPower,
    GpuProcess,
    GpuTemperature,
)
from steadygpu.evidence.text import lines_of
from steadygpu.evidence.units import MIB
from steadygpu.readers.smi_mon import read_smi_dmon, read_smi_pmon

SHARED = Path(__file__).parents[2].parent / "shared"
HEAD = (
    "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk     fb  sbecc  dbecc \n"
)
UNIT = (
    "# Idx      W      C      C      %      %      %      %    MHz    MHz     MB   errs   errs \n"
)
ROWS = (
    "    0    100     50     40     20     10      0      0   1000   2000    512      0      1 \n"
    "    1      -     33      -      -      -      -      -   1000   1500      0      -      - \n"
    "    0    200     60     41     40     30      0      0   1000   1000    600      0      2 \n"
    "    1      -     34      -      -      -      -      -   1000   1500      0      -      - \n"
)
HALF = len(ROWS) // 2


def of(reading, kind):
    return [fact for fact in reading.facts if isinstance(fact, kind)]


def test_dmon_folds_samples_of_each_card():
    text = HEAD + UNIT + ROWS[:HALF] + HEAD + UNIT + ROWS[HALF:] + "done\n"
    got = read_smi_dmon(lines_of("d.txt", text))
    assert got.read_to == 8
    one, two = of(got, GpuLoad)
    assert (one.busy_ratio, one.busy_max_ratio, one.memory_busy_ratio) == (0.3, 0.4, 0.2)
    assert (one.samples, one.window_s, two.samples) == (2, None, 2)
    assert two.busy_ratio is None
    assert {a.reason for a in two.absent} == {"not_supported"}
    assert (one.sources[0].first, one.sources[0].last) == (3, 7)
    assert of(got, GpuPower)[0].draw_w == 150
    assert of(got, GpuTemperature)[0].gpu_c == 60
    assert of(got, GpuClock)[0].sm_mhz == 1500
    assert of(got, GpuMemory)[0].used_bytes == 600 * MIB
    assert of(got, EccCounters)[0].uncorrected == 2


@pytest.mark.parametrize("comma", [False, True])
def test_dmon_with_clock(comma):
    text = (
        "#Date       Time        gpu   pwr  temp    sm\n"
        "#YYYYMMDD   HH:MM:SS    Idx     W     C     %\n"
        " 20260315   10:20:30      0    50    40    10\n"
        " 20260315   10:20:40      0    50    41    30\n"
    )
    if comma:
        text = "\n".join(", ".join(line.split()) for line in text.split("\n"))
    got = read_smi_dmon(lines_of("d.txt", text))
    (load,) = of(got, GpuLoad)
    assert (load.window_s, load.at.wall, load.busy_ratio) == (10.0, 1773570040.0, 0.2)
    assert of(got, GpuTemperature)[0].gpu_c == 41


def test_dmon_with_time_only_over_midnight_and_errors():
    text = (
        "#Time        gpu   pwr    sm\n#HH:MM:SS    Idx     W     %\n"
        " 23:59:59      0    50    10\n 00:00:04      0  ERR!    ERR!\n 00:00:05   0  \n"
    )
    got = read_smi_dmon(lines_of("d.txt", text))
    assert of(got, GpuLoad)[0].window_s == 5.0
    assert of(got, GpuErrorCells)[0].fields == ("pwr", "sm")
    assert len(got.gaps) == 1
    lost = read_smi_dmon(lines_of("d.txt", "# gpu   pwr\n    0   ERR!\n"))
    assert of(lost, GpuPower)[0].absent[0].reason == "error"


def test_dmon_mig_rows_are_not_the_card():
    text = "# gpu    gi    ci    sm\n# Idx   Idx   Idx    %\n    0     -     -    11\n    0     1     0    90\n"
    assert of(read_smi_dmon(lines_of("d.txt", text)), GpuLoad)[0].busy_ratio == 0.11


PMON = """\
# gpu         pid   type     sm    mem    enc    dec     fb    command
# Idx           #    C/G      %      %      %      %     MB    name
    0        1234     C      40      1      -      -    100    my tool
    1           -     -       -      -      -      -      -    -
    0        1234     C      60      1      -      -    200    my tool
    0          99     G       -      -      -      -      -    Xorg
"""


def test_pmon():
    got = read_smi_pmon(lines_of("p.txt", PMON))
    assert [load.has_process for load in of(got, GpuLoad)] == [True, False]
    a, b = of(got, GpuProcess)
    assert (a.pid, a.name, a.kind, a.busy_ratio, a.used_bytes) == (
        1234, "my tool", "C", 0.5, 200 * MIB,
    )  # fmt: skip
    assert (b.busy_ratio, b.absent[0].reason) == (None, "not_printed")
    mig = PMON.replace("gpu  ", "gpu gi ci").replace("    0        1234", "    0  1  0 1234")
    mig = mig.replace("    1           -", "    1 - - -").replace(
        "    0          99", "    0 2 - 99"
    )
    assert {p.mig for p in of(read_smi_pmon(lines_of("p.txt", mig)), GpuProcess)} == {"1/0", "2"}


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("", 0),
        ("    0   1\n", 0),
        ("# x\n", 0),
        (PMON, 0),
        ("#" * 2000, 0),
        (HEAD + "# gpu  sm\n", 1),
    ],
)
def test_dmon_stops_at_other_texts(text, used):
    assert read_smi_dmon(lines_of("d.txt", text)).read_to == used


def test_recorded_samples():
    folder = SHARED / "evidence" / "files"
    if not folder.is_dir():
        pytest.skip("the recorded texts are not beside this checkout")
    for pattern, reader in (("dmon-*", read_smi_dmon), ("pmon-*", read_smi_pmon)):
        for path in folder.glob(pattern):
            lines = lines_of(path.name, path.read_text())
            assert reader(lines).read_to == len(lines)
