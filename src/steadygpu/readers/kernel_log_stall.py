"""Processes and processors that stand still, and oopses, with the module that their stack names.

Covers: hung tasks, soft and hard lockups, RCU stalls and oopses of Linux 3.10 to 6.18, with stacks in the forms
"[<address>] function+0x1/0x2 [module]" (to 4.x) and " function+0x1/0x2 [module]".
"""

import re
from dataclasses import dataclass, field

from steadygpu.evidence.kernel_log import KernelEvent
from steadygpu.evidence.source import Source
from steadygpu.readers.kernel_log_events import Families, Family
from steadygpu.readers.kernel_log_fold import Line

_HEADS: tuple[tuple[str, "re.Pattern[str]"], ...] = (
    ("hung_task", re.compile(r"INFO: task (?P<name>.{1,100}?):\d{1,10} blocked for more than \d{1,8} seconds")),
    ("soft_lockup", re.compile(
        r".{0,40}soft lockup - CPU#\d{1,6} stuck for \d{1,8}s?!? ?(?:\[(?P<name>.{1,100}?):\d{1,10}\])?")),
    ("hard_lockup", re.compile(r".{0,40}[Dd]etected hard LOCKUP on cpu \d{1,6}")),
    ("rcu_stall", re.compile(r"(?:rcu: )?INFO: rcu_\w{1,20} (?:self-detected stall on|detected stalls on)")),
    ("oops", re.compile(
        r"(?:BUG: (?:unable to handle|kernel NULL pointer)|general protection fault|Internal error: Oops)")),
)  # fmt: skip
_FRAME = re.compile(
    r"(?:RIP: [0-9a-f]{4}:|\[<[0-9a-f]{8,16}>\] )?(?:\? )?[\w.]{1,120}\+0x[0-9a-f]{1,8}/0x[0-9a-f]{1,8}"
    r"(?: \[(?P<module>\w{1,40})[^\]]{0,80}\])?"
)
_PART = re.compile(
    r"Call Trace:|</?(?:TASK|IRQ|NMI|SOFTIRQ)>|Tainted: |Not tainted|\"echo 0 > |task:|Workqueue: |RIP: |R[A-DS0-9][XIP0-9]?|Code: |CPU: \d|Hardware name: "
    r"|Modules linked in: |\S{1,40} +[RSDTZXI] "
)
_KNOWN = re.compile(
    r"(?:nvidia\w{0,20}|amdgpu|amdkfd|nouveau|i915|xe|habanalabs|nfs\w{0,10}|sunrpc|lustre|ceph|fuse|mlx5_\w{1,10})$"
)
_LINES = 80  # a stack has up to 40 frames, and the registers before it


@dataclass(slots=True)
class _Stall:
    """A stall whose stack is being read."""

    head: Line
    what: str
    process: str | None
    inside: str | None = None
    proof: list[Source] = field(default_factory=list)
    last: Line | None = None
    left: int = _LINES

    def take(self, line: Line) -> bool:
        """Take frames and what stands around them."""
        text = line.text
        if any(expression.match(text) for _, expression in _HEADS):
            self.left = 0
            return False
        frame = _FRAME.match(text)
        if frame is not None:
            module = frame["module"]
            if module and self.inside in (None, "kernel") and _KNOWN.match(module):
                self.inside, self.proof = module, [line.cite("inside")]
            self.last = line
            return True
        if text.startswith("Call Trace:") and self.inside is None:
            self.inside, self.proof = "kernel", [line.cite("inside")]
        return _PART.match(text) is not None

    def close(self, families: Families) -> None:
        """Keep the event."""
        head = self.head
        families.keep(
            KernelEvent(
                device=head.on_host(), at=head.at, what=self.what, says=head.text[:300], process=self.process,
                inside=self.inside, sources=(head.cite(), *self.proof),
            ),
            self.last or head,
        )  # fmt: skip


def _stall(families: Families, line: Line) -> bool:
    for what, expression in _HEADS:
        found = expression.match(line.text)
        if found is not None:
            return families.begin(_Stall(line, what, found.groupdict().get("name")), line)
    return False


FAMILIES: tuple[Family, ...] = (
    ("blocked for more than", _stall),
    ("soft lockup", _stall),
    ("hard LOCKUP", _stall),
    ("detected stall", _stall),
    ("BUG: ", _stall),
    ("general protection", _stall),
    ("Internal error", _stall),
)
WORDS: tuple[bytes, ...] = (
    b"blocked for more than", b"soft lockup", b"hard LOCKUP", b"detected stall", b"BUG: ", b"general protection",
    b"Internal error",
)  # fmt: skip
