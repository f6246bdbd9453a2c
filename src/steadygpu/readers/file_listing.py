r"""Reads listings of files: find (paths, -printf '%s %p\n', -ls) and ls -lR, of any size.

GNU findutils 4 and coreutils 8 and 9, BusyBox. ls -h prints sizes rounded to two figures with K, M, G of 1024.
A row of tabs (du -a) counts blocks, not bytes, and is no row of these.
"""

import re
from collections import Counter
from collections.abc import Iterable

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.mount import FileListing
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.source import QUOTE_LIMIT, Absent, Source, cut_quote
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import KIB

SMALL = 64 * KIB  # as `FileListing.small_ratio` says
FEW = 100  # our choice: a listing of fewer files is of no data set, and may be something else
_LONGEST = 5000
_EXACT = 8  # bits of a size that are kept for the median

_SIZE_PATH = re.compile(r"(?P<size>\d{1,15}) (?P<path>(?:/|\.{1,2}/)[^\t]{1,4200})$", re.ASCII)
_PATH = re.compile(r"(?P<path>(?:/|\.{1,2}/)[^\t:|<>\"()]{0,4000}\.\w{1,12})$")
_DATE = (
    r"(?:[A-Z][a-z]{2}\s+\d{1,2}\s+(?:\d{4}|\d\d?:\d\d)|\d{1,2}\s+[A-Z][a-z]{2}\s+(?:\d{4}|\d\d?:\d\d)"
    r"|\d{4}-\d\d-\d\d\s+\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:\s[+-]\d{4})?)"
)
_LONG = re.compile(
    r"(?:\s*\d{1,20}\s+\d{1,12}\s+)?(?P<type>[-dl])[rwxsStT-]{9}[.+@]?\s+\d{1,9}\s+\S{1,64}\s+\S{1,64}\s+"
    r"(?P<size>\d{1,15}|\d{1,4}(?:[.,]\d)?[KMGT])\s+" + _DATE + r"(?:\s(?P<path>.{1,4200}))?$",
    re.ASCII,
)
_FOLDER = re.compile(r"(?P<root>(?:/|\.{1,2}(?:/|:))[^\t]{0,4200}?):?(?<=:)$")
_TOTAL = re.compile(r"total \d{1,12}(?:[.,]\d{1,3})?[KMGT]?$")
_FACTORS = {"K": KIB, "M": KIB**2, "G": KIB**3, "T": KIB**4}


class _Tally:
    """What was counted so far. Memory does not grow with the listing."""

    def __init__(self) -> None:
        self.files = self.sized = self.small = self.total = 0
        self.sizes: Counter[int] = Counter()
        self.root: str | None = None
        self.long = False

    def line(self, text: str) -> bool:
        """Take one line. Returns False where it is none of a listing."""
        text = text.rstrip()
        if len(text) > _LONGEST:
            return False
        if found := _SIZE_PATH.match(text):
            if " -" in found["path"] or self.long:
                return False  # a process and its arguments
            self._file(int(found["size"]), found["path"])
        elif found := _LONG.match(text):
            self.long = True
            if found["type"] == "-":
                self._file(_bytes(found["size"]), found["path"])
        elif _TOTAL.match(text):
            self.long = True
        elif (folder := _FOLDER.match(text)) and (self.long or not self.files):
            self._below(folder["root"].rstrip(":"))
        elif not self.long and (found := _PATH.match(text)):
            self._file(None, found["path"])
        else:
            return False
        return True

    def _file(self, size: int | None, path: str | None) -> None:
        self.files += 1
        if size is not None:
            self.sized += 1
            self.total += size
            self.small += size < SMALL
            drop = max(0, size.bit_length() - _EXACT)
            self.sizes[size >> drop << drop] += 1
        if path is not None and path.startswith(("/", ".")):
            self._below(path.rpartition("/")[0] or "/")

    def _below(self, folder: str) -> None:
        if self.root is None:
            self.root = folder
        while (
            self.root and folder != self.root and not folder.startswith(self.root.rstrip("/") + "/")
        ):
            self.root = self.root.rpartition("/")[0]

    def facts(self, source: Source, host: str | None) -> tuple[FileListing, ...]:
        """Return the one record, or none where the listing is too short to tell of a data set."""
        if self.files < FEW:
            return ()
        sized = self.sized == self.files
        sizes = ("total_bytes", "median_bytes", "small_ratio")
        lacks = () if sized else tuple(
            Absent(field=f, reason="not_printed", ask="find DIR -type f -printf '%s %p\\n'") for f in sizes
        )  # fmt: skip
        return (
            FileListing(
                device=host_ref(host), root=self.root or None, files=self.files, absent=lacks, sources=(source,),
                total_bytes=self.total if sized else None,
                median_bytes=self._median() if sized else None,
                small_ratio=self.small / self.files if sized else None,
            ),
        )  # fmt: skip

    def _median(self) -> int:
        half, passed = (self.files + 1) // 2, 0
        for size in sorted(self.sizes):
            passed += self.sizes[size]
            if passed >= half:
                return size
        return 0


def _bytes(printed: str) -> int:
    factor = _FACTORS.get(printed[-1])
    return round(float(printed[:-1].replace(",", ".")) * factor) if factor else int(printed)


def read_file_listing(lines: Lines) -> Reading:
    """Return one `FileListing` of the lines up to the first one of something else."""
    tally = _Tally()
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if not tally.line(line):
            break
        read_to = at + 1
    if not (tally.files or tally.long):  # nothing, or the name of a folder alone
        return Reading()
    # A filter leaves some of the files: nothing is told of the whole.
    facts = () if lines.filtered else tally.facts(lines.cite(0, read_to - 1), lines.host)
    return Reading(facts=facts, read_to=read_to)


def read_file_listing_blocks(blocks: Iterable[bytes], name: str, host: str | None) -> Reading:
    """Return one `FileListing` of a whole text of any size; lines of something else are passed over."""
    tally = _Tally()
    number, last = 0, 0
    first: int | None = None
    quote: list[str] = []
    carry = b""

    def take(data: bytes) -> None:
        nonlocal number, last, first
        for raw in data.decode("utf-8", "replace").split("\n"):
            number += 1
            line = raw.removesuffix("\r")
            if line.strip() and tally.line(line):
                last = number
                first = number if first is None else first
            if first is not None and len(quote) < QUOTE_LIMIT:
                quote.append(line)

    for block in blocks:
        carry += block
        end = carry.rfind(b"\n")
        if end >= 0:
            take(carry[:end])
            carry = carry[end + 1 :]
        elif len(carry) > 1_000_000:
            carry = carry[-1:]  # no line of a listing is as long
    if carry:
        take(carry)
    source = Source(name=name, first=first or 1, last=max(last, 1), quote=cut_quote(quote))
    return Reading(facts=tally.facts(source, host), read_to=number)
