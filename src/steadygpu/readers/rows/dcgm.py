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
)  # fmt: skip
