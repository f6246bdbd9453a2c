"""Runs texts through the house as `steadygpu diagnose` does, without the command line."""

from pathlib import Path

from steadygpu.assemble.assemble import assemble
from steadygpu.cli.diagnose import diagnose
from steadygpu.evidence.reading import HostEvidence, Reading
from steadygpu.evidence.text import Body, Text
from steadygpu.readers.kinds import BY_NAME, ask_for
from steadygpu.readers.paste import read_text
from steadygpu.rules import rules_for
from steadygpu.verdict.answer import Report
from steadygpu.verdict.judge import judge
from steadygpu.verdict.rule import Verdict


def read(texts: dict[str, str | bytes]) -> list[tuple[Text, Reading]]:
    """Return what is read of the texts, by name."""
    return [
        one
        for name, body in texts.items()
        for one in read_text(
            Text(name=name, body=Body(data=body if isinstance(body, bytes) else body.encode()))
        )
    ]


def evidence(texts: dict[str, str | bytes]) -> tuple[HostEvidence, ...]:
    """Return the evidence of each host in the texts."""
    return assemble(read(texts), lambda kind: BY_NAME[kind].gives)


def report(texts: dict[str, str | bytes]) -> Report:
    """Return the report on the texts."""
    return diagnose(read(texts))


def verdicts(host: HostEvidence) -> dict[str, Verdict]:
    """Return the verdict of each rule on one host, by rule id."""
    return {v.rule.id: v for v in judge(rules_for(host.given), host, ask_for)}


def folder(path: Path) -> dict[str, str | bytes]:
    """Return the texts of a folder, by path below it."""
    return {
        file.relative_to(path).as_posix(): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file() and file.name != "origin.txt"
    }


def found(result: Report) -> set[tuple[str, str, str]]:
    """Return (id, subject, severity) of each finding: what order and names must not change."""
    out = set()
    for host in result.hosts:
        for one in host.findings:
            s = one.finding.subject
            name = s.uuid or s.bdf or s.serial or s.label or s.index
            out.add((one.rule.id, f"{host.host} {s.kind} {name}", one.severity))
    return out
