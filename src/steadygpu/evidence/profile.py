"""What hardware counters and profilers tell of how a card spends its time."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProfile:
    """One sample of a card's profiling counters (DCGM fields 1001 to 1012, NVML GPM). Ratios are 0 to 1.

    `graphics_active_ratio` (1001) says that any context was busy, `sm_active_ratio` (1002) the share of
    multiprocessors with a warp, `sm_occupancy_ratio` (1003) resident warps against the most possible,
    `tensor_active_ratio` (1004), `dram_active_ratio` (1005) the share of cycles in which memory was driven,
    `fp64/fp32/fp16_active_ratio` (1006 to 1008). Rates are bytes a second (1009 to 1012). `mig` of the
    device tells a slice.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    graphics_active_ratio: float | None = None
    sm_active_ratio: float | None = None
    sm_occupancy_ratio: float | None = None
    tensor_active_ratio: float | None = None
    dram_active_ratio: float | None = None
    fp64_active_ratio: float | None = None
    fp32_active_ratio: float | None = None
    fp16_active_ratio: float | None = None
    pcie_tx_bytes_s: float | None = None
    pcie_rx_bytes_s: float | None = None
    nvlink_tx_bytes_s: float | None = None
    nvlink_rx_bytes_s: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
