"""Takes a file apart: finds the outputs in it, reads each, and names what nobody recognised.

An output begins at a line that some kind's head matches and ends where its reader stops. Prompts
between outputs tell the host and what a filter took away.
"""

import re
from dataclasses import replace
from functools import cache
from itertools import chain

from steadygpu.evidence.kernel_log import KernelLogSpan
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap, Source
from steadygpu.evidence.text import Lines, Text, decode, lines_of
from steadygpu.readers.kind import Kind
from steadygpu.readers.kinds import BY_NAME, combined
from steadygpu.readers.prefix import SNIFF_LINES, host_mark, without_prefix
from steadygpu.readers.taken import Taken
from steadygpu.readers.trace_scan import unzipped

WHOLE_LIMIT = 64_000_000  # our choice: what one listing may take in memory; logs have no limit
GZIP = b"\x1f\x8b"
STREAM_FROM = 1_000_000  # a log above this is read in blocks

_PROMPT = re.compile(
    r"(?:\([^)\s]{1,40}\)\s*)?(?:"
    r"[\w.-]{1,64}@(?P<host>[\w.-]{1,64})(?::[^$#]{0,200}|\s[^$#]{0,200})?[$#]"
    r"|\[[\w.-]{1,64}@(?P<host2>[\w.-]{1,64}) [^\]]{0,200}\][$#]"
    r"|[$#]|➜ {1,3}\S{1,60}|(?:PS )?[A-Z]:\\[^>]{0,200}>)(?:(?:(?<=>)|\s)\s*(?P<command>\S.*))?\s*$"
)
# Lines that say nothing: a command without a prompt, a rule, a fence, a pager.
_NOTHING = re.compile(
    r"[-=_*~`#.+ ]{3,}(?:\w{0,12})\s*$|--More--|(?:> )?(?:sudo )?(?:tail|head|grep|cat) [^|]{0,200}/sys/\S{1,200}\s*$|(?:sudo )?(?:nvidia-smi|dmesg|journalctl|lspci|iostat|lscpu|numactl|lsmod|uname|date|ip|rdma|ethtool|ibstat|ibstatus|ibv_devinfo|perfquery|nstat|netstat|ifconfig|sleep|cat /\S+|numastat|mpstat|vmstat|free|cpupower|taskset)(?: [\w ./,=-]{1,200})?\s*$"
)
_SLEEP = re.compile(r"\bsleep \d")  # what comes after it is later than the date above
_MPSTAT = re.compile(r"\sCPU\s+(?:%us|intr/s)")
_PROMPT_SIGN = re.compile(r"[$#>➜]")
_CONTAINER = re.compile(
    r"\b(?:docker|podman|nerdctl|crictl|enroot|apptainer|singularity|kubectl|oc)\b.*\b(?:run|exec|start|shell)\b|--container"
)
_SOME_CARDS = re.compile(r"nvidia-smi\b.*\s(?:-i|--id)[= ]")
_FILTER = re.compile(r"\|\s*(?:\w*grep|head|tail|awk|sed|cut)\b")
# First characters of log lines: seconds or a date in brackets, a level; dates in figures; months; JSON.
_LOG_STARTS = (b"[<", b"0123456789", b"JFMASOND-", b"{")

_TABLE_START = re.compile(r"\+-|\| NVIDIA-SMI |\|-|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} ")
_TITLES = re.compile(
    r"\| {3,}vGPU ID +Name +\| VM ID|\| *(?:GPU|Compute) instance(?:s| profiles): *\|"
)

# First bytes of files that hold no text, what they are and what to do with them.
_BINARY: tuple[tuple[bytes, tuple[str, str]], ...] = (
    (
        b"\x1f\x8b",
        ("a gzip file", "gunzip -k FILE (tar xzf FILE for a .tar.gz), then give what comes out"),
    ),
    (b"\x28\xb5\x2f\xfd", ("a zstd file", "zstd -d FILE, then give what comes out")),
    (b"\xfd7zXZ\x00", ("an xz file", "xz -dk FILE, then give what comes out")),
    (b"BZh", ("a bzip2 file", "bunzip2 -k FILE, then give what comes out")),
    (b"PK\x03\x04", ("a zip file", "unzip FILE, then give what comes out")),
    (b"\x89PNG", ("an image", "copy the text itself, not a picture of it")),
    (b"\xff\xd8\xff", ("an image", "copy the text itself, not a picture of it")),
    (b"%PDF", ("a PDF file", "copy the text itself")),
)

_OPEN = ("{", "[", "[{", "[ {")  # JSON that breaks after its first brackets

Read = tuple[Text, Reading]


@cache
def _heads() -> "re.Pattern[str]":
    return combined()


