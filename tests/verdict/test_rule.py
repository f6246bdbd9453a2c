from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import GpuLoad, GpuMode, GpuTemperature
from steadygpu.evidence.kernel_log import XidEvent
from steadygpu.evidence.source import Absent, Reason, Source
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Log,
    Maybe,
    Mine,
    Need,
    NotHere,
    One,
    Rule,
    Seen,
    Stage,
    Trend,
    Unclear,
    Whole,
    cite,
    lacking,
    rule,
    the_host,
)

CARD = DeviceRef(kind="card", index=0, host="gpu-01")
WORDS: dict[str, Any] = {
    "title": "the card is odd", "severity": "warning", "action": "watch", "meaning": "It is odd.",
    "decision": "Watch it.", "next_step": "nvidia-smi -q", "references": ("our own",),
}  # fmt: skip


def made(check: Any, **changes: Any) -> Rule:
    return rule(**{"id": "busy.card-odd", **WORDS, **changes})(check)


def test_a_rule_is_made_of_its_function() -> None:
    def check(load: One[GpuLoad], others: All[GpuMode]) -> Iterator[Seen]:
        yield Fine(subject=load.device)

    one = made(check, points_to="compute", rules_out=True, scope="host", aliases=("busy.old",))
    assert one.id == "busy.card-odd"
    assert one.stage is Stage.BUSY
    assert one.needs == (Need(how="one", record=GpuLoad), Need(how="all", record=GpuMode))
    assert (one.points_to, one.rules_out, one.scope) == ("compute", True, "host")
    assert one.aliases == ("busy.old",)
    assert one.check is check


@pytest.mark.parametrize("stage", list(Stage))
def test_the_stage_is_the_first_half_of_the_id(stage: Stage) -> None:
    def check(load: One[GpuLoad]) -> Iterator[Seen]:
        yield Fine(subject=load.device)

    assert made(check, id=f"{stage}.card-odd").stage is stage


def test_an_id_of_no_stage_is_misuse() -> None:
    def check(load: One[GpuLoad]) -> Iterator[Seen]:
        yield Fine(subject=load.device)

    for odd in ("card-odd", "odd.card", ""):
        with pytest.raises(ValueError, match="Stage"):
            made(check, id=odd)


def test_every_way_to_ask_is_understood() -> None:
    def check(
        log: Log[XidEvent], all_: All[GpuLoad], mine: Mine[GpuLoad], trend: Trend[GpuLoad],
        maybe: Maybe[GpuMode], whole: Whole,
    ) -> Iterator[Seen]:  # fmt: skip
        yield from ()

    assert made(check).needs == (
        Need(how="log", record=XidEvent), Need(how="all", record=GpuLoad),
        Need(how="mine", record=GpuLoad), Need(how="trend", record=GpuLoad),
        Need(how="maybe", record=GpuMode), Need(how="whole", record=None),
    )  # fmt: skip


def test_a_rule_that_asks_for_nothing_is_misuse() -> None:
    def check() -> Iterator[Seen]:
        yield from ()

    with pytest.raises(TypeError, match=r"busy\.card-odd asks for nothing"):
        made(check)


def test_a_parameter_that_is_bound_to_nothing_is_misuse() -> None:
    def check(load: GpuLoad) -> Iterator[Seen]:
        yield from ()

    with pytest.raises(TypeError, match="parameter load: use One"):
        made(check)


def test_one_of_an_event_is_misuse() -> None:
    def check(event: One[XidEvent]) -> Iterator[Seen]:
        yield from ()

    with pytest.raises(TypeError, match="parameter event: One of an event; ask for Log"):
        made(check)


def test_a_rule_is_about_its_first_parameter() -> None:
    def one(load: One[GpuLoad], modes: All[GpuMode]) -> Iterator[Seen]:
        yield from ()

    def log(events: Log[XidEvent], whole: Whole, mode: Maybe[GpuMode]) -> Iterator[Seen]:
        yield from ()

    assert made(one).about() == {"GpuLoad"}
    assert made(log).about() == {"XidEvent"}


