"""What profilers write."""

from steadygpu.readers.kind import READERS, Kind

ROWS: tuple[Kind, ...] = (
    Kind(
        name="torch-trace",
        title="a trace of the PyTorch profiler (export_chrome_trace)",
        command=None,
        reader=READERS + "torch_trace:read_torch_trace",
        heads=(
            r'\s*\{\s*"(?:schemaVersion|deviceProperties|traceEvents|displayTimeUnit)"\s*:',
            r'\s*(?:\[\s*)?\{\s*"(?:ph|cat)"\s*:\s*"',
        ),
        gives=("TraceHost", "TraceCard", "TraceGap"),
        files=("*.pt.trace.json", "*.pt.trace.json.gz"),
        logs=True,
    ),
    Kind(
        name="nsys-stats",
        title="summed times of kernels, calls and copies from Nsight Systems",
        command="nsys stats --report cuda_gpu_kern_sum,cuda_api_sum REPORT.nsys-rep",
        reader=READERS + "nsys_stats:read_nsys_stats",
        heads=(
            r"Generating SQLite file \S+ from \S+\.(?:nsys-rep|qdrep)",
            r"Processing \[[^\]]+\] with \[[^\]]*/reports/\w+\.py",
            r"\s*\*\* .{1,80}\((?:cuda_\w+_sum|osrt_sum|nvtx_\w*sum|gpukernsum|cudaapisum|gpumem\w+sum|osrtsum|nvtx\w*sum)\b",
            r"\s*(?:CUDA API|CUDA Kernel|CUDA Memory Operation|Operating System Runtime API|NVTX [\w-]+) Statistics(?: \([^)]*\))?:?\s*$",
            r'\s*"?Time ?\(%\)"?[\s,]+"?Total Time ?\(\w+\)',
            r"\s*Total \([KMGT]?i?B\),? +(?:Count|Operations)|Total \([KMGT]?i?B\),(?:Count|Operations)",
        ),
        gives=("CallStat",),
    ),
)  # fmt: skip
