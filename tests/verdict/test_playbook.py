from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from report.sample_report import make_rule
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.driver import DriverVersion
from steadygpu.evidence.gpu import (
    CardListing,
    GpuClock,
    GpuClockReasons,
    GpuLoad,
    GpuMode,
    GpuTemperature,
)
from steadygpu.evidence.kernel_log import KernelLogSpan
from steadygpu.evidence.link import PciDevice, PcieLink
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact, HostEvidence
from steadygpu.evidence.source import Absent, Gap, Source
from steadygpu.evidence.storage import DiskLoad
from steadygpu.verdict.answer import BOTTLENECKS, CORE, HostAnswer
from steadygpu.verdict.playbook import answer_host, core_of, key_of
from steadygpu.verdict.rule import Finding, Fine, NotHere, Rule, Seen, Unclear, Verdict

CARD = DeviceRef(kind="card", uuid="GPU-aa", bdf="0000:17:00.0")
OTHER = DeviceRef(kind="card", uuid="GPU-bb", bdf="0000:31:00.0")
PORT = DeviceRef(kind="port", bdf="0000:00:01.1")
PROOF = (Source(name="q.txt", first=7, last=7, quote="a line"),)


def make(cls: type[Any], device: DeviceRef = CARD, **fields: Any) -> Any:
    return cls(**{"device": device, "sources": PROOF, **fields})


def listing(tool: str, listed: int = 1, **fields: Any) -> Any:
    return make(CardListing, host_ref(), tool=tool, listed=listed, **fields)


def version(part: str, text: str | None) -> Any:
    return make(DriverVersion, host_ref(), part=part, version=text)


SOUND: dict[str, tuple[Any, ...]] = {
    "cards": (listing("lspci"), listing("nvidia-smi-q")),
    "kernel_log": (make(KernelLogSpan, host_ref(), whole=True),),
    "throttle": (make(GpuTemperature, gpu_c=50.0), make(GpuClock), make(GpuClockReasons)),
    "ecc": (make(GpuMode, ecc_on=True),),
    "versions": (version("module", "570.133.20"), version("library", "570.133.20")),
}


def evidence(*facts: Fact, **fields: Any) -> HostEvidence:
    return HostEvidence(**{"host": "gpu-01", "taken": UNKNOWN, "facts": tuple(facts), **fields})


def sound(**changed: tuple[Any, ...]) -> HostEvidence:
    return evidence(*(f for facts in {**SOUND, **changed}.values() for f in facts))


@dataclass(frozen=True)
class Row:
    cause: str
    consequence: str
    relation: str = "same-card"
    window_s: float | None = None


def a_rule(rule_id: str, severity: str, action: str = "watch", **fields: Any) -> Rule:
    return replace(make_rule(rule_id, severity, action), **fields)  # type: ignore[arg-type]


def fail(rule: Rule, subject: DeviceRef = CARD, **fields: Any) -> Verdict:
    finding = Finding(**{"subject": subject, "says": "odd", "sources": PROOF, **fields})
    return Verdict(rule=rule, outcome="fail", seen=(finding,))


def passed(rule: Rule, because: str = "it is even", sources: tuple[Source, ...] = PROOF) -> Verdict:
    return Verdict(
        rule=rule, outcome="pass", seen=(Fine(subject=CARD, because=because, sources=sources),)
    )


def unknown(rule: Rule) -> Verdict:
    seen = Unclear(subject=CARD, why="not printed", ask="nvidia-smi -q")
    return Verdict(rule=rule, outcome="unknown", seen=(seen,))


def answered(host: HostEvidence, *verdicts: Verdict, rows: Sequence[Row] = ()) -> HostAnswer:
    return answer_host(host, verdicts, rows)


DRAIN = a_rule("silent.xid79-fallen-off-bus", "critical", "drain")
STORAGE = a_rule("feed.storage-saturated", "warning", "fix-feed", points_to="storage", rules_out=True)  # fmt: skip
THROTTLE = a_rule("throttle.hw-thermal", "warning", "watch", points_to="throttle", rules_out=True)
PCIE = a_rule("feed.pcie-width-low", "warning", "fix-feed", points_to="pcie", rules_out=True)
BUSY = a_rule("busy.compute-bound", "info", "none", points_to="compute")
NOTE = a_rule("silent.ecc-off", "info", "none")


# Health


