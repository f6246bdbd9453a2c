from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.ecc import EccCounters
from steadygpu.evidence.gpu import GpuLoad, GpuMode, GpuPower
from steadygpu.evidence.kernel_log import KernelLogSpan, XidEvent
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact, HostEvidence
from steadygpu.evidence.source import QUOTE_LIMIT, Source
from steadygpu.verdict.judge import MANY_FACTS, MANY_SOURCES, fewer_sources, judge
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Log,
    Maybe,
    Mine,
    NotHere,
    One,
    Rule,
    Seen,
    Trend,
    Unclear,
    Verdict,
    Whole,
    rule,
)

A = DeviceRef(kind="card", uuid="GPU-aa")
B = DeviceRef(kind="card", uuid="GPU-bb")
PROOF = (Source(name="q.txt", first=7, last=7, quote="a line"),)


def made(check: Any, **changes: Any) -> Rule:
    words: dict[str, Any] = {
        "id": "busy.card-odd", "title": "the card is odd", "severity": "warning",
        "action": "fix-config", "meaning": "It is odd.", "decision": "Watch it.",
        "next_step": "nvidia-smi -q", "references": ("our own",), **changes,
    }  # fmt: skip
    return rule(**words)(check)


def host(
    *facts: Fact, given: Sequence[type[Any]] = (), name: str | None = "gpu-01"
) -> HostEvidence:
    names = {type(f).__name__ for f in facts} | {c.__name__ for c in given}
    return HostEvidence(host=name, taken=UNKNOWN, facts=tuple(facts), given=frozenset(names))


def verdict(check: Any, *facts: Fact, given: Sequence[type[Any]] = (), **changes: Any) -> Verdict:
    (one,) = judge([made(check, **changes)], host(*facts, given=given), lambda name: f"show {name}")
    return one


def load(device: DeviceRef = A, wall: float | None = None, busy: float | None = 0.5) -> GpuLoad:
    at = UNKNOWN if wall is None else Moment(wall=wall)
    return GpuLoad(device=device, at=at, busy_ratio=busy, sources=PROOF)


def power(device: DeviceRef = A, wall: float | None = None, name: str = "q.txt") -> GpuPower:
    at = UNKNOWN if wall is None else Moment(wall=wall)
    return GpuPower(device=device, at=at, draw_w=wall, sources=(Source(name=name),))


def mode(device: DeviceRef = A) -> GpuMode:
    return GpuMode(device=device, sources=PROOF)


def xid(device: DeviceRef = A, boot_s: float = 5.0) -> XidEvent:
    return XidEvent(device=device, at=Moment(boot_id="b", boot_s=boot_s), code=31, sources=PROOF)


def fine_of_each(load: One[GpuLoad]) -> Iterator[Seen]:
    yield Fine(subject=load.device)


def found(device: DeviceRef = A, says: str = "odd", **fields: Any) -> Finding:
    return Finding(**{"subject": device, "says": says, "sources": PROOF, **fields})


def saying(*seen: Seen) -> Any:
    def check(loads: All[GpuLoad]) -> Iterator[Seen]:
        yield from seen

    return check


# Outcomes


def test_a_rule_whose_text_was_not_given_is_not_asked() -> None:
    assert verdict(fine_of_each, mode()).outcome == "not asked"


def test_a_rule_whose_text_was_given_and_held_nothing_is_unknown() -> None:
    one = verdict(fine_of_each, given=[GpuLoad])
    assert (one.outcome, one.seen) == ("unknown", ())


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        ((Fine(subject=A),), "pass"),
        ((found(),), "fail"),
        ((NotHere(subject=A, because="no"),), "n/a"),
        ((Unclear(subject=A, why="no"),), "unknown"),
        ((Fine(subject=A), NotHere(subject=B, because="no")), "pass"),
        ((Fine(subject=A), Unclear(subject=B, why="no")), "unknown"),
        ((NotHere(subject=A, because="no"), Unclear(subject=B, why="no")), "unknown"),
        ((found(), Unclear(subject=B, why="no"), Fine(subject=host_ref())), "fail"),
        ((), "unknown"),
    ],
)
def test_the_worst_of_what_was_seen_is_the_outcome(seen: tuple[Seen, ...], outcome: str) -> None:
    assert verdict(saying(*seen), load()).outcome == outcome


