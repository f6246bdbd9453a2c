"""A report as plain dictionaries, in the shape of schema steadygpu.report/1."""

from typing import Any

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.source import Gap, Source
from steadygpu.report.words import host_summary, iso, place
from steadygpu.verdict.answer import CORE, Answer, Coverage, HostAnswer, Open, Report, Ruled

SCHEMA = "steadygpu.report/1"

Json = dict[str, Any]


def report_dict(report: Report) -> Json:
    """Return the report as dictionaries and lists. Strings are as they came: JSON escapes them."""
    return {
        "schema": SCHEMA,
        "steadygpu": report.version,
        "catalog": report.catalog,
        "hosts": [_host(h) for h in report.hosts],
        "between_hosts": {
            "findings": [_finding(f) for f in report.between_findings],
            "unclear": [_unclear(o) for o in report.between_unclear],
        },
        "summary": host_summary(report),
    }


def _host(host: HostAnswer) -> Json:
    return {
        "host": host.host,
        "host_from": _place(host.host_from),
        "taken": _taken(host.taken),
        "setting": host.setting.kind if host.setting is not None else None,
        "answer": _answer(host.answer),
        "findings": [_finding(f) for f in host.findings],
        "unclear": [_unclear(o) for o in host.unclear],
        "gaps": [_gap(g) for g in host.gaps],
        "coverage": _coverage(host.coverage),
        "broken": [{"id": rule_id, "error": error} for rule_id, error in host.broken],
    }


def _answer(answer: Answer) -> Json:
    pace = answer.bottleneck
    return {
        "health": answer.health,
        "core": dict.fromkeys(CORE, False) | answer.core,
        "bottleneck": {
            "kind": pace.kind,
            "confidence": pace.confidence,
            "because": list(pace.because),
            "ask": pace.ask,
        },
        "ruled_out": [
            {"kind": r.kind, "because": r.because, "source": _place(r.source)}
            for r in answer.ruled_out
        ],
        "incidents": [
            {"cause": i.cause, "consequences": list(i.consequences), "order_known": i.order_known}
            for i in answer.incidents
        ],
        "decision": answer.decision,
    }


def _finding(ruled: Ruled) -> Json:
    rule, finding = ruled.rule, ruled.finding
    return {
        "key": ruled.key,
        "id": rule.id,
        "stage": rule.stage.value,
        "severity": ruled.severity,
        "action": ruled.action,
        "scope": rule.scope,
        "subject": _subject(finding.subject),
        "first": iso(finding.first),
        "last": iso(finding.last),
        "count": finding.count,
        "says": finding.says,
        "meaning": ruled.meaning,
        "decision": ruled.decision,
        "next_step": ruled.next_step,
        "evidence": [_evidence(s) for s in finding.sources],
        "caused_by": ruled.caused_by,
        "consequences": list(ruled.consequences),
        "waived": None,
    }


def _subject(device: DeviceRef) -> Json:
    label = device.label
    if label is None and device.kind == "host":
        label = device.host
    return {
        "kind": device.kind,
        "label": label,
        "index": device.index,
        "bdf": device.bdf,
        "uuid": device.uuid,
        "serial": device.serial,
        "slot": device.slot,
    }


def _evidence(source: Source) -> Json:
    return {
        "source": source.name,
        "unit": source.unit,
        "from": source.first,
        "to": source.last,
        "quote": source.quote,
    }


def _unclear(item: Open) -> Json:
    seen = item.unclear
    return {
        "id": item.rule.id,
        "subject": _subject(seen.subject),
        "why": seen.why,
        "ask": seen.ask,
    }


def _gap(gap: Gap) -> Json:
    return {"where": place(gap.where), "why": gap.why, "ask": gap.ask}


def _coverage(seen: Coverage) -> Json:
    return {
        "kinds_read": list(seen.kinds_read),
        "judged": seen.judged,
        "not_here": seen.not_here,
        "not_asked": seen.not_asked,
        "unknown": seen.unknown,
        "broken": seen.broken,
    }


def _place(source: Source | None) -> str | None:
    return None if source is None else place(source)


def _taken(moment: Moment) -> Json | None:
    wall = iso(moment)
    return None if wall is None else {"wall": wall, "error_s": moment.error_s}
