"""A report for a tired person: the verdict first, then what supports it, never too wide."""

import re
from collections.abc import Iterable, Sequence

from steadygpu.evidence.source import Gap, Source
from steadygpu.report.foreign import cells, cut, escape, wrap
from steadygpu.report.words import (
    HEALTHS,
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
    severity_count,
    tree,
    when_words,
)
from steadygpu.verdict.answer import Answer, HostAnswer, Open, Report, Ruled
from steadygpu.verdict.rule import SEVERITIES
from steadygpu.verdict.unevaluated import CHECK_NOT_EVALUATED

MANY_ASKS = 8  # our choice: more commands than fit beside the findings on one screen
MANY_QUOTES = 3  # our choice: enough to believe a finding, the rest is in --format plain
MANY_ALIKE = 8  # our choice: a host has as many cards
_BLANKS = re.compile(r"[ \t]+")
MANY_OPEN = 3  # our choice: rules named below one command

_BOLD, _RESET = "\x1b[1m", "\x1b[0m"
_COLOURS = {
    "CRITICAL": "\x1b[1;31m", "WARNING": "\x1b[33m", "INFO": "\x1b[36m",
    "UNHEALTHY": "\x1b[1;31m", "DEGRADED": "\x1b[33m", "UNKNOWN": "\x1b[35m", "HEALTHY": "\x1b[32m",
}  # fmt: skip