def test_each_device_is_judged() -> None:
    one = verdict(fine_of_each, load(A), load(B))
    assert [s.subject for s in one.seen] == [A, B]


def test_a_rule_that_raises_is_broken_and_the_others_still_run() -> None:
    def broken(load: One[GpuLoad]) -> Iterator[Seen]:
        yield Fine(subject=load.device)
        raise ZeroDivisionError("by nothing")

    rules = [made(broken), made(fine_of_each, id="busy.card-even")]
    one, two = judge(rules, host(load()), lambda _: None)
    assert (one.outcome, one.error, one.seen) == ("broken", "ZeroDivisionError: by nothing", ())
    assert two.outcome == "pass"


@pytest.mark.parametrize(
    ("finding", "error"),
    [
        (found(severity="critical"), "ValueError: severity critical above warning"),
        (found(action="reboot"), "ValueError: action reboot above fix-config"),
        (found(sources=()), "ValueError: a finding without a source"),
    ],
)
def test_a_finding_may_not_raise_what_its_rule_says_nor_stand_without_proof(
    finding: Finding, error: str
) -> None:
    one = verdict(saying(finding), load())
    assert (one.outcome, one.error) == ("broken", error)


def test_a_finding_may_lower_what_its_rule_says() -> None:
    (seen,) = verdict(saying(found(severity="info", action="watch")), load()).seen
    assert isinstance(seen, Finding)
    assert (seen.severity, seen.action) == ("info", "watch")


def test_the_judge_finds_the_command_for_what_is_unclear() -> None:
    (seen,) = verdict(saying(Unclear(subject=A, why="no", record="GpuMode")), load()).seen
    assert seen == Unclear(subject=A, why="no", ask="show GpuMode", record="GpuMode")
    (seen,) = verdict(saying(Unclear(subject=A, why="no", ask="x", record="GpuMode")), load()).seen
    assert isinstance(seen, Unclear)
    assert seen.ask == "x"


# What a rule is given


def gave(check: Any, *facts: Fact, given: Sequence[type[Any]] = ()) -> None:
    one = verdict(check, *facts, given=given)
    assert one.outcome == "pass", one


def test_all_is_every_record_of_the_host_and_may_be_empty() -> None:
    def check(loads: All[GpuLoad], modes: All[GpuMode], maybe: Maybe[GpuPower]) -> Iterator[Seen]:
        assert [x.device for x in loads] == [A, B]
        assert modes == ()
        assert maybe is None
        yield Fine(subject=host_ref())

    gave(check, load(A), load(B))


def test_maybe_first_is_a_record_or_none() -> None:
    def there(mode: Maybe[GpuMode], loads: All[GpuLoad]) -> Iterator[Seen]:
        assert mode is not None
        yield Fine(subject=host_ref())

    def gone(mode: Maybe[GpuMode], loads: All[GpuLoad]) -> Iterator[Seen]:
        assert mode is None
        yield Fine(subject=host_ref())

    gave(there, mode(), load())
    gave(gone, load())


def test_other_parameters_are_of_the_first_ones_device() -> None:
    def check(
        load: One[GpuLoad], mode: One[GpuMode], powers: Mine[GpuPower], every: All[GpuPower],
    ) -> Iterator[Seen]:  # fmt: skip
        assert mode.device == load.device
        assert [p.device for p in powers] == [load.device]
        assert [p.device for p in every] == [A, B]
        yield Fine(subject=load.device)

    gave(check, load(A), load(B), mode(A), mode(B), power(A), power(B))


def test_a_missing_one_is_unclear_and_names_what_to_run() -> None:
    def check(load: One[GpuLoad], mode: One[GpuMode]) -> Iterator[Seen]:
        yield Fine(subject=load.device)

    one = verdict(check, load(A), load(B), mode(A))
    assert one.outcome == "unknown"
    unclear = next(s for s in one.seen if isinstance(s, Unclear))
    assert unclear.subject == B
    assert unclear.why == "no text tells gpu mode of this device"
    assert unclear.ask == "show GpuMode"


