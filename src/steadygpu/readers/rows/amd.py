"""What AMD's tools print."""

from steadygpu.readers.kind import READERS, Kind

ROWS: tuple[Kind, ...] = (
    Kind(
        name="rocm-smi",
        title="the table of AMD cards, or all sections of each",
        command="rocm-smi -a",
        reader=READERS + "rocm_smi:read_rocm_smi",
        heads=(
            r"={3,} ?ROCm System Management Interface ?={3,}",
            r"={3,} Concise Info ={3,}",
            r"(?:Device|GPU) {2,}(?:(?:Node|\[Model : Revision\]|Temp|AvgPwr|Power|SCLK)\b|\[Model).*(?:SCLK|GPU%)",
            r"(?:ERROR: (?:\d{1,3} )?)?GPU\[\d{1,3}\]\s*: *\S",
            r"WARNING: AMD GPU device\(s\)",
        ),
        gives=("GpuIdentity", "GpuClock", "GpuLoad", "GpuPower", "GpuTemperature", "GpuMemory"),
        files=("*rocm-smi*", "*rocm_smi*"),
    ),
    Kind(
        name="rocm-smi-json",
        title="all sections of each AMD card as JSON",
        command="rocm-smi -a --json",
        reader=READERS + "rocm_smi_json:read_rocm_smi_json",
        heads=(r'\s*\{\s*"(?:card\d{1,3}|system)"\s*:\s*\{',),
        gives=("GpuIdentity", "GpuClock", "GpuLoad", "GpuPower", "GpuTemperature", "GpuMemory"),
        equals=("rocm-smi",),
    ),
    Kind(
        name="amd-smi",
        title="metrics, limits, bad pages and peers of AMD cards",
        command="amd-smi metric --json",
        reader=READERS + "amd_smi:read_amd_smi",
        heads=(
            r'\s*\{\s*"gpu_data"\s*:',
            r'\s*\[\s*\{\s*"gpu"\s*:\s*\d',
            r"GPU: \d{1,3}\s*$",
            r"(?:ACCESS|WEIGHT|HOPS|LINK TYPE|NUMA BW) TABLE:\s*$",
        ),
        gives=(
            "AmdRasCounters", "AmdBadPages", "AmdPeer", "GpuIdentity", "GpuClock", "GpuLoad", "GpuPower",
            "GpuTemperature", "GpuMemory", "GpuClockReasons", "PcieLink",
        ),
        files=("*amd-smi*", "*amd_smi*"),
    ),
    Kind(
        name="amd-smi-table",
        title="the table of AMD cards and processes",
        command="amd-smi",
        reader=READERS + "amd_smi_table:read_amd_smi_table",
        heads=(
            r"\| AMD-SMI \S",
            r"\| BDF +GPU-Name +\|",
            r"\| [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] +\S.*\| (?:N/A|\d{1,3} %) ",
        ),
        gives=("AmdRasCounters", "GpuIdentity", "GpuLoad", "GpuMemory", "GpuPower", "GpuTemperature"),
    ),
    Kind(
        name="pp-dpm-pcie",
        title="link states of an AMD card",
        command="grep -H . /sys/class/drm/card*/device/pp_dpm_pcie",
        reader=READERS + "pp_dpm_pcie:read_pp_dpm_pcie",
        heads=(
            r"(?:/\S{0,300}pp_dpm_pcie:)?\d{1,2}: \d{1,3}(?:\.\d{1,2})? ?GT/s,? x\d",
            r"==> /\S{0,300}pp_dpm_pcie <==",
        ),
        gives=("DpmLink",),
        files=("*pp_dpm_pcie*",),
    ),
)  # fmt: skip