@pytest.mark.parametrize("action", ["drain", "reset-gpu", "reboot"])
def test_what_takes_a_host_away_makes_it_unhealthy(action: str) -> None:
    rule = a_rule("silent.xid48", "critical", action)
    assert answered(sound(), fail(rule)).answer.health == "unhealthy"
    assert answered(evidence(), fail(rule)).answer.health == "unhealthy"
    lowered = fail(rule, severity="warning", action="watch")
    assert answered(sound(), lowered).answer.health == "degraded"


@pytest.mark.parametrize("severity", ["warning", "critical"])
def test_any_other_warning_makes_it_degraded(severity: str) -> None:
    rule = a_rule("stack.persistence-off", severity, "fix-config")
    assert answered(sound(), fail(rule)).answer.health == "degraded"


def test_a_host_that_answers_the_five_questions_and_shows_no_fault_is_healthy() -> None:
    for verdicts in ((), (fail(NOTE),), (passed(THROTTLE),), (unknown(THROTTLE),)):
        assert answered(sound(), *verdicts).answer.health == "healthy"


@pytest.mark.parametrize("question", CORE)
def test_a_host_that_leaves_one_question_open_is_unknown(question: str) -> None:
    answer = answered(sound(**{question: ()})).answer
    assert answer.health == "unknown"
    assert answer.core[question] is False


def test_a_host_without_evidence_is_unknown() -> None:
    answer = answered(evidence()).answer
    assert answer.health == "unknown"
    assert answer.core == dict.fromkeys(CORE, False)
    assert answer.bottleneck.kind == "undecided"


# The five questions


def core(question: str, *facts: Any) -> bool:
    return core_of(sound(**{question: facts}))[question]


def test_cards_are_counted_where_the_bus_and_the_driver_agree() -> None:
    assert core("cards", listing("lspci", 8), listing("nvidia-smi", 8), listing("nvidia-smi-L", 8))
    for facts in (
        (listing("lspci", 8), listing("nvidia-smi", 7)),
        (listing("nvidia-smi", 8),),
        (listing("lspci", 8),),
        (listing("lspci", 8, complete=False), listing("nvidia-smi", 8)),
        (listing("lspci", 8), listing("nvidia-smi", 8, complete=False)),
        (listing("lspci", 8), listing("nvidia-smi", 8, container=True)),
        (listing("lspci", 8), listing("nvidia-smi", 8), listing("nvidia-smi-L", 7)),
    ):
        assert not core("cards", *facts)


@pytest.mark.parametrize("whole", [(True,), (None,), (False,), (True, None)])
def test_a_kernel_log_counts_where_it_is_whole(whole: tuple[bool | None, ...]) -> None:
    spans = [make(KernelLogSpan, host_ref(), boot=n, whole=w) for n, w in enumerate(whole)]
    assert core("kernel_log", *spans) is (whole == (True,))


def test_throttling_is_known_only_where_every_card_shows_it() -> None:
    assert core("throttle", *SOUND["throttle"])
    for n in range(3):
        assert not core("throttle", *(f for m, f in enumerate(SOUND["throttle"]) if m != n))
    assert not core("throttle", *SOUND["throttle"], make(GpuLoad, OTHER))
    hidden = make(GpuTemperature, absent=(Absent(field="gpu_c", reason="not_permitted"),))
    assert not core("throttle", hidden, *SOUND["throttle"][1:])
    none = make(GpuTemperature, absent=(Absent(field="gpu_c", reason="not_supported"),))
    assert core("throttle", none, *SOUND["throttle"][1:])


def test_ecc_is_known_where_its_mode_is_read_or_the_card_has_none() -> None:
    none = Absent(field="ecc_on", reason="not_supported")
    cut = Absent(field="ecc_on", reason="cut")
    assert core("ecc", make(GpuMode, ecc_on=False))
    assert core("ecc", make(GpuMode, absent=(none,)))
    assert not core("ecc", make(GpuMode, absent=(cut,)))
    assert not core("ecc", make(GpuMode))
    assert not core("ecc", make(GpuMode, ecc_on=True), make(GpuLoad, OTHER))


@pytest.mark.parametrize(
    ("versions", "agree"),
    [
        ({"module": "1", "library": "1"}, True),
        ({"module": "1", "library": "2"}, False),
        ({"module": "1", "tool": "1"}, True),
        ({"module": "1", "tool": "2"}, False),
        ({"library": "1"}, False),
        ({"module": None, "library": "1"}, False),
        ({}, False),
    ],
)
def test_versions_agree_where_module_and_library_are_one(
    versions: dict[str, str | None], agree: bool
) -> None:
    facts = [version(part, text) for part, text in versions.items()]
    assert core("versions", *facts) is agree


