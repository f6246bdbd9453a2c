"""Checks every row of every file of the catalogue, ours and a user's: one sentence for each mistake.

What each file may hold stands in `SPECS`. A file without a spec is a mistake itself.
"""

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.resources import files

from steadygpu.catalog.table import Row, package_text

Numbered = Sequence[tuple[int, Row]]  # rows with the line of the file at which each ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One mistake. `line` is the line of the file at which the row ends, the header being line 1."""

    file: str
    line: int
    column: str
    wrong: str
    accepted: str

    def __str__(self) -> str:
        return (
            f"{self.file}, line {self.line}, column {self.column}: {self.wrong}; "
            f"accepted: {self.accepted}"
        )


@dataclass(frozen=True, slots=True)
class Column:
    """What a cell may hold. `fits` judges one that is not empty; `needed` forbids an empty one."""

    fits: Callable[[str], bool]
    accepted: str
    needed: bool = True


@dataclass(frozen=True, slots=True)
class Spec:
    """A file: the columns that together name a row, and every column."""

    key: tuple[str, ...]
    columns: dict[str, Column]
    also: tuple[Callable[[str, Numbered], Iterable[Mistake]], ...] = field(default=())


def _is_date(cell: str) -> bool:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", cell) is None:
        return False
    try:
        return date.fromisoformat(cell) >= date(2000, 1, 1)
    except ValueError:
        return False


def _words(*words: str, needed: bool = True) -> Column:
    return Column(lambda cell: cell in words, ", ".join(words), needed)


def _matches(expression: str, accepted: str, needed: bool = True) -> Column:
    whole = re.compile(expression, re.ASCII)
    return Column(lambda cell: whole.fullmatch(cell) is not None, accepted, needed)


def _number(
    low: float, high: float, unit: str, *, whole: bool = True, needed: bool = True
) -> Column:
    kind = re.compile(r"[0-9]{1,12}" if whole else r"[0-9]{1,12}(?:\.[0-9]{1,6})?")

    def fits(cell: str) -> bool:
        return kind.fullmatch(cell) is not None and low <= float(cell) <= high

    name = "a whole number" if whole else "a number"
    return Column(fits, f"{name} from {low:g} to {high:g}{unit}", needed)


def _list(expression: str, accepted: str) -> Column:
    part = re.compile(expression, re.ASCII)
    return Column(
        lambda cell: all(part.fullmatch(one) for one in cell.split(";")),
        f"{accepted}, several joined by ;",
        needed=False,
    )


_TEXT = Column(
    lambda cell: cell == cell.strip() and cell.isprintable(), "text without spaces around it"
)
_NOTE = Column(_TEXT.fits, _TEXT.accepted, needed=False)
_SENTENCE = Column(
    lambda c: c == c.strip() and c.endswith("."), "sentences that end with a full stop"
)
_DATE = Column(_is_date, "a day since 2000 as YYYY-MM-DD")
_SEVERITY = _words("info", "warning", "critical")
_ACTION = _words("drain", "reset-gpu", "reboot", "restart-job", "fix-config", "watch", "none")
_SCOPE = _words("gpu", "host", "job", "fabric")
_YES_NO = _words("yes", "no")
_CODE = _number(1, 99999, "")
_ID = _matches(
    r"(?:silent|stack|throttle|feed|busy)\.[a-z0-9-]+", "an id such as silent.gpu-missing"
)
_UPPER = _matches(
    r"[A-Z][A-Z0-9_]*(?: / [A-Z][A-Z0-9_]*)?", "a name in capitals, such as NVLINK_ERROR"
)
_PROOF = {"source": _TEXT, "date": _DATE}


def _no_circle(file: str, rows: Numbered) -> Iterable[Mistake]:
    """Find causes that explain themselves by way of others."""
    downs: dict[str, set[str]] = {}
    for _, row in rows:
        downs.setdefault(row["cause"], set()).add(row["consequence"])
    for line, row in rows:
        seen, todo = set[str](), [row["consequence"]]
        while todo and row["cause"] not in seen:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                todo.extend(downs.get(one, ()))
        if row["cause"] in seen:
            yield Mistake(
                file=file, line=line, column="consequence",
                wrong=f"{row['cause']} explains itself", accepted="causes that form no circle",
            )  # fmt: skip


