"""What tells of processors, memory, disks and modules of the host."""

from steadygpu.readers.kind import READERS, Kind

ROWS: tuple[Kind, ...] = (
    Kind(
        name="iostat",
        title="CPU and disk load over time",
        command="iostat -xz 1 30",
        reader=READERS + "iostat:read_iostat",
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
        reader=READERS + "iostat_json:read_iostat_json",
        heads=(r'\s*\{\s*"sysstat"\s*:',),
        gives=("DiskLoad", "CpuLoad"),
    ),
    Kind(
        name="lscpu",
        title="sockets, cores and NUMA nodes",
        command="lscpu",
        reader=READERS + "lscpu:read_lscpu",
        heads=(r"Architecture:\s+\S", r"(?:On-line )?CPU\(s\)(?: list)?:\s+\d", r"CPU op-mode\(s\):\s", r"NUMA node\(s\):\s", r"NUMA node\d+ CPU\(s\):"),
        gives=("CpuLayout", "Setting"),
    ),
    Kind(
        name="numactl",
        title="memory and distances of NUMA nodes",
        command="numactl -H",
        reader=READERS + "numactl:read_numactl",
        heads=(r"available: \d+ nodes?", r"node \d+ (?:cpus|size|free):", r"node distances:"),
        gives=("NumaNode",),
    ),
    Kind(
        name="lsmod",
        title="loaded kernel modules",
        command="lsmod",
        reader=READERS + "lsmod:read_lsmod",
        heads=(
            r"Module\s+Size\s+Used by",
            r"(?:nvidia|nvidia_\w+|nouveau|amdgpu|i915|xe) +\d+ +-?\d+(?: |$)",
            r"[a-z]\w* \d+ \d+ (?:-|[\w,]+,) (?:Live|Loading|Unloading) 0x",
        ),
        gives=("KernelModule", "ModuleListing"),
    ),
    Kind(
        name="uname",
        title="the kernel that runs",
        command="uname -a",
        reader=READERS + "uname:read_uname",
        heads=(r"Linux [\w.-]{1,64} \d{1,3}\.\d{1,4}[\w.+~-]{0,100} #\d",),
        gives=("KernelVersion", "Setting"),
        files=("*uname*",),
    ),
    Kind(
        name="proc-1-cgroup",
        title="the control groups of the first process: whether this is a container",
        command="cat /proc/1/cgroup",
        reader=READERS + "cgroup:read_cgroup",
        heads=(r"\d{1,3}:(?:[a-z_]{1,20}(?:,[a-z_]{1,20}){0,9}|name=\w{1,40}|):/\S{0,400}\s*$",),
        gives=("Setting",),
    ),
)  # fmt: skip