def test_a_listing_of_cards_proves_that_the_library_fits_the_module() -> None:
    cards = {"cards": (listing("nvidia-smi"),), "versions": (version("module", "1"),)}
    assert core_of(sound(**cards))["versions"]
    assert not core_of(sound(**{**cards, "cards": (listing("lspci"),)}))["versions"]


# The bottleneck


def test_the_earliest_stage_of_the_playbook_names_the_bottleneck() -> None:
    verdicts = (fail(BUSY), fail(STORAGE, severity="warning"), fail(THROTTLE))
    assert answered(sound(), *verdicts).answer.bottleneck.kind == "throttle"
    assert answered(sound(), *verdicts[:2]).answer.bottleneck.kind == "storage"
    assert answered(sound(), verdicts[0]).answer.bottleneck.kind == "compute"


def test_a_critical_fault_of_the_card_or_the_stack_is_the_bottleneck_itself() -> None:
    assert answered(sound(), fail(DRAIN), fail(STORAGE)).answer.bottleneck.kind == "hardware"
    stack = a_rule("stack.driver-not-loaded", "critical", "fix-config")
    assert answered(sound(), fail(stack)).answer.bottleneck.kind == "stack"
    mild = a_rule("stack.persistence-off", "warning", "fix-config")
    assert answered(sound(), fail(mild)).answer.bottleneck.kind == "undecided"


def test_what_is_only_good_to_know_names_no_bottleneck_beside_a_fault() -> None:
    low = a_rule("feed.pcie-speed-idle", "info", "none", points_to="pcie")
    assert answered(sound(), fail(low)).answer.bottleneck.kind == "undecided"
    assert answered(sound(), fail(low), fail(STORAGE)).answer.bottleneck.kind == "storage"


def test_a_consequence_is_not_the_bottleneck() -> None:
    rows = [Row(STORAGE.id, THROTTLE.id)]
    answer = answered(sound(), fail(STORAGE), fail(THROTTLE), rows=rows).answer
    assert answer.bottleneck.kind == "storage"


def test_confidence_is_high_by_a_critical_finding_or_by_two_witnesses() -> None:
    assert answered(sound(), fail(DRAIN)).answer.bottleneck.confidence == "high"
    one = answered(sound(), fail(STORAGE)).answer.bottleneck
    assert one.confidence == "medium"
    assert one.ask == STORAGE.next_step
    two = (Source(name="iostat.txt"), Source(name="q.txt"))
    sure = answered(sound(), fail(STORAGE, sources=two)).answer.bottleneck
    assert (sure.confidence, sure.ask) == ("high", None)
    again = replace(STORAGE, id="feed.iowait-high")
    both = (fail(STORAGE, sources=two[:1]), fail(again, sources=two[1:]))
    answer = answered(sound(), *both).answer.bottleneck
    assert answer.confidence == "high"
    assert set(answer.because) == {STORAGE.id, again.id}


def test_what_only_shows_load_is_never_sure() -> None:
    two = (Source(name="a"), Source(name="b"))
    assert answered(sound(), fail(BUSY, sources=two)).answer.bottleneck.confidence == "medium"


@pytest.mark.parametrize(
    ("have", "command"),
    [
        ((), "nvidia-smi dmon"), ((GpuLoad,), "nvidia-smi -q"),
        ((GpuLoad, GpuClockReasons), "iostat"), ((GpuLoad, GpuClockReasons, DiskLoad), "lspci"),
        ((GpuLoad, GpuClockReasons, DiskLoad, PcieLink), "dcgmi dmon"),
    ],
)  # fmt: skip
def test_an_undecided_bottleneck_names_the_cheapest_thing_to_run(
    have: tuple[type[Any], ...], command: str
) -> None:
    answer = answered(evidence(*(make(cls) for cls in have))).answer
    assert (answer.bottleneck.kind, answer.bottleneck.confidence) == ("undecided", "low")
    assert answer.bottleneck.ask
    assert command in answer.bottleneck.ask
    assert answer.decision.startswith("Buy nothing yet")


def test_every_bottleneck_has_a_name_of_the_list() -> None:
    for verdicts in ((fail(DRAIN),), (fail(STORAGE),), (fail(BUSY),), ()):
        assert answered(sound(), *verdicts).answer.bottleneck.kind in BOTTLENECKS


# What was ruled out


