"""What dcgmi prints."""

from steadygpu.readers.kind import READERS, Kind

_TOLD = (
    "EccCounters", "RowRemap", "RetiredPages", "GpuClockReasons", "NvlinkErrors", "NvlinkLink",
)  # fmt: skip

ROWS: tuple[Kind, ...] = (
    Kind(
        name="dcgmi-diag",
        title="results of DCGM's diagnostic",
        command="dcgmi diag -r 1",
        reader=READERS + "dcgmi_diag:read_dcgmi_diag",
        heads=(
            r"Successfully ran diagnostic for group\.?\s*$",
            r"\|\s?Diagnostic\s+\| Result\s+\|",
            r"[|+]-{3,}  (?:Metadata|Deployment|Integration|Hardware|Stress|Performance|Custom)  -+\+-+[|+]",
            r"Error: (?:Unable to (?:complete|run) diagnostic|Diagnostic could not be run|Diagnostic can only)",
        ),
        gives=("DiagResult", *_TOLD),
        equals=("dcgmi-diag-json",),
    ),
    Kind(
        name="dcgmi-diag-json",
        title="results of DCGM's diagnostic as JSON",
        command="dcgmi diag -r 1 -j",
        reader=READERS + "dcgmi_diag:read_dcgmi_diag_json",
        heads=(r'\s*\{\s*"DCGM (?:GPU )?Diagnostic"\s*:',),
        gives=("DiagResult", *_TOLD),
        equals=("dcgmi-diag",),
    ),
    Kind(
        name="dcgmi-health",
        title="what the health watches of DCGM say",
        command="dcgmi health -c",
        reader=READERS + "dcgmi_health:read_dcgmi_health",
        heads=(
            r"\| Health Monitor Report\s", r"\| Overall Health\s+\|", r"Health monitor systems report\s*$",
            r"Error: Health watches not enabled",
        ),
        gives=("HealthResult", *_TOLD),
        equals=("dcgmi-health-json",),
    ),
    Kind(
        name="dcgmi-health-json",
        title="what the health watches of DCGM say, as JSON",
        command="dcgmi health -c -j",
        reader=READERS + "dcgmi_health:read_dcgmi_health_json",
        heads=(r'\s*\{\s*"body"\s*:',),
        gives=("HealthResult", *_TOLD),
        equals=("dcgmi-health",),
    ),
    Kind(
        name="dcgmi-dmon",
        title="profiling and other fields of DCGM over time",
        command="dcgmi dmon -e 1001,1002,1003,1004,1005,203,155,150 -c 30",
        reader=READERS + "dcgmi_dmon:read_dcgmi_dmon",
        heads=(r"#\s?Entity(?:Id)?(?:\s+[A-Z][A-Z0-9#_]{1,9})+\s*$",),
        gives=("GpuProfile", "GpuLoad", "GpuPower", "GpuTemperature", "GpuClock", "GpuMemory"),
    ),
    Kind(
        name="dcgmi-discovery",
        title="the cards that DCGM knows",
        command="dcgmi discovery -l",
        reader=READERS + "dcgmi_list:read_dcgmi_discovery",
        heads=(r"\d{1,3} GPU(?:s|\(s\))? found(?: \(Active\))?\.\s*$", r"\|\s*GPU ID\s*\|\s*Device Information\s*\|"),
        gives=("GpuIdentity", "CardListing"),
    ),
    Kind(
        name="dcgmi-nvlink",
        title="states of NVLinks as DCGM sees them",
        command="dcgmi nvlink -s",
        reader=READERS + "dcgmi_list:read_dcgmi_nvlink",
        heads=(r"\|\s+NvLink Link Status\s+\|", r"\s{2,}gpuId \d{1,4}:\s*$"),
        gives=("NvlinkLink",),
    ),
)  # fmt: skip
