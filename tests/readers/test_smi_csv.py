import pytest

from shared import SHARED, needs_shared
from steadygpu.evidence.ecc import RowRemap
from steadygpu.evidence.gpu import (
    CardListing,
    GpuClockReasons,
    GpuErrorCells,
    GpuIdentity,
    GpuLoad,
    GpuMemory,
    GpuMode,
    GpuPower,
    GpuProcess,
    GpuReasonCounters,
    GpuTemperature,
)
from steadygpu.evidence.link import PcieLink
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Body, Text, lines_of
from steadygpu.readers.paste import read_text
from steadygpu.readers.smi_csv import read_smi_csv
from steadygpu.readers.smi_csv_columns import path_of

HEAD = "timestamp, index, uuid, count, utilization.gpu [%], memory.used [MiB], clocks_throttle_reasons.active"
ROWS = f"""{HEAD}
2026/03/02 10:00:00.100, 0, GPU-aa, 2, 97 %, 1024 MiB, 0x0000000000000004
2026/03/02 10:00:00.104, 1, GPU-bb, 2, 3 %, 10 MiB, 0x0000000000000001
2026/03/02 10:00:01.100, 0, GPU-aa, 2, 99 %, 1025 MiB, 0x0000000000000044
2026/03/02 10:00:01.104, 1, GPU-bb, 2, 2 %, 10 MiB, 0x0000000000000001
"""


def read(content: str) -> Reading:
    return read_smi_csv(lines_of("q.csv", content))


def of(reading: Reading, record: type[Fact]) -> list[Fact]:
    return [f for f in reading.facts if isinstance(f, record)]


def test_each_row_speaks_of_its_card_at_its_moment() -> None:
    reading = read(ROWS)
    loads = of(reading, GpuLoad)
    assert [(f.device.index, f.device.uuid, f.busy_ratio) for f in loads] == [
        (0, "GPU-aa", 0.97), (1, "GPU-bb", 0.03), (0, "GPU-aa", 0.99), (1, "GPU-bb", 0.02),
    ]  # fmt: skip
    assert loads[2].at.wall - loads[0].at.wall == pytest.approx(1.0)
    assert not loads[0].at.zone_known
    assert loads[0].sources[0].quote == ROWS.split("\n")[1]
    (listing,) = of(reading, CardListing)
    assert (listing.listed, listing.attached, listing.complete) == (2, 2, True)


def test_the_mask_of_reasons_is_taken_apart() -> None:
    first, _, third, _ = of(read(ROWS), GpuClockReasons)
    assert (first.sw_power_cap, first.hw_thermal, first.idle) == (True, False, False)
    assert (third.sw_power_cap, third.hw_thermal) == (True, True)


def test_a_named_reason_counts_before_the_mask() -> None:
    text = "index, clocks_event_reasons.sw_power_cap, clocks_event_reasons.active\n0, Not Active, 0x4\n"
    (reasons,) = of(read(text), GpuClockReasons)
    assert reasons.sw_power_cap is False


def test_units_come_from_the_header_where_cells_have_none() -> None:
    text = (
        "index, memory.total [MiB], power.draw [W], clocks_event_reasons_counters.sw_power_cap [us]\n"
        "0, 81559, 71.5, 2500000\n"
    )
    reading = read(text)
    assert of(reading, GpuMemory)[0].total_bytes == 81559 * 2**20
    assert of(reading, GpuPower)[0].draw_w == 71.5
    assert of(reading, GpuReasonCounters)[0].sw_power_cap_s == 2.5


def test_error_words_are_evidence_and_na_is_not_supported() -> None:
    text = (
        "index, pci.bus_id, temperature.gpu, utilization.gpu [%], fan.speed [%]\n"
        "0, 00000000:3B:00.0, [GPU is lost], [Unknown Error], [N/A]\n"
    )
    reading = read(text)
    (cells,) = of(reading, GpuErrorCells)
    assert set(cells.words) == {"[GPU is lost]", "[Unknown Error]"}
    (heat,) = of(reading, GpuTemperature)
    assert {(a.field, a.reason) for a in heat.absent} == {
        ("gpu_c", "error"), ("fan_ratio", "not_supported"),
    }  # fmt: skip
    assert heat.device.bdf == "0000:3b:00.0"


def test_old_names_and_short_names_mean_the_same() -> None:
    assert path_of("clocks.sm") == path_of("clocks.current.sm")
    assert path_of("clocks.mem") == path_of("clocks.current.memory")
    assert path_of("retired_pages.sbe") == path_of("retired_pages.single_bit_ecc.count")
    assert path_of("gpu_name") == path_of("name")
    assert path_of("power_smoothing.enabled") is None


def test_link_columns() -> None:
    text = (
        "index, pcie.link.gen.current, pcie.link.gen.gpumax, pcie.link.width.current, pcie.link.width.max\n"
        "0, 1, 4, 8, 16\n"
    )
    (link,) = of(read(text), PcieLink)
    assert (link.speed_gts, link.device_max_speed_gts, link.width, link.max_width) == (
        2.5,
        16.0,
        8,
        16,
    )