def test_a_pass_with_its_line_rules_a_bottleneck_out() -> None:
    (out,) = answered(sound(), passed(THROTTLE)).answer.ruled_out
    assert (out.kind, out.because, out.source) == ("throttle", "it is even", PROOF[0])
    (out,) = answered(sound(), passed(THROTTLE, sources=())).answer.ruled_out
    assert out.source is None


@pytest.mark.parametrize(
    "verdicts",
    [
        (passed(THROTTLE, because=""),),
        (passed(replace(THROTTLE, rules_out=False)),),
        (passed(replace(THROTTLE, points_to=None)),),
        (unknown(THROTTLE),),
        (Verdict(rule=THROTTLE, outcome="n/a", seen=(NotHere(subject=CARD, because="no"),)),),
        (passed(THROTTLE), unknown(replace(THROTTLE, id="throttle.sw-thermal"))),
        (passed(THROTTLE), fail(replace(THROTTLE, id="throttle.sw-thermal"))),
        (passed(THROTTLE), fail(replace(THROTTLE, id="throttle.sw-thermal"), severity="info")),
        (passed(THROTTLE), Verdict(rule=replace(THROTTLE, id="throttle.x"), outcome="broken")),
        (passed(THROTTLE), fail(a_rule("throttle.x", "warning", points_to="throttle"))),
    ],
)
def test_nothing_is_ruled_out_while_something_is_open(verdicts: tuple[Verdict, ...]) -> None:
    assert answered(sound(), *verdicts).answer.ruled_out == ()


def test_a_bottleneck_is_ruled_out_once_by_the_first_that_can() -> None:
    again = replace(THROTTLE, id="throttle.sw-thermal")
    out = answered(sound(), passed(THROTTLE), passed(again, because="too"), passed(PCIE)).answer
    assert [(r.kind, r.because) for r in out.ruled_out] == [
        ("throttle", "it is even"),
        ("pcie", "it is even"),
    ]


# Decision


def test_the_decision_is_that_of_the_bottleneck_else_of_the_worst_finding() -> None:
    storage = replace(STORAGE, decision="Stage the data first.")
    drain = replace(DRAIN, decision="Drain it.")
    mode = replace(a_rule("stack.persistence-off", "warning"), decision="Turn it on.")
    busy = replace(BUSY, decision="Buy a card.")
    assert answered(sound(), fail(storage)).answer.decision == "Stage the data first."
    assert answered(sound(), fail(storage), fail(drain)).answer.decision == "Drain it."
    assert answered(sound(), fail(mode)).answer.decision == "Turn it on."
    assert answered(sound(), fail(busy)).answer.decision == "Buy a card."
    assert answered(sound(), fail(busy), fail(mode)).answer.decision == "Turn it on."
    assert answered(sound()).answer.decision == "Nothing to do."
    assert answered(evidence()).answer.decision.startswith("Buy nothing yet")


# Findings


def test_findings_come_worst_first_and_a_consequence_after_its_cause() -> None:
    rows = [Row(DRAIN.id, "silent.xid45-cleanup")]
    cleanup = a_rule("silent.xid45-cleanup", "info")
    seen = (
        fail(NOTE), fail(STORAGE), fail(THROTTLE), fail(cleanup), fail(DRAIN), fail(cleanup, OTHER),
    )  # fmt: skip
    host = answered(sound(), *seen, rows=rows)
    assert [one.rule.id for one in host.findings] == [
        DRAIN.id, "silent.xid45-cleanup", THROTTLE.id, STORAGE.id, NOTE.id, "silent.xid45-cleanup",
    ]  # fmt: skip
    assert [one.key for one in answered(sound(), *seen[::-1], rows=rows).findings] == [
        one.key for one in host.findings
    ]
    (incident,) = host.answer.incidents
    assert incident.cause == host.findings[0].key


def test_a_lowered_severity_and_action_are_final() -> None:
    (one,) = answered(sound(), fail(DRAIN, severity="info", action="none")).findings
    assert (one.severity, one.action) == ("info", "none")
    (one,) = answered(sound(), fail(DRAIN)).findings
    assert (one.severity, one.action) == ("critical", "drain")


def test_a_port_above_a_card_explains_its_loss_by_the_listing() -> None:
    aer = a_rule("silent.aer-uncorrected", "critical", "drain")
    child = make(PciDevice, CARD, parent=PORT.bdf)
    rows = [Row(aer.id, DRAIN.id, "port-above")]
    host = answered(evidence(child), fail(aer, PORT), fail(DRAIN), rows=rows)
    assert [bool(one.caused_by) for one in host.findings] == [False, True]
    host = answered(evidence(), fail(aer, PORT), fail(DRAIN), rows=rows)
    assert [bool(one.caused_by) for one in host.findings] == [False, False]


