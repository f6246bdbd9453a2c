"""Nothing of the shared material lies in the project: a comparison of hashes."""

import hashlib
from pathlib import Path

from shared import SHARED, needs_shared

ROOT = Path(__file__).parents[1]
LINE = 300  # a sentence that a tool prints is the same wherever it was printed


@needs_shared
def test_no_file_of_the_project_is_a_copy() -> None:
    theirs = {
        hashlib.sha256(p.read_bytes()).digest(): p
        for p in SHARED.rglob("*")
        if p.is_file() and p.stat().st_size > LINE
    }
    ours = [
        p
        for top in ("src", "tests", "docs", "examples", "perf")
        for p in (ROOT / top).rglob("*")
        if p.is_file()
    ]
    copies = [p.name for p in ours if hashlib.sha256(p.read_bytes()).digest() in theirs]
    assert not copies
