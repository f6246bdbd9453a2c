"""Reads `dcgmi diag -r N`: the table and the JSON (-j) of test results.

Covers DCGM 2.0 to 4.5. Up to 3.x a result names its cards beside it (Pass - All, Fail - GPU: 3), in 4.x below it
(GPU2: Fail); the JSON of 2.x and 3.x has `gpu_ids` as comma text and warnings as text, that of 4.x entities and
warnings with codes. Messages are broken within words.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from steadygpu.evidence.dcgm import DiagResult
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.driver import DriverVersion
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.readers.dcgm_words import SAYS_LIMIT, facts_of, joined
from steadygpu.readers.json_lines import Parsed, Step, Value, parse

ASK = "dcgmi diag -r 1, with nv-hostengine running (systemctl start nvidia-dcgm)"
WIDTH = 45  # dcgmi/Diag.cpp, DATA_INFO_TAG_LEN: where a message is broken
_LONGEST = 400
_START = re.compile(r"Successfully ran diagnostic for group\.?\s*$")
_ERROR = re.compile(
    r"Error: (?:Unable to (?:complete|run) diagnostic|Diagnostic could not be run|Diagnostic can only)"
)
_RULE = re.compile(r"\+[-=]{3,}\+[-=]{3,}\+\s*$")
_CATEGORY = re.compile(r"[|+]-{3,}  (?P<name>[A-Za-z][\w ]{1,30}?)  -+\+-+[|+]\s*$")
_ROW = re.compile(r"\|(?P<left>.{1,80}?)\|(?P<right>.{1,300})\|\s*$")
_RESULT = re.compile(
    r"(?P<word>Pass|Fail|Warn|Warning|Skip|Skipped|Not [Rr]un|PASS|FAIL|WARN|SKIP(?:PED)?)"
    r"(?: - (?:All|GPUs?: ?(?P<gpus>\d{1,3}(?:, ?\d{1,3}){0,127})))?"
)
_CARD_RESULT = re.compile(r"GPU ?(?P<gpu>\d{1,3}): ?(?P<word>Pass|Fail|Warn|Skip|Not Run)")
_MESSAGE = re.compile(r"(?P<kind>Warning|Error|Info)s?(?::? ?GPU ?(?P<gpu>\d{1,3}))?:?")
_GPU = re.compile(r"\bGPU ?(\d{1,3})\b")
_WORDS = {
    "pass": "pass", "fail": "fail", "warn": "warn", "warning": "warn", "skip": "skip", "skipped": "skip",
    "not run": "not_run", "notrun": "not_run",
}  # fmt: skip
_VERSION = re.compile(r"\d{2,4}(?:\.\d{1,4}){1,2}")


@dataclass(slots=True)
class _Test:
    """One test: for each card (None is all of them) its result and line, and its messages."""

    name: str
    category: str | None
    at: int
    results: dict[int | None, tuple[str, list[int]]] = field(default_factory=dict)
    messages: list[tuple[str, int | None, list[int], list[str]]] = field(default_factory=list)


def read_dcgmi_diag(lines: Lines) -> Reading:
    """Return one result for each test and card, and what their messages prove of the cards."""
    tests: list[_Test] = []
    facts: list[Fact] = []
    gaps: list[Gap] = []
    category: str | None = None
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        if _ERROR.match(line):
            gaps.append(
                Gap(
                    where=lines.cite(at),
                    why=f"the diagnostic did not run: {line.strip()[:160]}",
                    ask=ASK,
                )
            )
        elif found := _CATEGORY.match(line):
            category = found["name"].strip().lower()
        elif row := _ROW.match(line):
            left, right = row["left"].strip(), row["right"]
            if left.startswith("="):
                pass
            elif category == "metadata":
                if left == "Driver Version Detected":
                    facts += _driver(lines, at, right.strip())
            elif left != "Diagnostic" or right.strip() != "Result":
                _take(tests, category, left, right, at)
        elif not _RULE.match(line) and (read_to or not _START.match(line)):
            break
        read_to = at + 1
    for test in tests:
        facts += _facts(lines, test)
    return Reading(facts=tuple(facts), gaps=tuple(gaps), read_to=read_to)


def _take(tests: list[_Test], category: str | None, left: str, right: str, at: int) -> None:
    """Take one row of the table: a test, a card of the last test, a message, or more of one."""
    words = right.strip()
    message = _MESSAGE.fullmatch(left)
    if message and (tests or category):
        if not tests or (message["kind"] == "Error" and tests[-1].category != category):
            tests.append(_Test(name=category or "diagnostic", category=category, at=at))
            tests[-1].results[None] = ("fail", [at])
        gpu = int(message["gpu"]) if message["gpu"] else None
        tests[-1].messages.append((message["kind"].lower(), gpu, [at], [right[1:]]))
    elif left:
        test = _Test(name=_word(left), category=category, at=at)
        if result := _RESULT.fullmatch(words):
            _result(test, result["word"], result["gpus"], at)
            tests.append(test)
    elif tests and (one := _CARD_RESULT.fullmatch(words)):
        _result(tests[-1], one["word"], one["gpu"], at)
    elif tests and (result := _RESULT.fullmatch(words)):
        _result(tests[-1], result["word"], result["gpus"], at)
    elif tests and tests[-1].messages and words:
        tests[-1].messages[-1][2].append(at)
        tests[-1].messages[-1][3].append(right[1:])


def _result(test: _Test, word: str, gpus: str | None, at: int) -> None:
    known = _WORDS[word.lower()]
    for gpu in [int(g) for g in gpus.split(",")] if gpus else [None]:
        test.results.setdefault(gpu, (known, [at]))


def _word(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:60]


def _facts(lines: Lines, test: _Test) -> list[Fact]:
    out: list[Fact] = []
    told: dict[int | None, tuple[str, list[int]]] = {}
    for kind, named, rows, chunks in test.messages:
        says = joined(chunks, WIDTH)
        found = _GPU.search(says)
        gpu = named if named is not None else int(found[1]) if found else None
        if kind != "info" or gpu not in told:
            told[gpu] = (says, rows)
        if gpu is not None and kind != "info":
            out += facts_of(says, _card(lines, gpu), tuple(lines.cite(r, r) for r in rows))
            if gpu not in test.results and None in test.results:
                # The card that a message names is the one that the result is about.
                test.results[gpu] = (test.results[None][0], [*test.results[None][1], *rows])
    if any(gpu is not None for gpu in test.results):
        test.results.pop(None, None)
    for gpu, (result, rows) in test.results.items():
        message = told.get(gpu)
        more = message[1] if message else []
        sources = [lines.cite(row, row, "result", "test") for row in rows]
        sources += [lines.cite(row, row, "says") for row in more if row not in rows]
        out.append(
            DiagResult(
                device=_card(lines, gpu), test=test.name, category=test.category, result=result,
                says=message[0] if message else None, sources=tuple(sources),
            )
        )  # fmt: skip
    return out


def _card(lines: Lines, gpu: int | None, serials: dict[int, str] | None = None) -> DeviceRef:
    if gpu is None:
        return host_ref()
    serial = (serials or {}).get(gpu)
    return DeviceRef(kind="card", index=gpu, serial=serial, text=lines.name)


def _driver(lines: Lines, at: int, word: str) -> list[Fact]:
    if not _VERSION.fullmatch(word):
        return []
    source = lines.cite(at, at, "version")
    return [DriverVersion(device=host_ref(), part="module", version=word, sources=(source,))]


def read_dcgmi_diag_json(lines: Lines) -> Reading:
    """Return one result for each test and card of the JSON form; a run that failed is a gap."""
    parsed = parse(lines)
    roots = [v for v in parsed.values if v.path[0] in ("DCGM Diagnostic", "DCGM GPU Diagnostic")]
    if not roots and not (parsed.values and parsed.values[0].path[0] == "DCGM Diagnostic"):
        return Reading()
    facts: list[Fact] = []
    gaps: list[Gap] = []
    results: dict[tuple[Step, ...], list[Value]] = defaultdict(list)
    names: dict[tuple[Step, ...], str] = {}
    for value in parsed.values:
        path, last = value.path, value.path[-1]
        if last == "runtime_error" and isinstance(value.value, str):
            why = f"the diagnostic did not run: {value.value[:200]}"
            gaps.append(Gap(where=lines.cite(value.at), why=why, ask=ASK))
        elif last == "Driver Version Detected" or last == "driver_version":
            facts += _driver(lines, value.at, str(value.value))
        elif "results" in path:
            results[path[: path.index("results") + 2]].append(value)
        elif last in ("name", "category") and isinstance(value.value, str):
            names[path] = value.value
    serials = _serials(parsed)
    for place, values in results.items():
        facts += _json_result(lines, place, values, names, serials)
    if not parsed.whole and parsed.read_to:
        gaps.append(Gap(where=lines.cite(parsed.read_to - 1), why="the JSON is cut"))
    return Reading(facts=tuple(facts), gaps=tuple(gaps), read_to=parsed.read_to)


def _serials(parsed: Parsed) -> dict[int, str]:
    """Return the serial number of each card that the entity groups name."""
    entities: dict[tuple[Step, ...], dict[Step, Value]] = defaultdict(dict)
    groups = {
        v.path[1]: v.value for v in parsed.values
        if v.path[0] == "entity_groups" and v.path[-1] == "entity_group" and len(v.path) == 3
    }  # fmt: skip
    for value in parsed.values:
        if value.path[0] == "entity_groups" and len(value.path) == 5:
            entities[value.path[:4]][value.path[4]] = value
    out: dict[int, str] = {}
    for place, cells in entities.items():
        number, serial = cells.get("entity_id"), cells.get("serial_num")
        if groups.get(place[1]) not in ("GPU", None) or number is None or serial is None:
            continue
        if (
            isinstance(number.value, float)
            and isinstance(serial.value, str)
            and serial.value.strip()
        ):
            out[round(number.value)] = serial.value.strip()[:40]
    return out


def _json_result(
    lines: Lines, place: tuple[Step, ...], values: list[Value],
    names: dict[tuple[Step, ...], str], serials: dict[int, str],
) -> list[Fact]:  # fmt: skip
    test = names.get((*place[:-2], "name"))
    category = names.get((*place[:-4], "category"))
    cells = {v.path[-1]: v for v in values if len(v.path) == len(place) + 1}
    status = cells.get("status")
    word = _WORDS.get(str(status.value).strip().lower()) if status is not None else None
    if test is None or status is None or word is None:
        return []
    told = [
        v for v in values
        if isinstance(v.value, str) and ("warnings" in v.path or "warning" in v.path or "info" in v.path)
    ]  # fmt: skip
    warned = [v for v in told if "info" not in v.path] or told
    says = " ".join(str(v.value) for v in warned)[:SAYS_LIMIT].strip() or None
    out: list[Fact] = []
    for gpu in _gpus(cells):
        device = _card(lines, gpu, serials)
        sources = [lines.cite(status.at, status.at, "result", "test")]
        for value in warned:
            sources.append(lines.cite(value.at, value.at, "says"))
            if gpu is not None and "info" not in value.path and word != "pass":
                out += facts_of(str(value.value), device, (lines.cite(value.at, value.at),))
        out.append(
            DiagResult(
                device=device, test=_word(test), category=category.lower() if category else None,
                result=word, says=says, sources=tuple(dict.fromkeys(sources)),
            )
        )  # fmt: skip
    return out


def _gpus(cells: Mapping[Step, Value]) -> list[int | None]:
    """Return the cards that a result is about; None for the host."""
    ids = cells.get("gpu_ids") or cells.get("gpu_id")
    if ids is not None:
        words = [w.strip() for w in str(ids.value).split(",")]
        if isinstance(ids.value, float):
            words = [str(round(ids.value))]
        return [int(w) for w in words[:128] if re.fullmatch(r"\d{1,3}", w, re.ASCII)] or [None]
    entity, group = cells.get("entity_id"), cells.get("entity_group")
    number = entity.value if entity is not None else None
    on_card = group is None or group.value == "GPU"
    if on_card and isinstance(number, float) and 0 <= number < 1000:
        return [round(number)]
    return [None]
