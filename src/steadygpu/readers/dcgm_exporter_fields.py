"""Which field of which record a sample of dcgm-exporter gives (DCGM 2.0 to 4.5, dcgm_fields.h).

Units of DCGM: frame buffer MiB, utilisation per cent, profiling ratios 0 to 1, rates bytes a second, clocks MHz.
Violation times are left out: their unit is us or ns by version. So is the vGPU licence: 0 on a bare host too.
"""

import re
from collections.abc import Callable
from typing import Any

from steadygpu.evidence.ecc import EccCounters, RetiredPages, RowRemap
from steadygpu.evidence.gpu import (
    GpuClock,
    GpuClockReasons,
    GpuFabric,
    GpuLoad,
    GpuMemory,
    GpuMode,
    GpuPower,
    GpuTemperature,
)
from steadygpu.evidence.link import PcieLink
from steadygpu.evidence.nvlink import ALL_LINKS, NvlinkErrors
from steadygpu.evidence.profile import GpuProfile
from steadygpu.evidence.units import MIB, gts_of_generation

PREFIX = "DCGM_FI_DEV_"
PROFILE = "DCGM_FI_PROF_"
Convert = Callable[[float], object | None]
# Record, its key fields, the field, how the value converts.
Target = tuple[type[Any], tuple[tuple[str, object], ...], str, Convert]


def whole(value: float) -> int:
    """Return a count."""
    return round(value)


def _percent(value: float) -> float | None:
    return value / 100 if 0 <= value <= 100 else None


def _ratio(value: float) -> float | None:
    return value if 0 <= value <= 1.001 else None


def _mib(value: float) -> int | None:
    return round(value) * MIB if 0 <= value < 1e9 else None


def _same(value: float) -> float | None:
    return value if 0 <= value < 1e15 else None


def _above_zero(value: float) -> int | None:
    """A sensor or clock that the card does not have reads 0."""
    return round(value) if 0 < value < 1e6 else None


def _mhz(value: float) -> int | None:
    return round(value) if 0 <= value < 1e5 else None


def _watts(value: float) -> float | None:
    return value if 0 <= value < 1e5 else None


def _celsius(value: float) -> int | None:
    return round(value) if -100 < value < 300 else None


def _flag(value: float) -> bool | None:
    return bool(value) if value in (0, 1) else None


def _any(value: float) -> bool | None:
    return value > 0 if value >= 0 else None


def _gts(value: float) -> float | None:
    return gts_of_generation(round(value))


def _pstate(value: float) -> int | None:
    return round(value) if 0 <= value <= 15 else None


