from typing import Any

import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.dcgm_exporter import read_dcgm_exporter

LABELS = (
    'gpu="3",UUID="GPU-1234",pci_bus_id="00000000:C1:00.0",device="nvidia3",'
    'modelName="NVIDIA L40S",Hostname="gpu-09",DCGM_FI_DRIVER_VERSION="570.86.15"'
)


def facts(*samples: str) -> dict[str, Any]:
    body = "".join(f"{s.partition(' ')[0]}{{{LABELS}}} {s.partition(' ')[2]}\n" for s in samples)
    return {type(f).__name__: f for f in read_dcgm_exporter(lines_of("s", body)).facts}


@pytest.mark.parametrize(
    ("sample", "record", "field", "value"),
    [
        ("DCGM_FI_DEV_FB_USED 71874", "GpuMemory", "used_bytes", 71874 << 20),
        ("DCGM_FI_DEV_POWER_USAGE 61.9", "GpuPower", "draw_w", 61.9),
        ("DCGM_FI_DEV_GPU_UTIL 97", "GpuLoad", "busy_ratio", 0.97),
        ("DCGM_FI_PROF_SM_ACTIVE 0.871", "GpuProfile", "sm_active_ratio", 0.871),
        ("DCGM_FI_PROF_SM_ACTIVE 0.871", "GpuLoad", "sm_active_ratio", 0.871),
        ("DCGM_FI_PROF_PCIE_RX_BYTES 1123331441", "GpuProfile", "pcie_rx_bytes_s", 1123331441.0),
        ("DCGM_FI_DEV_MEMORY_TEMP 0", "GpuTemperature", "memory_c", None),
        ("DCGM_FI_DEV_GPU_TEMP -5", "GpuTemperature", "gpu_c", -5),
        ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL 3", "EccCounters", "uncorrected", 3),
        ("DCGM_FI_DEV_ROW_REMAP_PENDING 1", "RowRemap", "pending", True),
        ("DCGM_FI_DEV_PCIE_LINK_GEN 4", "PcieLink", "speed_gts", 16.0),
        ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER 12", "PcieLink", "replays", 12),
        ("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L11 5", "NvlinkErrors", "link", 11),
        ("DCGM_FI_DEV_NVLINK_COUNT_RX_SYMBOL_ERRORS 5", "NvlinkErrors", "symbol", 5),
        ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS 72", "GpuClockReasons", "hw_thermal", True),
        ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS 72", "GpuClockReasons", "sw_power_cap", False),
        ("DCGM_FI_DEV_FABRIC_MANAGER_STATUS 3", "GpuFabric", "state", "completed"),
        ("DCGM_FI_DEV_XID_ERRORS 31", "XidEvent", "code", 31),
        ("DCGM_FI_DEV_PSTATE 2", "GpuClock", "pstate", 2),
    ],
)
def test_a_field_and_its_unit(sample: str, record: str, field: str, value: object) -> None:
    found = facts(sample)
    assert (getattr(found[record], field) if record in found else None) == value


@pytest.mark.parametrize(
    "sample",
    [
        "DCGM_FI_DEV_XID_ERRORS 0", "DCGM_FI_DEV_GPU_UTIL NaN", "DCGM_FI_DEV_GPU_UTIL 250",
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL -1", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION 5",
        "DCGM_FI_DEV_VGPU_LICENSE_STATUS 0",
    ],
)  # fmt: skip
def test_what_tells_nothing_makes_no_record_of_its_own(sample: str) -> None:
    assert set(facts(sample)) == {"GpuIdentity", "DriverVersion"}


def test_a_card_is_one_reference_with_all_its_names() -> None:
    found = facts("DCGM_FI_DEV_GPU_TEMP 50", "DCGM_FI_DEV_SM_CLOCK 1400")
    device = found["GpuClock"].device
    assert device == found["GpuTemperature"].device
    assert (device.host, device.bdf, device.index) == ("gpu-09", "0000:c1:00.0", 3)
    assert found["DriverVersion"].version == "570.86.15"


def test_blank_is_absent_and_not_a_number() -> None:
    found = facts("DCGM_FI_DEV_POWER_MGMT_LIMIT 9223372036854775794")["GpuPower"]
    assert found.requested_limit_w is None
    assert found.absent[0].reason == "not_supported"


def test_a_pod_or_an_address_is_no_host_name() -> None:
    for name in ("dcgm-exporter-x7k2p", "nvidia-dcgm-exporter-8", "localhost", "10.2.3.4"):
        body = 'DCGM_FI_DEV_GPU_TEMP{gpu="0",Hostname="' + name + '"} 4\n'
        (fact,) = read_dcgm_exporter(lines_of("s", body)).facts
        assert fact.device.host is None


def test_it_ends_where_another_exporter_begins() -> None:
    body = f"DCGM_FI_DEV_GPU_TEMP{{{LABELS}}} 5\n# HELP node_load1 x.\n# TYPE node_load1 gauge\nnode_load1 3\n"
    assert read_dcgm_exporter(lines_of("s", body)).read_to == 1
    assert read_dcgm_exporter(lines_of("s", "node_load1 3\n")).read_to == 0
