"""The texts that steadygpu reads: one row for each kind.

To add a kind: a row in `readers.rows`, a reader module, cases and recorded texts. Each of `heads` is matched at
the start of single cleaned lines: it must be true of a line that begins this output (or a fragment of it)
and false of lines of all other kinds. Rows are tried in the order of KINDS.
"""

import re
from typing import TYPE_CHECKING

from steadygpu.readers.kind import Kind
from steadygpu.readers.rows import (
    amd,
    bench,
    board,
    cpu,
    dcgm,
    host,
    kernel,
    network,
    nvidia,
    nvidia_more,
    pci,
    profile,
    scrape,
    storage,
)

if TYPE_CHECKING:
    from collections.abc import Container

KINDS: tuple[Kind, ...] = (
    *nvidia.ROWS, *nvidia_more.ROWS, *pci.ROWS, *host.ROWS, *amd.ROWS, *bench.ROWS, *board.ROWS, *cpu.ROWS, *dcgm.ROWS, *network.ROWS, *profile.ROWS, *scrape.ROWS, *storage.ROWS, *kernel.ROWS,
)  # fmt: skip

BY_NAME = {kind.name: kind for kind in KINDS}


def combined() -> "re.Pattern[str]":
    """Return one expression whose last matched group names the kind that a line begins."""
    rows = []
    for kind in KINDS:
        group = kind.name.replace("-", "_")
        rows.append(f"(?P<{group}>{'|'.join(kind.heads)})")
    return re.compile("|".join(rows))


def ask_for(record: str, given: "Container[str]" = ()) -> str | None:
    """Return the command that shows most of this class of records, or None where none does.

    Also None where that text (or its equal in another form) is in `given`: it would say no more.
    """
    best = next((k for k in KINDS if record in k.gives and k.command), None)
    if best is None or any(name in given for name in (best.name, *best.equals)):
        return None
    return best.command