def test_a_missing_one_of_a_rule_about_the_host_is_unclear_for_the_host() -> None:
    def check(loads: All[GpuLoad], mode: One[GpuMode]) -> Iterator[Seen]:
        yield Fine(subject=host_ref())

    (seen,) = verdict(check, load()).seen
    assert isinstance(seen, Unclear)
    assert seen.subject == host_ref("gpu-01")


def test_a_missing_maybe_is_none() -> None:
    def check(load: One[GpuLoad], mode: Maybe[GpuMode]) -> Iterator[Seen]:
        assert (mode is None) == (load.device == B)
        yield Fine(subject=load.device)

    gave(check, load(A), load(B), mode(A))


def test_a_log_is_the_events_of_a_device_in_order_and_says_whether_it_is_whole() -> None:
    def check(events: Log[XidEvent], whole: Whole) -> Iterator[Seen]:
        assert [e.at.boot_s for e in events] == [5.0, 9.0]
        assert whole is True
        yield Fine(subject=events[0].device)

    span = KernelLogSpan(device=host_ref("gpu-01"), whole=True, sources=PROOF)
    gave(check, xid(A, 5.0), xid(A, 9.0), span)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [((), False), ((True,), True), ((True, None), False), ((None,), False), ((True, True), True)],
)
def test_an_empty_log_is_asked_for_the_host_and_whole_only_where_every_part_is(
    parts: tuple[bool | None, ...], expected: bool
) -> None:
    def check(events: Log[XidEvent], whole: Whole) -> Iterator[Seen]:
        assert events == ()
        assert whole is expected
        yield Fine(subject=host_ref())

    spans = [
        KernelLogSpan(device=host_ref("gpu-01"), boot=n, whole=w, sources=PROOF)
        for n, w in enumerate(parts)
    ]
    gave(check, *spans, given=[XidEvent])


def test_a_gauge_is_judged_at_each_of_its_moments_and_a_counter_at_its_last() -> None:
    calls: list[Any] = []

    def gauges(load: One[GpuLoad]) -> Iterator[Seen]:
        calls.append(load.busy_ratio)
        yield Fine(subject=load.device)

    def counters(counter: One[EccCounters]) -> Iterator[Seen]:
        calls.append(counter.corrected)
        yield Fine(subject=counter.device)

    gave(gauges, load(A, 1.0, 0.1), load(A, 2.0, 0.2))
    gave(counters, *(EccCounters(device=A, scope="aggregate", corrected=n, sources=PROOF) for n in (2, 57)))  # fmt: skip
    assert calls == [0.1, 0.2, 57]


def test_a_trend_leaves_out_what_has_no_moment() -> None:
    def check(loads: Trend[GpuLoad]) -> Iterator[Seen]:
        assert [x.busy_ratio for x in loads] == [0.1, 0.2]
        yield Fine(subject=A)

    gave(check, load(A, 1.0, 0.1), load(A, None, 0.9), load(A, 2.0, 0.2))


def test_mine_first_is_every_record_of_each_device() -> None:
    def check(loads: Mine[GpuLoad]) -> Iterator[Seen]:
        assert len(loads) == (2 if loads[0].device == A else 1)
        yield Fine(subject=loads[0].device)

    gave(check, load(A, 1.0), load(A, 2.0), load(B, 1.0))


# Which record of several


def beside(first: GpuLoad, *powers: GpuPower) -> GpuPower:
    out: list[GpuPower] = []

    def check(load: One[GpuLoad], power: One[GpuPower]) -> Iterator[Seen]:
        out.append(power)
        yield Fine(subject=load.device)

    gave(check, first, *powers)
    return out[0]


def test_of_several_moments_the_same_one_is_taken_else_the_nearest() -> None:
    powers = [power(A, 10.0), power(A, 20.0), power(A, 30.0)]
    assert beside(load(A, 20.0), *powers) is powers[1]
    assert beside(load(A, 26.0), *powers) is powers[2]
    assert beside(load(A, 5.0), *powers) is powers[0]


def test_of_one_moment_the_same_text_is_taken() -> None:
    powers = [power(A, 10.0, "other.txt"), power(A, 10.0, "q.txt")]
    assert beside(load(A, 10.0), *powers) is powers[1]


def test_where_moments_do_not_compare_the_first_is_taken() -> None:
    powers = [power(A, 10.0), power(A, 20.0)]
    assert beside(load(A, None), *powers) is powers[0]


