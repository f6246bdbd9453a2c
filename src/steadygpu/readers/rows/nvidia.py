"""What nvidia-smi prints."""

from steadygpu.readers.kind import READERS, Kind

_GPU_ALL = (
    "GpuIdentity", "GpuMode", "GpuLoad", "GpuMemory", "GpuClock", "GpuClockReasons", "GpuPower",
    "GpuTemperature", "GpuErrorCells", "CardListing", "DriverVersion", "GpuProcess",
)  # fmt: skip
_GPU_DEEP = (
    *_GPU_ALL, "GpuReasonCounters", "EccCounters", "RetiredPages", "RowRemap", "GpuRecovery",
    "GpuFabric", "PcieLink", "MigInstance", "Setting",
)  # fmt: skip

ROWS: tuple[Kind, ...] = (
    Kind(
        name="nvidia-smi-q",
        title="all fields of every card",
        command="nvidia-smi -q",
        reader=READERS + "smi_q:read_smi_q",
        heads=(
            r"=+NVSMI LOG=+",
            r"Timestamp {2,}: ",
            r"Driver Version {2,}: ",
            r"Attached GPUs {2,}: ",
            r"GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]\s*$",
            r" {4,}[A-Z][\w .()/+-]* {2,}: \S",
            r" {4}(?:ECC Mode|ECC Errors|Retired Pages|Remapped Rows|Clocks (?:Throttle|Event) Reasons|Temperature"
            r"|Performance State|GPU Power Readings|Power Readings|Clocks|Max Clocks|PCI|Utilization|FB Memory Usage"
            r"|vGPU Software Licensed Product|MIG Mode|Fabric|Processes)\s*$",
        ),
        gives=_GPU_DEEP,
        files=("*nvidia-smi*q*",),
        equals=("nvidia-smi-xml",),
    ),
    Kind(
        name="nvidia-smi-xml",
        title="all fields of every card as XML",
        command="nvidia-smi -q -x",
        reader=READERS + "smi_xml:read_smi_xml",
        heads=(
            r"<\?xml[^>]*\?>\s*(?:<!DOCTYPE nvidia_smi_log|<nvidia_smi_log|$)",
            r"\s*<!DOCTYPE nvidia_smi_log",
            r"\s*<nvidia_smi_log",
            r"\s*<gpu id=",
        ),
        gives=_GPU_DEEP,
    ),
    Kind(
        name="nvidia-smi",
        title="the table of cards and processes",
        command="nvidia-smi",
        reader=READERS + "smi_table:read_smi_table",
        heads=(
            r"\+-{20,}\+?\s*$",
            r"\| NVIDIA-SMI ",
            r"\|\s+\d+ {2,}(?:\S.*?) {1,}(?:On|Off|N/A|WDDM|TCC|MCDM|ERR!)\s+\|",
            r"\|\s*(?:\d+%|N/A|ERR!|\[N/A\])\s+(?:-?\d+C|N/A|ERR!)\s+(?:P\d+|N/A|ERR!|\?)",
            r"\|=+[+|]=",
            r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d "
            r"\d\d:\d\d:\d\d (?:\w+ )?\d{4}\s*$",
        ),
        gives=(*_GPU_ALL, "EccCounters", "MigInstance"),
    ),
    Kind(
        name="nvidia-smi-csv",
        title="chosen fields of every card, once or over time",
        command="nvidia-smi --query-gpu=timestamp,index,uuid,pci.bus_id,pstate,utilization.gpu,memory.used,"
        "power.draw,temperature.gpu,clocks_event_reasons.active --format=csv",
        reader=READERS + "smi_csv:read_smi_csv",
        heads=(
            r"\S*nvidia-smi(?:\.exe)?\s.*--query-(?:gpu|compute-apps|remapped-rows)[= ]\w",
            r'"?(?:[A-Za-z][\w.]+(?: \[[^\]\s]{1,12}\])?"?\s*,\s*"?)+[A-Za-z][\w.]+(?: \[[^\]\s]{1,12}\])?"?\s*$',
            r"(?:driver_version|gpu_uuid|[a-z][a-z_]+(?:\.[\w]+)+(?: \[[^\]\s]{1,12}\])?)\s*$",
        ),
        gives=(
            *_GPU_ALL, "EccCounters", "RetiredPages", "RowRemap", "PcieLink", "GpuReasonCounters",
            "GpuRecovery", "GpuFabric",
        ),
    ),
    Kind(
        name="nvidia-smi-L",
        title="the list of cards with their UUIDs",
        command="nvidia-smi -L",
        reader=READERS + "smi_list:read_smi_list",
        heads=(r"GPU \d+: .*\(UUID: ", r"\s+MIG \S+\s+Device\s+\d+: \(UUID: "),
        gives=("GpuIdentity", "CardListing", "MigInstance", "GpuErrorCells"),
    ),
    Kind(
        name="nvidia-smi-message",
        title="a sentence that nvidia-smi prints instead of data",
        command=None,
        reader=READERS + "smi_message:read_smi_message",
        heads=(
            r"NVIDIA-SMI has failed because",
            r"NVIDIA-SMI couldn't (?:find|communicate)",
            r"Failed to initialize NVML: ",
            r"NVML library version: ",
            r"Unable to determine the device handle for ",
            r"No devices were found",
            r"(?:Failed to properly shut ?down NVML)",
            r"(?:-?(?:ba|z|da|k)?sh: )?(?:line )?(?:\d+: )*nvidia-smi: (?:command )?not found",
            r"(?:bash|zsh): (?:command not found: )?nvidia-smi",
            r"Command 'nvidia-smi' not found",
            r"Insufficient [Pp]ermissions",
            r"GPU is lost\b",
            r"No supported devices in vGPU mode",
        ),
        gives=("ToolMessage",),
    ),
    Kind(
        name="nvidia-smi-dmon",
        title="utilisation, power, clocks and PCIe traffic over time",
        command="nvidia-smi dmon -s pucvmet -c 30",
        reader=READERS + "smi_mon:read_smi_dmon",
        heads=(r"#\s*(?:Date[\s,]+Time[\s,]+|Time[\s,]+)?gpu[\s,]+(?!.*\bpid\b)[a-z]",),
        gives=(
            "GpuLoad", "GpuPower", "GpuTemperature", "GpuClock", "EccCounters", "GpuMemory", "GpuErrorCells",
            "GpuClockReasons", "PcieLink",
        ),
    ),
    Kind(
        name="nvidia-smi-pmon",
        title="processes on the cards over time",
        command="nvidia-smi pmon -c 5",
        reader=READERS + "smi_mon:read_smi_pmon",
        heads=(r"#\s*(?:Date[\s,]+Time[\s,]+|Time[\s,]+)?gpu[\s,]+.*\bpid\b",),
        gives=("GpuProcess", "GpuLoad"),
    ),
    Kind(
        name="nvidia-smi-topo",
        title="paths between cards and NICs, CPU and NUMA affinity",
        command="nvidia-smi topo -m",
        reader=READERS + "smi_topo:read_smi_topo",
        heads=(r"\s*(?:GPU\d+|NIC\d+|mlx5_\w+)(?:\s+(?:GPU\d+|NIC\d+|mlx5_\w+|CPU Affinity))",
               r"(?:GPU\d+|NIC\d+|mlx\w+)\s+(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS)\s"),
        gives=("GpuAffinity", "PeerPath", "CardListing"),
    ),
)  # fmt: skip
