"""What stands before the lines of an output: a collector's time, a host, a quote mark, a line number."""

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace

from steadygpu.evidence.text import Lines

SNIFF_LINES = 60
MOST = 0.9  # our choice: of the first lines as many carry a prefix that was put before all of them

_CRI = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) std(?:out|err) [FP] "
)
_INDENT = re.compile(r" {4}|\t")
# (what stands before each line, whether it shows that only some lines were kept)
_STRIPS: tuple[tuple[re.Pattern[str], bool], ...] = (
    # container runtimes and Kubernetes: CRI, docker logs -t
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) (?:std(?:out|err) [FP] )?"), False),
    (re.compile(r"(?:> ?)+"), False),  # quoted in a mail or an issue
    (re.compile(r"\[pod/[\w./-]{1,200}\] "), False),  # kubectl logs --prefix
    (re.compile(r"[\w.-]{1,63} +\| "), False),  # docker compose logs
    (re.compile(r"(?:/\S{1,200}:)?\d{1,9}[:-]"), True),  # grep -n
    (re.compile(r"/[^\s:]{1,200}:"), True),  # grep -H
)  # fmt: skip
_HOST_PREFIX = re.compile(r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,62}): ?(?P<rest>.*)$")
_MARKUP = re.compile(r"</?(?:pre|code|p|div|span|br|blockquote)\b[^<>]{0,200}>", re.IGNORECASE)
_IS_MARKED = re.compile(r"<(?:pre|code|br|p)\b|&(?:lt|gt|amp|nbsp|quot|#39);", re.IGNORECASE)
_ANSIBLE = re.compile(r"(?P<host>[A-Za-z0-9][\w.-]{0,62}) \| [A-Z!]{2,20} (?:=> |\| rc=\d{1,3} >>)")
_TITLE = re.compile(
    r"[=#*-]{2,20}>? ?(?P<host>[A-Za-z][\w-]{0,40}\d[\w.-]{0,20})(?: ?<?[=#*-]{2,20})?$"
)
_WATCH = re.compile(
    r"Every [\d.]{1,8}s: .{1,200}?\s(?P<host>[A-Za-z0-9][\w.-]{0,62}): (?P<date>[A-Z][a-z]{2} .{1,60})"
)
_NAME = re.compile(r"(?P<host>[A-Za-z][\w-]{0,40}\d[\w.,\[\]-]{0,40})\s*$")
_RULE = re.compile(r"-{8,}\s*$")
_NO_HOST = re.compile(r"(?:GPU|CPU|NIC|NUMA|[Tt]est|TEST|[Ss]tep|STEP|part|case|run)[_-]?\d+$")

IsHead = Callable[[str], bool]


def without_prefix(lines: Lines, is_head: IsHead) -> list[Lines]:
    """Return the lines without what was put before each: one part for each host that prefixes lines.

    `is_head` tells whether a line begins an output. Nothing is taken away where lines begin outputs as
    they are, or where what is left begins none.
    """
    if any(_IS_MARKED.search(line) for line in lines.clean) and not _is_xml(lines):
        clean = [html.unescape(_MARKUP.sub("", ln)).replace("\xa0", " ") for ln in lines.clean]
        lines = replace(lines, clean=clean)
    some = [line for line in lines.clean if line.strip()][:SNIFF_LINES]
    if some and all(_INDENT.match(line) for line in some):
        inner = _stripped(lines, _INDENT, some, is_head)
        if inner is not None and not _is_section(some):
            return [inner]
    if some and all(_CRI.match(line) for line in some):
        return [replace(lines, clean=[_CRI.sub("", line, count=1) for line in lines.clean])]
    if not some or any(is_head(line) for line in some):
        return [lines]
    if all(line.startswith('{"log":') for line in some):
        return [replace(lines, clean=[_docker(line) for line in lines.clean])]
    for form, filtered in _STRIPS:
        inner = _stripped(lines, form, some, is_head)
        if inner is not None:
            return [replace(inner, filtered=inner.filtered or ("grep" if filtered else None))]
    return _by_host(lines, some, is_head)


def _is_xml(lines: Lines) -> bool:
    return any("<nvidia_smi_log" in line for line in lines.clean[:20])


def _is_section(some: list[str]) -> bool:
    """Say whether the lines are the inner part of nvidia-smi -q, which is indented by itself."""
    return all(re.match(r"(?: {4}){1,6}\S[^:]{0,60}(?: : |: |$)", line) for line in some) and any(
        re.search(r"\S {2,}: ", line) for line in some
    )


def _stripped(
    lines: Lines, form: "re.Pattern[str]", some: list[str], is_head: IsHead
) -> Lines | None:
    hits = [form.match(line) for line in some]
    if sum(hit is not None for hit in hits) < MOST * len(some):
        return None
    if not any(is_head(line[hit.end() :]) for line, hit in zip(some, hits, strict=True) if hit):
        return None
    return replace(lines, clean=[form.sub("", line, count=1) for line in lines.clean])


def _docker(line: str) -> str:
    try:
        told = json.loads(line)
    except ValueError:
        return line
    said = told.get("log") if isinstance(told, dict) else None
    return said.rstrip("\n") if isinstance(said, str) else line


def _by_host(lines: Lines, some: list[str], is_head: IsHead) -> list[Lines]:
    prefixed = [_host_prefix(line) for line in some]
    if sum(p is not None for p in prefixed) < MOST * len(some):
        return [lines]
    if not any(p and is_head(p["rest"]) for p in prefixed):
        return [lines]
    hosts = {p["host"] for p in prefixed if p}
    parts: dict[str | None, Lines] = {}
    for at, line in enumerate(lines.clean):
        found = _host_prefix(line)
        if found is not None and found["host"] not in hosts and is_head(found["rest"]):
            hosts.add(found["host"])
        # What stands without a prefix, or with a word that was no host, is a text of its own.
        host = found["host"] if found and found["host"] in hosts else None
        part = parts.setdefault(
            host, Lines(name=lines.name, raw=[], clean=[], numbers=[], host=host)
        )
        part.raw.append(lines.raw[at])
        part.clean.append(found["rest"] if found and host else line)
        assert isinstance(part.numbers, list)
        part.numbers.append(lines.numbers[at])
    return list(parts.values())


def _host_prefix(line: str) -> "re.Match[str] | None":
    found = _HOST_PREFIX.match(line)
    return None if found is None or found["host"].isdigit() else found


def host_mark(lines: Lines, at: int) -> str | None:
    """Return the host that a heading names: of ansible, dshbak, watch, or a loop that prints its host."""
    line = lines.clean[at]
    if not 2 < len(line) < 300:
        return None
    for form in (_ANSIBLE, _TITLE, _WATCH):
        found = form.match(line)
        if found is not None and not _NO_HOST.match(found["host"]):
            return found["host"]
    if (
        0 < at < len(lines) - 1
        and (found := _NAME.match(line))
        and not _NO_HOST.match(found["host"])
    ):
        above, below = lines.clean[at - 1], lines.clean[at + 1]
        if _RULE.match(above) and _RULE.match(below):
            return found["host"]
    return None


def watch_date(line: str) -> str | None:
    """Return the date that the heading of watch(1) prints, or None for another line."""
    found = _WATCH.match(line) if 2 < len(line) < 300 else None
    return found["date"] if found else None
