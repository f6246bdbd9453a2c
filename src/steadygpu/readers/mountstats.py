r"""Reads /proc/self/mountstats: what each kind of NFS call did since its mount.

Linux 2.6.17 on (statvers 1.0: eight figures a call; 1.1, since 5.3: errors as the ninth). Columns are
calls, transmissions, major timeouts, bytes sent, bytes received, and the sums in milliseconds of queue, round
trip and execution. Blanks in paths are printed as \040. Mounts that keep no statistics have one line.
"""

import re

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.mount import NfsOp
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_DEVICE = re.compile(
    r"device (?P<source>\S{1,1000}) mounted on (?P<target>\S{1,4096}) with fstype (?P<fstype>[\w.-]{1,64})"
    r"(?P<stats> statvers=\d{1,3}\.\d{1,3})?\s*$"
)
_NO_DEVICE = re.compile(r"no device mounted on \S{1,4096} with fstype [\w.-]{1,64}\s*$")
_AGE = re.compile(r"\s*age:\s+(?P<age>\d{1,12})\s*$")
_OTHER = re.compile(
    r"\s*(?:opts|impl_id|caps|nfsv[34]|sec|events|bytes|xprt|fsc|lustre):(?:\s.{0,2000})?$"
    r"|\s*RPC iostats version: .{0,100}$"
)
_OPS = re.compile(r"\s*per-op statistics\s*$")
_OP = re.compile(r"\s*(?P<op>[A-Z][A-Z_0-9]{2,30}):(?P<figures>(?:\s+\d{1,20}){8,9})\s*$", re.ASCII)
_ESCAPE = re.compile(r"\\(040|134)")


def plain_path(printed: str) -> str:
    r"""Return a path as people write it: the kernel prints blanks as \040."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), printed)


def mount_ref(target: str | None, lines: Lines) -> DeviceRef:
    """Return the reference of what is mounted at `target`."""
    return DeviceRef(kind="mount", label=target and plain_path(target), text=lines.name)


class _Mount:
    """One mount: its place, its age, and the calls seen so far."""

    def __init__(self, target: str | None = None) -> None:
        self.target = target
        self.age: tuple[int, int] | None = None
        self.listed = False
        self.ops: dict[str, tuple[int, list[int]]] = {}

    def facts(self, lines: Lines) -> list[Fact]:
        """Return one record for each kind of call that was made, and for READ in any case."""
        if not self.ops:
            return []
        total = sum(figures[0] for _, figures in self.ops.values())
        rows = [at for at, _ in self.ops.values()]
        span = (min(rows), max(rows))
        whole = self.listed and lines.filtered is None and total > 0
        out: list[Fact] = []
        for op, (at, figures) in self.ops.items():
            ops, sent, timeouts, out_bytes, in_bytes, queue, rtt, exe = figures[:8]
            if ops <= 0 and op != "READ":
                continue
            draft = Draft(lines)
            draft.values.update(op=op, since_mount=True)
            draft.take("ops", ops, at)
            if whole:
                draft.take("share_ratio", ops / total, *span)
            if self.age is not None and self.age[0] > 0:
                draft.take("age_s", float(self.age[0]), self.age[1])
                for place in (at, self.age[1]):
                    draft.take("ops_per_s", ops / self.age[0], place)
            draft.take("retransmits", max(0, sent - ops), at)
            draft.take("timeouts", timeouts, at)
            if len(figures) > 8:
                draft.take("errors", figures[8], at)
            if ops > 0:
                draft.take("retransmit_ratio", max(0, sent - ops) / ops, at)
                carried = out_bytes if op == "WRITE" else in_bytes
                draft.take("bytes_per_op", carried / ops, at)
                for name, value in (("queue_ms", queue), ("rtt_ms", rtt), ("exe_ms", exe)):
                    draft.take(name, value / ops, at)
            out += draft.record(NfsOp, mount_ref(self.target, lines))
        return out


def read_mountstats(lines: Lines) -> Reading:
    """Return one `NfsOp` for each kind of call of each NFS mount, as means since the mount."""
    facts: list[Fact] = []
    mount = _Mount()
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 6000:
            break
        if found := _DEVICE.match(line):
            facts += mount.facts(lines)
            mount = _Mount(found["target"])
        elif found := _OP.match(line):
            figures = [int(figure) for figure in found["figures"].split()]
            # A call that stands twice begins another mount whose head was lost.
            if found["op"] in mount.ops:
                facts += mount.facts(lines)
                mount = _Mount()
            mount.ops[found["op"]] = at, figures
        elif found := _AGE.match(line):
            mount.age = int(found["age"]), at
        elif _OPS.match(line):
            mount.listed = True
        elif not (_OTHER.match(line) or _NO_DEVICE.match(line)):
            break
        read_to = at + 1
    facts += mount.facts(lines)
    return Reading(facts=tuple(facts), read_to=read_to)
