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
    Kind(
        name="nvidia-smi-mig",
        title="MIG instances and profiles",
        command="sudo nvidia-smi mig -lgi; sudo nvidia-smi mig -lci",
        reader=READERS + "smi_mig:read_smi_mig",
        heads=(
            r"\|\s*(?:GPU|Compute) instance(?:s| profiles):\s*\|",
            r"No (?:GPU instances found: Not Found|MIG-(?:supported|enabled) devices found|compute instances found)",
            r"GPU\s+\d{1,3} (?:GPU Instance ID\s+\d{1,3} )?Profile ID\s+\d{1,3} Placements? ?: \{",
        ),
        gives=("MigInstance", "GpuMode"),
    ),
    Kind(
        name="nvidia-smi-vgpu",
        title="virtual cards that a host gives to its machines",
        command="nvidia-smi vgpu",
        reader=READERS + "smi_vgpu:read_smi_vgpu",
        heads=(
            r"\| GPU  Name\s+\| Bus-Id\s+\| GPU-Util\s+\|", r"\|\s+vGPU ID\s+Name\s+\| VM ID",
            r"Active vGPUs\s+: \d",
        ),
        gives=("VgpuInstance", "GpuIdentity", "GpuLoad", "DriverVersion"),
    ),
    Kind(
        name="nvidia-smi-set",
        title="answers of nvidia-smi to -pm, -c, -e, -mig, -pl and -r",
        command=None,
        reader=READERS + "smi_set:read_smi_set",
        heads=(
            r"(?:Enabled|Disabled) (?:persistence mode|E[Cc][Cc] support|MIG Mode) for GPU [0-9A-Fa-f]{4}",
            r"(?:Persistence mode|ECC(?: mode| support)?|MIG [Mm]ode) is already (?:Enabled|Disabled) for GPU ",
            r"(?:Set compute mode to|Compute mode is already set to) [A-Z_]+ for GPU ",
            r"Power limit for GPU [0-9A-Fa-f]{4,8}:", r"Unable to (?:set|reset|enable|disable) .{1,80} for GPU ",
            r"GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7] was successfully reset",
            r"Warning: MIG mode is in pending (?:enable|disable) state for GPU ", r"All done\.\s*$",
            r"The current user does not have permission to ",
        ),
        gives=("GpuMode", "GpuPower", "ToolMessage"),
    ),
)  # fmt: skip
