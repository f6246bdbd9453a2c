"""What `nvidia-smi -q` and its XML call each field, and the records these fields make.

Both forms print one tree. A cell is a printed word with its position, its path is the labels from
the card down, in lower case with `_` between words. Where drivers 304 to 610 renamed a label, the
paths of one field stand side by side.
"""

import re
from collections.abc import Callable
from typing import Any

from steadygpu.evidence.ecc import GpuRecovery, RetiredPages, RowRemap
from steadygpu.evidence.gpu import (
    GpuClock,
    GpuClockReasons,
    GpuFabric,
    GpuIdentity,
    GpuMemory,
    GpuMode,
    GpuPower,
    GpuReasonCounters,
    GpuTemperature,
)
from steadygpu.evidence.link import PcieLink
from steadygpu.evidence.units import KIB, MIB, gts_of_generation
from steadygpu.readers.smi_word import number_of, ratio_of, whole_of

Parse = Callable[[str], object | None]
Row = tuple[str, str, Parse]  # field, its paths with spaces between, what the word means
Records = tuple[tuple[type[Any], tuple[Row, ...]], ...]


def label_of(printed: str) -> str:
    """Return a label in lower case with `_` in place of all that is no letter or digit."""
    return re.sub(r"[^a-z0-9]+", "_", printed.lower()).strip("_")


def flag(word: str) -> bool | None:
    """Return what Enabled, Yes, Active and their opposites say, or None for another word."""
    return {
        "enabled": True, "yes": True, "active": True, "on": True,
        "disabled": False, "no": False, "not active": False, "off": False,
    }.get(word.strip().lower())  # fmt: skip


def bytes_of(word: str) -> int | None:
    """Return the bytes of a figure in MiB; 304 writes MB and means MiB, as NVML does."""
    found = re.fullmatch(r"(\d{1,9}) ?Mi?B", word.strip(), re.ASCII)
    return int(found[1]) * MIB if found else None


def celsius(word: str) -> int | None:
    """Return whole degrees."""
    return whole_of(word, "C")


def watts(word: str) -> float | None:
    """Return watts."""
    return number_of(word, "W")


def mhz(word: str) -> int | None:
    """Return megahertz."""
    return whole_of(word, "MHz")


def _seconds(word: str) -> float | None:
    found = re.fullmatch(r"(\d{1,18}) us", word.strip(), re.ASCII)
    return int(found[1]) / 1e6 if found else None


def _rate(word: str) -> float | None:
    found = number_of(word, "KB/s")
    return None if found is None else found * KIB


def _gts(word: str) -> float | None:
    found = whole_of(word)
    return None if found is None else gts_of_generation(found)


def _width(word: str) -> int | None:
    return whole_of(word.strip().strip("x"))


def _pstate(word: str) -> int | None:
    return int(word[1:]) if re.fullmatch(r"P\d{1,2}", word, re.ASCII) else None


def _pci_id(word: str) -> str | None:
    found = re.fullmatch(r"(?:0x)?([0-9a-fA-F]{4})([0-9a-fA-F]{4})", word)
    return f"{found[2]}:{found[1]}".lower() if found else None


def _healthy(word: str) -> bool | None:
    return {"healthy": True, "unhealthy": False, "limited_capacity": False}.get(label_of(word))


def _reasons() -> tuple[Row, ...]:
    names = {
        "idle": "idle gpu_idle", "application_clocks": "applications_clocks_setting",
        "sw_power_cap": "sw_power_cap", "hw_slowdown": "hw_slowdown",
        "hw_thermal": "hw_thermal_slowdown", "hw_power_brake": "hw_power_brake_slowdown",
        "sync_boost": "sync_boost", "sw_thermal": "sw_thermal_slowdown",
        "display_clock": "display_clock_setting display_clocks_setting",
    }  # fmt: skip
    rows = []
    for name, labels in names.items():
        paths = [
            f"clocks_{word}_reasons/{prefix}{label}"
            for word in ("event", "throttle")
            for label in labels.split()
            for prefix in ("", f"clocks_{word}_reason_")
        ]
        paths += ["clocks_event_reasons", "clocks_throttle_reasons"]
        rows.append((name, " ".join(paths), flag))
    return tuple(rows)


def _reason_counters() -> tuple[Row, ...]:
    names = {
        "sw_power_cap_s": ("sw_power_capping", "sw_power_cap"), "sync_boost_s": ("sync_boost", "sync_boost"),
        "sw_thermal_s": ("sw_thermal_slowdown", "sw_therm_slowdown"),
        "hw_thermal_s": ("hw_thermal_slowdown", "hw_therm_slowdown"),
        "hw_power_brake_s": ("hw_power_braking", "hw_power_brake"),
    }  # fmt: skip
    top = "clocks_event_reasons_counters"
    return tuple((n, f"{top}/{q} {top}/{top}_{x}", _seconds) for n, (q, x) in names.items())


