"""A report as plain lines: no colour, no width, nothing left out. One finding a block."""

from collections.abc import Iterator, Sequence

from steadygpu.report.foreign import escape
from steadygpu.report.words import (
    bottleneck_sentence,
    coverage_sentence,
    device_label,
    health_sentence,
    host_name,
    host_summary,
    moment_words,
    open_core,
    order_unproven,
    place,
    setting_words,
    tree,
    when_words,
)
from steadygpu.verdict.answer import HostAnswer, Open, Report, Ruled


def render_plain(report: Report) -> str:
    """Return the report as `name: value` lines, blocks parted by an empty line."""
    blocks: list[list[tuple[str, str | None]]] = []
    for host in report.hosts:
        blocks.extend(_host(host))
    if report.between_findings or report.between_unclear:
        blocks.append([("between hosts", str(len(report.hosts)))])
        blocks.extend(_findings(report.between_findings, set()))
        blocks.extend(_unclear(report.between_unclear))
    counted = ", ".join(f"{count} {name}" for name, count in host_summary(report).items())
    made_by = f"steadygpu {report.version}, catalog {report.catalog}"
    blocks.append([("summary", counted), ("made by", made_by)])
    return "\n".join(
        "".join(f"{escape(name)}: {escape(value)}\n" for name, value in block if value)
        for block in blocks
    )


def _host(host: HostAnswer) -> Iterator[list[tuple[str, str | None]]]:
    answer, pace = host.answer, host.answer.bottleneck
    yield [
        ("host", host_name(host)),
        ("named in", place(host.host_from) if host.host_from else None),
        ("taken", moment_words(host.taken)),
        ("setting", setting_words(host.setting)),
        ("health", health_sentence(answer)),
        ("bottleneck", bottleneck_sentence(pace)),
        ("run to decide", pace.ask),
        ("decision", answer.decision),
        *(("not answered", question) for question in open_core(answer)),
    ]
    yield from _findings(host.findings, order_unproven(answer))
    if answer.ruled_out:
        yield [
            ("ruled out", f"{r.kind}: {r.because}" + (f" ({place(r.source)})" if r.source else ""))
            for r in answer.ruled_out
        ]
    yield from _unclear(host.unclear)
    if host.gaps:
        yield [
            ("gap", f"{place(g.where)}: {g.why}" + (f"; run: {g.ask}" if g.ask else ""))
            for g in host.gaps
        ]
    if host.broken:
        yield [("broken rule", f"{rule_id}: {error}") for rule_id, error in host.broken]
    yield [("coverage", coverage_sentence(host))]


def _findings(
    findings: Sequence[Ruled], unproven: set[str]
) -> Iterator[list[tuple[str, str | None]]]:
    named = {f.key: f"{f.rule.id} {f.key}" for f in findings}
    for _, ruled in tree(findings):
        rule, finding = ruled.rule, ruled.finding
        cause = ruled.caused_by and named.get(ruled.caused_by, ruled.caused_by)
        if cause and ruled.caused_by in unproven:
            cause += ", order in time not proven"
        yield [
            ("finding", f"{rule.id} {ruled.key}"),
            ("title", rule.title),
            ("severity", ruled.severity),
            ("action", ruled.action),
            ("subject", device_label(finding.subject)),
            *(("touches", device_label(d)) for d in finding.touches),
            ("seen", when_words(ruled)),
            ("says", finding.says),
            ("means", ruled.meaning),
            ("decision", ruled.decision),
            ("next step", ruled.next_step),
            ("caused by", cause),
            *(("explains", named.get(key, key)) for key in ruled.consequences),
            *((place(s), s.quote or "(empty)") for s in finding.sources),
        ]


def _unclear(items: Sequence[Open]) -> Iterator[list[tuple[str, str | None]]]:
    for item in items:
        seen = item.unclear
        yield [
            ("not judged", item.rule.id),
            ("subject", device_label(seen.subject)),
            ("why", seen.why),
            ("run", seen.ask),
        ]
