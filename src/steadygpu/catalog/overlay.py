"""A user's own rows, laid over ours by key: `steadygpu diagnose --catalog DIR`.

DIR holds files named like ours (xids.csv, causes.csv); a row with the key of one of ours takes its place,
others are added. Every row goes through the same checks as ours and brings its own source and date.
"""

from pathlib import Path

from steadygpu.catalog.lint import SPECS, Mistake, lint, package_files, parse
from steadygpu.catalog.table import Overlay, Row, package_text

LARGEST = 8 * 1024 * 1024  # our choice: hundreds of times our largest file


class CatalogError(ValueError):
    """The rows of a user cannot be used. `mistakes` names each; str() is what to print."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        self.mistakes = mistakes
        shown = [str(m) for m in mistakes[:20]]
        more = [f"and {len(mistakes) - 20} more"] if len(mistakes) > 20 else []
        super().__init__("\n".join(shown + more))


def read_overlay(folder: Path, name: str) -> Overlay:
    """Return the tables of `folder` laid over ours. Raises CatalogError, or OSError where unreadable."""
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
            text = path.read_text("utf-8-sig")
        except UnicodeDecodeError:
            mistakes.append(_about(path.name, "not UTF-8"))
            continue
        header, rows = parse(text)
        found = lint(path.name, header, rows)
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


def _merged(file: str, rows: list[tuple[int, Row]]) -> list[tuple[int, Row]]:
    """Return our rows with those of the same key replaced, then the others; lines are the user's."""
    key = SPECS[file].key
    mine = {tuple(row[name] for name in key): (line, row) for line, row in rows}
    _, ours = parse(package_text(file))
    out = [mine.pop(tuple(row[name] for name in key), (line, row)) for line, row in ours]
    return out + list(mine.values())
