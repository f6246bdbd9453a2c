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
