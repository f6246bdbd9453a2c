"""`steadygpu schema`: the published shape of an output."""

import click

from steadygpu.wire.schema import schema_text


@click.command("schema")
@click.argument("name")
def command(name: str) -> None:
    """Print the JSON schema of NAME (report)."""
    try:
        click.echo(schema_text(name))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
