"""The kernel log."""

from steadygpu.readers.kind import READERS, Kind

ROWS: tuple[Kind, ...] = (
    Kind(
        name="kernel-log",
        title="the kernel log",
        command="dmesg",
        reader=READERS + "kernel_log:read_kernel_log",
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
            r"(?:kernel: )?nvidia-nvswitch\d+: SXid \(",
            r"EDAC MC\d+: (?:\d+ )?[CU]E ",
            r"Kernel panic - not syncing",
            r"\{\d+\}\[Hardware Error\]",
            r"(?:Panic|Oops)#\d+ Part\d+",
            r"dmesg-[a-z]+-\d+:",
            r"(?:kernel: )?(?:pcieport|nvidia|nouveau|amdgpu) [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]: ",
        ),
        gives=(
            "KernelLogSpan", "ClockAnchor", "XidEvent", "NvrmEvent", "AerEvent", "LinkDownEvent",
            "DriverBindEvent", "KernelEvent", "SxidEvent", "MemoryErrorEvent", "NicEvent", "DiskEvent",
            "AmdgpuEvent", "Setting",
        ),
        files=("dmesg*", "kern.log*", "syslog*", "*journalctl*"),
        logs=True,
    ),
)  # fmt: skip
