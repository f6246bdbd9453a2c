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
from steadygpu.readers.kinds import BY_NAME, Kind, combined

WHOLE_LIMIT = 64_000_000  # our choice: what one listing may take in memory; logs have no limit
STREAM_FROM = 1_000_000  # a log above this is read in blocks
SNIFF_LINES = 60

_PROMPT = re.compile(
    r"(?:\([^)\s]{1,40}\)\s*)?(?:"
    r"[\w.-]{1,64}@(?P<host>[\w.-]{1,64})(?::[^$#]{0,200}|\s[^$#]{0,200})?[$#]"
    r"|\[[\w.-]{1,64}@(?P<host2>[\w.-]{1,64}) [^\]]{0,200}\][$#]"
    r"|[$#]|PS [A-Z]:[^>]{0,200}>)(?:\s+(?P<command>\S.*))?\s*$"
)
_BARE_COMMAND = re.compile(
    r"(?:sudo )?(?:nvidia-smi|dmesg|journalctl|lspci|iostat|lscpu|numactl|lsmod|uname|date|cat /\S+)(?: [\w ./,=-]{1,200})?\s*$"
)
_FILTER = re.compile(r"\|\s*(?:\w*grep|head|tail|awk|sed|cut)\b")
_HOST_PREFIX = re.compile(r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,62}): ?(?P<rest>.*)$")
_TIME_PREFIX = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z (?:std(?:out|err) [FP] )?")

# First characters of log lines: seconds or a date in brackets, a level; dates in figures; months; JSON.
_LOG_STARTS = (b"[<", b"0123456789", b"JFMASOND-", b"{")

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
        if _is_log(head):
            return (_read_log(text),)
        parts, size = [], 0
        for block in text.body.blocks():
            size += len(block)
            if size > WHOLE_LIMIT:
                return (_unread(text, Source(name=text.name), "larger than 64 MB and no log"),)
            parts.append(block)
        data = b"".join(parts)
    elif len(data) > STREAM_FROM and _is_log(data[:STREAM_FROM]) and _all_alike(data):
        return (_read_log(text),)
    content = decode(data)
    lines = lines_of(text.name, content, filtered=text.filtered)
    if not any(line.strip("\0 \t\r") for line in lines.clean):
        return (_unread(text, Source(name=text.name), "the text is empty"),)
    out: list[Read] = []
    for one in _by_prefix(lines):
        out.extend(_read_lines(text, one))
    if not out:
        out.append(_unread(text, lines.cite(0), "no output stands in this text", "steadygpu texts"))
    return tuple(out)


def _is_log(head: bytes) -> bool:
    """Return whether the first lines are those of a log kind."""
    lines = [ln for ln in decode(head[:40_000]).split("\n")[:SNIFF_LINES] if ln.strip()]
    for line in lines:
        found = _heads().match(line)
        if found is not None:
            return _kind(found).logs
    return False


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


def _read_log(text: Text) -> Read:
    kind = BY_NAME["kernel-log"]
    blocks = text.body.blocks()
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


def _by_prefix(lines: Lines) -> list[Lines]:
    """Return the lines without what a collector put before each: one part for each host prefix."""
    some = [line for line in lines.clean if line.strip()][:SNIFF_LINES]
    if any(_heads().match(line) for line in some):
        return [lines]
    if some and all(_TIME_PREFIX.match(line) for line in some):
        clean = [_TIME_PREFIX.sub("", line, count=1) for line in lines.clean]
        return [replace(lines, clean=clean)]
    prefixed = [_HOST_PREFIX.match(line) for line in some]
    if not some or sum(p is not None for p in prefixed) < 0.9 * len(some):
        return [lines]
    if not any(p and _heads().match(p["rest"]) for p in prefixed):
        return [lines]
    hosts = {p["host"] for p in prefixed if p}
    parts: dict[str | None, Lines] = {}
    for at, line in enumerate(lines.clean):
        found = _HOST_PREFIX.match(line)
        # What stands without a prefix, or with a word that was none of them, is a text of its own.
        host = found["host"] if found and (found["host"] in hosts or len(parts) < 2) else None
        part = parts.setdefault(
            host, Lines(name=lines.name, raw=[], clean=[], numbers=[], host=host)
        )
        part.raw.append(lines.raw[at])
        part.clean.append(found["rest"] if found and host else line)
        assert isinstance(part.numbers, list)
        part.numbers.append(lines.numbers[at])
    return list(parts.values())


def _read_lines(text: Text, lines: Lines) -> list[Read]:
    """Return the outputs of a stretch of lines, and a gap for each run that nobody recognised."""
    out: list[Read] = []
    clean, total = lines.clean, len(lines)
    prompts = [
        i for i, ln in enumerate(clean) if ("$" in ln or "#" in ln or ">" in ln) and _prompt(ln)
    ]
    state = replace(text, host=lines.host or text.host)
    unknown: list[int] = []
    at, next_prompt = 0, iter([*prompts, total])
    limit = next(next_prompt)
    while at < total:
        prompt = at == limit
        if prompt:
            state = _after_prompt(state, lines, at)
            limit = next(next_prompt)
            found = _command_head(clean[at])
        else:
            found = _heads().match(_head_line(lines, at)) if clean[at].strip() else None
        if found is None:
            if not prompt and clean[at].strip("\0 \t") and not _BARE_COMMAND.match(clean[at]):
                unknown.append(at)
            at += 1
            continue
        kind = _kind(found)
        part = lines.part(at, limit)
        part.filtered, part.host = state.filtered, state.host
        reading = _read_part(state, kind, part)
        if reading.read_to <= 0:
            if not prompt:
                unknown.append(at)
            at += 1
            continue
        out.append((replace(state, kind=kind.name), reading))
        at += min(reading.read_to, limit - at)
    out.extend(_unknown_runs(text, lines, unknown, read_some=bool(out)))
    return out


def _head_line(lines: Lines, at: int) -> str:
    """Return the line that a head is matched on: JSON may break after its first brace."""
    line = lines.clean[at]
    if line.strip() == "{" and at + 1 < len(lines):
        return "{" + lines.clean[at + 1].strip()
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
    if len(line) > 1000 or (line.startswith(("#", ">")) and not line.startswith("# nvidia-smi")):
        return None
    return _PROMPT.match(line)


def _after_prompt(state: Text, lines: Lines, at: int) -> Text:
    found = _PROMPT.match(lines.clean[at])
    assert found is not None
    host = found["host"] or found["host2"]
    command = found["command"] or ""
    filtered = command if _FILTER.search(command) else None
    state = replace(state, filtered=filtered)
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