_VOLATILE = (("scope", "volatile"),)
_AGGREGATE = (("scope", "aggregate"),)
_DEVICE: dict[str, Target] = {
    "SM_CLOCK": (GpuClock, (), "sm_mhz", _mhz), "MEM_CLOCK": (GpuClock, (), "memory_mhz", _mhz),
    "VIDEO_CLOCK": (GpuClock, (), "video_mhz", _mhz),
    "MAX_SM_CLOCK": (GpuClock, (), "sm_limit_mhz", _above_zero),
    "MAX_MEM_CLOCK": (GpuClock, (), "memory_limit_mhz", _above_zero),
    "APP_SM_CLOCK": (GpuClock, (), "application_sm_mhz", _above_zero),
    "APP_MEM_CLOCK": (GpuClock, (), "application_memory_mhz", _above_zero),
    "PSTATE": (GpuClock, (), "pstate", _pstate),
    "GPU_TEMP": (GpuTemperature, (), "gpu_c", _celsius),
    "MEMORY_TEMP": (GpuTemperature, (), "memory_c", _above_zero),
    "GPU_TEMP_LIMIT": (GpuTemperature, (), "margin_c", _celsius),
    "SLOWDOWN_TEMP": (GpuTemperature, (), "slowdown_c", _above_zero),
    "SHUTDOWN_TEMP": (GpuTemperature, (), "shutdown_c", _above_zero),
    "GPU_MAX_OP_TEMP": (GpuTemperature, (), "max_operating_c", _above_zero),
    "MEM_MAX_OP_TEMP": (GpuTemperature, (), "memory_max_operating_c", _above_zero),
    "FAN_SPEED": (GpuTemperature, (), "fan_ratio", _percent),
    "POWER_USAGE": (GpuPower, (), "draw_w", _watts),
    "POWER_USAGE_INSTANT": (GpuPower, (), "instant_w", _watts),
    "ENFORCED_POWER_LIMIT": (GpuPower, (), "limit_w", _above_zero),
    "POWER_MGMT_LIMIT": (GpuPower, (), "requested_limit_w", _above_zero),
    "POWER_MGMT_LIMIT_DEF": (GpuPower, (), "default_limit_w", _above_zero),
    "POWER_MGMT_LIMIT_MIN": (GpuPower, (), "min_limit_w", _above_zero),
    "POWER_MGMT_LIMIT_MAX": (GpuPower, (), "max_limit_w", _above_zero),
    "GPU_UTIL": (GpuLoad, (), "busy_ratio", _percent),
    "MEM_COPY_UTIL": (GpuLoad, (), "memory_busy_ratio", _percent),
    "ENC_UTIL": (GpuLoad, (), "encoder_ratio", _percent),
    "DEC_UTIL": (GpuLoad, (), "decoder_ratio", _percent),
    "FB_TOTAL": (GpuMemory, (), "total_bytes", _mib), "FB_USED": (GpuMemory, (), "used_bytes", _mib),
    "FB_FREE": (GpuMemory, (), "free_bytes", _mib),
    "FB_RESERVED": (GpuMemory, (), "reserved_bytes", _mib),
    "ECC_SBE_VOL_TOTAL": (EccCounters, _VOLATILE, "corrected", whole),
    "ECC_DBE_VOL_TOTAL": (EccCounters, _VOLATILE, "uncorrected", whole),
    "ECC_SBE_AGG_TOTAL": (EccCounters, _AGGREGATE, "corrected", whole),
    "ECC_DBE_AGG_TOTAL": (EccCounters, _AGGREGATE, "uncorrected", whole),
    "ECC_SBE_VOL_DEV": (EccCounters, _VOLATILE, "dram_corrected", whole),
    "ECC_DBE_VOL_DEV": (EccCounters, _VOLATILE, "dram_uncorrected", whole),
    "ECC_SBE_AGG_DEV": (EccCounters, _AGGREGATE, "dram_corrected", whole),
    "ECC_DBE_AGG_DEV": (EccCounters, _AGGREGATE, "dram_uncorrected", whole),
    "ECC_CURRENT": (GpuMode, (), "ecc_on", _flag), "ECC_PENDING": (GpuMode, (), "ecc_pending_on", _flag),
    "PERSISTENCE_MODE": (GpuMode, (), "persistence_on", _flag),
    "MIG_MODE": (GpuMode, (), "mig_on", _flag),
    "RETIRED_SBE": (RetiredPages, (), "single_bit", whole),
    "RETIRED_DBE": (RetiredPages, (), "double_bit", whole),
    "RETIRED_PENDING": (RetiredPages, (), "pending", _any),
    "CORRECTABLE_REMAPPED_ROWS": (RowRemap, (), "corrected", whole),
    "UNCORRECTABLE_REMAPPED_ROWS": (RowRemap, (), "uncorrected", whole),
    "ROW_REMAP_FAILURE": (RowRemap, (), "failure", _any),
    "ROW_REMAP_PENDING": (RowRemap, (), "pending", _any),
    "BANKS_REMAP_ROWS_AVAIL_NONE": (RowRemap, (), "banks_none", whole),
    "BANKS_REMAP_ROWS_AVAIL_MAX": (RowRemap, (), "banks_max", whole),
    "PCIE_REPLAY_COUNTER": (PcieLink, (), "replays", whole),
    "PCIE_LINK_GEN": (PcieLink, (), "speed_gts", _gts),
    "PCIE_MAX_LINK_GEN": (PcieLink, (), "max_speed_gts", _gts),
    "PCIE_LINK_WIDTH": (PcieLink, (), "width", _above_zero),
    "PCIE_MAX_LINK_WIDTH": (PcieLink, (), "max_width", _above_zero),
}  # fmt: skip
_PROFILES: dict[str, tuple[Target, ...]] = {
    "GR_ENGINE_ACTIVE": ((GpuProfile, (), "graphics_active_ratio", _ratio),),
    "SM_ACTIVE": (
        (GpuProfile, (), "sm_active_ratio", _ratio), (GpuLoad, (), "sm_active_ratio", _ratio),
    ),
    "SM_OCCUPANCY": ((GpuProfile, (), "sm_occupancy_ratio", _ratio),),
    "PIPE_TENSOR_ACTIVE": ((GpuProfile, (), "tensor_active_ratio", _ratio),),
    "DRAM_ACTIVE": (
        (GpuProfile, (), "dram_active_ratio", _ratio), (GpuLoad, (), "dram_active_ratio", _ratio),
    ),
    "PIPE_FP64_ACTIVE": ((GpuProfile, (), "fp64_active_ratio", _ratio),),
    "PIPE_FP32_ACTIVE": ((GpuProfile, (), "fp32_active_ratio", _ratio),),
    "PIPE_FP16_ACTIVE": ((GpuProfile, (), "fp16_active_ratio", _ratio),),
    "PCIE_TX_BYTES": (
        (GpuProfile, (), "pcie_tx_bytes_s", _same), (PcieLink, (), "tx_bytes_per_s", _same),
    ),
    "PCIE_RX_BYTES": (
        (GpuProfile, (), "pcie_rx_bytes_s", _same), (PcieLink, (), "rx_bytes_per_s", _same),
    ),
    "NVLINK_TX_BYTES": ((GpuProfile, (), "nvlink_tx_bytes_s", _same),),
    "NVLINK_RX_BYTES": ((GpuProfile, (), "nvlink_rx_bytes_s", _same),),
}  # fmt: skip
_NVLINK = re.compile(
    r"NVLINK_(?P<what>CRC_FLIT|CRC_DATA|REPLAY|RECOVERY|ECC_DATA)_ERROR_COUNT_(?:L(?P<link>\d{1,2})|TOTAL)"
)
_NVLINK_FIELDS = {
    "CRC_FLIT": "crc", "CRC_DATA": "crc_data", "REPLAY": "replay", "RECOVERY": "recovery", "ECC_DATA": "ecc",
}  # fmt: skip
_NVLINK5 = {
    "RX_MALFORMED_PACKET_ERRORS": "malformed", "RX_BUFFER_OVERRUN_ERRORS": "buffer_overrun",
    "RX_ERRORS": "rx_errors", "RX_REMOTE_ERRORS": "rx_remote", "RX_GENERAL_ERRORS": "rx_general",
    "LOCAL_LINK_INTEGRITY_ERRORS": "integrity", "TX_DISCARDS": "tx_discards",
    "LINK_RECOVERY_SUCCESSFUL_EVENTS": "recovered", "LINK_RECOVERY_FAILED_EVENTS": "recovery_failed",
    "EFFECTIVE_ERRORS": "effective", "RX_SYMBOL_ERRORS": "symbol",
}  # fmt: skip
REASONS = ("CLOCK_THROTTLE_REASONS", "CLOCKS_EVENT_REASONS")
# dcgm_structs.h, DCGM_CLOCKS_EVENT_REASON_*: the bits are those of NVML.
_BITS = (
    (0x1, "idle"), (0x2, "application_clocks"), (0x4, "sw_power_cap"), (0x8, "hw_slowdown"),
    (0x10, "sync_boost"), (0x20, "sw_thermal"), (0x40, "hw_thermal"), (0x80, "hw_power_brake"),
    (0x100, "display_clock"),
)  # fmt: skip
# dcgm_structs.h, dcgmFabricManagerStatus_t: 4 is failure, 5 unrecognised, 6 a driver too old to tell.
_FABRIC = {
    0: ("not supported", None), 1: ("not started", None), 2: ("in progress", None),
    3: ("completed", "success"), 4: ("completed", "failure"),
}  # fmt: skip


