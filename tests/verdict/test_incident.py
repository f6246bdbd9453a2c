from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import pytest

from report.sample_report import make_rule
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.source import Source
from steadygpu.verdict.answer import Incident, Ruled
from steadygpu.verdict.incident import fold
from steadygpu.verdict.rule import Finding

CARD = DeviceRef(kind="card", host="gpu-01", bdf="0000:17:00.0")
OTHER = DeviceRef(kind="card", host="gpu-01", bdf="0000:31:00.0")
PORT = DeviceRef(kind="port", host="gpu-01", bdf="0000:00:01.1")
SWITCH = DeviceRef(kind="port", host="gpu-01", bdf="0000:16:00.0")
HOST = host_ref("gpu-01")
PROOF = (Source(name="dmesg", quote="a line"),)


@dataclass(frozen=True)
class Row:
    cause: str
    consequence: str
    relation: str = "same-card"
    window_s: float | None = None


def found(name: str, subject: DeviceRef = CARD, wall: float | None = None, **fields: Any) -> Ruled:
    """A finding of rule silent.<name>; its key is the name and the address of its subject."""
    at = UNKNOWN if wall is None else Moment(wall=wall)
    finding = Finding(
        **{"subject": subject, "says": name, "sources": PROOF, "first": at, "last": at, **fields}
    )
    return Ruled(
        key=f"{name} {subject.bdf or subject.kind}", rule=make_rule(f"silent.{name}", "critical", "none"),
        finding=finding, severity="critical", action="none",
    )  # fmt: skip


def row(cause: str, consequence: str, **fields: Any) -> Row:
    return Row(f"silent.{cause}", f"silent.{consequence}", **fields)


def folded(
    findings: Iterable[Ruled], *rows: Row, parents: Mapping[str, str] | None = None
) -> tuple[dict[str, str | None], tuple[Incident, ...]]:
    """The cause of each finding by key, and the incidents; the order of findings changes no cause."""
    findings = tuple(findings)
    out, incidents = fold(findings, rows, parents or {})
    causes = {one.key: one.caused_by for one in out}
    for order in permutations(findings):
        again, _ = fold(order, rows, parents or {})
        assert {one.key: one.caused_by for one in again} == causes
    return causes, incidents


def explained(cause: Ruled, effect: Ruled, parents: Mapping[str, str] | None = None, **fields: Any) -> bool:  # fmt: skip
    causes, _ = folded((cause, effect), row("a", "b", **fields), parents=parents)
    assert causes[cause.key] is None
    return causes[effect.key] == cause.key


def test_a_cause_explains_what_the_catalogue_says_it_explains() -> None:
    out, (incident,) = fold((found("a", wall=1), found("b", wall=2)), [row("a", "b")], {})
    cause, effect = out
    assert effect.caused_by == cause.key
    assert cause.consequences == (effect.key,)
    assert (cause.caused_by, effect.consequences) == (None, ())
    assert incident == Incident(cause=cause.key, consequences=(effect.key,), order_known=True)


def test_without_a_row_nothing_is_folded() -> None:
    causes, incidents = folded((found("a"), found("b")), row("b", "c"), row("x", "a"))
    assert set(causes.values()) == {None}
    assert incidents == ()
    assert fold((), [row("a", "b")], {}) == ((), ())


# How subjects lie


def test_same_card_is_the_same_device() -> None:
    assert explained(found("a"), found("b"))
    assert not explained(found("a"), found("b", OTHER))


def test_a_fault_of_the_host_explains_what_any_card_shows() -> None:
    assert explained(found("a", HOST), found("b"))
    assert explained(found("a"), found("b", HOST))
    assert not explained(found("a", HOST), found("b"), relation="port-above")


def test_same_host_is_every_device_of_it() -> None:
    assert explained(found("a"), found("b", OTHER), relation="same-host")
    away = DeviceRef(kind="card", host="gpu-02", bdf="0000:17:00.0")
    assert not explained(found("a"), found("b", away), relation="same-host")


def test_an_nvlink_peer_is_another_card() -> None:
    assert explained(found("a"), found("b", OTHER), relation="nvlink-peer")
    assert explained(found("a"), found("b"), relation="nvlink-peer")
    assert not explained(found("a", PORT), found("b"), relation="nvlink-peer")


@pytest.mark.parametrize(
    ("parents", "above"),
    [
        ({"0000:17:00.0": "0000:00:01.1"}, True),
        ({"0000:17:00.0": "0000:16:00.0", "0000:16:00.0": "0000:00:01.1"}, True),
        ({"0000:31:00.0": "0000:00:01.1"}, False),
        ({"0000:00:01.1": "0000:17:00.0"}, False),
        ({"0000:17:00.0": "0000:16:00.0", "0000:16:00.0": "0000:17:00.0"}, False),
        ({}, False),
    ],
)
def test_a_port_is_above_a_card_through_any_number_of_switches(
    parents: dict[str, str], above: bool
) -> None:
    for relation, expected in (("port-above", above), ("same-card", False)):
        assert explained(found("a", PORT), found("b"), parents, relation=relation) is expected


def test_a_port_that_the_event_touches_is_above_without_a_listing() -> None:
    cause = found("a", PORT, touches=(CARD,))
    assert explained(cause, found("b"), relation="port-above")
    assert explained(found("a", PORT), found("b", touches=(PORT,)), relation="port-above")
    assert not explained(cause, found("b", OTHER), relation="port-above")


# When


def test_what_came_before_is_no_consequence() -> None:
    assert explained(found("a", wall=10), found("b", wall=20))
    assert not explained(found("a", wall=20), found("b", wall=10))


