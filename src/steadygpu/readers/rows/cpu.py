"""What tells of processor time, memory of the host, and jobs that ran out of memory."""

from steadygpu.readers.kind import READERS, Kind

ROWS: tuple[Kind, ...] = (
    Kind(
        name="mpstat",
        title="load of all CPUs and of each",
        command="mpstat -P ALL 5 6",
        reader=READERS + "mpstat:read_mpstat",
        heads=(
            r"\d{1,2}(?:[^\w\s.,]\d\d[^\w\s.,]\d\d(?: [AP]M)?|[^\W\d]\d\d[^\W\d]\d\d[^\W\d])\s+CPU\s+(?:%us|intr/s)",
            r"[^\W\d]{2,20} ?[:\uff1a]\s+CPU\s+%us",
        ),
        gives=("CpuLoad",),
        files=("*mpstat*",),
    ),
    Kind(
        name="vmstat",
        title="load of CPUs, memory and paging over time",
        command="vmstat 5 6",
        reader=READERS + "vmstat:read_vmstat",
        heads=(
            r"(?:--)?procs(?:--)? -{2,30}memory-{2,30}",
            r" *r +b +(?:swpd|free)\b.* us +sy +id\b",
        ),
        gives=("CpuLoad",),
        files=("*vmstat*",),
    ),
    Kind(
        name="cpufreq",
        title="who chooses the clock of the processors",
        command="grep . /sys/devices/system/cpu/cpu*/cpufreq/scaling_{driver,governor,cur_freq}",
        reader=READERS + "cpufreq:read_cpufreq",
        heads=(
            r"analyzing CPU \d{1,5}:",
            r"(?:==> )?/sys/devices/system/cpu/(?:cpu\d{1,5}/cpufreq|cpufreq/policy\d{1,5})/[a-z_]{1,40}(?: <==|:)",
        ),
        gives=("CpuFrequency",),
    ),
    Kind(
        name="numastat",
        title="memory of processes on each NUMA node",
        command="numastat -p PID",
        reader=READERS + "numastat:read_numastat",
        heads=(r" ?Per-node process memory usage \(in MBs\)",),
        gives=("ProcessPlacement",),
    ),
    Kind(
        name="proc-status",
        title="processors and NUMA nodes that a process may use",
        command="cat /proc/PID/status",
        reader=READERS + "proc_status:read_proc_status",
        heads=(r"Name:\t\S", r"/proc/\d{1,9}/status:[A-Z]"),
        gives=("ProcessPlacement",),
    ),
    Kind(
        name="taskset",
        title="processors that a process may use",
        command="taskset -cp PID",
        reader=READERS + "proc_status:read_taskset",
        heads=(r"pid \d{1,9}'s current affinity list: \d",),
        gives=("ProcessPlacement",),
    ),
    Kind(
        name="meminfo",
        title="memory of the host and of NUMA nodes",
        command="cat /proc/meminfo /sys/devices/system/node/node*/meminfo",
        reader=READERS + "meminfo:read_meminfo",
        heads=(
            r"(?:/\S{1,200}meminfo:)?(?:Node \d{1,4} )?(?:Mem(?:Total|Free|Available|Used)|FilePages|SwapTotal):\s+\d",
            r"==> /\S{1,200}/meminfo <==",
        ),
        gives=("HostMemory",),
        files=("*meminfo*",),
    ),
    Kind(
        name="free",
        title="memory and swap of the host",
        command="free -h",
        reader=READERS + "free:read_free",
        heads=(r"\s*total\s+used\s+free\s+shared\s+(?:buff/cache|buffers)\s",),
        gives=("HostMemory",),
    ),
    Kind(
        name="pressure",
        title="how long tasks wait for processors, memory and disks",
        command="grep -H . /proc/pressure/*",
        reader=READERS + "pressure:read_pressure",
        heads=(
            r"(?:==> |cat )?(?:/proc/pressure/\w{2,6}|/sys/fs/cgroup/(?:\S{0,300}/)?(?:cpu|io|memory|irq)\.pressure)(?:$| <==|:some |:full )",
            r"(?:some|full) avg10=\d",
        ),
        gives=("Pressure",),
    ),
    Kind(
        name="cgroup",
        title="limits of control groups",
        command="grep -H . /sys/fs/cgroup/**/{memory.max,memory.current,memory.events,cpu.max}",
        reader=READERS + "cgroup_limits:read_cgroup_limits",
        heads=(
            r"(?:==> )?/sys/fs/cgroup(?:/[^\s:]{1,300})?/(?:memory\.(?:max|current|events)|cpu\.max)(?:$| <==|:\S)",
        ),
        gives=("CgroupLimit",),
    ),
    Kind(
        name="omp-threads",
        title="how many threads each process gets",
        command="env | grep OMP_NUM_THREADS",
        reader=READERS + "omp_threads:read_omp_threads",
        heads=(
            r"Setting OMP_NUM_THREADS environment variable for each process",
            r"(?:export |declare -x )?OMP_NUM_THREADS=[\"']?\d",
            r"W\d{4} \d\d:\d\d:\d\d\.\d{3,9} (?:\d{1,20} ){1,2}\S{0,200}torch/distributed/run\.py:\d{1,6}\] *(?:\*|Setting OMP|$)",
            r"(?:\[.{1,40}\] )?(?:WARNING:)?torch\.distributed\.run:(?: \[WARNING\])? *(?:\*|Setting OMP|$)",
        ),
        gives=("ThreadSetting",),
    ),
    Kind(
        name="oom-message",
        title="the line in which PyTorch says that a card is out of memory",
        command=None,
        reader=READERS + "oom_message:read_oom_message",
        heads=(
            r"(?:\[(?:default)?[Rr]ank ?\d{1,6}\]: ?)?"
            r"(?:(?:torch\.(?:cuda\.)?)?OutOfMemoryError|RuntimeError): (?:CUDA|HIP) out of memory\b",
        ),
        gives=("OomMessage",),
    ),
)