def targets(
    name: str, value: float
) -> list[tuple[type[Any], tuple[tuple[str, object], ...], str, object]]:
    """Return record, key fields, field and value of all that a sample gives; nothing for one we do not read."""
    out: list[tuple[type[Any], tuple[tuple[str, object], ...], str, object]] = []
    if name.startswith(PROFILE):
        found: tuple[Target, ...] = _PROFILES.get(name.removeprefix(PROFILE), ())
    else:
        short = name.removeprefix(PREFIX)
        found = (_DEVICE[short],) if short in _DEVICE else ()
        if not found and short.startswith("NVLINK_"):
            found = _nvlink(short)
        elif short in REASONS and 0 <= value < 2**32:
            mask = round(value)
            out += [(GpuClockReasons, (), field, bool(mask & bit)) for bit, field in _BITS]
        elif short == "FABRIC_MANAGER_STATUS" and value in _FABRIC:
            state, status = _FABRIC[round(value)]
            out.append((GpuFabric, (), "state", state))
            out += [(GpuFabric, (), "status", status)] if status else []
    for record, key, field, convert in found:
        if value >= 0 or convert is _celsius:
            out.append((record, key, field, convert(value)))
    return out


def _nvlink(short: str) -> tuple[Target, ...]:
    if count := _NVLINK.fullmatch(short):
        link = int(count["link"]) if count["link"] else ALL_LINKS
        return ((NvlinkErrors, (("link", link),), _NVLINK_FIELDS[count["what"]], whole),)
    field = _NVLINK5.get(short.removeprefix("NVLINK_COUNT_"))
    return ((NvlinkErrors, (("link", ALL_LINKS),), field, whole),) if field else ()
