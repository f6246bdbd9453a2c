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
        name="nfsstat",
        title="NFS calls of the host since its boot",
        command="nfsstat -c",
        reader=READERS + "nfsstat:read_nfsstat",
        heads=(r"(?:Client|Server) (?:packet stats|rpc stats|reply cache|nfs v[234][a-z ]*):\s*$",),
        gives=("NfsOp",),
    ),
    Kind(
        name="llite-stats",
        title="calls of a Lustre client since its mount",
        command="sudo lctl get_param llite.*.stats",
        reader=READERS + "llite_stats:read_llite_stats",
        heads=(r"llite\.[\w.-]+\.stats=\s*$",),
        gives=("NfsOp",),
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
    Kind(
        name="file-listing",
        title="files of a data set with their sizes",
        command="find DATASET -type f -printf '%s %p\\n'",
        reader=READERS + "file_listing:read_file_listing",
        heads=(
            r"\d{1,15} (?:/|\.{1,2}/)[^\t]+$",
            r"(?:\s*\d{1,20}\s+\d{1,12}\s+)?[-d][rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+\d[\d.,]*[KMGT]?\s",
            r"(?:/|\.{1,2}/?)\S*:\s*$",
            r"total \d{1,12}(?:[.,]\d{1,3})?[KMGT]?\s*$",
            r"(?:/|\.{1,2}/)[^\t:|<>\"()]*\.(?:jpe?g|JPE?G|png|webp|tiff?|dcm|nii|npy|npz|json|xml|csv|txt|wav|flac|mp3"
            r"|mp4|parquet|arrow|tfrecord|tar|h5|pt|bin|safetensors)\s*$",
        ),
        gives=("FileListing",),
        logs=True,
    ),
    Kind(
        name="proc-maps",
        title="files that a process has mapped",
        command="grep -E 'safetensors|gguf|[.]bin|[.]pt' /proc/PID/maps",
        reader=READERS + "proc_maps:read_proc_maps",
        heads=(
            r"(?:/proc/\d+/s?maps:)?[0-9a-f]{8,16}-[0-9a-f]{8,16} [r-][w-][x-][ps] [0-9a-f]{8,16} [0-9a-f]{2,4}:[0-9a-f]{2,5} \d",
        ),
        gives=("MappedFile",),
    ),
)  # fmt: skip
