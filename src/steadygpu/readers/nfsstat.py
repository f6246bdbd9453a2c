"""Reads nfsstat -c: NFS calls of the whole host since its boot, and how many were sent again.

nfs-utils 1.0 to 2.8 print one form: a heading, a line of names, a line of figures; the calls of each version with
their share in whole per cent. Sections of the server are passed over. Times are not told.
"""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.mount import NfsOp
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_SECTION = re.compile(
    r"(?P<side>Client|Server) (?P<what>packet stats|rpc stats|reply cache|file handle cache|io stats|read ahead cache"
    r"|nfs v[234](?: operations| callback operations)?):\s*$"
)
_NAMES = re.compile(r"[a-z_]\w{1,30}(?:\s+[a-z_][\w-]{1,30}){0,9}\s*$")
_FIGURES = re.compile(r"\d{1,20}(?:\s+\d{1,20}){0,9}\s*$", re.ASCII)
_SHARES = re.compile(r"(?:\d{1,20}\s+\d{1,3}%\s*){1,10}$", re.ASCII)
_PAIR = re.compile(r"(\d{1,20})\s+\d{1,3}%", re.ASCII)

_Calls = dict[str, list[tuple[int, int]]]


def read_nfsstat(lines: Lines) -> Reading:
    """Return one `NfsOp` for each kind of call, and one called RPC for all of them with the retransmissions."""
    calls: _Calls = {}
    facts: list[Fact] = []
    section: str | None = None
    names: list[str] = []
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 1000:
            break
        if found := _SECTION.match(line):
            section, names = f"{found['side']} {found['what']}", []
        elif section is None:
            break
        elif _NAMES.match(line):
            if names:
                break
            names = line.split()
            continue  # theirs only where figures follow
        elif names and _FIGURES.match(line):
            if section == "Client rpc stats":
                facts += _rpc(lines, at, dict(zip(names, map(int, line.split()), strict=False)))
            names = []
        elif names and _SHARES.match(line):
            figures = [int(figure) for figure in _PAIR.findall(line)]
            if section.startswith("Client nfs") and len(figures) == len(names):
                for name, figure in zip(names, figures, strict=True):
                    calls.setdefault(name.upper(), []).append((figure, at))
            names = []
        elif line.strip() != "--":
            break
        read_to = at + 1
    return Reading(facts=(*facts, *_ops(lines, calls)), read_to=read_to)


def _rpc(lines: Lines, at: int, row: dict[str, int]) -> list[NfsOp]:
    draft = Draft(lines)
    draft.values.update(op="RPC", since_mount=True)
    calls, again = row.get("calls"), row.get("retrans")
    if calls is not None:
        draft.take("ops", calls, at)
    if again is not None:
        draft.take("retransmits", again, at)
    if calls and again is not None:
        draft.take("retransmit_ratio", again / calls, at)
    return draft.record(NfsOp, host_ref())


def _ops(lines: Lines, calls: _Calls) -> list[NfsOp]:
    """Return the calls of all versions by kind; those that were never made are left out."""
    total = sum(figure for each in calls.values() for figure, _ in each)
    rows = [at for each in calls.values() for _, at in each]
    out: list[NfsOp] = []
    for op, each in calls.items():
        ops = sum(figure for figure, _ in each)
        if not ops:
            continue
        draft = Draft(lines)
        draft.values.update(op=op, since_mount=True)
        for figure, at in each:
            if figure:
                draft.take("ops", ops, at)
        if lines.filtered is None:
            draft.take("share_ratio", ops / total, min(rows), max(rows))
        out += draft.record(NfsOp, host_ref())
    return out
