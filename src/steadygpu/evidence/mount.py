"""Mounted filesystems and what calls to their servers cost."""

from dataclasses import dataclass
from typing import ClassVar

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Nature
from steadygpu.evidence.source import Absent, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class NfsOp:
    """What one kind of call (READ, GETATTR) to a file server did on one mount; times are means a call in milliseconds.

    `queue_ms` is the wait in the client before the call was sent, `rtt_ms` from sending to the answer of
    the server, `exe_ms` all of it with retransmissions. `share_ratio` is its part of all calls of the mount.
    `retransmits` (`retransmit_ratio` of the calls), `timeouts` and `errors` are of the same span as the
    means: since the mount where `since_mount`, else over `samples` intervals. No call leaves the times None.
    `age_s` is how long ago the filesystem was mounted, where the text tells: it orders two readings.
    nfsstat tells of the host, since its boot: no times, and one record with the op RPC for all calls.
    Of `protocol` Lustre only `exe_ms` is told, and what the cache of the client answers counts as well.
    """

    nature: ClassVar[Nature] = "gauge"
    key: ClassVar[tuple[str, ...]] = ("op", "since_mount", "age_s")

    device: DeviceRef
    at: Moment = UNKNOWN
    op: str
    age_s: float | None = None
    protocol: str = "NFS"
    ops: int | None = None
    ops_per_s: float | None = None
    share_ratio: float | None = None
    bytes_per_s: float | None = None
    bytes_per_op: float | None = None
    queue_ms: float | None = None
    rtt_ms: float | None = None
    exe_ms: float | None = None
    retransmits: int | None = None
    retransmit_ratio: float | None = None
    timeouts: int | None = None
    errors: int | None = None
    samples: int = 1
    since_mount: bool = False
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """What is mounted where: the device's label is the place. `network` says whether a server holds the files.

    It follows from the type: None for types that can be either (fuse, overlay, 9p). Options that the tool cut
    are left out.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ()

    device: DeviceRef
    at: Moment = UNKNOWN
    source: str | None = None
    fstype: str | None = None
    options: tuple[str, ...] | None = None
    network: bool | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileListing:
    """How many files lie below `root` and how large they are; without printed sizes only how many.

    `median_bytes` is exact below 256 bytes and at most 1 % too small above. `small_ratio` is the part of files
    below 64 KiB. `root` is the directory that all printed paths have in common.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("root",)

    device: DeviceRef
    at: Moment = UNKNOWN
    root: str | None = None
    files: int
    total_bytes: int | None = None
    median_bytes: int | None = None
    small_ratio: float | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedFile:
    """A file that a process has mapped into its memory, not as code. `mapped_bytes` sums its mappings.

    `pid` is known where the text names the process. That a file is not listed tells nothing.
    """

    nature: ClassVar[Nature] = "state"
    key: ClassVar[tuple[str, ...]] = ("path", "pid")

    device: DeviceRef
    at: Moment = UNKNOWN
    path: str
    pid: int | None = None
    mapped_bytes: int | None = None
    absent: tuple[Absent, ...] = ()
    sources: tuple[Source, ...]
