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
    Kind(
        name="findmnt",
        title="mounted filesystems as a tree",
        command="findmnt",
        reader=READERS + "mounts:read_findmnt",
        heads=(r"TARGET +SOURCE +FSTYPE\b", r"SOURCE +FSTYPE .*\bTARGET\s*$"),
        gives=("Mount",),
        equals=("mount",),
    ),
    Kind(
        name="mount",
        title="mounted filesystems",
        command="mount",
        reader=READERS + "mounts:read_mount",
        heads=(
            r"\S+ on /.{0,4096}? type [\w.-]{1,64} \((?:rw|ro)[,)]",
            r"\S+ /\S* [\w.-]{1,64} (?:rw|ro)(?:,\S*)? \d \d\s*$",
        ),
        gives=("Mount",),
        files=("mounts",),
        equals=("findmnt",),
    ),
)  # fmt: skip
