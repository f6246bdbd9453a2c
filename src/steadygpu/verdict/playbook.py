"""Verdicts to one answer: health, the bottleneck, what was ruled out, what to do."""

import hashlib
from collections.abc import Iterable, Sequence

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.reading import Fact, HostEvidence
from steadygpu.evidence.setting import Setting, setting_of
from steadygpu.evidence.source import Gap
from steadygpu.verdict.answer import (
    CORE,
    Answer,
    Bottleneck,
    Coverage,
    HostAnswer,
    Open,
    Ruled,
    RuledOut,
)
from steadygpu.verdict.incident import Cause, fold
from steadygpu.verdict.past import Past, lowered_if_past
from steadygpu.verdict.rule import (
    SEVERITIES,
    Finding,
    Fine,
    Rule,
    Stage,
    Unclear,
    Verdict,
)
from steadygpu.verdict.unevaluated import from_gaps

AWAY = (
    "drain",
    "reset-gpu",
    "reboot",
)  # HOUSE.md, Health: a finding with one of these is unhealthy

# What to run where the bottleneck is undecided: the first whose evidence was not given.
_NEXT = (
    ("GpuLoad", "nvidia-smi dmon -s pucvmet -c 30"),
    ("GpuClockReasons", "nvidia-smi -q"),
    ("DiskLoad", "iostat -xz 1 30"),
    ("PcieLink", "sudo lspci -vvnn"),
)
# Records whose word on what sets the pace needs no second witness (HOUSE.md: utilisation is residency).
_COUNTED = ("GpuProfile",)
_TRACED = (
    "CallStat",
    "TraceCard",
    "TraceHost",
)  # of a trace only waits are sure; kernels are known by name
_PROFILE = "dcgmi dmon -e 1001,1002,1003,1004,1005 -c 30"


def key_of(host: str | None, rule_id: str, subject: DeviceRef) -> str:
    """Return the key of a finding: the same in every run that names the subject equally well."""
    weak = (
        subject.label,
        None if subject.index is None else f"index {subject.index}",
        subject.mig,
        # Devices of one name are told apart by their text; one of its own name needs none.
        subject.text if subject.index is None and subject.kind == "card" else None,
    )
    strongest = (
        subject.uuid or subject.serial or subject.bdf or subject.slot
        or "\0".join(name for name in weak if name) or subject.kind
    )  # fmt: skip
    name = "\0".join((host or "", rule_id, subject.kind, strongest))
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]


def answer_host(
    evidence: HostEvidence,
    verdicts: Sequence[Verdict],
    causes: Iterable[Cause],
    never_asked: int = 0,
) -> HostAnswer:
    """Return the answer for one host from the verdicts of all rules.

    `never_asked` counts the rules that were not even loaded, since nothing they are about was given.
    """
    past = Past(evidence.facts)
    found = [
        _ruled(evidence, verdict.rule, lowered_if_past(verdict.rule, seen, past))
        for verdict in verdicts
        for seen in verdict.seen
        if isinstance(seen, Finding)
    ]
    if (unread := from_gaps(evidence.gaps)) is not None:
        found.append(_ruled(evidence, *unread))
    found = list({one.key: one for one in reversed(found)}.values())[::-1]
    folded, incidents = fold(found, causes, _parents(evidence))
    ordered = _ordered(folded)
    unclear = tuple(
        Open(rule=verdict.rule, unclear=seen)
        for verdict in verdicts
        for seen in verdict.seen
        if isinstance(seen, Unclear)
    )
    core = core_of(evidence)
    bottleneck = _bottleneck(ordered, evidence)
    health = _health(ordered, core)
    broken = tuple((v.rule.id, v.error or "") for v in verdicts if v.outcome == "broken")
    return HostAnswer(
        host=evidence.host,
        host_from=evidence.host_from,
        taken=evidence.taken,
        setting=setting_of([f for f in evidence.facts if isinstance(f, Setting)]),
        devices=tuple(
            sorted({f.device for f in evidence.facts if f.device.kind == "card"}, key=repr)
        ),
        answer=Answer(
            health=health,
            core=core,
            bottleneck=bottleneck,
            ruled_out=_ruled_out(verdicts, ordered),
            incidents=incidents,
            decision=_decision(health, bottleneck, ordered),
        ),
        findings=ordered,
        unclear=unclear,
        gaps=_distinct(evidence.gaps),
        coverage=_coverage(evidence, verdicts, never_asked),
        broken=broken,
    )


