"""Reads `nsys stats`: summed times of kernels, API calls, memory operations, OS calls and ranges.

Covers Nsight Systems 2021 to 2026 as columns and as CSV, with and without thousands separators, in any of
its units, under the report names of both ages (gpukernsum, cuda_gpu_kern_sum) and the older headings
("CUDA Kernel Statistics:"). Oddities: long names are cut with an ellipsis, so rows of one printed name are
added up; MB are 10^6 bytes; tables with grid sizes are read as CSV only.
"""

import csv
import re
from dataclasses import dataclass, field

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Source
from steadygpu.evidence.text import Lines
from steadygpu.evidence.trace import CallStat

_PASSED = re.compile(
    r"\s*$|Generating SQLite file |NOTICE: |\s+(?:It is assumed|Consider using)|SKIPPED: |\s*-[\s-]*$"
    r"|\[\d+/\d+\] Executing '|Exporting \[|Using \S+\.(?:sqlite|nsys-rep|qdrep)"
)
_PROCESSING = re.compile(
    r"Processing \[(?P<run>[^\]]{1,300})\] with \[(?:[^\]]*/)?(?P<report>\w{3,40})(?:\.py)?(?::[^\]]*)?\]"
)
_TITLE = re.compile(r"\s*\*\* .{1,80}\((?P<report>\w{3,40})(?::[\w:=]{0,80})?\):\s*$")
_OLD_TITLE = re.compile(
    r"\s*(?P<what>CUDA API|CUDA Kernel|CUDA Memory Operation|Operating System Runtime API|NVTX Push-Pop Range|NVTX Range)"
    r" Statistics(?: \((?:by time|by size(?: in \w+)?|nanoseconds|\w+)\))?:?\s*$"
)
_HEADER = re.compile(
    r'\s*"?(?:Time ?\(%\)"?[\s,]+"?Total Time ?\((?P<unit>\w+)\)|Total ?\((?P<size>[KMGT]?i?B|bytes)\)"?[\s,]+"?(?:Count|Operations))'
)
_NUMBER = re.compile(r"[\d,]{1,26}(?:\.\d{1,12})?%?")
_TABLES = {
    "cuda_gpu_kern_sum": "kernel", "gpukernsum": "kernel", "cuda_api_sum": "api", "cudaapisum": "api",
    "cuda_gpu_mem_time_sum": "memory", "gpumemtimesum": "memory", "cuda_gpu_mem_size_sum": "memory",
    "gpumemsizesum": "memory", "osrt_sum": "os", "osrtsum": "os", "nvtx_sum": "range", "nvtxsum": "range",
    "nvtx_pushpop_sum": "range", "nvtxppsum": "range", "CUDA API": "api", "CUDA Kernel": "kernel",
    "CUDA Memory Operation": "memory", "Operating System Runtime API": "os", "NVTX Push-Pop Range": "range",
    "NVTX Range": "range",
}  # fmt: skip
_UNITS = {
    "ns": 1e-9,
    "nsec": 1e-9,
    "us": 1e-6,
    "usec": 1e-6,
    "ms": 1e-3,
    "msec": 1e-3,
    "s": 1.0,
    "sec": 1.0,
}
_SIZES = {"B": 1, "bytes": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4,
          "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}  # fmt: skip
_COUNTS = ("Instances", "Num Calls", "Count", "Operations", "Calls")
_NAMES = ("Name", "Operation", "Range")


@dataclass(slots=True)
class _Table:
    """The table that is being read: its columns, how they are parted, and the unit of its totals."""

    what: str | None
    columns: list[str]
    csv: bool
    seconds: float | None
    size: int | None


@dataclass(slots=True)
class _Sum:
    """The rows of one name."""

    total_s: float | None = None
    count: int | None = None
    total_bytes: int | None = None
    median_s: float | None = None
    rows: int = 0
    sources: list[Source] = field(default_factory=list)


def read_nsys_stats(lines: Lines) -> Reading:
    """Return one record for each name in each table; what a row does not print is None."""
    sums: dict[tuple[str | None, str, str], _Sum] = {}
    run: str | None = None
    report: str | None = None
    table: _Table | None = None
    read_to = 0
    for at, line in enumerate(lines.clean):
        if len(line) > 20_000:
            break
        if found := _PROCESSING.match(line):
            run, report, table = found["run"].rsplit("/", 1)[-1], found["report"], None
        elif found := _TITLE.match(line) or _OLD_TITLE.match(line):
            report, table = next(iter(found.groupdict().values())), None
        elif found := _HEADER.match(line):
            table = _table(line, found, report)
        elif table is not None and _row(lines, at, table, run, sums):
            pass
        elif not _PASSED.match(line):
            break
        if line.strip():
            read_to = at + 1
    facts = tuple(fact for key, one in sums.items() if (fact := _fact(key, one)) is not None)
    return Reading(facts=facts, read_to=read_to)


def _table(line: str, found: "re.Match[str]", report: str | None) -> _Table:
    parted = "," in line
    columns = next(csv.reader([line])) if parted else re.split(r"\s{2,}", line.strip())
    columns = [name.strip() for name in columns]
    what = _TABLES.get(report or "")
    if what is None and columns[-1] == "Operation":
        what = "memory"
    elif what is None and columns[-1] == "Range":
        what = "range"
    elif what is None and "Instances" in columns:
        what = "kernel"
    if not parted and any("XYZ" in name for name in columns):
        columns = []  # three numbers in one column: nothing tells the columns apart
    return _Table(
        what, columns, parted, _UNITS.get(found["unit"] or ""), _SIZES.get(found["size"] or "")
    )


def _row(
    lines: Lines,
    at: int,
    table: _Table,
    run: str | None,
    sums: dict[tuple[str | None, str, str], _Sum],
) -> bool:
    """Take the line as a row; return whether it is one."""
    line = lines.clean[at]
    first = line.split(None, 1)[0].strip('",') if line.strip() else ""
    if not _NUMBER.match(first):
        return False
    cells = (
        next(csv.reader([line])) if table.csv else line.split(None, max(0, len(table.columns) - 1))
    )
    if len(cells) != len(table.columns) or len(cells) < 3:
        return "." in first and (len(cells) > 2 or (table.csv and "," in line))
    row = {name: cell.strip() for name, cell in zip(table.columns, cells, strict=True)}
    name = next((row[n] for n in _NAMES if row.get(n)), None)
    count = _number(next((row[c] for c in _COUNTS if c in row), ""))
    total = _number(row[table.columns[1] if table.seconds else table.columns[0]])
    if name is None:
        return False
    what = table.what or ("api" if name.startswith(("cu", "hip")) else "os")
    one = sums.setdefault((run, what, name[:300]), _Sum())
    fields = ["table", "name"]
    if total is not None and table.seconds:
        one.total_s = (one.total_s or 0.0) + total * table.seconds
        fields.append("total_s")
        median = _number(row.get(next((c for c in row if c.startswith("Med ")), ""), ""))
        one.rows += 1
        one.median_s = median * table.seconds if median is not None and one.rows == 1 else None
        if one.median_s is not None:
            fields.append("median_s")
        if count is not None:
            one.count = (one.count or 0) + int(count)
            fields += ["count", "mean_s"]
    elif total is not None and table.size:
        one.total_bytes = (one.total_bytes or 0) + int(total * table.size)
        fields.append("total_bytes")
    one.sources.append(lines.cite(at, at, *fields))
    return True


def _number(cell: str) -> float | None:
    if not _NUMBER.fullmatch(cell):
        return None
    try:
        return float(cell.rstrip("%").replace(",", ""))
    except ValueError:
        return None


def _fact(key: tuple[str | None, str, str], one: _Sum) -> Fact | None:
    if one.total_s is None and one.total_bytes is None:
        return None
    mean = one.total_s / one.count if one.total_s is not None and one.count else None
    return CallStat(
        device=host_ref(), run=key[0], table=key[1], name=key[2], total_s=one.total_s, count=one.count,
        mean_s=mean, median_s=one.median_s, total_bytes=one.total_bytes, sources=tuple(one.sources),
    )  # fmt: skip