def test_a_rule_about_whole_tuples_is_about_all_of_them() -> None:
    def check(events: All[XidEvent], modes: All[GpuMode], whole: Whole) -> Iterator[Seen]:
        yield from ()

    assert made(check).about() == {"XidEvent", "GpuMode"}


# Absence


def heat(**fields_: Any) -> GpuTemperature:
    return GpuTemperature(device=CARD, sources=(Source(name="q.txt", first=7),), **fields_)


def test_what_is_there_is_not_lacking() -> None:
    assert lacking(heat(gpu_c=50.0, memory_c=60.0), "gpu_c", "memory_c") is None
    assert lacking(heat()) is None


def test_zero_and_false_are_not_lacking() -> None:
    assert lacking(heat(gpu_c=0.0), "gpu_c") is None
    mode = GpuMode(device=CARD, sources=(), ecc_on=False)
    assert lacking(mode, "ecc_on") is None


def test_what_the_device_has_not_is_not_here() -> None:
    proof = Source(name="q.txt", first=9)
    seen = lacking(heat(absent=(Absent(field="gpu_c", reason="not_supported", source=proof),)), "gpu_c")  # fmt: skip
    assert seen == NotHere(subject=CARD, because="gpu c is not supported", source=proof)


@pytest.mark.parametrize(
    ("reason", "words", "record"),
    [
        ("not_permitted", "needs more rights", None),
        ("error", "reads as an error", None),
        ("not_printed", "was not printed", "GpuTemperature"),
        ("cut", "was cut off", "GpuTemperature"),
        ("disagree", "differs", None),
    ],
)
def test_every_other_absence_is_unclear_never_fine(
    reason: Reason, words: str, record: str | None
) -> None:
    absent = Absent(field="gpu_c", reason=reason, ask="run it as root")
    seen = lacking(heat(absent=(absent,)), "gpu_c")
    assert isinstance(seen, Unclear)
    assert words in seen.why
    assert seen.ask == "run it as root"
    assert seen.record == record


def test_a_field_that_nobody_explains_was_not_printed() -> None:
    seen = lacking(heat(), "gpu_c")
    assert seen == Unclear(subject=CARD, why="gpu c was not printed", record="GpuTemperature")


def test_the_first_field_that_is_missing_speaks() -> None:
    seen = lacking(heat(gpu_c=50.0), "gpu_c", "slowdown_c", "memory_c")
    assert isinstance(seen, Unclear)
    assert seen.why.startswith("slowdown c")


# Sources


def test_cite_gives_the_places_that_prove_a_field() -> None:
    one, two = (
        Source(name="q.txt", first=n, fields=(f,)) for n, f in ((7, "gpu_c"), (9, "memory_c"))
    )
    record = GpuTemperature(device=CARD, sources=(one, two))
    assert cite(record, "gpu_c") == (one,)
    assert cite(record, "gpu_c", "memory_c") == (one, two)
    whole = Source(name="t.txt", first=1)
    assert cite(GpuTemperature(device=CARD, sources=(one, whole)), "memory_c") == (whole,)


def test_cite_gives_every_place_where_none_is_tagged_so() -> None:
    one = Source(name="q.txt", first=7, fields=("gpu_c",))
    assert cite(GpuTemperature(device=CARD, sources=(one,)), "fan_ratio") == (one,)


def test_the_host_of_a_record_is_named_as_the_record_names_it() -> None:
    assert the_host(heat()) == host_ref("gpu-01")


def test_what_a_rule_says_cannot_be_changed() -> None:
    seen = Finding(subject=CARD, says="odd", sources=())
    with pytest.raises(AttributeError):
        seen.says = "even"  # type: ignore[misc]
    assert {f.name for f in fields(Finding)} >= {"severity", "action", "touches", "count"}