def _distinct(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    return tuple(dict.fromkeys(gaps))


def _ruled(evidence: HostEvidence, rule: Rule, finding: Finding) -> Ruled:
    return Ruled(
        key=key_of(evidence.host, rule.id, finding.subject),
        rule=rule,
        finding=finding,
        severity=finding.severity or rule.severity,
        action=finding.action or rule.action,
    )


def _ordered(found: Sequence[Ruled]) -> tuple[Ruled, ...]:
    """Return worst first; a consequence follows its cause."""
    stages = list(Stage)

    def rank(one: Ruled) -> tuple[int, int, str, int, str, str]:
        worst, subject = -SEVERITIES.index(one.severity), one.finding.subject
        index = -1 if subject.index is None else subject.index
        return worst, stages.index(one.rule.stage), one.rule.id, index, subject.bdf or "", one.key

    by_key = {one.key: one for one in found}
    out: list[Ruled] = []

    placed: set[str] = set()

    def add(one: Ruled) -> None:
        if one.key not in placed:
            placed.add(one.key)
            out.append(one)
            for effect in sorted((by_key[k] for k in one.consequences), key=rank):
                add(effect)

    for one in sorted((o for o in found if o.caused_by is None), key=rank):
        add(one)
    return tuple(out)


def _parents(evidence: HostEvidence) -> dict[str, str]:
    return {
        fact.device.bdf: parent
        for fact in evidence.facts
        if fact.device.bdf and (parent := getattr(fact, "parent", None))
    }


def core_of(evidence: HostEvidence) -> dict[str, bool]:
    """Return which of the five core questions the evidence answers (HOUSE.md, Health)."""
    by: dict[str, list[Fact]] = {}
    for fact in evidence.facts:
        by.setdefault(type(fact).__name__, []).append(fact)
    cards = {f.device for f in evidence.facts if f.device.kind == "card"}

    def every(name: str, *fields: str) -> bool:
        have = {
            f.device for f in by.get(name, ())
            if not fields or any(_answered(f, field) for field in fields)
        }  # fmt: skip
        return bool(cards) and cards <= have

    return dict(
        zip(
            CORE,
            (
                _counted(by),
                bool(by.get("KernelLogSpan"))
                and all(getattr(f, "whole", None) is True for f in by["KernelLogSpan"]),
                every("GpuTemperature", "gpu_c") and every("GpuClock") and every("GpuClockReasons"),
                every("GpuMode", "ecc_on"),
                _versions_agree(by),
            ),
            strict=True,
        )
    )


def _answered(fact: Fact, field: str) -> bool:
    return getattr(fact, field) is not None or any(
        a.field == field and a.reason == "not_supported" for a in fact.absent
    )


def _counted(by: dict[str, list[Fact]]) -> bool:
    counts: dict[bool, set[int]] = {True: set(), False: set()}
    for fact in by.get("CardListing", ()):
        if getattr(fact, "complete", False) and not getattr(fact, "container", True):
            counts[getattr(fact, "tool", "") == "lspci"].add(getattr(fact, "listed", -1))
    return bool(counts[True]) and counts[True] == counts[False]


def _versions_agree(by: dict[str, list[Fact]]) -> bool:
    """Say whether module and library are of one version. A library of another one lists no cards."""
    versions = {
        getattr(f, "part", ""): version
        for f in by.get("DriverVersion", ())
        if (version := getattr(f, "version", None))
    }
    library = versions.get("library") or versions.get("tool")
    listed = any(getattr(f, "tool", "").startswith("nvidia-smi") for f in by.get("CardListing", ()))
    module = versions.get("module")
    return module is not None and (module == library if library else listed)


def _health(found: Sequence[Ruled], core: dict[str, bool]) -> str:
    if any(one.action in AWAY and one.severity != "info" for one in found):
        return "unhealthy"
    if any(one.severity in ("warning", "critical") for one in found):
        return "degraded"
    return "healthy" if all(core.values()) else "unknown"


def _kind_of(one: Ruled) -> str | None:
    """Return the bottleneck that a finding names. A fault or a setting sets the pace only where work cannot run."""
    if one.rule.stage in (Stage.SILENT, Stage.STACK) and one.severity != "critical":
        return None
    if one.rule.points_to:
        return one.rule.points_to
    return {"silent": "hardware", "stack": "stack"}.get(one.rule.stage.value)


def _bottleneck(found: Sequence[Ruled], evidence: HostEvidence) -> Bottleneck:
    stages = list(Stage)
    roots = [one for one in found if one.caused_by is None and _kind_of(one)]
    # What is only good to know about a fault, a setting or a limit sets no pace; load may.
    loud = [one for one in roots if one.severity != "info"] or [
        one for one in roots if one.rule.stage is Stage.BUSY
    ]
    # Some cards of a host may idle while others work: then the work sets the pace.
    loud = [one for one in loud if _kind_of(one) != "idle"] or loud
    if not loud:
        return Bottleneck(kind="undecided", confidence="low", ask=_ask_of(found) or _next(evidence))
    texts: dict[str | None, set[str]] = {}
    asked: dict[str | None, set[Stage]] = {}
    for one in (one for one in found if one.severity != "info" or one in loud):
        texts.setdefault(_kind_of(one), set()).update(s.name for s in one.finding.sources)
        asked.setdefault(_kind_of(one), set()).add(one.rule.stage)

    def proven(one: Ruled) -> bool:
        # By two texts, or by what feeds the card and the card that waits, which one paste may hold.
        witnesses = max(len(texts[_kind_of(one)]), len(asked[_kind_of(one)]))
        return one.severity == "critical" or (one.severity == "warning" and witnesses > 1)

    def rank(one: Ruled) -> tuple[int, bool, int, int]:
        # A fault or a setting comes first. Among what slows a card, that which has two witnesses: a warm card that
        # waits for its data is not slowed by heat.
        stage = stages.index(one.rule.stage)
        fault = one.rule.stage in (Stage.SILENT, Stage.STACK)
        return stage if fault else 2, not proven(one), stage, -SEVERITIES.index(one.severity)

    first = min(loud, key=rank)
    kind = _kind_of(first) or "undecided"
    same = [one for one in loud if _kind_of(one) == kind]
    sure = proven(first) or _profiled(first, evidence)
    return Bottleneck(
        kind=kind,
        confidence="high" if sure else "medium",
        because=tuple(dict.fromkeys(one.rule.id for one in same)),
        ask=None if sure else first.next_step,
    )


def _profiled(one: Ruled, evidence: HostEvidence) -> bool:
    """Say whether counters or a trace prove the finding."""
    if one.rule.stage not in (Stage.FEED, Stage.BUSY):
        return False
    names = (*_COUNTED, *(_TRACED if one.severity != "info" else ()))
    proof = {s for f in evidence.facts if type(f).__name__ in names for s in f.sources}
    places = {(s.name, s.first, s.last) for s in proof}
    return any((s.name, s.first, s.last) in places for s in one.finding.sources)


def _ask_of(found: Sequence[Ruled]) -> str | None:
    """Return what to run next for a feed that is known to be late while its reason is not."""
    late = (
        o for o in found
        if o.rule.stage is Stage.FEED and o.rule.points_to is None and o.severity != "info" and o.caused_by is None
    )  # fmt: skip
    return next((o.finding.next_step or o.rule.next_step for o in late), None)


def _next(evidence: HostEvidence) -> str:
    have = {type(f).__name__ for f in evidence.facts}
    return next((command for name, command in _NEXT if name not in have), _PROFILE)


def _ruled_out(verdicts: Sequence[Verdict], found: Sequence[Ruled]) -> tuple[RuledOut, ...]:
    """Return the bottlenecks that a pass excludes and that nothing else points to or leaves open."""
    pointed = {one.rule.points_to for one in found if one.severity != "info"}
    open_ = {
        v.rule.points_to
        for v in verdicts
        if v.rule.rules_out and v.outcome in ("unknown", "broken", "fail")
    }
    loud = {one.finding.subject for one in found if one.severity != "info"}
    out: dict[str, RuledOut] = {}
    for verdict in verdicts:
        kind = verdict.rule.points_to
        if not kind or not verdict.rule.rules_out or verdict.outcome != "pass" or kind in out:
            continue
        if kind in pointed | open_:
            continue
        fines = [s for s in verdict.seen if isinstance(s, Fine) and s.because]
        fine = next((s for s in fines if s.subject in loud), fines[0] if fines else None)
        if fine is not None:
            source = fine.sources[0] if fine.sources else None
            out[kind] = RuledOut(kind=kind, because=fine.because, source=source)
    return tuple(out.values())


def _decision(health: str, bottleneck: Bottleneck, found: Sequence[Ruled]) -> str:
    main = next((one for one in found if one.rule.id in bottleneck.because), None)
    loud = [one for one in found if one.severity != "info"]
    worst = max(loud, key=_weight, default=None)
    if worst is not None and (main is None or _weight(worst) > _weight(main)):
        return worst.decision
    if main is not None:
        return main.decision
    if health == "healthy":
        return "Nothing to do."
    return "Buy nothing yet, and change nothing: the evidence does not tell."


def _weight(one: Ruled) -> tuple[int, bool]:
    """Return how much a finding weighs in the decision: a card in danger before a slow feed."""
    return SEVERITIES.index(one.severity), one.action in AWAY


def _coverage(evidence: HostEvidence, verdicts: Sequence[Verdict], never_asked: int) -> Coverage:
    count = {
        name: sum(v.outcome == name for v in verdicts)
        for name in ("n/a", "not asked", "unknown", "broken")
    }
    return Coverage(
        kinds_read=evidence.kinds,
        judged=sum(v.outcome in ("pass", "fail") for v in verdicts),
        not_here=count["n/a"],
        not_asked=count["not asked"] + never_asked,
        unknown=count["unknown"],
        broken=count["broken"],
    )
