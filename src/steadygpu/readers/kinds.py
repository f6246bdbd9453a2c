"""The texts that steadygpu reads: one row for each kind.

To add a kind: a row here, a reader module, cases and recorded texts. `head` is matched at the start
of single cleaned lines: it must be true of a line that begins this output (or a fragment of it)
and false of lines of all other kinds. Rows are tried in order.
"""

import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from steadygpu.evidence.reading import Reading
    from steadygpu.evidence.text import Lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of text.

    `reader` is "module:function", imported when a text of the kind was recognised. `command` prints
    it live (None where it has no command). `heads` are expressions for the first line. `gives` names
    the record classes the text can hold, `covers` says in words what. `files` are places in a
    support archive, `equals` kinds that say the same in another form. `logs` kinds are read as blocks of bytes and may be of any size.
    """

    name: str
    title: str
    command: str | None
    reader: str
    heads: tuple[str, ...]
    gives: tuple[str, ...]
    files: tuple[str, ...] = ()
    equals: tuple[str, ...] = ()
    logs: bool = False

    def read(self) -> "Callable[[Lines], Reading]":
        """Return the reader. Imports its module."""
        module, _, function = self.reader.partition(":")
        return cast("Callable[[Lines], Reading]", getattr(import_module(module), function))

    def read_blocks(self) -> "Callable[..., Reading]":
        """Return the reader of blocks of a log kind: `<function>_blocks(blocks, name, host)`."""
        module, _, function = self.reader.partition(":")
        found: Any = getattr(import_module(module), f"{function}_blocks")
        return cast("Callable[..., Reading]", found)


_GPU_ALL = (
    "GpuIdentity", "GpuMode", "GpuLoad", "GpuMemory", "GpuClock", "GpuClockReasons", "GpuPower",
    "GpuTemperature", "GpuErrorCells", "CardListing", "DriverVersion", "GpuProcess",
)  # fmt: skip
_GPU_DEEP = (
    *_GPU_ALL, "GpuReasonCounters", "EccCounters", "RetiredPages", "RowRemap", "GpuRecovery",
    "GpuFabric", "PcieLink", "MigInstance",
)  # fmt: skip
_R = "steadygpu.readers."

KINDS: tuple[Kind, ...] = (
    Kind(
        name="nvidia-smi-q",
        title="all fields of every card",
        command="nvidia-smi -q",
        reader=_R + "smi_q:read_smi_q",
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
        reader=_R + "smi_xml:read_smi_xml",
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
        reader=_R + "smi_table:read_smi_table",
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
        reader=_R + "smi_csv:read_smi_csv",
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
        reader=_R + "smi_list:read_smi_list",
        heads=(r"GPU \d+: .*\(UUID: ", r"\s+MIG \S+\s+Device\s+\d+: \(UUID: "),
        gives=("GpuIdentity", "CardListing", "MigInstance", "GpuErrorCells"),
    ),
    Kind(
        name="nvidia-smi-message",
        title="a sentence that nvidia-smi prints instead of data",
        command=None,
        reader=_R + "smi_message:read_smi_message",
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
        reader=_R + "smi_mon:read_smi_dmon",
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
        reader=_R + "smi_mon:read_smi_pmon",
        heads=(r"#\s*(?:Date[\s,]+Time[\s,]+|Time[\s,]+)?gpu[\s,]+.*\bpid\b",),
        gives=("GpuProcess", "GpuLoad"),
    ),
    Kind(
        name="nvidia-smi-topo",
        title="paths between cards and NICs, CPU and NUMA affinity",
        command="nvidia-smi topo -m",
        reader=_R + "smi_topo:read_smi_topo",
        heads=(r"\s*(?:GPU\d+|NIC\d+|mlx5_\w+)(?:\s+(?:GPU\d+|NIC\d+|mlx5_\w+|CPU Affinity))",
               r"(?:GPU\d+|NIC\d+|mlx\w+)\s+(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS)\s"),
        gives=("GpuAffinity", "PeerPath", "CardListing"),
    ),
    Kind(
        name="lspci",
        title="PCI devices; with -vv as root, links and error bits",
        command="lspci -vvnn",
        reader=_R + "lspci:read_lspci",
        heads=(
            r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] (?:\"|[A-Z3][\w /().&,-]+(?: \[[0-9a-f]{4}\])?: )",
            r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] [0-9a-f]{4}: [0-9a-f]{4}:[0-9a-f]{4}",
            r"[ \t]*(?:LnkCap|LnkSta|LnkCtl2?|DevSta|UESta|CESta|ACSCtl):",
        ),
        gives=("PciDevice", "PcieLink", "PciErrorStatus", "PciAcs", "CardListing"),
        files=("*lspci*",),
    ),
    Kind(
        name="sysfs-pci-link",
        title="link files of PCI devices",
        command="grep -H . /sys/bus/pci/devices/*/{current,max}_link_{speed,width}",
        reader=_R + "sysfs_link:read_sysfs_link",
        heads=(r"(?:==> )?(?:/\S*/|\.{0,2}/?\S*/)?[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]/(?:current|max)_link_(?:speed|width)[: ]",),
        gives=("PcieLink",),
    ),
    Kind(
        name="iostat",
        title="CPU and disk load over time",
        command="iostat -xz 1 30",
        reader=_R + "iostat:read_iostat",
        heads=(
            r"Linux \S+ \([^()\s]+\)\s+\S.*\s_\w+_\s*\(\d+ \S+\)\s*$",
            r"\w{2,8}-cpu ?: +%user",
            r"Device:?\s+(?:.*\b(?:tps|r/s|rrqm/s|%util)\b)",
        ),
        gives=("DiskLoad", "CpuLoad"),
    ),
    Kind(
        name="iostat-json",
        title="CPU and disk load over time as JSON",
        command="iostat -xz -o JSON 1 30",
        reader=_R + "iostat_json:read_iostat_json",
        heads=(r'\s*\{\s*"sysstat"\s*:',),
        gives=("DiskLoad", "CpuLoad"),
    ),
    Kind(
        name="lscpu",
        title="sockets, cores and NUMA nodes",
        command="lscpu",
        reader=_R + "lscpu:read_lscpu",
        heads=(r"Architecture:\s+\S", r"CPU op-mode\(s\):\s", r"NUMA node\(s\):\s", r"NUMA node\d+ CPU\(s\):"),
        gives=("CpuLayout",),
    ),
    Kind(
        name="numactl",
        title="memory and distances of NUMA nodes",
        command="numactl -H",
        reader=_R + "numactl:read_numactl",
        heads=(r"available: \d+ nodes?", r"node \d+ (?:cpus|size|free):", r"node distances:"),
        gives=("NumaNode",),
    ),
    Kind(
        name="lsmod",
        title="loaded kernel modules",
        command="lsmod",
        reader=_R + "lsmod:read_lsmod",
        heads=(
            r"Module\s+Size\s+Used by",
            r"(?:nvidia|nvidia_\w+|nouveau|amdgpu|i915|xe) +\d+ +-?\d+(?: |$)",
            r"[a-z]\w* \d+ \d+ (?:-|[\w,]+,) (?:Live|Loading|Unloading) 0x",
        ),
        gives=("KernelModule", "ModuleListing"),
    ),
    Kind(
        name="kernel-log",
        title="the kernel log",
        command="dmesg",
        reader=_R + "kernel_log:read_kernel_log",
        heads=(
            r"(?:<\d+>)?\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])? ",
            r"(?:\w+ *:\w+ *: )?\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]? "
            r"(?:\S+ kernel(?:\[\d+\])?: |kernel: |NVRM: |nvidia-\w+: |\[ *\d+\.\d{6}\]"
            r"|(?:pcieport|nvidia|nouveau|amdgpu) [0-9a-f]{4}:)",
            r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [A-Z]{3,5} \S+ kernel: ",
            r"<\d{1,3}>1 \d{4}-\d\d-\d\dT\S+ \S+ kernel ",
            r"\[(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[ \d]\d \d\d:\d\d\] ",
            r"\[ *\+\d+\.\d{6}\] ",
            r"(?:\w+ *:\w+ *: )\[ *\d+\.\d{6}\] ",
            r"(?:\w+ *:\w+ *: )?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{6}[+-]\d\d:\d\d ",
            r"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\] ",
            r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? \S+ kernel: ",
            r"\d+,\d+,\d+,[-c+,\w=]*;",
            r"-- (?:Logs begin at|Journal begins at|Boot [0-9a-f]{32} --|No entries --)",
            r'\{.*"(?:_TRANSPORT|SYSLOG_IDENTIFIER)"\s*:\s*"kernel"',
            r"(?:kernel: )?NVRM: ",
            r"\S+ kernel: NVRM: ",
            r"INFO: task .{1,100}:\d+ blocked for more than",
            r"(?:Memory cgroup o|O)ut of memory: Kill",
            r"BUG: unable to handle",
            r"Kernel panic - not syncing",
            r"\{\d+\}\[Hardware Error\]",
            r"(?:Panic|Oops)#\d+ Part\d+",
            r"dmesg-[a-z]+-\d+:",
            r"(?:kernel: )?(?:pcieport|nvidia|nouveau|amdgpu) [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]: ",
        ),
        gives=(
            "KernelLogSpan", "ClockAnchor", "XidEvent", "NvrmEvent", "AerEvent", "LinkDownEvent",
            "DriverBindEvent", "KernelEvent",
        ),
        files=("dmesg*", "kern.log*", "syslog*", "*journalctl*"),
        logs=True,
    ),
)  # fmt: skip

BY_NAME = {kind.name: kind for kind in KINDS}


def combined() -> "re.Pattern[str]":
    """Return one expression whose last matched group names the kind that a line begins."""
    rows = []
    for kind in KINDS:
        group = kind.name.replace("-", "_")
        rows.append(f"(?P<{group}>{'|'.join(kind.heads)})")
    return re.compile("|".join(rows))


def ask_for(record: str, given: "Container[str]" = ()) -> str | None:
    """Return the command that shows most of this class of records, or None where none does.

    Also None where that text (or its equal in another form) is in `given`: it would say no more.
    """
    best = next((k for k in KINDS if record in k.gives and k.command), None)
    if best is None or any(name in given for name in (best.name, *best.equals)):
        return None
    return best.command
