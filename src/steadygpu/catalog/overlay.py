"""A user's own rows, laid over ours by key: `steadygpu diagnose --catalog DIR`.

DIR holds files named like ours (xids.csv, causes.csv); a row with the key of one of ours takes its place,
others are added. Every row goes through the same checks as ours and brings its own source and date.
"""

import csv
from collections.abc import Callable, Iterable
from pathlib import Path

from steadygpu.catalog.lint import SPECS, Mistake, Numbered, lint, package_files, parse
from steadygpu.catalog.table import Overlay, Row, package_text

LARGEST = 8 * 1024 * 1024  # our choice: hundreds of times our largest file


class CatalogError(ValueError):
    """The rows of a user cannot be used. `mistakes` names each; str() is what to print."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        self.mistakes = mistakes
        shown = [str(m) for m in mistakes[:20]]
        more = [f"and {len(mistakes) - 20} more"] if len(mistakes) > 20 else []
        super().__init__("\n".join(shown + more))


def _no_more(_file: str, _rows: Numbered) -> Iterable[Mistake]:
    return ()


def read_overlay(
    folder: Path, name: str, also: Callable[[str, Numbered], Iterable[Mistake]] = _no_more
) -> Overlay:
    """Return the tables of `folder` laid over ours. Raises CatalogError, or OSError where unreadable.

    `also` finds what the catalogue itself cannot know, given a file's name and the user's rows.
    """
    mistakes: list[Mistake] = []
    tables: dict[str, tuple[Row, ...]] = {}
    paths = sorted(p for p in folder.iterdir() if p.suffix == ".csv")
    if not paths:
        mistakes.append(_about(folder.name or ".", "no .csv file is there"))
    for path in paths:
        if path.name not in package_files():
            mistakes.append(_about(path.name, "this file is not one of the catalogue"))
            continue
        if path.stat().st_size > LARGEST:
            mistakes.append(_about(path.name, f"larger than {LARGEST // 2**20} MiB"))
            continue
        try:
            header, rows = parse(path.read_text("utf-8-sig"))
        except UnicodeDecodeError:
            mistakes.append(_about(path.name, "not UTF-8"))
            continue
        except csv.Error as error:
            mistakes.append(_about(path.name, f"not CSV: {error}"))
            continue
        found = lint(path.name, header, rows)
        found += () if found else also(path.name, rows)
        mistakes += found
        if not found:
            merged = _merged(path.name, rows)
            mistakes += lint(path.name, header, merged)
            tables[path.name] = tuple(row for _, row in merged)
    if mistakes:
        raise CatalogError(mistakes)
    return Overlay(name=name, tables=tables)


def _about(file: str, wrong: str) -> Mistake:
    return Mistake(file=file, line=1, column="-", wrong=wrong, accepted=", ".join(package_files()))


def _merged(file: str, rows: Numbered) -> list[tuple[int, Row]]:
    """Return our rows with those of the same key replaced, then the others; lines are the user's."""
    key = SPECS[file].key
    mine = {tuple(row[name] for name in key): (line, row) for line, row in rows}
    _, ours = parse(package_text(file))
    out = [mine.pop(tuple(row[name] for name in key), (line, row)) for line, row in ours]
    return out + list(mine.values())
