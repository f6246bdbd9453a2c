"""The command line: the table of commands, and what is true of all of them."""

import sys
from importlib import import_module

import click

from steadygpu import __version__

# name: (module, what it does). A module is imported when its command is called.
COMMANDS: dict[str, tuple[str, str]] = {
    "diagnose": ("diagnose", "Name the bottleneck or the fault in the files of a host."),
    "texts": ("texts", "List the texts that are read, and what prints each."),
    "schema": ("schema", "Print the JSON schema of an output."),
}


class Table(click.Group):
    """The commands of the table; anything else is taken as files to diagnose."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; imports its module. None where there is none of this name."""
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        command = import_module(f"steadygpu.cli.{row[0]}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, row[1]) for name, row in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `diagnose` in front where no command is named."""
        if args and args[0] not in COMMANDS and args[0] not in ("--help", "-h", "--version"):
            args = ["diagnose", *args]
        # click would take the file after a bare --strict for its value.
        end = args.index("--") if "--" in args else len(args)
        args = ["--strict=yes" if a == "--strict" and i < end else a for i, a in enumerate(args)]
        return super().parse_args(ctx, args)


@click.group(cls=Table, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="steadygpu")
def app() -> None:
    """Read facts about GPU hosts and say what to do about them.

    steadygpu FILE... is short for steadygpu diagnose FILE...
    """


def main() -> None:
    """Run the command line. Ends the process with the status that the README names."""
    try:
        # Not app.main(): click's own handling ends a closed pipe with status 1.
        with app.make_context("steadygpu", sys.argv[1:]) as context:
            status = app.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as done:
        status = done.exit_code
    except click.ClickException as error:
        error.show()
        status = 2
    except (click.Abort, KeyboardInterrupt):
        status = 130
    except BrokenPipeError:
        status = _quietly(0)  # the reader of our output has gone: end without a word
    except OSError as error:
        print(f"Error: cannot write the output: {error.strerror}", file=sys.stderr)  # noqa: T201
        status = _quietly(2)
    sys.exit(status if isinstance(status, int) else 0)


def _quietly(status: int) -> int:
    """Keep the interpreter from writing what it still holds for standard output."""
    if sys.stdout is not None:
        sys.stdout = None
    return status
