"""What exporters for Prometheus print."""

from steadygpu.readers.kind import READERS, Kind

ROWS: tuple[Kind, ...] = (
    Kind(
        name="dcgm-exporter",
        title="a scrape of dcgm-exporter",
        command="curl -s http://localhost:9400/metrics",
        reader=READERS + "dcgm_exporter:read_dcgm_exporter",
        heads=(r"# (?:HELP|TYPE) DCGM_(?:FI|EXP)_\w+ ", r"DCGM_(?:FI|EXP)_\w+\{"),
        gives=(
            "GpuIdentity", "GpuMode", "GpuLoad", "GpuMemory", "GpuClock", "GpuClockReasons", "GpuPower",
            "GpuTemperature", "EccCounters", "RetiredPages", "RowRemap", "PcieLink", "NvlinkErrors", "GpuProfile",
            "GpuFabric", "XidEvent", "MigInstance", "DriverVersion",
        ),
        files=("*dcgm*metrics*", "*dcgm-exporter*"),
    ),
    Kind(
        name="node-exporter",
        title="a scrape of node_exporter",
        command="curl -s http://localhost:9100/metrics",
        reader=READERS + "node_exporter:read_node_exporter",
        heads=(
            r"# (?:HELP|TYPE) (?:node|go|process|promhttp)_\w+ ",
            r"node_[a-z]\w+(?:\{[a-z]\w*=\"| -?\d)",
        ),
        gives=(
            "CpuLayout", "CpuLoad", "DiskLoad", "NumaNode", "NicCounters", "NicState", "RdmaCounters", "RdmaPort",
            "TcpCounters",
        ),
        files=("*node*exporter*", "*node*metrics*"),
    ),
)  # fmt: skip
