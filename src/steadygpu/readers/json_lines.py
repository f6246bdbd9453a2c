"""Takes JSON apart and keeps the line of each value, so that a fact can cite where it stands.

A helper of readers. Cut, doubled or damaged JSON gives what stands before the damage.
"""

import re
from dataclasses import dataclass, field

from steadygpu.evidence.text import Lines

DEEPEST = 64  # our choice: no tool nests deeper
LINE_LIMIT = 4_000_000  # our choice: a diagnostic of eight cards in one line takes 40 000

_TOKEN = re.compile(
    r'\s+|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<number>-?\d{1,25}(?:\.\d{1,25})?(?:[eE][+-]?\d{1,4})?)(?![\w.])'
    r"|(?P<word>true|false|null)\b|(?P<sign>[{}\[\],:])"
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}

Step = str | int
Scalar = str | float | bool | None


@dataclass(frozen=True, slots=True)
class Value:
    """One value that holds no others: the keys and numbers that lead to it, and its line."""

    path: tuple[Step, ...]
    value: Scalar
    at: int


@dataclass(slots=True)
class Parsed:
    """The values of one JSON text in order; `whole` says that its last bracket was there."""

    values: list[Value] = field(default_factory=list)
    read_to: int = 0
    whole: bool = False


def parse(lines: Lines) -> Parsed:
    """Return the values of the JSON that begins on the first line. Never raises."""
    out = Parsed()
    path: list[Step] = []
    closers: list[str] = []
    key: str | None = None
    for at, line in enumerate(lines.clean):
        if len(line) > LINE_LIMIT:
            break
        place = 0
        while place < len(line):
            token = _TOKEN.match(line, place)
            if token is None:
                out.read_to = at + 1 if out.values or closers else 0
                return out
            place = token.end()
            sign = token["sign"]
            if sign in ("{", "["):
                if closers:
                    path.append(_step(path, closers, key))
                closers.append("}" if sign == "{" else "]")
                path.append(-1)
                key = None
                if len(closers) > DEEPEST:
                    return out
            elif sign in ("}", "]"):
                if not closers or closers.pop() != sign:
                    out.read_to = at + 1 if out.values else 0
                    return out
                path.pop()
                if not closers:
                    out.whole, out.read_to = True, at + 1
                    return out
                path.pop()
                key = None
            elif sign == ":" or sign == "," or token[0].isspace():
                key = None if sign == "," else key
            elif not closers:
                return out
            elif closers[-1] == "}" and key is None and token["text"] is not None:
                key = _text(token["text"])
            else:
                step = _step(path, closers, key)
                out.values.append(Value((*path_of(path), step), _scalar(token), at))
                key = None
        if line.strip():
            out.read_to = at + 1
    return out


def path_of(path: list[Step]) -> tuple[Step, ...]:
    """Return the steps down to the open container: every other entry counts items of a list."""
    return tuple(path[1::2])


def _step(path: list[Step], closers: list[str], key: str | None) -> Step:
    """Return the step to the next value: its key, or its number in a list."""
    if closers[-1] == "}":
        return key if key is not None else ""
    count = path[-1]
    path[-1] = count + 1 if isinstance(count, int) else 0
    return path[-1]


def _scalar(token: "re.Match[str]") -> Scalar:
    if token["text"] is not None:
        return _text(token["text"])
    if token["number"] is not None:
        number = float(token["number"])
        return number if abs(number) < 1e300 else None
    return {"true": True, "false": False}.get(token["word"])


def _text(word: str) -> str:
    if "\\" not in word:
        return word
    return (
        _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _PLAIN.get(m[2], m[2]), word)
        .encode("utf-8", "replace")
        .decode("utf-8")
    )
