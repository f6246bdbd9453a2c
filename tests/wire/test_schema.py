import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import jsonschema
import pytest

from report.sample_report import CARD, DISK_FOUND, SAMPLE, SICK
from steadygpu.report.as_json import report_dict
from steadygpu.verdict.answer import BOTTLENECKS, CORE, Report
from steadygpu.verdict.rule import ACTIONS, SEVERITIES, Outcome, Scope, Stage
from steadygpu.wire.dump import dump_json
from steadygpu.wire.schema import schema_names, schema_text

SCHEMA: dict[str, Any] = json.loads(schema_text("report"))


def check(report: Report) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(dump_json(report_dict(report)))
    jsonschema.Draft202012Validator(SCHEMA).validate(read)
    return read


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("report.json.txt", dump_json(report_dict(SAMPLE)).decode())


def test_sample_fits_the_schema() -> None:
    read = check(SAMPLE)
    assert read["hosts"][1]["host_from"] == "dmesg.txt:1"
    assert read["hosts"][1]["taken"] == {"wall": "2026-01-21T12:53:20.25Z", "error_s": 0.5}
    assert read["hosts"][0]["taken"] is None
    assert read["between_hosts"]["unclear"][0]["subject"]["label"] == "gpu-08"


def test_empty_report_fits_the_schema() -> None:
    assert check(Report(version="1", catalog="2", hosts=()))["summary"]["hosts"] == 0


def test_a_quote_is_kept_character_for_character() -> None:
    quote = check(SAMPLE)["hosts"][1]["findings"][1]["evidence"][0]["quote"]
    assert "\x1b]0;owned\x07" in quote
    assert "\u202e" in quote


def test_lone_surrogates_and_odd_numbers_do_not_break_it() -> None:
    odd = replace(
        DISK_FOUND, finding=replace(DISK_FOUND.finding, subject=replace(CARD, index=10**30))
    )
    assert check(replace(SAMPLE, hosts=(replace(SICK, findings=(odd,)),)))
    out = json.loads(dump_json({"a\udc80": ["\ud800é", float("nan"), -(2**70), True, None]}))
    assert out == {"a\\udc80": ["\\ud800é", None, -(2**70), True, None]}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("severity", SEVERITIES), ("action", ACTIONS), ("bottleneck_kind", BOTTLENECKS),
        ("stage", list(Stage)), ("scope", get_args(Scope)), ("outcome", get_args(Outcome)),
    ],
)  # fmt: skip
def test_enums_are_those_of_the_code(name: str, values: list[str]) -> None:
    assert sorted(SCHEMA["$defs"][name]["enum"]) == sorted(values)


def test_core_questions_are_those_of_the_code() -> None:
    core = SCHEMA["$defs"]["answer"]["properties"]["core"]["properties"]
    assert tuple(core) == CORE


@pytest.mark.parametrize("part", ["health", "severity"])
def test_the_schema_refuses_other_words(part: str) -> None:
    broken = report_dict(SAMPLE)
    sick = broken["hosts"][1]
    (sick["answer"] if part == "health" else sick["findings"][0])[part] = "so-so"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, SCHEMA)


def test_unknown_fields_are_allowed() -> None:
    jsonschema.validate({**report_dict(SAMPLE), "new": 1}, SCHEMA)


@pytest.mark.parametrize("name", ["nothing", "../dump.py", "report-1.json", ""])
def test_an_unknown_schema_names_the_known(name: str) -> None:
    with pytest.raises(ValueError, match="report-1"):
        schema_text(name)


def test_names() -> None:
    assert {"report", "report-1"} <= set(schema_names())