def test_remapped_rows_in_words_and_in_numbers() -> None:
    for yes, no in (("Yes", "No"), ("1", "0")):
        text = f"gpu_uuid, remapped_rows.pending, remapped_rows.failure\nGPU-aa, {yes}, {no}\n"
        (remap,) = of(read(text), RowRemap)
        assert (remap.pending, remap.failure) == (True, False)


def test_processes_and_a_name_with_commas() -> None:
    text = (
        "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        "GPU-aa, 4242, python, train.py, 1000 MiB\n"
        "GPU-aa, 4243, [Not Found], 2000 MiB\n"
    )
    one, two = of(read(text), GpuProcess)
    assert (one.pid, one.name, one.used_bytes) == (4242, "python,train.py", 1000 * 2**20)
    assert two.name is None
    assert of(read(text), GpuLoad)[0].has_process is True
    assert not of(read(text), CardListing)


def test_a_cut_last_row_loses_its_half_cell_only() -> None:
    text = "index, uuid, utilization.gpu [%], temperature.gpu\n0, GPU-aa, 97 %, 61\n1, GPU-bb, 9"
    reading = read(text)
    loads = of(reading, GpuLoad)
    assert [load.busy_ratio for load in loads] == [0.97, None]
    assert loads[1].absent[0].reason == "cut"
    assert len(reading.gaps) == 1


def test_one_damaged_row_loses_that_row_and_prose_ends_the_table() -> None:
    text = "index, uuid, temperature.gpu\n0, GPU-aa, 61\n1, GPU-b\n2, GPU-cc, 50\nThe third, I think, is odd\n"
    reading = read(text)
    assert [t.gpu_c for t in of(reading, GpuTemperature)] == [61, 50]
    assert len(reading.gaps) == 1
    assert reading.read_to == 4


def test_headers_of_other_tables_are_not_ours() -> None:
    for line in ("name, age", "pid, user", "timestamp,device,gpu_use_percent", "a, b", "name"):
        assert read(f"{line}\n1, 2\n") == Reading()


def test_samples_of_nameless_cards_are_told_apart_by_their_place() -> None:
    text = "timestamp, utilization.gpu [%]\n" + "".join(
        f"2026/03/02 10:00:0{s}.10{c}, {90 if c else 1} %\n" for s in range(3) for c in range(2)
    )
    loads = of(read(text), GpuLoad)
    assert len({load.device for load in loads}) == 2
    assert [load.busy_ratio for load in loads if load.device == loads[0].device] == [0.01] * 3


def test_without_a_header_the_command_names_the_columns() -> None:
    paste = (
        "root@gpu-07:~# nvidia-smi --query-gpu=index,uuid,memory.used,persistence_mode --format=csv,noheader,nounits\n"
        "0, GPU-aa, 1024, Enabled\n"
        "root@gpu-07:~# uptime\n"
    )
    read_parts = read_text(Text(name="p", body=Body(data=paste.encode())))
    facts = [f for _, reading in read_parts for f in reading.facts]
    assert next(f for f in facts if isinstance(f, GpuMemory)).used_bytes == 2**30
    assert next(f for f in facts if isinstance(f, GpuMode)).persistence_on is True
    assert read_parts[0][0].host == "gpu-07"
    bare = read_text(Text(name="p", body=Body(data=b"0, GPU-aa, 1024, Enabled\n")))
    assert not bare[0][1].facts
    assert bare[0][1].gaps


def test_only_some_cards_were_asked_for() -> None:
    paste = "$ nvidia-smi -i 0 --query-gpu=index,count,uuid --format=csv\nindex, count, uuid\n0, 1, GPU-aa\n"
    facts = [
        f for _, r in read_text(Text(name="p", body=Body(data=paste.encode()))) for f in r.facts
    ]
    assert not next(f for f in facts if isinstance(f, CardListing)).complete


@needs_shared
@pytest.mark.parametrize("name", ["smi-csv-load_h100-sxm-590.txt", "smi-csv-load_rtx2080s-610.txt"])
def test_all_columns_of_real_drivers(name: str) -> None:
    content = (SHARED / "evidence/files" / name).read_text()
    reading = read_smi_csv(lines_of(name, content))
    assert not reading.gaps
    (identity,) = of(reading, GpuIdentity)
    (link,) = of(reading, PcieLink)
    (power,) = of(reading, GpuPower)
    wanted = {
        "smi-csv-load_h100-sxm-590.txt": ("10de:2330", 32.0, 631.95, 700.0),
        "smi-csv-load_rtx2080s-610.txt": ("10de:1e81", 8.0, 98.14, 250.0),
    }[name]
    assert (identity.pci_id, link.speed_gts, power.draw_w, power.limit_w) == wanted
    (listing,) = of(reading, CardListing)
    assert listing.complete
