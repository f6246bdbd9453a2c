"""`--catalog DIR`: a user's own rows, read and checked before anything is judged."""

from collections.abc import Iterator
from pathlib import Path

import click

from steadygpu.catalog.lint import Mistake, Numbered
from steadygpu.catalog.overlay import CatalogError, read_overlay
from steadygpu.catalog.table import Overlay
from steadygpu.report.foreign import escape
from steadygpu.rules import SUBJECTS, rules_of


def overlay_of(folder: str) -> Overlay:
    """Return the tables of `folder` laid over ours. Raises click.UsageError with every mistake."""
    path = Path(folder)
    try:
        return read_overlay(path, escape(path.resolve().name or folder), also=_known_ids)
    except CatalogError as error:
        lines = [escape(line) for line in str(error).split("\n")]
        raise click.UsageError("\n".join([f"--catalog {escape(folder)}:", *lines])) from error
    except OSError as error:
        raise click.UsageError(
            f"--catalog {escape(folder)}: {error.strerror}; name a folder with files such as xids.csv"
        ) from error


def _known_ids(file: str, rows: Numbered) -> Iterator[Mistake]:
    """Find causes that name no finding of ours: a misspelt id would never fold."""
    if file != "causes.csv":
        return
    known = {rule.id for module in SUBJECTS for rule in rules_of(module)}
    for line, row in rows:
        for name in ("cause", "consequence"):
            if row[name] not in known:
                yield Mistake(
                    file=file, line=line, column=name, wrong=f"{row[name]!r} is no finding",
                    accepted="ids of findings, as docs/rules lists them",
                )  # fmt: skip