def test_a_key_is_of_host_rule_and_the_strongest_name() -> None:
    key = key_of("gpu-01", DRAIN.id, CARD)
    assert key == key_of("gpu-01", DRAIN.id, replace(CARD, bdf=None, index=3, label="L40S"))
    assert len(key) == 8
    others = {
        key_of("gpu-02", DRAIN.id, CARD), key_of("gpu-01", STORAGE.id, CARD),
        key_of("gpu-01", DRAIN.id, OTHER), key_of("gpu-01", DRAIN.id, replace(CARD, kind="mig")),
        key_of(None, DRAIN.id, CARD),
    }  # fmt: skip
    assert len(others | {key}) == 6


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"uuid": "GPU-aa"}, {"uuid": "GPU-bb"}),
        ({"serial": "1"}, {"serial": "2"}),
        ({"bdf": "0000:17:00.0"}, {"bdf": "0000:31:00.0"}),
        ({"slot": "1"}, {"slot": "2"}),
        ({"index": 0}, {"index": 1}),
        ({"text": "a"}, {"text": "b"}),
        ({}, {"index": 0}),
    ],
)
def test_every_name_makes_a_key_of_its_own(left: dict[str, Any], right: dict[str, Any]) -> None:
    keys = {key_of("h", DRAIN.id, DeviceRef(kind="card", **names)) for names in (left, right)}
    assert len(keys) == 2


def test_a_key_is_made_of_any_foreign_name() -> None:
    assert len(key_of("gpu\udcff", DRAIN.id, DeviceRef(kind="disk", label="\ud800\0"))) == 8


def test_one_finding_that_two_runs_of_a_rule_give_stands_once() -> None:
    assert len(answered(sound(), fail(DRAIN), fail(DRAIN)).findings) == 1


# Gaps, open questions, coverage


def test_a_gap_with_something_to_run_becomes_a_finding_for_your_information() -> None:
    where = Source(name="q.txt", first=9, last=9, quote="half a line")
    gaps = (
        Gap(where=where, why="cut", ask="nvidia-smi -q"), Gap(where=where, why="cut", ask="nvidia-smi -q"),
        Gap(where=where, why="nobody knows"), Gap(where=Source(name="e.txt"), why="empty", ask="dmesg"),
    )  # fmt: skip
    host = answered(evidence(gaps=gaps))
    (one,) = host.findings
    assert (one.rule.id, one.severity) == ("silent.check-not-evaluated", "info")
    assert "nvidia-smi -q" in one.finding.says
    assert host.gaps == (gaps[0], *gaps[2:])
    assert host.answer.health == "unknown"


def test_what_is_unclear_is_listed_with_its_rule() -> None:
    (one,) = answered(sound(), unknown(THROTTLE), passed(PCIE)).unclear
    assert (one.rule, one.unclear.ask) == (THROTTLE, "nvidia-smi -q")


def test_coverage_counts_every_outcome() -> None:
    verdicts = [
        passed(THROTTLE), fail(DRAIN), unknown(STORAGE), Verdict(rule=NOTE, outcome="n/a"),
        Verdict(rule=BUSY, outcome="not asked"), Verdict(rule=PCIE, outcome="broken", error="KeyError: 'x'"),
    ]  # fmt: skip
    host = answer_host(evidence(kinds=("lspci",)), verdicts, (), never_asked=40)
    seen = host.coverage
    assert (seen.judged, seen.not_here, seen.not_asked, seen.unknown, seen.broken) == (
        2,
        1,
        41,
        1,
        1,
    )
    assert seen.kinds_read == ("lspci",)
    assert host.broken == ((PCIE.id, "KeyError: 'x'"),)


def test_host_moment_and_cards_are_those_of_the_evidence() -> None:
    place = Source(name="dmesg", quote="gpu-01 kernel: x")
    at = Moment(wall=100.0)
    host = answered(evidence(make(GpuLoad, OTHER), make(GpuMode), make(PciDevice, PORT), taken=at, host_from=place))  # fmt: skip
    assert (host.host, host.host_from, host.taken) == ("gpu-01", place, at)
    assert host.devices == (CARD, OTHER)


def test_a_seen_that_is_no_finding_is_none() -> None:
    seen: tuple[Seen, ...] = (Fine(subject=CARD), NotHere(subject=CARD, because="no"))
    assert answered(sound(), Verdict(rule=DRAIN, outcome="pass", seen=seen)).findings == ()
