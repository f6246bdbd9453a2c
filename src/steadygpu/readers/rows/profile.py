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
)  # fmt: skip
