"""What tells of mounted filesystems and the files on them."""

from steadygpu.readers.kind import READERS, Kind

ROWS: tuple[Kind, ...] = (
    Kind(
        name="nfsiostat",
        title="calls to NFS servers over time",
        command="nfsiostat 5 6",
        reader=READERS + "nfsiostat:read_nfsiostat",
        heads=(
            r"\S+ mounted on /\S*:\s*$",
            r"\s*ops?/s\s+rpc bklog\s*$",
            r"[a-z_]{2,30}:\s+ops/s\s+kB/s\s+kB/op\s",
        ),
        gives=("NfsOp",),
    ),
    Kind(
        name="mountstats",
        title="calls to NFS servers since the mount",
        command="cat /proc/self/mountstats",
        reader=READERS + "mountstats:read_mountstats",
        heads=(
            r"(?:device \S+|no device) mounted on \S+ with fstype ",
            r"\s*RPC iostats version: \d",
            r"\s*per-op statistics\s*$",
            r"\s*(?:NULL|READ|WRITE|GETATTR|LOOKUP|ACCESS):(?: \d{1,20}){8,9}\s*$",
        ),
        gives=("NfsOp",),
        files=("*mountstats*",),
    ),
)  # fmt: skip