def test_among_many_moments_the_nearest_is_taken_still() -> None:
    powers = [power(A, float(n)) for n in range(10 * MANY_FACTS)]
    for wall in (0.0, 3.0, 150.4, 319.0, 900.0, -5.0):
        nearest = min(powers, key=lambda p: abs((p.at.wall or 0.0) - wall))
        assert beside(load(A, wall), *powers) is nearest
    undated = [power(A) for _ in range(2 * MANY_FACTS)]
    assert beside(load(A, 250.2), *powers, *undated) is powers[250]
    assert beside(load(A, None), *powers) is powers[0]


# Folding


def test_findings_of_one_subject_are_one_finding() -> None:
    def at(wall: float) -> Moment:
        return Moment(wall=wall)

    seen = verdict(
        saying(
            found(says="97 C", first=at(200), last=at(210), count=2, touches=(B,)),
            found(says="98 C", first=at(100), last=at(120), touches=(B, host_ref())),
            found(says="97 C", first=at(300), last=at(300)),
            found(says="99 C"), found(says="96 C"),
        ),
        load(),
    ).seen  # fmt: skip
    (one,) = seen
    assert isinstance(one, Finding)
    assert one.says == "97 C; 98 C; 99 C; and 1 more"
    assert (one.first, one.last, one.count) == (at(100), at(300), 6)
    assert one.touches == (B, host_ref())
    assert one.sources == PROOF


def test_the_worst_finding_of_a_subject_speaks() -> None:
    mild, bad = found(says="warm", severity="info"), found(says="hot")
    for order in ((mild, bad), (bad, mild)):
        (one,) = verdict(saying(*order), load()).seen
        assert isinstance(one, Finding)
        assert (one.says, one.severity, one.count) == ("hot", None, 2)


def test_a_finding_at_no_moment_keeps_none() -> None:
    (one,) = verdict(saying(found(says="x"), found(says="y")), load()).seen
    assert isinstance(one, Finding)
    assert (one.first, one.last) == (UNKNOWN, UNKNOWN)


def test_a_finding_counts_before_fine_and_open_before_fine() -> None:
    fine, open_, no = (
        Fine(subject=A),
        Unclear(subject=A, why="no"),
        NotHere(subject=A, because="no"),
    )
    for seen, one in (
        ((fine, found()), found()), ((open_, found()), found()), ((fine, open_), open_),
        ((no, fine), fine), ((no, open_), open_), ((no, no), no),
    ):  # fmt: skip
        assert verdict(saying(*seen), load()).seen == (one,)


def test_what_was_seen_comes_in_order_of_name() -> None:
    assert [s.subject for s in verdict(saying(found(B), found(A)), load()).seen] == [A, B]


# Sources


def places(count: int, name: str = "dmesg") -> tuple[Source, ...]:
    return tuple(Source(name=name, first=n, last=n, quote=f"line {n}") for n in range(1, count + 1))


def test_a_dozen_sources_stay_as_they_are() -> None:
    assert fewer_sources(places(MANY_SOURCES)) == places(MANY_SOURCES)
    assert fewer_sources(()) == ()


def test_one_place_is_cited_once_with_all_its_fields() -> None:
    one = Source(name="q", first=3, last=3, fields=("width",))
    two = Source(name="q", first=3, last=3, fields=("speed", "width"))
    (only,) = fewer_sources((one, two))
    assert only.fields == ("width", "speed")


def test_more_sources_become_a_range_for_each_text() -> None:
    out = fewer_sources((*places(500), *places(40, "journal")))
    assert out[: MANY_SOURCES - 1] == places(MANY_SOURCES - 1)
    log, journal = out[MANY_SOURCES - 1 :]
    assert (log.name, log.first, log.last) == ("dmesg", MANY_SOURCES, 500)
    assert (journal.name, journal.first, journal.last) == ("journal", 1, 40)
    assert log.quote.startswith(f"line {MANY_SOURCES}\n")
    assert len(log.quote) <= QUOTE_LIMIT


def test_a_finding_of_many_lines_cites_few() -> None:
    (one,) = verdict(saying(found(sources=places(500))), load()).seen
    assert isinstance(one, Finding)
    assert len(one.sources) == MANY_SOURCES
