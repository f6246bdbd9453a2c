"""Reads nfsiostat of nfs-utils: rates and mean times of NFS calls, by mount.

nfs-utils 1.2 to 2.8: `op/s` and no queue before 1.3.4, `avg queue (ms)` later, `errors` from 2.4.2; some
Python 2 builds print each figure on a line of its own. kB means 1024 bytes. The first report is the mean since
the mount, the later ones are of their intervals.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from steadygpu.evidence.mount import NfsOp
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import KIB
from steadygpu.readers.mountstats import mount_ref

_HEAD = re.compile(r"\S{1,1000} mounted on (?P<target>/\S{0,4096}?):\s*$")
_RPC = re.compile(r"\s*ops?/s\s+rpc bklog\s*$")
_COLUMNS = re.compile(r"(?P<op>[a-z_]{2,30}):\s+(?P<columns>ops/s\s+kB/s\s.{5,300})$")
_OP_ALONE = re.compile(r"(?P<op>[a-z_]{2,30}):\s*$")
_COLUMNS_ALONE = re.compile(r"\s+(?P<columns>ops/s\s+kB/s\s.{5,300})$")
_COLUMN = re.compile(r"ops/s|kB/s|kB/op|retrans|avg +(?:RTT|exe|queue) +\(ms\)|errors")
_SHARE = re.compile(r"\s{0,9}\(\s{0,9}(\d{1,9}(?:\.\d{1,6})?)\s{0,9}%\)", re.ASCII)
_FIGURE = re.compile(
    r"(?P<value>\d{1,15}(?:\.\d{1,6})?)(?:\|(?P<share>\d{1,9}(?:\.\d{1,6})?))?$", re.ASCII
)
_MORE = re.compile(
    r"\s*\d{1,15} (?:VFS opens|inoderevalidates|page cache invalidations|attribute cache invalidations"
    r"|nfs_\w+|pages read|pages written)\b"
)
CITED = 8  # our choice: rows cited one by one; the rest is one range

_FIELDS: dict[str, tuple[str, float]] = {
    "ops/s": ("ops_per_s", 1), "kB/s": ("bytes_per_s", KIB), "kB/op": ("bytes_per_op", KIB),
    "retrans": ("retransmits", 1), "errors": ("errors", 1),
    "avg RTT (ms)": ("rtt_ms", 1), "avg exe (ms)": ("exe_ms", 1), "avg queue (ms)": ("queue_ms", 1),
}  # fmt: skip
_SUMS = ("retransmits", "errors")
_BY_CALL = ("bytes_per_op", "retransmit_ratio", "rtt_ms", "exe_ms", "queue_ms")


@dataclass(slots=True)
class _Row:
    """The figures of one kind of call in one report of one mount."""

    columns: list[str]
    first: int
    last: int
    report: int
    words: list[str] = field(default_factory=list)

    def values(self) -> dict[str, float] | None:
        """Return the figures by field, or None where the row is not whole. Without calls no times are told."""
        if len(self.words) != len(self.columns):
            return None
        out: dict[str, float] = {}
        for column, word in zip(self.columns, self.words, strict=True):
            name, factor = _FIELDS[column]
            if found := _FIGURE.match(word):
                out[name] = float(found["value"]) * factor
                if name == "retransmits" and found["share"]:
                    out["retransmit_ratio"] = float(found["share"]) / 100
        called = any(out.get(name) for name in ("ops_per_s", "bytes_per_op", "rtt_ms", "exe_ms"))
        return out if called else {k: v for k, v in out.items() if k not in _BY_CALL}


_Key = tuple[str | None, str]


def read_nfsiostat(lines: Lines) -> Reading:
    """Return one `NfsOp` for each kind of call of each mount: means over the reports after the first."""
    rows: dict[_Key, list[_Row]] = {}
    gaps: list[Gap] = []
    target: str | None = None
    seen: dict[str | None, int] = {}
    row: _Row | None = None
    alone: str | None = None
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 6000:
            break
        if found := _HEAD.match(line):
            target, row, alone = found["target"], None, None
            seen[target] = seen.get(target, 0) + 1
        elif _RPC.match(line):
            row, alone = None, None
        elif (found := _COLUMNS.match(line)) or (
            alone is not None and (found := _COLUMNS_ALONE.match(line))
        ):
            op = (found.groupdict().get("op") or alone or "").upper()
            names = [" ".join(name.split()) for name in _COLUMN.findall(found["columns"])]
            row, alone = _Row(names, at + 1, at + 1, seen.get(target, 0)), None
            rows.setdefault((target, op), []).append(row)
        elif found := _OP_ALONE.match(line):
            row, alone = None, found["op"]
        elif (words := _figures(line)) is not None:
            if row is not None and len(row.words) + len(words) <= len(row.columns):
                row.first = at if not row.words else row.first
                row.last = at
                row.words += words
            elif len(words) > 2:
                gaps.append(Gap(where=lines.cite(at), why="figures without their columns"))
        elif not _MORE.match(line):
            break
        read_to = at + 1
    facts = [fact for (where, op), each in rows.items() for fact in _facts(lines, where, op, each)]
    return Reading(facts=tuple(facts), gaps=tuple(gaps), read_to=read_to)


def _figures(line: str) -> list[str] | None:
    words = _SHARE.sub(r"|\1 ", line).split()
    good = bool(words) and len(words) < 16 and line[:1] in " \t"
    return words if good and all(_FIGURE.match(w) or w == "nan" for w in words) else None


def _facts(lines: Lines, target: str | None, op: str, each: list[_Row]) -> list[Fact]:
    whole = [(row, values) for row in each if (values := row.values())]
    later = [(row, values) for row, values in whole if row.report > 1]
    since_mount, used = not later, later or whole[:1]
    if not used:
        return []
    mean = _mean([values for _, values in used])
    fields = tuple(mean)
    sources = [lines.cite(row.first, row.last, *fields) for row, _ in used[:CITED]]
    if len(used) > CITED:
        sources.append(lines.cite(used[CITED][0].first, used[-1][0].last, *fields))
    return [
        NfsOp(
            device=mount_ref(target, lines), op=op, samples=len(used), since_mount=since_mount,
            sources=tuple(sources), **mean,
        )
    ]  # fmt: skip


def _mean(each: list[dict[str, float]]) -> dict[str, Any]:
    """Return sums of counts, means of rates, and means of times weighted by the calls."""
    out: dict[str, Any] = {}
    for name in dict.fromkeys(key for one in each for key in one):
        having = [one for one in each if name in one]
        if name in _SUMS:
            out[name] = round(sum(one[name] for one in having))
            continue
        weights = [one.get("ops_per_s", 0.0) if name in _BY_CALL else 1.0 for one in having]
        if sum(weights) <= 0:
            weights = [1.0] * len(having)
        pairs = zip(having, weights, strict=True)
        out[name] = sum(one[name] * weight for one, weight in pairs) / sum(weights)
    return out
