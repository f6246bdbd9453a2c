"""`steadygpu diagnose`: files in, one report out."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from steadygpu import __version__
from steadygpu.archives.given import texts_of
from steadygpu.assemble.assemble import assemble
from steadygpu.catalog.cause import causes
from steadygpu.catalog.table import using
from steadygpu.evidence.reading import HostEvidence, Reading
from steadygpu.evidence.text import Text
from steadygpu.readers.kinds import BY_NAME, ask_for
from steadygpu.readers.paste import read_text
from steadygpu.report.foreign import escape
from steadygpu.rules import never_asked, rules_for
from steadygpu.verdict.answer import HostAnswer, Report
from steadygpu.verdict.judge import judge
from steadygpu.verdict.playbook import answer_host

CATALOG = "2026-11-30"  # the day on which the rows of the catalogue were last checked
HEALTHS = ("unhealthy", "degraded", "healthy", "unknown")


@click.command("diagnose")
@click.argument("paths", nargs=-1, metavar="FILE|FOLDER|-...")
@click.option(
    "--format", "form", type=click.Choice(["terminal", "plain", "json"]), default="terminal"
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write the report to this file."
)
@click.option(
    "--fail-on", type=click.Choice(["critical", "warning", "never"]), default="warning",
    show_default=True, help="Exit status 1 where a finding is at least this severe.",
)  # fmt: skip
@click.option(
    "--strict", is_flag=False, flag_value="yes", type=click.Choice(["yes", "full"]), default=None,
    help="Exit status 3 where something is unknown; full: where a rule was not asked.",
)  # fmt: skip
@click.option(
    "--catalog", metavar="DIR",
    help="Lay your own rows over ours: files named like those of the catalogue, such as xids.csv.",
)  # fmt: skip
@click.option("--no-color", is_flag=True, help="No colour (also: NO_COLOR).")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors; -o is still written.")
@click.option("-v", "--verbose", is_flag=True, help="Say on standard error how each text was read.")
def command(
    paths: tuple[str, ...],
    form: str,
    output: str | None,
    fail_on: str,
    strict: str | None,
    catalog: str | None,
    no_color: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Name the bottleneck or the fault in the files of one or more hosts, and prove it.

    Give the outputs of nvidia-smi, dmesg, lspci, iostat and the like under any name and in any
    order; `steadygpu texts` lists them. "-" reads standard input.
    """
    if not paths:
        raise click.UsageError(
            "name the files to read, for example: steadygpu nvidia-smi.txt dmesg.txt"
        )
    laid = None
    if catalog is not None:
        from steadygpu.cli.overlay import overlay_of

        laid = overlay_of(catalog)
    with using(laid):
        read = _read(paths)
        if verbose:
            _tell(read)
        report = diagnose(read, CATALOG if laid is None else f"{CATALOG}+{laid.name}")
    try:
        if output is not None or not quiet:
            _write(report, form, output, no_color)
    except BrokenPipeError:
        sys.stdout = None  # who read it has seen enough; the status still tells what was found
    return exit_status(report, fail_on, strict)


def _read(paths: tuple[str, ...]) -> list[tuple[Text, Reading]]:
    try:
        return [one for text in texts_of(paths) for one in read_text(text)]
    except FileNotFoundError as error:
        name = escape(str(error)) or '""'
        raise click.UsageError(f"{name}: no such file or folder; name files that exist") from error
    except OSError as error:
        name = escape(str(error.filename or "input"))
        raise click.UsageError(f"{name}: {error.strerror}; check its permissions") from error


def _tell(read: Iterable[tuple[Text, Reading]]) -> None:
    """Write a line for each text: its name, the kind it was taken for, and what came of it."""
    for text, reading in read:
        name = escape(text.name)
        facts, gaps = len(reading.facts), len(reading.gaps)
        click.echo(f"{name}: {text.kind or 'unknown'}, {facts} facts, {gaps} gaps", err=True)


def diagnose(read: Iterable[tuple[Text, Reading]], catalog: str = CATALOG) -> Report:
    """Return the report on all hosts in what was read. `catalog` is what it says of the rows in use."""
    hosts = assemble(list(read), lambda kind: BY_NAME[kind].gives)
    answers = tuple(_answer(host) for host in hosts)
    counts = {health: sum(a.answer.health == health for a in answers) for health in HEALTHS}
    return Report(
        version=__version__,
        catalog=catalog,
        hosts=answers,
        summary={"hosts": len(answers), **counts},
    )


def _answer(host: HostEvidence) -> HostAnswer:
    verdicts = judge(rules_for(host.given), host, lambda record: ask_for(record, host.kinds))
    return answer_host(host, verdicts, causes(), never_asked(host.given))


def _write(report: Report, form: str, output: str | None, no_color: bool) -> None:
    if form == "json":
        from steadygpu.report.as_json import report_dict
        from steadygpu.wire.dump import dump_json

        data = dump_json(report_dict(report)) + b"\n"
    elif form == "plain":
        from steadygpu.report.plain import render_plain

        data = render_plain(report).encode("utf-8", "backslashreplace")
    else:
        from shutil import get_terminal_size

        from steadygpu.report.terminal import render_terminal

        terminal = sys.stdout is not None and sys.stdout.isatty()
        colour = terminal and not (no_color or os.environ.get("NO_COLOR") or output)
        width = min(get_terminal_size((80, 24)).columns, 100) if colour else 80
        data = render_terminal(report, width=width, colour=colour).encode(
            "utf-8", "backslashreplace"
        )
    if output is None and sys.stdout is None:
        raise click.UsageError("standard output is closed; name a file with -o")
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        Path(output).write_bytes(data)
    except OSError as error:
        raise click.UsageError(f"cannot write {escape(output)}: {error.strerror}") from error


def exit_status(report: Report, fail_on: str, strict: str | None) -> int:
    """Return the exit status that HOUSE.md gives: 1 before 4 before 3 before 0."""
    loud = {"critical": ("critical",), "warning": ("critical", "warning"), "never": ()}[fail_on]
    if any(one.severity in loud for host in report.hosts for one in host.findings):
        return 1
    broken = any(host.broken for host in report.hosts)
    if broken and not strict:
        return 4
    if strict and (not report.hosts or any(_open(host, strict) for host in report.hosts)):
        return 4 if broken else 3
    return 4 if broken else 0


def _open(host: HostAnswer, strict: str) -> bool:
    return (
        host.answer.health == "unknown"
        or bool(host.broken)
        or any(one.rule.severity == "critical" for one in host.unclear)
        or (strict == "full" and host.coverage.not_asked > 0)
    )
