"""Where a column of `nvidia-smi --query-gpu` or `--query-compute-apps` stands in the tree of -q.

Covers drivers 304 to 610. A column prints its long name as header, with the unit in brackets; the
short names that a command line may hold (clocks.sm, retired_pages.sbe) are here too.
"""

import re

_SHORT = {"gr": "graphics", "mem": "memory"}
_PLAIN = {
    "name": "product_name", "gpu_name": "product_name", "uuid": "uuid", "gpu_uuid": "uuid",
    "serial": "serial", "gpu_serial": "serial", "pci.bus_id": "pci/bus_id", "gpu_bus_id": "pci/bus_id",
    "pci.device_id": "pci/device_id", "pci.sub_device_id": "pci/sub_system_id",
    "vbios_version": "vbios_version", "persistence_mode": "persistence_mode",
    "compute_mode": "compute_mode", "display_active": "display_active",
    "addressing_mode": "addressing_mode", "driver_model.current": "driver_model/current",
    "mig.mode.current": "mig_mode/current", "mig.mode.pending": "mig_mode/pending",
    "ecc.mode.current": "ecc_mode/current", "ecc.mode.pending": "ecc_mode/pending",
    "pstate": "performance_state", "fan.speed": "fan_speed", "temperature.gpu": "temperature/gpu",
    "temperature.memory": "temperature/memory_temp", "temperature.gpu.tlimit": "temperature/gpu_t_limit_temp",
    "power.draw": "power_readings/power_draw", "power.draw.average": "power_readings/average_power_draw",
    "power.draw.instant": "power_readings/instantaneous_power_draw",
    "enforced.power.limit": "power_readings/enforced_power_limit", "power.limit": "power_readings/power_limit",
    "power.default_limit": "power_readings/default_power_limit",
    "power.min_limit": "power_readings/min_power_limit", "power.max_limit": "power_readings/max_power_limit",
    "pcie.link.gen.current": "pci/gpu_link_info/pcie_generation/current",
    "pcie.link.gen.max": "pci/gpu_link_info/pcie_generation/max",
    "pcie.link.gen.gpumax": "pci/gpu_link_info/pcie_generation/device_max",
    "pcie.link.gen.hostmax": "pci/gpu_link_info/pcie_generation/host_max",
    "pcie.link.width.current": "pci/gpu_link_info/link_width/current",
    "pcie.link.width.max": "pci/gpu_link_info/link_width/max",
    "retired_pages.single_bit_ecc.count": "retired_pages/single_bit_ecc",
    "retired_pages.sbe": "retired_pages/single_bit_ecc",
    "retired_pages.double_bit.count": "retired_pages/double_bit_ecc",
    "retired_pages.dbe": "retired_pages/double_bit_ecc", "retired_pages.pending": "retired_pages/pending",
    "remapped_rows.correctable": "remapped_rows/correctable_error",
    "remapped_rows.uncorrectable": "remapped_rows/uncorrectable_error",
    "remapped_rows.pending": "remapped_rows/pending",
    "remapped_rows.failure": "remapped_rows/remapping_failure_occurred",
    "remapped_rows.histogram.none": "remapped_rows/bank_remap_availability_histogram/none",
    "remapped_rows.histogram.max": "remapped_rows/bank_remap_availability_histogram/max",
    "gpu_recovery_action": "gpu_recovery_action", "fabric.state": "fabric/state",
    "fabric.status": "fabric/status", "fabric.health.summary": "fabric/health/summary",
    "pid": "processes/process_id", "process_name": "processes/name",
    "used_gpu_memory": "processes/used_gpu_memory", "used_memory": "processes/used_gpu_memory",
}  # fmt: skip
_GROUPS = {
    "memory": "fb_memory_usage/", "utilization": "utilization/", "clocks.current": "clocks/",
    "clocks": "clocks/", "clocks.max": "max_clocks/", "clocks.applications": "applications_clocks/",
    "clocks_event_reasons": "clocks_event_reasons/", "clocks_throttle_reasons": "clocks_throttle_reasons/",
    "reset_status": "gpu_reset_status/", "gpu_reset_status": "gpu_reset_status/",
}  # fmt: skip
_COUNTERS = {
    "sw_power_cap": "sw_power_capping", "sync_boost": "sync_boost",
    "sw_thermal_slowdown": "sw_thermal_slowdown", "hw_thermal_slowdown": "hw_thermal_slowdown",
    "hw_power_brake_slowdown": "hw_power_braking",
}  # fmt: skip
_ECC = re.compile(r"ecc\.errors\.(corrected|uncorrected)\.(volatile|aggregate)\.([\w.]+)")
_ECC_PARTS = {
    ("corrected", "total"): "single_bit/total", ("uncorrected", "total"): "double_bit/total",
    ("corrected", "sram"): "sram_correctable", ("uncorrected", "sram"): "sram_uncorrectable",
    ("corrected", "dram"): "dram_correctable", ("uncorrected", "dram"): "dram_uncorrectable",
    ("corrected", "device_memory"): "single_bit/device_memory",
    ("uncorrected", "device_memory"): "double_bit/device_memory",
    ("uncorrected", "sram.parity"): "sram_uncorrectable_parity",
    ("uncorrected", "sram.secded"): "sram_uncorrectable_sec_ded",
    ("uncorrected", "sram.thresholdexceeded"): "sram_threshold_exceeded",
}  # fmt: skip
REASON_BITS = {
    0x1: "gpu_idle", 0x2: "applications_clocks_setting", 0x4: "sw_power_cap", 0x8: "hw_slowdown",
    0x10: "sync_boost", 0x20: "sw_thermal_slowdown", 0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown", 0x100: "display_clock_setting",
}  # fmt: skip  # nvml.h, nvmlClocksEventReasons: the bits have not changed since driver 304
# Columns that name the card or the moment and make no field of a record.
FRAME = frozenset({"timestamp", "index", "count", "driver_version", "kmd_version"})
# What a figure counts where neither cell nor header name it (noheader,nounits).
UNITS = {"memory": "MiB", "used_gpu_memory": "MiB", "used_memory": "MiB"}
_COUNTER = re.compile(r"clocks_(?:event|throttle)_reasons_counters\.(\w+)")


def path_of(column: str) -> str | None:
    """Return the path of a column (lower case, without unit), or None for one that makes no field."""
    if column in _PLAIN:
        return _PLAIN[column]
    if found := _COUNTER.fullmatch(column):
        label = _COUNTERS.get(found[1])
        return f"clocks_event_reasons_counters/{label}" if label else None
    if found := _ECC.fullmatch(column):
        part = _ECC_PARTS.get((found[1], found[3]))
        return f"ecc_errors/{found[2]}/{part}" if part else None
    group, _, last = column.rpartition(".")
    return _GROUPS[group] + _SHORT.get(last, last) if group in _GROUPS else None


def unit_of(column: str) -> str | None:
    """Return the unit of a column's bare figures where it matters, or None."""
    if _COUNTER.fullmatch(column):
        return "us"
    return UNITS.get(column) or UNITS.get(column.partition(".")[0])