class Sheet:
    """Lines of at most `width` columns. What is written must not be escaped before."""

    def __init__(self, width: int, colour: bool) -> None:
        """Begin an empty sheet."""
        self.width = max(width, 1)
        self.colour = colour
        self.lines: list[str] = []

    def write(self, text: str, indent: int = 0, *, lead: str = "", style: str = "") -> None:
        """Write a paragraph. Its `lead` stands first, in `style`; later lines are indented below."""
        shift = min(indent, self.width // 4)
        hang = 2 if self.width >= 20 else 0
        body = wrap(escape(f"{lead} {text}" if lead and text else lead or text), 10**9)[0]
        head, *_ = wrap(body, self.width - shift)
        rest = wrap(body[len(head) :].strip(" "), self.width - shift - hang)
        pad = " " * shift
        lines = [f"{pad}{head}", *(f"{pad}{' ' * hang}{line}" for line in rest if line)]
        lines = [cut(line, self.width) for line in lines]
        shown = escape(lead)
        if self.colour and style and lines[0].startswith(pad + shown):
            lines[0] = f"{pad}{style}{shown}{_RESET}{lines[0][len(pad + shown) :]}"
        self.lines.extend(lines)

    def heading(self, text: str) -> None:
        """Write a heading below an empty line."""
        self.lines.append("")
        self.write("", lead=text, style=_BOLD)

    def quote(self, source: Source, indent: int) -> None:
        """Write a place and what stood there, cut to the width."""
        shift = min(indent, self.width // 4)
        # Listings are padded: without their blanks the value stands within the width.
        where, said = escape(place(source)) + ":", escape(_BLANKS.sub(" ", source.quote).strip())
        room = self.width - shift
        if cells(where) <= room // 2:
            self.lines.append(" " * shift + cut(f"{where} {said}", room))
            return
        self.write(place(source) + ":", indent)
        deeper = min(shift + 2, self.width // 2)
        self.lines.append(" " * deeper + cut(said, self.width - deeper))

    def text(self) -> str:
        """Return all lines."""
        return "".join(f"{line.rstrip(' ')}\n" for line in self.lines)


def render_terminal(report: Report, width: int = 80, colour: bool = False) -> str:
    """Return the report in lines of at most `width` columns, in colour where `colour` is True."""
    sheet = Sheet(width, colour)
    if len(report.hosts) != 1:
        counted = host_summary(report)
        parts = [f"{counted[name]} {name}" for name in HEALTHS if counted[name]]
        sheet.write(", ".join(parts), lead=f"{counted['hosts']} hosts:", style=_BOLD)
        sheet.lines.append("")
    for at, host in enumerate(sorted(report.hosts, key=_badness)):
        if at:
            sheet.lines.extend(["", "-" * min(sheet.width, 40), ""])
        _host(sheet, host)
    if report.between_findings or report.between_unclear:
        sheet.heading("Between hosts")
        _findings(sheet, report.between_findings, set())
        _unclear(sheet, report.between_unclear)
    sheet.lines.append("")
    sheet.write(f"steadygpu {report.version}, catalog {report.catalog}")
    return sheet.text()


def _badness(host: HostAnswer) -> int:
    health = host.answer.health
    return HEALTHS.index(health) if health in HEALTHS else 0


def _host(sheet: Sheet, host: HostAnswer) -> None:
    _verdict(sheet, host)
    # What could not be read has a chapter of its own below.
    findings = [one for one in host.findings if one.rule is not CHECK_NOT_EVALUATED]
    if findings:
        sheet.heading(f"Findings: {severity_count(findings)}")
        _findings(sheet, findings, order_unproven(host.answer))
    _ruled_out(sheet, host.answer)
    _unclear(sheet, host.unclear)
    _gaps(sheet, host.gaps)
    if host.broken:
        sheet.heading("Broken rules (please report them)")
        for rule_id, error in host.broken:
            sheet.write(f"{rule_id}: {error}", 2)
    sheet.heading("Coverage")
    sheet.write(coverage_sentence(host), 2)


def _verdict(sheet: Sheet, host: HostAnswer) -> None:
    answer, pace = host.answer, host.answer.bottleneck
    word, _, means = health_sentence(answer).partition(":")
    about = [f"named in {place(host.host_from)}"] if host.host_from else []
    if taken := moment_words(host.taken):
        about.append(f"taken {taken}")
    if setting := setting_words(host.setting):
        about.append(setting)
    sheet.write("", lead=f"Host {host_name(host)}", style=_BOLD)
    if about:
        sheet.write(", ".join(about), 2)
    word = word.upper()
    sheet.write(means.strip(), 2, lead=f"{word}:", style=_COLOURS.get(word, ""))
    sheet.write(bottleneck_sentence(pace), 2, lead="Bottleneck:", style=_BOLD)
    if pace.ask:
        lead = "To decide, run:" if pace.kind == "undecided" else "To make sure:"
        sheet.write(pace.ask, 2, lead=lead, style=_BOLD)
    sheet.write(answer.decision, 2, lead="Decision:", style=_BOLD)
    if questions := open_core(answer):
        sheet.write("; ".join(questions), 2, lead="Not answered:", style=_BOLD)


def _findings(sheet: Sheet, findings: Sequence[Ruled], unproven: set[str]) -> None:
    alike: dict[tuple[str, ...], list[Ruled]] = {}
    for ruled in findings:
        if ruled.caused_by is None and not ruled.consequences:
            alike.setdefault(_group(ruled), []).append(ruled)
    told: set[str] = set()
    for depth, ruled in tree(findings):
        if ruled.key in told:
            continue
        if depth == 0:
            sheet.lines.append("")
        same = alike.get(_group(ruled), []) if depth == 0 else []
        if ruled in same and len(same) > 1:
            told |= {one.key for one in same}
            _alike(sheet, same)
        else:
            _finding(sheet, ruled, depth, unproven)


def _group(ruled: Ruled) -> tuple[str, ...]:
    """Return what findings share that are told together: all but the device and its figures."""
    return (
        ruled.rule.id,
        ruled.severity,
        ruled.action,
        ruled.meaning,
        ruled.decision,
        ruled.next_step,
    )


def _alike(sheet: Sheet, group: Sequence[Ruled]) -> None:
    """Write the findings of one rule on several devices: what each shows, and once what it means."""
    one = group[0]
    head = f"{len(group)} times: {one.rule.title}"
    sheet.write(head, 2, lead=one.severity.upper(), style=_COLOURS.get(one.severity.upper(), ""))
    by_words: dict[str, list[str]] = {}
    for ruled in group:
        by_words.setdefault(ruled.finding.says, []).append(device_label(ruled.finding.subject))
    for says, names in list(by_words.items())[:MANY_ALIKE]:
        sheet.write(says, 4, lead=f"{', '.join(names)}:")
    if len(by_words) > MANY_ALIKE:
        sheet.write(f"+{len(by_words) - MANY_ALIKE} more, see --format plain", 4)
    _what_to_do(sheet, one, 4)
    for ruled in group[:MANY_QUOTES]:
        sheet.quote(ruled.finding.sources[0], 4)


def _what_to_do(sheet: Sheet, ruled: Ruled, indent: int) -> None:
    sheet.write(ruled.meaning, indent, lead="Means:")
    if ruled.severity != "info" or ruled.action != "none":
        sheet.write(f"{ruled.decision} [{ruled.action}]", indent, lead="Decision:", style=_BOLD)
        sheet.write(ruled.next_step, indent, lead="Next step:", style=_BOLD)
    sheet.write(ruled.rule.id, indent, lead="Rule:")


def _finding(sheet: Sheet, ruled: Ruled, depth: int, unproven: set[str]) -> None:
    rule, finding = ruled.rule, ruled.finding
    indent = 2 + 4 * depth
    if depth:
        doubt = " (order in time not proven)" if ruled.caused_by in unproven else ""
        sheet.write(f"which explains{doubt}:", indent - 2)
    word = ruled.severity.upper()
    head = f"{device_label(finding.subject)}: {rule.title}"
    sheet.write(head, indent, lead=word, style=_COLOURS.get(word, ""))
    inner = indent + 2
    sheet.write(finding.says, inner)
    if when := when_words(ruled):
        sheet.write(when, inner, lead="Seen:")
    if finding.touches:
        sheet.write(", ".join(device_label(d) for d in finding.touches), inner, lead="Touches:")
    if depth == 0:
        _what_to_do(sheet, ruled, inner)
    else:  # what is to be done stands at the cause; acting on a consequence cures nothing
        sheet.write(ruled.meaning, inner, lead="Means:")
        sheet.write(rule.id, inner, lead="Rule:")
    for source in finding.sources[:MANY_QUOTES]:
        sheet.quote(source, inner)
    if len(finding.sources) > MANY_QUOTES:
        more = len(finding.sources) - MANY_QUOTES
        sheet.write(f"+{more} more places, see --format plain", inner)


def _ruled_out(sheet: Sheet, answer: Answer) -> None:
    if not answer.ruled_out:
        return
    sheet.heading("Ruled out")
    for item in answer.ruled_out:
        line = f" ({place(item.source)})" if item.source else ""
        sheet.write(f"{item.kind}: {item.because}{line}", 2)


def _unclear(sheet: Sheet, items: Sequence[Open]) -> None:
    if not items:
        return
    groups: dict[str | None, list[Open]] = {}
    for item in items:
        groups.setdefault(item.unclear.ask or None, []).append(item)
    ranked = sorted(groups.items(), key=lambda g: (g[0] is None, -_weight(g[1]), -len(g[1])))
    sheet.heading(f"Could not be judged: {len(items)}")
    for ask, group in ranked[:MANY_ASKS]:
        if ask is None:
            sheet.write("Nothing known to run would tell:", 2)
        else:
            sheet.write(ask, 2, lead="Run:", style=_BOLD)
        for item in group[:MANY_OPEN]:
            seen = item.unclear
            sheet.write(f"{item.rule.id}, {device_label(seen.subject)}: {seen.why}", 4)
        if len(group) > MANY_OPEN:
            sheet.write(f"+{len(group) - MANY_OPEN} more", 4)
    if len(ranked) > MANY_ASKS:
        sheet.write(f"+{len(ranked) - MANY_ASKS} more, see --format json", 2)


def _weight(items: Iterable[Open]) -> int:
    return max(SEVERITIES.index(i.rule.severity) for i in items)


def _gaps(sheet: Sheet, gaps: Sequence[Gap]) -> None:
    if not gaps:
        return
    sheet.heading(f"Could not be read: {len(gaps)}")
    for gap in gaps[:MANY_ASKS]:
        ask = f"; run: {gap.ask}" if gap.ask else ""
        sheet.write(f"{place(gap.where)}: {gap.why}{ask}", 2)
        if gap.where.quote:
            said = escape(_BLANKS.sub(" ", gap.where.quote).strip())
            sheet.lines.append(" " * 4 + cut(said, sheet.width - 4))
    if len(gaps) > MANY_ASKS:
        sheet.write(f"+{len(gaps) - MANY_ASKS} more, see --format json", 2)
