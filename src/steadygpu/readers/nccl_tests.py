"""Reads nccl-tests (and rccl-tests): the rows of each collective and its last lines. nccl-tests 2.0 to 2.18.

Older versions print the largest deviation ("error", 0e+00) where newer count the wrong values ("#wrong"), and no
root; N/A stands where nothing was checked. GB/s are 10^9 bytes.
"""

import re
from dataclasses import dataclass, field

from steadygpu.evidence.bench import CollectiveRate, CollectiveRun
from steadygpu.evidence.device import host_ref
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_HEAD = re.compile(
    r"# nThread \d{1,6} nGpus \d.{0,200}?(?: validation: (?P<check>\d{1,6}))?\s*(?:graph: \d{1,6})?\s*$"
)
_START = re.compile(r"# Collective test starting: (?P<op>\w{1,60})\s*$")
_END = re.compile(r"# Collective test concluded: (?P<op>\w{1,60})\s*$")
_RANK = re.compile(r"#\s{1,12}Rank\s{1,8}(?P<rank>\d{1,6}) (?:Group\s{1,8}\d{1,6} )?Pid\s")
_BOUNDS = re.compile(r"# Out of bounds values : (?P<count>\d{1,12}) (?P<word>OK|FAILED)\s*$")
_MEAN = re.compile(r"# Avg bus bandwidth    : (?P<rate>\d{1,9}(?:\.\d{1,9})?)\s*$")
_NUMBER = r"\d{1,12}(?:\.\d{1,6})?"
_SIDE = (
    rf"\s+(?:{_NUMBER}|N/A)\s+(?:{_NUMBER}|N/A)\s+(?P<SIDE>{_NUMBER}|N/A)"
    r"\s+(?P<SIDE_wrong>\d[\de.+-]{0,15}|N/A)"
)
_ROW = re.compile(
    r"\s{0,30}(?P<size>\d{1,15})\s+\d{1,15}\s+[a-z]\w{1,20}(?:\s+[a-z]{3,12})?(?:\s+-?\d{1,6}(?=(?:\s+\S+){4}"
    r"(?:(?:\s+\S+){4})?\s*$))?"
    + _SIDE.replace("SIDE", "out") + "(?:" + _SIDE.replace("SIDE", "in") + r")?\s*$"
)  # fmt: skip
_ASIDE = re.compile(r"#|\S{1,100}:\d{1,9}:\d{1,9} \[\d{1,4}\] NCCL (?:INFO|WARN) ")
_GB = 1e9


@dataclass(slots=True)
class _Run:
    """What stands around the rows of one run."""

    op: tuple[str, int] | None = None
    ranks: list[tuple[int, int]] = field(default_factory=list)
    check: tuple[bool, int] | None = None
    bounds: tuple[int, int] | None = None
    mean: tuple[float, int] | None = None
    rows: list[tuple[re.Match[str], int]] = field(default_factory=list)


def read_nccl_tests(lines: Lines) -> Reading:
    """Return a record for each measured rate and one for the run; a run that begins anew ends it."""
    run = _Run()
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 600:
            break
        over = run.bounds is not None or run.mean is not None
        if head := _HEAD.match(line):
            if over or run.rows:
                break
            run.check = (head["check"] != "0", at) if head["check"] else None
        elif start := _START.match(line):
            if over or run.rows:
                break
            run.op = _op(start["op"]), at
        elif end := _END.match(line):
            run.op = run.op or (_op(end["op"]), at)
        elif rank := _RANK.match(line):
            run.ranks.append((int(rank["rank"]), at))
        elif bounds := _BOUNDS.match(line):
            if run.bounds is not None:
                break
            run.bounds = int(bounds["count"]) or int(bounds["word"] == "FAILED"), at
        elif mean := _MEAN.match(line):
            run.mean = float(round(float(mean["rate"]) * _GB)), at
        elif row := _ROW.match(line):
            if over:
                break
            run.rows.append((row, at))
        elif not _ASIDE.match(line):
            break
        read_to = at + 1
    return Reading(facts=tuple(_facts(lines, run)), read_to=read_to)


def _op(program: str) -> str:
    return program.removesuffix("_perf")


def _around(lines: Lines, run: _Run) -> Draft:
    """Return a draft that tells the operation and the ranks."""
    draft = Draft(lines)
    if run.op is not None:
        draft.take("op", *run.op)
    if run.ranks:
        draft.take("ranks", len({rank for rank, _ in run.ranks}), run.ranks[0][1], run.ranks[-1][1])
    return draft


def _facts(lines: Lines, run: _Run) -> list[Fact]:
    facts: list[Fact] = []
    for row, at in run.rows:
        for in_place, rate, wrong in ((False, "out", "out_wrong"), (True, "in", "in_wrong")):
            if row[rate] is None:
                continue
            draft = _around(lines, run)
            draft.values |= {"size_bytes": int(row["size"]), "in_place": in_place}
            draft.put(
                "bus_bytes_per_s", row[rate], at, lambda word: float(round(float(word) * _GB))
            )
            draft.put("wrong", row[wrong], at, lambda w: int(w) if w.isdecimal() else None)
            facts += draft.record(CollectiveRate, host_ref())
    if run.bounds is None and run.mean is None:
        return facts
    draft = _around(lines, run)
    if run.check is not None:
        draft.take("checked", *run.check)
    elif run.rows:
        # Without its head the rows tell it: N/A stands in all of them where nothing was checked.
        told = any(row["out_wrong"] != "N/A" for row, _ in run.rows)
        draft.take("checked", told, run.rows[0][1], run.rows[-1][1])
    if run.bounds is not None:
        draft.take("out_of_bounds", *run.bounds)
    if run.mean is not None:
        draft.take("mean_bus_bytes_per_s", *run.mean)
    return [*facts, *draft.record(CollectiveRun, host_ref())]