def read_text(text: Text) -> tuple[Read, ...]:
    """Return what was read of a text: one pair for each output in it, and one for what was not read.

    Never raises for what the text holds. Raises OSError where the body cannot be read.
    """
    if text.unread is not None:
        return (_unread(text, Source(name=text.name), text.unread),)
    data = text.body.data
    if data is None:
        head = next(iter(text.body.blocks()), b"") if text.body.path else text.body.head
        if (log := _log_of(head)) is not None:
            return (_read_log(text, log),)
        parts, size = [], 0
        for block in text.body.blocks():
            size += len(block)
            if size > WHOLE_LIMIT:
                return (_unread(text, Source(name=text.name), "larger than 64 MB and no log"),)
            parts.append(block)
        data = b"".join(parts)
    elif (
        (len(data) > STREAM_FROM or data.startswith(GZIP))
        and (log := _log_of(data)) is not None
        and (data.startswith(GZIP) or _nothing_else(data, log))
    ):
        return (_read_log(text, log),)
    content = decode(data)
    if (
        binary := next((what for mark, what in _BINARY if data.startswith(mark)), None)
    ) is not None:
        return (_unread(text, Source(name=text.name), *binary),)
    lines = lines_of(text.name, content, filtered=text.filtered)
    if not any(line.strip("\0 \t\r") for line in lines.clean):
        return (_unread(text, Source(name=text.name), "the text is empty"),)
    out: list[Read] = []
    for one in without_prefix(lines, lambda line: _heads().match(line) is not None):
        out.extend(_read_lines(text, one))
    if not out:
        out.append(_unread(text, lines.cite(0), "no output stands in this text", "steadygpu texts"))
    return tuple(out)


def _log_of(head: bytes) -> Kind | None:
    """Return the log kind whose first lines these are, gzipped or not."""
    if head.startswith(GZIP):
        head = next(unzipped((head,)), b"")
    lines = lines_of("", decode(head[:40_000]))
    for at in range(min(len(lines), SNIFF_LINES)):
        found = _heads().match(_head_line(lines, at)) if lines.clean[at].strip() else None
        if found is not None:
            kind = _kind(found)
            return kind if kind.logs else None
    return None


def _nothing_else(data: bytes, kind: Kind) -> bool:
    """Say whether nothing but this log stands in the text."""
    if kind.name == "torch-trace":
        return data.lstrip(b"\xef\xbb\xbf \r\n\t").startswith((b"{", b"["))
    return _all_alike(data)


def _all_alike(data: bytes) -> bool:
    """Say whether all lines begin as the first one does, so that nothing but a log stands here."""
    first = data.lstrip(b"\xef\xbb\xbf\r\n \t")[:1]
    alike = next((group for group in _LOG_STARTS if first in group), None)
    if alike is None or not first:
        return False
    # Lines of a message that goes on begin with a blank.
    return re.search(rb"\n[^" + re.escape(alike) + rb"\r\n \t]", data) is None


def _kind(found: "re.Match[str]") -> Kind:
    assert found.lastgroup is not None
    return BY_NAME[found.lastgroup.replace("_", "-")]


def _read_log(text: Text, kind: Kind) -> Read:
    blocks = text.body.blocks()
    head = next(blocks, b"")
    if head.startswith(GZIP):
        blocks = unzipped(chain((head,), blocks))
        head = next(blocks, b"")
    first, newline, _ = head.partition(b"\n")
    asked = lines_of(text.name, decode(first)) if len(first) < 1000 else None
    if asked and newline and _prompt(asked.clean[0]):
        text = _after_prompt(text, asked, 0)
        head = b"\n" + head[len(first) + 1 :]  # the numbers of the lines below stay
    try:
        reading = kind.read_blocks()(chain((head,), blocks), text.name, text.host)
        if text.filtered is not None:
            reading = replace(reading, facts=tuple(_not_whole(fact) for fact in reading.facts))
    except Exception as error:  # noqa: BLE001 - a reader that breaks is a gap, never a traceback
        return _broken(text, Source(name=text.name), kind, error)
    return replace(text, kind=kind.name), reading


def _not_whole(fact: Fact) -> Fact:
    return replace(fact, whole=None) if isinstance(fact, KernelLogSpan) else fact


def _unread(text: Text, where: Source, why: str, ask: str | None = None) -> Read:
    return text, Reading(gaps=(Gap(where=where, why=why, ask=ask),))


def _broken(text: Text, where: Source, kind: Kind, error: Exception) -> Read:
    why = f"the reader of {kind.name} broke: {type(error).__name__}: {error}"
    return _unread(text, where, why)


