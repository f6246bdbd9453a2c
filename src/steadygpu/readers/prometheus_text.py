"""Reads the exposition text of exporters: Prometheus text format 0.0.4 and OpenMetrics 1.0.

No kind of its own: readers of single exporters take the samples. A sample without braces has no labels; time
stamps are milliseconds in the Prometheus format and seconds in OpenMetrics; exemplars behind `#` are dropped.
"""

import re
from dataclasses import dataclass, field

from steadygpu.evidence.text import Lines

LINE_LIMIT = 20_000  # our choice: a longer line is no sample

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,199}")
_LABEL = re.compile(
    r'\s*(?P<name>[a-zA-Z_][a-zA-Z0-9_.]{0,199}|"[^"\\]{1,200}")\s*=\s*'
    r'"(?P<value>(?:[^"\\]|\\.)*)"\s*(?P<end>[,}])'
)
_VALUE = re.compile(
    r"\s*(?P<value>[+-]?(?:\d{1,25}(?:\.\d{0,25})?|\.\d{1,25})(?:[eE][+-]?\d{1,3})?|[+-]?Inf|[+-]?inf|NaN|nan)"
    r"(?:\s+(?P<stamp>-?\d{1,16}(?:\.\d{1,9})?))?\s*(?:# \{.*)?$"
)
_COMMENT = re.compile(r"#\s*(?P<what>HELP|TYPE|UNIT|EOF)\b(?:\s+(?P<name>[a-zA-Z_:][\w:]{0,199}))?")
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "\\": "\\", '"': '"'}
MILLISECONDS_FROM = 1e11  # seconds of the year 5138: a larger stamp is in milliseconds


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample. `value` is None for NaN and infinities. `stamp` is seconds since 1970, or None.

    `at` is the position of its line in the `Lines` it was read from.
    """

    name: str
    labels: dict[str, str]
    value: float | None
    stamp: float | None
    at: int


@dataclass(slots=True)
class Scrape:
    """What an exposition text holds: samples in order, and the position behind its last line."""

    samples: list[Sample] = field(default_factory=list)
    read_to: int = 0


def read_scrape(lines: Lines) -> Scrape:
    """Return the samples up to the first line that is neither sample, comment nor blank. Never raises.

    A sample that is damaged behind its name is left out, and the scrape goes on. A sample or a comment that was
    there before begins the next scrape.
    """
    out = Scrape()
    seen: set[object] = set()
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if line.startswith("#"):
            comment = _COMMENT.match(line)
            told = (comment["what"], comment["name"]) if comment else None
            if comment is None or told in seen:
                break
            seen.add(told)
            out.read_to = at + 1
            if comment["what"] == "EOF":
                break
            continue
        if len(line) > LINE_LIMIT:
            break
        found = sample_of(line, at)
        if found is not None:
            identity = (found.name, tuple(sorted(found.labels.items())), found.stamp)
            if identity in seen:
                break
            seen.add(identity)
            out.samples.append(found)
        elif not _damaged(line):
            break
        out.read_to = at + 1
    return out


def sample_of(line: str, at: int = 0) -> Sample | None:
    """Return the sample of one line, or None for another line."""
    name = _NAME.match(line)
    if name is None:
        return None
    labels: dict[str, str] = {}
    end = name.end()
    if line[end : end + 1] == "{":
        end += 1
        while True:
            label = _LABEL.match(line, end)
            if label is None:
                if line[end : end + 1] != "}":
                    return None
                end += 1
                break
            labels[label["name"].strip('"')] = _plain(label["value"])
            end = label.end()
            if label["end"] == "}":
                break
    elif line[end : end + 1] not in (" ", "\t"):
        return None
    value = _VALUE.match(line, end)
    if value is None:
        return None
    return Sample(name[0], labels, _number(value["value"]), _stamp(value["stamp"]), at)


def _damaged(line: str) -> bool:
    """Say whether a line still begins as a sample does: a name with labels, or with one word behind it."""
    name = _NAME.match(line)
    if name is None:
        return False
    rest = line[name.end() :]
    return rest.startswith("{") or ("_" in name[0] and len(rest.split()) <= 1)


def _plain(value: str) -> str:
    if "\\" not in value:
        return value
    return _ESCAPED.sub(lambda m: _ESCAPES.get(m[1], m[0]), value)


def _number(word: str) -> float | None:
    if word.lstrip("+-").lower() in ("nan", "inf"):
        return None
    value = float(word)
    return value if abs(value) < 1e300 else None


def _stamp(word: str | None) -> float | None:
    if word is None:
        return None
    value = float(word)
    return value / 1000 if value >= MILLISECONDS_FROM else value
