"""Tables of the catalogue: package data, and the tables of a user laid over them.

A user's tables are set once at the edge of the program with `using`, never by a library function. What
was read without them stays apart from what is read with them, so the order of calls does not matter.
"""

import csv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, wraps
from importlib.resources import files
from typing import TypeVar

T = TypeVar("T")
Row = Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Overlay:
    """Whole tables by file name, ours and the user's rows together; `name` is what a report says."""

    name: str
    tables: Mapping[str, tuple[Row, ...]]


_LAID: ContextVar[Overlay | None] = ContextVar("steadygpu_catalog", default=None)


@contextmanager
def using(overlay: Overlay | None) -> Iterator[None]:
    """Let every loader of the catalogue read `overlay` inside the block; None is package data only."""
    token = _LAID.set(overlay)
    try:
        yield
    finally:
        _LAID.reset(token)


def table(file: str) -> tuple[Row, ...]:
    """Return the rows of a file of the catalogue, such as "xids.csv"."""
    laid = _LAID.get()
    if laid is not None and file in laid.tables:
        return laid.tables[file]
    return tuple(csv.DictReader(package_text(file).splitlines()))


def package_text(file: str) -> str:
    """Return the text of a file of package data."""
    return (files("steadygpu.catalog") / "data" / file).read_text("utf-8")


def once(load: Callable[[], T]) -> Callable[[], T]:
    """Return `load` so that it runs once for package data and once for each overlay in use."""

    @lru_cache(maxsize=4)
    def kept(_laid: Overlay | None) -> T:
        return load()

    @wraps(load)
    def get() -> T:
        return kept(_LAID.get())

    return get