def ecc_rows(scope: str) -> tuple[Row, ...]:
    """Return the rows of one scope, volatile or aggregate: three generations of names."""
    top = f"ecc_errors/{scope}"
    rows: list[Row] = [
        ("corrected", f"{top}/single_bit/total", whole_of),
        ("uncorrected", f"{top}/double_bit/total", whole_of),
        ("sram_corrected", f"{top}/sram_correctable", whole_of),
        ("sram_uncorrected", f"{top}/sram_uncorrectable", whole_of),
        ("sram_uncorrected_parity", f"{top}/sram_uncorrectable_parity", whole_of),
        ("sram_uncorrected_secded", f"{top}/sram_uncorrectable_sec_ded {top}/sram_uncorrectable_secded", whole_of),
        ("dram_corrected", f"{top}/dram_correctable {top}/single_bit/device_memory", whole_of),
        ("dram_uncorrected", f"{top}/dram_uncorrectable {top}/double_bit/device_memory", whole_of),
        ("sram_threshold_exceeded", f"{top}/sram_threshold_exceeded", flag),
    ]  # fmt: skip
    return tuple(rows)


_LINK = ("pci/gpu_link_info", "pci/pci_gpu_link_info")
_POWER = ("gpu_power_readings", "power_readings")


def _under(tops: tuple[str, ...], *labels: str) -> str:
    return " ".join(f"{top}/{label}" for label in labels for top in tops)


