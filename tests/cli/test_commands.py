import json
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import jsonschema
import pytest
from click.testing import CliRunner, Result

from steadygpu import __version__
from steadygpu.cli import COMMANDS, app, main
from steadygpu.readers.kinds import KINDS

HERE = SimpleNamespace(name="steadygpu", main=lambda **_: main())
LINE = b"[ 2207.551120] NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.\n"


def run(*args: str, given: bytes = b"") -> Result:
    with mock.patch.object(sys, "argv", ["steadygpu", *args]):
        return CliRunner().invoke(HERE, input=given)  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_lists_every_command_in_one_line_each(option: str) -> None:
    result = run(option)
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: steadygpu ")
    for name, (_, says) in COMMANDS.items():
        assert any(line.split() == [name, *says.split()] for line in result.stdout.splitlines())


@pytest.mark.parametrize("name", list(COMMANDS))
def test_each_command_has_help_of_its_own(name: str) -> None:
    for option in ("--help", "-h"):
        result = run(name, option)
        assert result.exit_code == 0
        assert result.stdout.startswith(f"Usage: steadygpu {name} ")


def test_help_of_diagnose_tells_formats_statuses_and_standard_input() -> None:
    shown = " ".join(run("diagnose", "--help").stdout.split())
    for word in ("terminal|plain|json", "critical|warning|never", "[default: warning]", "NO_COLOR"):
        assert word in shown
    assert '"-" reads standard input' in shown


def test_version() -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"steadygpu, version {__version__}\n"


def test_no_argument_at_all_shows_the_help_as_wrong_use() -> None:
    result = run()
    assert result.exit_code == 2
    assert "diagnose" in result.output


def test_files_without_a_command_mean_diagnose() -> None:
    assert run("-", given=LINE).stdout == run("diagnose", "-", given=LINE).stdout
    assert run("-", given=LINE).exit_code == 1


def test_options_before_the_files_mean_diagnose_too() -> None:
    for options in (("--format", "json"), ("--no-color",), ("--fail-on=never",), ("--strict=yes",)):
        bare, named = run(*options, "-", given=LINE), run("diagnose", *options, "-", given=LINE)
        assert bare.stdout == named.stdout
        assert bare.exit_code == named.exit_code


def test_what_is_no_command_is_taken_as_a_file_and_asked_for() -> None:
    for name in ("diagnosis", "help"):
        result = run(name)
        assert result.exit_code == 2
        assert f"{name}: no such file or folder" in " ".join(result.output.split())
        assert not result.stdout


def test_the_table_names_its_commands_and_no_other() -> None:
    context = app.make_context("steadygpu", ["texts"])
    assert app.list_commands(context) == list(COMMANDS)  # type: ignore[attr-defined]
    for name in COMMANDS:
        assert app.get_command(context, name).name == name  # type: ignore[attr-defined]
    assert app.get_command(context, "diagnosis") is None  # type: ignore[attr-defined]


def test_texts_lists_every_kind_with_the_command_that_prints_it() -> None:
    result = run("texts")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 2 * len(KINDS)
    for kind in KINDS:
        at = lines.index(f"{kind.name}: {kind.title}")
        assert lines[at + 1].startswith("    ")
        assert kind.command is None or kind.command in lines[at + 1]


def test_schema_prints_a_schema_that_is_one() -> None:
    for name in ("report", "report-1"):
        result = run("schema", name)
        assert result.exit_code == 0
        jsonschema.validators.validator_for(json.loads(result.stdout)).check_schema(
            json.loads(result.stdout)
        )
    assert run("schema", "report").stdout == run("schema", "report-1").stdout


def test_an_unknown_schema_is_wrong_use_and_the_message_names_those_there_are() -> None:
    result = run("schema", "repotr")
    assert result.exit_code == 2
    assert "'repotr'" in result.output
    assert "report, report-1" in result.output
    assert run("schema").exit_code == 2


@pytest.mark.parametrize("name", ["texts", "schema"])
def test_too_many_arguments_are_wrong_use(name: str) -> None:
    assert run(name, "a", "b").exit_code == 2


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "steadygpu", "--version"], capture_output=True, timeout=60, check=True
    )  # fmt: skip
    assert done.stdout.decode() == f"steadygpu, version {__version__}\n"
    assert done.stderr == b""


def test_help_imports_no_command() -> None:
    code = (
        "import sys; sys.argv = ['steadygpu', '--help']\n"
        "from steadygpu.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "sys.stderr.write(' '.join(m for m in sys.modules if m.startswith('steadygpu')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert set(done.stderr.split()) == {"steadygpu", "steadygpu.cli"}
