"""Reads kernel logs: dmesg, journalctl -k and syslog files, as a pasted text or as a file of any size.

Covers: printk of Linux 3.10 to 6.18 in the forms that `kernel_log_time` lists; messages that
`kernel_log_nvrm`, `kernel_log_aer` and `kernel_log_events` list. A log may hold several hosts and boots. A file is read in
blocks: lines without one of WORDS are counted, not decoded; there `KernelLogSpan.lines` is exact for one
host and counts the decoded lines for each of several.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.kernel_log import KernelLogSpan
from steadygpu.evidence.moment import UNKNOWN
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap, Source, cut_quote
from steadygpu.evidence.text import Lines
from steadygpu.readers.kernel_log_aer import AerReports
from steadygpu.readers.kernel_log_events import Families
from steadygpu.readers.kernel_log_families import FAMILIES, WORDS
from steadygpu.readers.kernel_log_fold import Boot, Fold, Host, Line
from steadygpu.readers.kernel_log_nvrm import NvrmMessages
from steadygpu.readers.kernel_log_time import Stamp, stamp_of

LONGEST_LINE = 65_536  # what is longer is no log line; its rest is dropped
HOSTS_KEPT = 10_000
BOOTS_KEPT = 1000  # of one host; more are counted as the last one
_SAMPLE = 200  # bytes that tell the coding
_BACKWARDS_S = 1.0  # processors print out of order by less
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_BARE = re.compile(
    r"NVRM: |(?:pcieport|pciehp|nvidia|nouveau|amdgpu|vfio-pci) [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]: "
    r"|\{\d{1,10}\}\[Hardware Error\]|mce: \[Hardware Error\]|Kernel panic - not syncing|(?:watchdog: )?BUG: "
    r"|INFO: task .{1,100}blocked for more|(?:Memory cgroup o|O)ut of memory: Kill|Killed process \d|oom-kill:"
    r"|(?:NVRM: )?nvidia-nvswitch\d{1,3}: SXid |EDAC MC\d|Memory failure: 0x"
    r"|Call Trace:|Linux version \d|\"echo 0 > /proc/sys/kernel/hung_task"
)
_GOES_ON = re.compile(
    r"\s+(?:NVRM:|\(PCI ID|Tainted: |\[<[0-9a-f]+>\]|RSP <)| [A-Z]{3,20}=\S| [0-9a-f]{16} "
    r"|(?:IP|PGD|Oops|Modules linked in|Hardware name|task|RIP|RSP|R[A-D]X|RBP|R\d\d|FS|CS|CR2|Stack|Code):? "
    r"|(?:Stack|CPU: \d{1,5} PID): ?|---\[ end |\S{1,40} +[RSDTZXI] [0-9a-f]{16} "
)
_PAIR = re.compile(r"\S {2,}: ")  # a field of nvidia-smi -q, never a kernel's second line


@dataclass(slots=True)
class _Log:
    """The state of one log while its lines come by."""

    name: str
    given_host: str | None
    filtered: bool = False
    exact: bool = True
    hosts: dict[str | None, Host] = field(default_factory=dict)
    host: Host | None = None
    fold: Fold = field(default_factory=Fold)
    families: Families = field(init=False)
    boots: int = 0
    marked: bool = False
    marked_id: str | None = None
    other: Gap | None = None

    def __post_init__(self) -> None:
        self.families = Families(
            self.fold, AerReports(self.fold), NvrmMessages(self.fold), FAMILIES
        )

    def line(self, number: int, raw: str, stamp: Stamp) -> None:
        """Read one line whose prefix was read."""
        if stamp.form == "mark":
            if raw.startswith(("-- Boot", "-- Reboot")):
                self.marked, self.marked_id = True, stamp.boot_id
            return
        for part in stamp.text.split("\n") if stamp.form == "json" else (stamp.text,):
            stamp.text = part
            self._message(number, raw, stamp)

    def _message(self, number: int, raw: str, stamp: Stamp) -> None:
        text = stamp.text.strip()
        if stamp.form == "bare" and self.host is not None:
            host, boot = self.host, self.host.boot
            at = host.at if raw[:1].isspace() else UNKNOWN
        else:
            host = self._host_of(stamp)
            boot = self._boot_of(host, stamp, text)
            at = host.moment(stamp, boot.boot_id)
            self.host, host.at = host, at
        boot.lines += 1
        boot.last_number, boot.last_raw = number, raw
        if boot.first_source is None:
            boot.first_source = _cite(self.name, number, raw, "first")
            boot.first = at
        if at is not UNKNOWN:
            boot.last = at
        if stamp.kernel:
            self.families.take(Line(self.name, number, raw, text, host, at, stamp))

    def _host_of(self, stamp: Stamp) -> Host:
        name = stamp.host or self.given_host
        if len(self.hosts) >= HOSTS_KEPT and name not in self.hosts:
            name = next(iter(self.hosts))
        host = self.hosts.get(name)
        if host is None:
            host = self.hosts[name] = Host(name)
        return host

    def _boot_of(self, host: Host, stamp: Stamp, text: str) -> Boot:
        begins = stamp.kernel and text.startswith("Linux version ")
        if not host.boots:
            self._new_boot(host, stamp)
        elif stamp.boot_id is not None:
            known = host.ids.get(stamp.boot_id)
            if known is None:
                self._new_boot(host, stamp)
            elif known is not host.boot:
                host.boots.remove(known)
                host.boots.append(known)
        elif self.marked:
            self._new_boot(host, stamp)
        else:
            last = host.at.boot_s
            if begins and host.boot.lines:
                if stamp.boot_s is None or last is None or last > stamp.boot_s or host.boot.whole:
                    self._new_boot(host, stamp)
            elif (
                stamp.boot_s is not None and last is not None and stamp.boot_s < last - _BACKWARDS_S
            ):
                self._new_boot(host, stamp)
        if begins and not self.filtered:
            host.boot.whole = True
        return host.boot

    def _new_boot(self, host: Host, stamp: Stamp) -> None:
        boot_id = stamp.boot_id or self.marked_id or f"{self.name}#{self.boots}"
        self.marked, self.marked_id = False, None
        self.boots += 1
        if len(host.boots) >= BOOTS_KEPT:
            host.boot.boot_id = boot_id
            return
        boot = Boot(len(host.boots), boot_id)
        host.boots.append(boot)
        if stamp.boot_id is not None:
            host.ids[stamp.boot_id] = boot

    def reading(self, read_to: int, last_number: int) -> Reading:
        """Return what the lines told; `last_number` is the number of the last line."""
        self.families.finish()
        years = [host.first_year for host in self.hosts.values() if host.first_year is not None]
        year = min(years) if years else None
        facts: list[Fact] = []
        for host in self.hosts.values():
            boots = sorted(host.boots, key=lambda boot: boot.index)
            for boot, following in zip(boots, [*boots[1:], None], strict=True):
                end = _start(following) - 1 if following else last_number
                facts.append(self._span(host, boot, end, year))
        facts += self.fold.facts(year)
        other = (self.other,) if self.other else ()
        return Reading(facts=tuple(facts), gaps=(*self.fold.gaps(), *other), read_to=read_to)

    def _span(self, host: Host, boot: Boot, end: int, year: int | None) -> KernelLogSpan:
        assert boot.first_source is not None  # a boot begins with a line
        last = host.dated(boot.last, year)
        lines = boot.lines
        if not self.exact and len(self.hosts) == 1:
            lines = max(lines, end - _start(boot) + 1)
        return KernelLogSpan(
            device=host_ref(host.name),
            at=last,
            first=host.dated(boot.first, year),
            last=last,
            lines=lines,
            boot=boot.index,
            whole=boot.whole,
            sources=(boot.first_source, _cite(self.name, boot.last_number, boot.last_raw, "last")),
        )


def _start(boot: Boot) -> int:
    return boot.first_source.first if boot.first_source else 0


def _cite(name: str, number: int, raw: str, *fields: str) -> Source:
    return Source(name=name, first=number, last=number, quote=cut_quote([raw]), fields=fields)


def read_kernel_log(lines: Lines) -> Reading:
    """Return the events of the log that `lines` begins with; stops at the first line of something else."""
    log = _Log(lines.name, lines.host, filtered=lines.filtered is not None)
    read_to = pending = indent = 0
    for position, clean in enumerate(lines.clean):
        if not clean.strip() or clean == "--":
            pending += 1
            continue
        stamp = stamp_of(clean)
        if stamp.form != "bare":
            indent = len(clean) - len(stamp.text)
        elif not (_BARE.match(clean) or (read_to and _goes_on(clean, indent))):
            break
        log.line(lines.numbers[position], lines.raw[position], stamp)
        read_to, pending = position + 1, 0
    if read_to + pending == len(lines.clean) and read_to:
        read_to += pending
    return log.reading(read_to, lines.numbers[read_to - 1] if read_to else 0)


def _goes_on(clean: str, indent: int) -> bool:
    """Return whether a line without a prefix continues a message whose prefix has `indent` characters."""
    if _GOES_ON.match(clean):
        return True
    return indent >= 15 and clean.startswith(" " * indent) and not _PAIR.search(clean)


def read_kernel_log_blocks(blocks: Iterable[bytes], name: str, host: str | None) -> Reading:
    """Return the events of a whole log of any size. `read_to` is its count of lines.

    `host` names the host of lines that name none. Memory does not grow with the log.
    """
    scan = _Scan(_Log(name, host, exact=False))
    carry = b""
    dropping = False
    for block in _as_utf8(blocks):
        if dropping:  # the rest of a line that was too long
            newline = block.find(b"\n")
            if newline < 0:
                continue
            block, dropping = block[newline:], False
        end = block.rfind(b"\n") + 1
        if not end:
            carry += block
        else:
            scan.whole_lines(carry + block[:end])
            carry = block[end:]
        if len(carry) > LONGEST_LINE:
            carry, dropping = carry[:LONGEST_LINE], True
    if carry:
        scan.whole_lines(carry + b"\n")
    return scan.log.reading(scan.number, scan.number)


def _finder() -> Callable[[bytes], list[int]]:
    """Return the function that gives line starts of candidate lines: by re2 where it is installed.

    The standard library's `re` tries the words one after the other at nearly every byte, which is half as
    fast as one `bytes.find` for each word (48 against 100 MB/s, perf/kernel_log.py).
    """
    try:
        import re2  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return _find_each
    expression: Any = re2.compile(b"|".join(re.escape(word) for word in WORDS))

    def find(data: bytes) -> list[int]:
        starts: list[int] = []
        end = 0
        for hit in expression.finditer(data):
            at: int = hit.start()
            if at >= end:
                starts.append(data.rfind(b"\n", 0, at) + 1)
                end = data.find(b"\n", at)
        return starts

    return find


def _find_each(data: bytes) -> list[int]:
    starts: set[int] = set()
    for word in WORDS:
        at = data.find(word)
        while at >= 0:
            starts.add(data.rfind(b"\n", 0, at) + 1)
            at = data.find(b"\n", at)
            at = data.find(word, at)
    return list(starts)


@dataclass(slots=True)
class _Scan:
    """Finds the lines of a block that are worth decoding, and counts the others."""

    log: _Log
    number: int = 0
    follow: int = 0
    finder: Callable[[bytes], list[int]] = field(default_factory=_finder)

    def whole_lines(self, data: bytes) -> None:
        """Read `data`, which ends with a newline."""
        size = len(data)
        starts = self.finder(data)
        starts += (0, data.rfind(b"\n", 0, size - 1) + 1)
        at, number = 0, self.number
        for start in sorted(starts):
            while self.follow and at < start:
                self.follow -= 1
                at = self._line(data, at, number)
                number += 1
            if start < at:
                continue
            number += data.count(b"\n", at, start)
            at = self._line(data, start, number)
            number += 1
        self.number = number + data.count(b"\n", at)

    def _line(self, data: bytes, start: int, before: int) -> int:
        """Read the line at `start`, which has `before` lines before it; return where the next begins."""
        end = data.find(b"\n", start)
        raw = (
            data[start : min(end, start + LONGEST_LINE)]
            .decode("utf-8", "replace")
            .removesuffix("\r")
        )
        clean = _ANSI.sub("", raw) if "\x1b" in raw else raw
        if self.log.other is None and ("NVSMI LOG" in clean or "| NVIDIA-SMI " in clean):
            where = _cite(self.log.name, before + 1, raw)
            why = "another output begins within this large log and was not read"
            self.log.other = Gap(where=where, why=why, ask="give it as a file of its own")
        elif clean.strip():
            self.log.line(before + 1, raw, stamp_of(clean))
            self.follow = max(self.follow, self.log.families.follow)
        return end + 1


def _as_utf8(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks as UTF-8 without a byte order mark; UTF-16 is told by its mark or zero bytes."""
    rest = iter(blocks)
    head = b""
    for block in rest:
        head += block
        if len(head) >= _SAMPLE:
            break
    coding = _coding(head)
    if coding is None:
        yield head.removeprefix(codecs.BOM_UTF8)
        yield from rest
        return
    decoder = codecs.getincrementaldecoder(coding)("replace")
    yield decoder.decode(head).removeprefix("\ufeff").encode("utf-8", "replace")
    for block in rest:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _coding(block: bytes) -> str | None:
    if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    sample = block[:_SAMPLE]
    if len(sample) >= 4 and sample.count(0) * 3 > len(sample):
        return "utf-16-le" if sample[1::2].count(0) > sample[::2].count(0) else "utf-16-be"
    return None
