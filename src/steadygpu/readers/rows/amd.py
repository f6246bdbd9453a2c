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
)  # fmt: skip