SPECS: dict[str, Spec] = {
    "xids.csv": Spec(
        ("code",),
        {
            "code": _CODE, "name": _UPPER, "severity": _SEVERITY, "action": _ACTION, "scope": _SCOPE,
            "meaning": _SENTENCE, "decision": _SENTENCE, "depends_on_decode": _YES_NO, **_PROOF,
        },
    ),
    "xid_tools.csv": Spec(
        ("code",),
        {
            "code": _CODE, "mnemonic": _UPPER,
            "applies": _list("a100|h100|b100|gb200", "a100, h100, b100, gb200"),
            "immediate": _matches(r"[A-Z0-9_/]+", "a word of NVIDIA in capitals", needed=False),
            "investigatory": _matches(r"[A-Z0-9_/]+", "a word of NVIDIA in capitals", needed=False),
            "recovery_driver": _number(300, 999, " (a driver branch)", needed=False),
            "gpud": _words("info", "warning", "fatal", needed=False),
            "gpud_repair": _list("ignore|check-app|inspect|reboot", "ignore, check-app, inspect, reboot"),
            "k8s_device_plugin": _words("ignored", "unhealthy", needed=False),
            "dcgm_health": _words("warn", "fail", needed=False),
            "gcm": _words("noncritical", "critical", needed=False),
            "azure_nhc": _words("fail", needed=False),
            "imbue": _words("hardware", needed=False),
            "eks_agent": _words("event", "fatal", needed=False),
            "sichek": _words("critical", needed=False),
            "gpumedic": _words("info", "warning", "critical", needed=False),
            "brokkr": _words("info", "warning", "error", "critical", needed=False),
            **_PROOF,
        },
    ),
    "nvlink5.csv": Spec(
        ("code", "units", "sub_code", "status"),
        {
            "code": _number(144, 150, ""),
            "units": _list(r"[A-Z][A-Z0-9_]*", "names of units in capitals"),
            "sub_code": _number(0, 63, ""),
            "status": _matches(r"0x[0-9a-f]{8}", "eight hex digits after 0x"),
            "fatal": _YES_NO, "clears_channels": _YES_NO, "other_end": _YES_NO,
            "severity": _SEVERITY, "action": _ACTION, "immediate": _UPPER, "investigatory": _UPPER,
            "meaning": _SENTENCE, "decision": _SENTENCE, **_PROOF,
        },
    ),
    "nvlink_registers.csv": Spec(
        ("register", "bit"),
        {
            "register": _number(1, 7, ""), "bit": _number(0, 31, ""),
            "group": _words("harmless", "follows", "parity", "contact", "signal", "repeats",
                            "unexpected", "threshold"),
            **_PROOF,
        },
    ),
    "cards.csv": Spec(
        ("vendor", "model"),
        {
            "vendor": _words("NVIDIA", "AMD", "Intel"), "model": _TEXT, "names": _NOTE,
            "pci_ids": _list(r"[0-9a-f]{4}:[0-9a-f]{4}", "ids such as 10de:2684"),
            "segment": _words("consumer", "workstation", "data-centre"), "architecture": _TEXT,
            "compute_capability": _matches(
                r"\d{1,2}\.\d|gfx[0-9a-f]{3,4}", "a capability such as 9.0 or gfx942", needed=False
            ),
            "memory_gb": _number(0.25, 1024, " GB", whole=False, needed=False),
            "ecc": _words("yes", "no", "configurable", "unknown"),
            "pcie_gen": _number(1, 7, "", needed=False),
            "pcie_lanes": _words("1", "2", "4", "8", "16", "32", needed=False),
            "tdp_w": _number(10, 2000, " W", needed=False), **_PROOF,
        },
    ),
    "names.csv": Spec(
        ("pci_id", "subsystem_id", "model", "name"),
        {
            "pci_id": _matches(r"[0-9a-f]{4}:[0-9a-f]{4}", "an id such as 10de:2684"),
            "subsystem_id": _matches(r"[0-9a-f]{4}:[0-9a-f]{4}", "an id such as 10de:129e", needed=False),
            "vendor": _words("NVIDIA", "AMD", "Intel"), "model": _NOTE, "name": _NOTE,
            "mobile": _YES_NO, **_PROOF,
        },
    ),
    "clock_reasons.csv": Spec(
        ("bit",),
        {
            "bit": _matches(r"0x[0-9a-f]{16}", "sixteen hex digits after 0x"),
            "nvml": _matches(r"nvmlClocks\w+", "a name of NVML"), "nvml_old": _NOTE,
            "words": _NOTE, "words_old": _NOTE, "query": _NOTE, "query_old": _NOTE,
            "slows": _YES_NO, "meaning": _SENTENCE, "decision": _SENTENCE, **_PROOF,
        },
    ),
    "nvml_codes.csv": Spec(
        ("code",),
        {
            "code": _number(0, 999, ""), "name": _matches(r"NVML_[A-Z_]+", "a name of NVML"),
            "words": _TEXT, "meaning": _SENTENCE, "decision": _SENTENCE, **_PROOF,
        },
    ),
    "nvml_fields.csv": Spec(
        ("field",),
        {
            "field": _TEXT, "unit": _NOTE, "meaning": _SENTENCE, "absent": _SENTENCE, **_PROOF,
        },
    ),
    "causes.csv": Spec(
        ("cause", "consequence"),
        {
            "cause": _ID, "consequence": _ID,
            "relation": _words("same-card", "port-above", "same-host", "nvlink-peer", "same-process"),
            "window_s": _number(1, 604800, " s", whole=False, needed=False), **_PROOF,
        },
        (_no_circle,),
    ),
    "sxids.csv": Spec(
        ("code",),
        {
            "code": _number(1, 99999, ""), "name": _TEXT,
            "severity": _words("nonfatal", "fatal", "always-fatal"),
            "action": _words("drain", "watch", "none"),
            "meaning": _SENTENCE, "decision": _SENTENCE, **_PROOF,
        },
    ),
    "amdgpu_messages.csv": Spec(
        ("what",),
        {
            "what": _matches(r"[a-z0-9_]+", "a word such as ring_timeout"), "severity": _SEVERITY,
            "action": _ACTION, "meaning": _SENTENCE, **_PROOF,
        },
    ),
}  # fmt: skip


