r"""Reads what is mounted: findmnt (tree, -l, -r, -D), mount, and /proc/mounts.

util-linux 2.20 to 2.40. findmnt draws its tree in Unicode or ASCII, breaks a line after a long target, and cuts
options at the width of the terminal. mount prints `SOURCE on TARGET type TYPE (OPTIONS)`. The kernel prints blanks
in paths as \040, findmnt as \x20. Of several mounts at one place the last one covers the others.
"""

import re

from steadygpu.evidence.mount import Mount
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.readers.mountstats import mount_ref

_FINDMNT = re.compile(r"(?=.*\bTARGET\b)(?=.*\bFSTYPE\b)[A-Z%-]+(?:\s+[A-Z%-]+){1,30}\s*$")
_TREE = re.compile(r"(?:[│├└─|`]|-(?=/)|[ \t])+")
_TREE_ALONE = re.compile(
    r"\s*(?:[│├└|`][─\- ]*)+(?P<target>/\S{0,4096})\s*$|(?P<root>/\S{0,4096})\s*$"
)
_MOUNT = re.compile(
    r"(?P<source>\S{1,1000}(?: [^/ ]\S{0,100}){0,3}?) on (?P<target>/.{0,4096}?) type (?P<fstype>[\w.-]{1,64}) \((?P<options>[^()]{0,4000})\)"
    r"(?: \[.{0,100}\])?\s*$"
)
_PROC = re.compile(
    r"(?P<source>\S{1,1000}) (?P<target>/\S{0,4096}) (?P<fstype>[\w.-]{1,64}) "
    r"(?P<options>(?:rw|ro)(?:,\S{0,4000})?) \d \d\s*$"
)
_OPTIONS = re.compile(r"(?:rw|ro)(?:,|$)")

# Types whose files lie on a server; the fuse ones by the name of their program.
_NETWORK = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "lustre", "lustre_lite", "ceph", "fuse.ceph", "fuse.ceph-fuse", "beegfs",
    "gpfs", "wekafs", "glusterfs", "fuse.glusterfs", "fuse.sshfs", "afs", "orangefs", "pvfs2", "panfs", "vastnfs",
    "fuse.s3fs", "fuse.gcsfuse", "fuse.goofys", "fuse.mount-s3", "fuse.rclone", "fuse.juicefs", "fuse.blobfuse2",
    "fuse.blobfuse", "fuse.JuiceFS",
})  # fmt: skip
_EITHER = ("fuse", "overlay", "9p", "virtiofs", "autofs", "aufs", "unionfs")


def is_network(fstype: str) -> bool | None:
    """Return whether files of this type lie on a server, or None for a type that can be either."""
    if fstype in _NETWORK:
        return True
    return None if fstype.split(".")[0] in _EITHER else False


class _Mounts:
    """The mounts of one text, by place."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.found: dict[str | None, Mount] = {}

    def add(
        self, first: int, last: int, target: str, source: str | None, fstype: str | None,
        options: str | None, *, whole: bool = True,
    ) -> None:  # fmt: skip
        """Take one mount that stands in these lines. Where not `whole`, the last option may be cut."""
        words = None if options is None else tuple(w for w in options.split(",") if w)
        if words and not whole:
            words = words[:-1]
        ref = mount_ref(target.replace("\\x20", " "), self.lines)
        self.found.pop(ref.label, None)
        self.found[ref.label] = Mount(
            device=ref, source=source, fstype=fstype, options=words,
            network=is_network(fstype) if fstype else None, sources=(self.lines.cite(first, last),),
        )  # fmt: skip

    def reading(self, gaps: list[Gap], read_to: int) -> Reading:
        facts: tuple[Fact, ...] = tuple(self.found.values())
        return Reading(facts=facts, gaps=tuple(gaps), read_to=read_to)


def read_mount(lines: Lines) -> Reading:
    """Return one `Mount` for each place, of mount or /proc/mounts."""
    mounts = _Mounts(lines)
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        found = None if len(line) > 10_000 else _PROC.match(line) or _MOUNT.match(line)
        if found is None:
            break
        mounts.add(at, at, found["target"], found["source"], found["fstype"], found["options"])
        read_to = at + 1
    return mounts.reading([], read_to)


def read_findmnt(lines: Lines) -> Reading:
    """Return one `Mount` for each place that findmnt lists."""
    mounts = _Mounts(lines)
    gaps: list[Gap] = []
    columns: list[str] = []
    pending: tuple[int, str] | None = None
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 10_000:
            break
        if _FINDMNT.match(line):
            if columns:
                break
            columns = line.split()
        elif not columns:
            break
        else:
            drawn = _TREE.match(line)
            words = line[drawn.end() if drawn else 0 :].split()
            if pending is not None and len(words) == len(columns) - 1:
                words, first = [pending[1], *words], pending[0]
                pending = None
            else:
                first = at
            alone = _TREE_ALONE.match(line)
            if len(words) == len(columns):
                row = dict(zip(columns, words, strict=True))
                if not row["TARGET"].startswith("/"):
                    break
                options = row.get("OPTIONS")
                if options is not None and not _OPTIONS.match(options):
                    break
                whole = columns[-1] != "OPTIONS" or len(line.rstrip()) not in (79, 80)
                mounts.add(
                    first, at, row["TARGET"], row.get("SOURCE"), row.get("FSTYPE"), options,
                    whole=whole,
                )  # fmt: skip
            elif alone and columns[0] == "TARGET":
                pending = at, alone["target"] or alone["root"]
            elif words and words[0].startswith("/"):
                gaps.append(Gap(where=lines.cite(at), why="a line of findmnt that lacks columns"))
            else:
                break
        read_to = at + 1
    return mounts.reading(gaps, read_to)