def _read_lines(text: Text, lines: Lines) -> list[Read]:
    """Return the outputs of a stretch of lines, and a gap for each run that nobody recognised."""
    out: list[Read] = []
    clean, total = lines.clean, len(lines)
    prompts = [i for i in range(total) if _prompt(clean[i]) or host_mark(lines, i)]
    state = replace(text, host=lines.host or text.host, filtered=lines.filtered)
    if lines.host and total:
        state = replace(state, host_from=lines.cite(0))
    unknown: list[int] = []
    at, next_prompt = 0, iter([*prompts, total])
    limit = next(next_prompt)
    taken = Taken()
    while at < total:
        prompt = at == limit
        if prompt:
            before, state = state.host, _after_prompt(state, lines, at)
            limit = next(next_prompt)
            found = _command_head(clean[at])
            if not taken.see(lines, at) and (state.host != before or _SLEEP.search(clean[at])):
                taken.forget()
        else:
            found = _heads().match(_head_line(lines, at)) if clean[at].strip() else None
        if found is None:
            if not prompt and clean[at].strip("\0 \t") and not taken.see(lines, at):
                if _SLEEP.search(clean[at]):
                    taken.forget()
                if not _NOTHING.match(clean[at]):
                    unknown.append(at)
                    taken.forget()
            at += 1
            continue
        kind = _kind(found)
        part = lines.part(at, limit)
        part.filtered, part.host, part.container = state.filtered, state.host, state.container
        reading = _read_part(state, kind, part)
        if reading.read_to <= 0:
            if not prompt and not taken.see(lines, at) and not _NOTHING.match(clean[at]):
                unknown.append(at)
                taken.forget()
            at += 1
            continue
        if not kind.logs:
            reading = taken.dated(reading)
        out.append((replace(state, kind=kind.name), reading))
        at += min(reading.read_to, limit - at)
    out.extend(_unknown_runs(text, lines, unknown, read_some=bool(out)))
    return out


def _head_line(lines: Lines, at: int) -> str:
    """Return the line that a head is matched on: JSON may break after its first brackets.

    The line of the host is the same in all tools of sysstat: the heading below it tells mpstat.
    The line of a card is the same in several listings; what stands below it tells which one it is.
    """
    line = lines.clean[at]
    if line.startswith("<?xml") and line.rstrip().endswith("?>") and at + 1 < len(lines):
        return line.strip() + lines.clean[at + 1].strip()  # XML after its declaration
    head, following = line.strip(), at + 1
    while head in _OPEN and following < min(len(lines), at + 4):
        head += lines.clean[following].strip()
        following += 1
    if following > at + 1:
        return head
    if line.startswith("Linux "):
        below = next((one for one in lines.clean[at + 1 : at + 3] if one.strip()), "")
        if _MPSTAT.search(below[:200]):
            return below
    if line.startswith("GPU ") and at + 1 < len(lines):
        below = lines.clean[at + 1].lstrip()
        if below.startswith(("Link ", "NVML: Unable to retrieve NVLink", "Active vGPUs")):
            return below
    if _TABLE_START.match(line) and not _TITLES.match(line):
        # Tables of nvidia-smi begin alike; their titles stand below the first lines.
        return next((ln for ln in lines.clean[at + 1 : at + 8] if _TITLES.match(ln)), line)
    return line


def _command_head(line: str) -> "re.Match[str] | None":
    """Return the match where the command after a prompt names the columns of what it prints."""
    found = _PROMPT.match(line)
    return _heads().match(found["command"]) if found and found["command"] else None


def _read_part(state: Text, kind: Kind, part: Lines) -> Reading:
    try:
        return kind.read()(part)
    except Exception as error:  # noqa: BLE001 - a reader that breaks is a gap, never a traceback
        return replace(_broken(state, part.cite(0), kind, error)[1], read_to=1)


def _prompt(line: str) -> "re.Match[str] | None":
    """Return the match where a line is a shell prompt with or without a command."""
    if len(line) > 1000 or not _PROMPT_SIGN.search(line):
        return None
    if line.startswith(("#", ">")) and not line.startswith("# nvidia-smi"):
        return None
    return _PROMPT.match(line)


def _after_prompt(state: Text, lines: Lines, at: int) -> Text:
    """Return what is true of the output that follows a prompt or a heading."""
    found = _PROMPT.match(lines.clean[at])
    if found is None:
        host, command = host_mark(lines, at), ""
    else:
        host, command = found["host"] or found["host2"], found["command"] or ""
    cut = _FILTER.search(command) or _SOME_CARDS.search(command)
    state = replace(
        state, filtered=command if cut else None, container=_CONTAINER.search(command) is not None
    )
    if host and not host.startswith("localhost"):
        state = replace(state, host=host, host_from=lines.cite(at))
    return state


def _unknown_runs(text: Text, lines: Lines, unknown: list[int], *, read_some: bool) -> list[Read]:
    """Return one gap for all lines that no reader took: it names the first run and counts the rest."""
    if not unknown:
        return []
    last = unknown[0]
    for at in unknown[1:]:
        if at != last + 1:
            break
        last = at
    rest = len(unknown) - (last - unknown[0] + 1)
    why = "no reader recognises this text" if not read_some else "no reader recognises these lines"
    if rest:
        why += f" (and {rest} more lines further down)"
    return [_unread(text, lines.cite(unknown[0], last), why, "steadygpu texts")]