def test_a_consequence_that_began_earlier_and_went_on_is_one() -> None:
    effect = found("b", first=Moment(wall=10), last=Moment(wall=30))
    assert explained(found("a", wall=20), effect)


def test_a_window_says_how_long_after() -> None:
    for wall, inside in ((10, True), (70, True), (71, False)):
        assert explained(found("a", wall=10.5), found("b", wall=wall + 0.5), window_s=60) is inside


def test_where_times_do_not_tell_it_is_folded_and_the_incident_says_so() -> None:
    findings = (found("a", wall=10), found("b"))
    causes, (incident,) = folded(findings, row("a", "b", window_s=60))
    assert causes[findings[1].key] == findings[0].key
    assert incident.order_known is False


def test_times_that_overlap_prove_no_order() -> None:
    findings = [
        found("a", first=Moment(wall=10, error_s=0.5)),
        found("b", last=Moment(wall=10.3, error_s=0.5)),
    ]
    _, (incident,) = folded(findings, row("a", "b"))
    assert incident.order_known is False


# Chains


def test_a_chain_is_one_incident_with_one_root() -> None:
    findings = (
        found("aer", PORT, 1), found("xid79", wall=2), found("xid45", wall=3), found("missing", HOST, 4),
    )  # fmt: skip
    causes, (incident,) = folded(
        findings, row("aer", "xid79", relation="port-above"), row("xid79", "xid45"),
        row("xid79", "missing"), parents={"0000:17:00.0": "0000:00:01.1"},
    )  # fmt: skip
    assert [causes[f.key] for f in findings] == [
        None, findings[0].key, findings[1].key, findings[1].key,
    ]  # fmt: skip
    assert incident.cause == findings[0].key
    assert set(incident.consequences) == {f.key for f in findings[1:]}
    assert incident.order_known


def test_one_unproven_order_makes_the_whole_incident_unproven() -> None:
    _, (incident,) = folded(
        (found("a", wall=1), found("b", wall=2), found("c")), row("a", "b"), row("b", "c")
    )
    assert incident.order_known is False


def test_a_finding_has_one_cause_that_of_the_first_row_that_fits() -> None:
    findings = (found("a", wall=1), found("b", wall=2), found("c", wall=3))
    causes, _ = folded(findings, row("b", "c"), row("a", "c"))
    assert causes[findings[2].key] == findings[1].key
    causes, _ = folded(findings, row("x", "c"), row("a", "c"), row("b", "c"))
    assert causes[findings[2].key] == findings[0].key


def test_faults_of_two_cards_are_two_incidents() -> None:
    findings = [found(n, card, w) for card in (CARD, OTHER) for n, w in (("a", 1), ("b", 2))]
    causes, incidents = folded(findings, row("a", "b"))
    assert len(incidents) == 2
    assert causes == {
        "a 0000:17:00.0": None, "b 0000:17:00.0": "a 0000:17:00.0",
        "a 0000:31:00.0": None, "b 0000:31:00.0": "a 0000:31:00.0",
    }  # fmt: skip


def test_a_cause_with_many_consequences_lists_them_all_once() -> None:
    findings = [found("a", wall=1), *(found(n, wall=2) for n in "bcd")]
    out, (incident,) = fold(findings, [row("a", n) for n in "dcb"], {})
    assert out[0].consequences == tuple(sorted(f.key for f in findings[1:]))
    assert sorted(incident.consequences) == sorted(f.key for f in findings[1:])


def test_a_rule_never_explains_itself() -> None:
    causes, _ = folded((found("a"),), row("a", "a"))
    assert causes == {"a 0000:17:00.0": None}


def test_a_consequence_of_two_ways_stands_once_in_the_incident() -> None:
    findings = [found(n, wall=w) for w, n in enumerate("abcd")]
    _, (incident,) = fold(
        findings, [row("a", "b"), row("a", "c"), row("b", "d"), row("c", "d")], {}
    )
    assert len(incident.consequences) == len(set(incident.consequences)) == 3


def test_of_two_causes_of_one_row_the_nearest_before_counts() -> None:
    early, late = found("a", CARD, wall=1), found("a", OTHER, wall=50)
    effect = found("b", HOST, wall=60)
    causes, _ = folded((early, late, effect), row("a", "b", relation="same-host"))
    assert causes[effect.key] == late.key


def test_nothing_folds_across_boots() -> None:
    def at(boot: str, seconds: float) -> dict[str, Moment]:
        moment = Moment(boot_id=boot, boot_s=seconds)
        return {"first": moment, "last": moment}

    cause, effect = found("a", **at("b1", 10.0)), found("b", **at("b2", 12.0))
    causes, incidents = folded((cause, effect), row("a", "b"))
    assert causes[effect.key] is None
    assert not incidents
    causes, _ = folded((cause, found("b", **at("b1", 12.0))), row("a", "b"))
    assert causes["b 0000:17:00.0"] == cause.key


def test_a_window_counts_from_any_print_of_the_cause() -> None:
    early = {"first": Moment(wall=0), "last": Moment(wall=86_400)}
    again = {"first": Moment(wall=86_410), "last": Moment(wall=90_000)}
    cause, effect = found("a", **early), found("b", **again)
    causes, _ = folded((cause, effect), row("a", "b", window_s=600.0))
    assert causes[effect.key] == cause.key
    late = found("b", first=Moment(wall=90_000), last=Moment(wall=90_001))
    causes, _ = folded((cause, late), row("a", "b", window_s=600.0))
    assert causes[late.key] is None
