"""What tells of processor time, memory of the host, and jobs that ran out of memory."""

from steadygpu.readers.kind import READERS, Kind

ROWS: tuple[Kind, ...] = (
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