def lint(file: str, header: Sequence[str], rows: Numbered) -> list[Mistake]:
    """Return every mistake of a table."""
    spec = SPECS.get(file)
    if spec is None:
        return [
            Mistake(
                file=file, line=1, column="-", wrong="this file is not one of the catalogue",
                accepted=", ".join(sorted(SPECS)),
            )
        ]  # fmt: skip
    known = ", ".join(spec.columns)
    head = [
        Mistake(file=file, line=1, column=str(name), wrong="unknown column", accepted=known)
        for name in header
        if name not in spec.columns
    ]
    head += [
        Mistake(file=file, line=1, column=name, wrong="the column is missing", accepted=known)
        for name in spec.columns
        if name not in header
    ]
    if len(set(header)) != len(header):
        head.append(
            Mistake(file=file, line=1, column="-", wrong="a column stands twice", accepted=known)
        )
    if head:
        return head
    out: list[Mistake] = []
    first: dict[tuple[str, ...], int] = {}
    for line, row in rows:
        out += _cells(file, line, row, spec)
        key = tuple(row.get(name) or "" for name in spec.key)
        if key in first:
            out.append(
                Mistake(
                    file=file, line=line, column=" + ".join(spec.key),
                    wrong=f"{' '.join(key)} stands already in line {first[key]}",
                    accepted="each row once",
                )
            )  # fmt: skip
        first.setdefault(key, line)
    for check in () if out else spec.also:
        out += check(file, rows)
    return out


def _cells(file: str, line: int, row: Row, spec: Spec) -> Iterable[Mistake]:
    if set(row) - set(spec.columns):
        yield Mistake(
            file=file, line=line, column="-", wrong="more cells than columns",
            accepted=f"{len(spec.columns)} cells; quote a cell that holds a comma",
        )  # fmt: skip
    for name, column in spec.columns.items():
        cell = row.get(name)
        if cell is None:
            wrong = "the cell is missing"
        elif not cell:
            if not column.needed:
                continue
            wrong = "the cell is empty"
        elif column.fits(cell):
            continue
        else:
            wrong = f"{cell[:60]!r} does not fit"
        yield Mistake(file=file, line=line, column=name, wrong=wrong, accepted=column.accepted)


def parse(text: str) -> tuple[list[str], list[tuple[int, Row]]]:
    """Return the header of a CSV text and its rows with the line at which each ends."""
    reader = csv.DictReader(text.splitlines())
    rows: list[tuple[int, Row]] = [(reader.line_num, row) for row in reader]
    return list(reader.fieldnames or ()), rows


def lint_text(file: str, text: str) -> list[Mistake]:
    """Return every mistake of a file of the catalogue, given its text."""
    return lint(file, *parse(text))


def package_files() -> tuple[str, ...]:
    """Return the names of the files of package data."""
    data = files("steadygpu.catalog") / "data"
    return tuple(sorted(p.name for p in data.iterdir() if p.name.endswith(".csv")))


def lint_package() -> list[Mistake]:
    """Return every mistake of package data; there is none in a release."""
    return [m for file in package_files() for m in lint_text(file, package_text(file))]
