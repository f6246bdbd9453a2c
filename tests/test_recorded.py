"""Recorded texts of every form against the evidence they must give, and what damage does to them."""

import json
import math
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from damage import broken, cuts, damaged, harmless
from pipeline import evidence, read, report
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.readers.kinds import KINDS
from steadygpu.report.as_json import report_dict
from steadygpu.wire.dump import dump_json
from steadygpu.wire.schema import schema_text

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.txt"))
BODIES = {path.name: path.read_bytes() for path in RECORDED}
NAMES = list(BODIES)
_PLAIN = {"device", "at", "absent", "sources", "last_at"}


def shown(value: object) -> str:
    if isinstance(value, DeviceRef):
        names = {f.name: v for f in fields(value) if (v := getattr(value, f.name)) is not None}
        return " ".join(f"{k}={v}" for k, v in names.items())
    if isinstance(value, Moment):
        parts = {f.name: v for f in fields(value) if (v := getattr(value, f.name)) != f.default}
        return " ".join(f"{k}={v}" for k, v in parts.items()) or "unknown"
    return repr(value)


def told(fact: Fact) -> str:
    own = {
        f.name: value
        for f in fields(fact)  # type: ignore[arg-type]
        if f.name not in _PLAIN and (value := getattr(fact, f.name)) not in (None, ())
    }
    lines = [f"{type(fact).__name__} [{shown(fact.device)}] at {shown(fact.at)}"]
    lines += [f"  {name} = {shown(value)}" for name, value in own.items()]
    lines += [f"  {a.field} absent: {a.reason}" for a in fact.absent]
    lines += [f"  from {s.first}-{s.last}" for s in fact.sources]
    return "\n".join(lines)


def facts(readings: list[Reading]) -> list[Fact]:
    return [fact for reading in readings for fact in reading.facts]


def readings(name: str, body: bytes) -> list[Reading]:
    return [reading for _, reading in read({name: body})]


def test_every_kind_has_a_recorded_text() -> None:
    assert {kind.name for kind in KINDS} == {
        name.partition("--")[0].removesuffix(".txt") for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_text_gives_its_evidence(name: str, golden: Callable[[str, str], None]) -> None:
    kinds = {text.kind for text, _ in read({name: BODIES[name]})}
    assert kinds - {None, "nvidia-smi-message"} <= {name.partition("--")[0]}
    seen = readings(name, BODIES[name])
    text = "\n".join(told(fact) for fact in facts(seen))
    text += "".join(f"\ngap {g.where.first}: {g.why}" for r in seen for g in r.gaps)
    golden(f"evidence/{name}", text + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_reading_twice_gives_equal_values(name: str) -> None:
    assert readings(name, BODIES[name]) == readings(name, BODIES[name])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", harmless, ids=lambda how: how.__name__)
def test_what_a_paste_does_to_lines_loses_no_fact(name: str, how: Callable[[bytes], bytes]) -> None:
    def plain(fact: Fact) -> str:
        return "\n".join(ln for ln in told(fact).split("\n") if not ln.startswith("  from"))

    before = sorted(plain(fact) for fact in facts(readings(name, BODIES[name])))
    after = sorted(plain(fact) for fact in facts(readings(name, how(BODIES[name]))))
    assert before == after


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", broken, ids=lambda how: how.__name__)
def test_broken_order_is_read_without_raising(name: str, how: Callable[[bytes], bytes]) -> None:
    for text, reading in read({name: how(BODIES[name])}):
        assert reading.read_to >= 0
        assert "broke" not in " ".join(gap.why for gap in reading.gaps), text.kind


@pytest.mark.parametrize("name", NAMES)
def test_cut_at_every_byte_it_is_read_without_raising(name: str) -> None:
    for body in cuts(BODIES[name]):
        for reading in readings(name, body):
            assert "broke" not in " ".join(gap.why for gap in reading.gaps)


@given(damaged(list(BODIES.items())))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_damaged_text_is_read_and_judged_without_raising(case: tuple[str, bytes]) -> None:
    name, body = case
    for _, reading in read({name: body}):
        assert "broke" not in " ".join(gap.why for gap in reading.gaps)
        for fact in reading.facts:
            for f in fields(fact):  # type: ignore[arg-type]
                value = getattr(fact, f.name)
                if f.name.endswith(("_bytes", "_mhz", "_w", "_ratio")) and isinstance(
                    value, int | float
                ):
                    assert not math.isnan(value)
                    assert abs(value) < 1e18
    for host in report({name: body}).hosts:
        assert not host.coverage.broken


def test_all_recorded_texts_are_judged_together() -> None:
    bodies: dict[str, str | bytes] = dict(BODIES)
    hosts = evidence(bodies)
    assert {"gpu-07", "gpu-08", "node-12", "rechner"} <= {host.host for host in hosts}
    assert not any(host.coverage.broken for host in report(bodies).hosts)


@pytest.mark.parametrize("name", NAMES)
def test_the_json_of_each_holds_to_its_schema(name: str) -> None:
    told = json.loads(dump_json(report_dict(report({name: BODIES[name]}))))
    jsonschema.validate(told, json.loads(schema_text("report")))
