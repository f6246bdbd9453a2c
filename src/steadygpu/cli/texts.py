"""`steadygpu texts`: what is read, and the command that prints each."""

import click

from steadygpu.readers.kinds import KINDS


@click.command("texts")
def command() -> None:
    """List the texts that are read, and what prints each.

    Give them under any name, in any order, alone or pasted together into one file.
    """
    for kind in KINDS:
        click.echo(f"{kind.name}: {kind.title}")
        click.echo(f"    {kind.command or 'printed by the tool in place of its data'}")