RECORDS: Records = (
    (GpuIdentity, (
        ("name", "product_name", str), ("brand", "product_brand", str),
        ("architecture", "product_architecture", str), ("vbios", "vbios_version", str),
        ("pci_id", "pci/device_id pci/pci_device_id", _pci_id),
        ("subsystem_id", "pci/sub_system_id pci/pci_sub_system_id", _pci_id),
        ("minor", "minor_number", whole_of), ("part_number", "board_part_number", str),
    )),
    (GpuMode, (
        ("persistence_on", "persistence_mode", flag),
        ("mig_on", "mig_mode/current mig_mode/current_mig", flag),
        ("mig_pending_on", "mig_mode/pending mig_mode/pending_mig", flag),
        ("compute_mode", "compute_mode", label_of),
        ("driver_model", "driver_model/current driver_model/current_dm", str),
        ("ecc_on", "ecc_mode/current ecc_mode/current_ecc", flag),
        ("ecc_pending_on", "ecc_mode/pending ecc_mode/pending_ecc", flag),
        ("display_active", "display_active", flag),
        ("virtualization", "gpu_virtualization_mode/virtualization_mode", str),
        ("vgpu_license", "vgpu_software_licensed_product/license_status", str),
        ("addressing_mode", "addressing_mode", str),
    )),
    (GpuMemory, tuple(
        (f"{word}_bytes", f"fb_memory_usage/{word} memory_usage/{word}", bytes_of)
        for word in ("total", "used", "free", "reserved")
    )),
    (GpuClock, (
        ("sm_mhz", "clocks/sm clocks/sm_clock", mhz),
        ("graphics_mhz", "clocks/graphics clocks/graphics_clock", mhz),
        ("memory_mhz", "clocks/memory clocks/mem_clock", mhz),
        ("video_mhz", "clocks/video clocks/video_clock", mhz),
        ("sm_limit_mhz", "max_clocks/sm max_clocks/sm_clock", mhz),
        ("graphics_limit_mhz", "max_clocks/graphics max_clocks/graphics_clock", mhz),
        ("memory_limit_mhz", "max_clocks/memory max_clocks/mem_clock", mhz),
        ("application_sm_mhz", "applications_clocks/graphics applications_clocks/graphics_clock", mhz),
        ("application_memory_mhz", "applications_clocks/memory applications_clocks/mem_clock", mhz),
        ("pstate", "performance_state", _pstate),
    )),
    (GpuClockReasons, _reasons()),
    (GpuReasonCounters, _reason_counters()),
    (GpuPower, (
        ("draw_w", _under(_POWER, "average_power_draw", "power_draw"), watts),
        ("instant_w", _under(_POWER, "instantaneous_power_draw", "instant_power_draw"), watts),
        ("limit_w", _under(_POWER, "current_power_limit", "enforced_power_limit"), watts),
        ("requested_limit_w", _under(_POWER, "requested_power_limit", "power_limit"), watts),
        ("default_limit_w", _under(_POWER, "default_power_limit"), watts),
        ("min_limit_w", _under(_POWER, "min_power_limit"), watts),
        ("max_limit_w", _under(_POWER, "max_power_limit"), watts),
    )),
    (GpuTemperature, (
        ("gpu_c", "temperature/gpu_current_temp temperature/gpu_temp temperature/gpu", celsius),
        ("memory_c", "temperature/memory_current_temp temperature/memory_temp", celsius),
        ("margin_c", "temperature/gpu_t_limit_temp temperature/gpu_current_t_limit_temp temperature/gpu_temp_tlimit", celsius),
        ("slowdown_c", "temperature/gpu_slowdown_temp temperature/gpu_temp_slow_threshold", celsius),
        ("shutdown_c", "temperature/gpu_shutdown_temp temperature/gpu_temp_max_threshold", celsius),
        ("max_operating_c", "temperature/gpu_max_operating_temp temperature/gpu_temp_max_gpu_threshold", celsius),
        ("target_c", "temperature/gpu_target_temperature temperature/gpu_target_temperature_specification", celsius),
        ("memory_max_operating_c", "temperature/memory_max_operating_temp temperature/gpu_temp_max_mem_threshold", celsius),
        ("slowdown_margin_c", "temperature/gpu_slowdown_t_limit_temp temperature/gpu_temp_slow_tlimit_threshold", celsius),
        ("shutdown_margin_c", "temperature/gpu_shutdown_t_limit_temp temperature/gpu_temp_max_tlimit_threshold", celsius),
        ("fan_ratio", "fan_speed", ratio_of),
    )),
    (RetiredPages, (
        ("single_bit", "retired_pages/single_bit_ecc retired_pages/multiple_single_bit_retirement/retired_count", whole_of),
        ("double_bit", "retired_pages/double_bit_ecc retired_pages/double_bit_retirement/retired_count", whole_of),
        ("pending", "retired_pages/pending_page_blacklist retired_pages/pending retired_pages/pending_retirement retired_pages/pending_blacklist", flag),
    )),
    (RowRemap, (
        ("corrected", "remapped_rows/correctable_error remapped_rows/remapped_row_corr remapped_rows", whole_of),
        ("uncorrected", "remapped_rows/uncorrectable_error remapped_rows/remapped_row_unc remapped_rows", whole_of),
        ("pending", "remapped_rows/pending remapped_rows/remapped_row_pending remapped_rows", flag),
        ("failure", "remapped_rows/remapping_failure_occurred remapped_rows/remapped_row_failure remapped_rows", flag),
        ("banks_none", "remapped_rows/bank_remap_availability_histogram/none remapped_rows/row_remapper_histogram/row_remapper_histogram_none", lambda w: whole_of(w, "bank(s)")),
        ("banks_max", "remapped_rows/bank_remap_availability_histogram/max remapped_rows/row_remapper_histogram/row_remapper_histogram_max", lambda w: whole_of(w, "bank(s)")),
    )),
    (GpuRecovery, (
        ("action", "gpu_recovery_action", label_of),
        ("reset_required", "gpu_reset_status/reset_required", flag),
        ("drain_reset_recommended", "gpu_reset_status/drain_and_reset_recommended", flag),
        ("channel_repair_pending", "ecc_errors/channel_repair_pending", flag),
        ("tpc_repair_pending", "ecc_errors/tpc_repair_pending", flag),
        ("unrepairable_memory", "ecc_errors/unrepairable_memory", flag),
    )),
    (GpuFabric, (
        ("state", "fabric/state", str.lower), ("status", "fabric/status", str.lower),
        ("healthy", "fabric/health/summary", _healthy),
    )),
    (PcieLink, (
        ("speed_gts", _under(_LINK, "pcie_generation/current", "pcie_gen/current_link_gen"), _gts),
        ("max_speed_gts", _under(_LINK, "pcie_generation/max", "pcie_gen/max_link_gen"), _gts),
        ("host_max_speed_gts", _under(_LINK, "pcie_generation/host_max", "pcie_gen/max_host_link_gen"), _gts),
        ("device_max_speed_gts", _under(_LINK, "pcie_generation/device_max", "pcie_gen/max_device_link_gen"), _gts),
        ("width", _under(_LINK, "link_width/current", "link_widths/current_link_width"), _width),
        ("max_width", _under(_LINK, "link_width/max", "link_widths/max_link_width"), _width),
        ("replays", "pci/replays_since_reset pci/replay_counter", whole_of),
        ("replay_rollovers", "pci/replay_number_rollovers pci/replay_rollover_counter", whole_of),
        ("tx_bytes_per_s", "pci/tx_throughput pci/tx_util", _rate),
        ("rx_bytes_per_s", "pci/rx_throughput pci/rx_util", _rate),
    )),
)  # fmt: skip

LOAD: tuple[Row, ...] = (
    ("busy_ratio", "utilization/gpu utilization/gpu_util", ratio_of),
    ("memory_busy_ratio", "utilization/memory utilization/memory_util", ratio_of),
    ("encoder_ratio", "utilization/encoder utilization/encoder_util", ratio_of),
    ("decoder_ratio", "utilization/decoder utilization/decoder_util", ratio_of),
)
PROCESS: tuple[Row, ...] = (
    ("kind", "type", str),
    ("name", "name process_name", str),
    ("used_bytes", "used_gpu_memory used_memory", bytes_of),
)
MIG: tuple[Row, ...] = (
    ("gi", "gpu_instance_id", whole_of),
    ("ci", "compute_instance_id", whole_of),
    ("memory_total_bytes", "shared_fb_memory_usage/total fb_memory_usage/total", bytes_of),
    ("memory_used_bytes", "shared_fb_memory_usage/used fb_memory_usage/used", bytes_of),
)
