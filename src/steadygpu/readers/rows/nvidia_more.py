"""What the sub-commands of nvidia-smi print."""

from steadygpu.readers.kind import READERS, Kind

ROWS: tuple[Kind, ...] = (
    Kind(
        name="nvidia-smi-nvlink",
        title="state and speed of every NVLink",
        command="nvidia-smi nvlink -s",
        reader=READERS + "smi_nvlink:read_smi_nvlink",
        heads=(
            r"\s*Link \d{1,3}: (?:<?inactive>?\s*$|\d{1,5}(?:\.\d+)? [GM]B/s|(?:Remote Device )?[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:)",
            r"\s*(?:NVML: )?Unable to retrieve NVLink information",
        ),
        gives=("NvlinkLink",),
    ),
    Kind(
        name="nvidia-smi-nvlink-e",
        title="error counters of every NVLink",
        command="nvidia-smi nvlink -e",
        reader=READERS + "smi_nvlink:read_smi_nvlink_errors",
        heads=(r"\s*Link \d{1,3}: [A-Z][A-Za-z ()/-]{1,60}(?: - \d{1,2}| \d{1,2})?: \S",),
        gives=("NvlinkErrors",),
    ),
)  # fmt: skip
