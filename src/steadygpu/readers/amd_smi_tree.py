"""The values of an `amd-smi` listing by card, from its JSON and its text form, each with its line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from steadygpu.evidence.text import Lines

_TOKEN = re.compile(
    r"\"(?P<key>[^\"\\]{1,80})\"\s*:|\"(?P<text>[^\"\\]{0,200})\"|(?P<bare>-?\d[\d.eE+-]{0,40}|true|false|null)"
    r"|(?P<open>[{\[])|(?P<close>[}\]])|\"(?:[^\"\\]|\\.)*\""
)
_JSON_LINE = re.compile(r"\s*(?:[\"{}\[\],]|-?\d|true\b|false\b|null\b|$)")
_GPU = re.compile(r"GPU: (?P<gpu>\d{1,3})\s*$")
_ITEM = re.compile(
    r"(?P<indent>(?: {4}){1,8})(?P<key>[A-Z][A-Z0-9_]{0,60}):(?: (?P<value>.{0,300}?))?\s*$"
)

Path = tuple[str, ...]


@dataclass(slots=True)
class Card:
    """The values of one card: path in lower case below the card, text, and the line. `{value, unit}` is one value."""

    leaves: list[tuple[Path, str, int]] = field(default_factory=list)

    def index(self) -> int | None:
        """Return the number of the card, or None where it was not printed."""
        told = next((value for path, value, _ in self.leaves if path == ("gpu",)), "")
        return int(told) if re.fullmatch(r"\d{1,3}", told, re.ASCII) else None

    def find(self, *path: str) -> tuple[str, int] | None:
        """Return the first value at this path and its line."""
        return next(((value, at) for where, value, at in self.leaves if where == path), None)

    def below(self, *path: str) -> Iterator[tuple[Path, str, int]]:
        """Yield what stands below a path."""
        n = len(path)
        yield from ((w[n:], v, at) for w, v, at in self.leaves if len(w) > n and w[:n] == path)


@dataclass(slots=True)
class Tree:
    """The cards of one listing; `read_to` as readers give it, `cut` where the JSON does not close."""

    cards: list[Card]
    read_to: int
    cut: bool = False


def json_tree(lines: Lines) -> Tree:
    """Return the cards of a JSON listing: a list of objects, or `{"gpu_data": [...]}`."""
    cards: list[Card] = []
    stack: list[tuple[str, str]] = []  # what each open bracket is, and its name below the one above
    counts: list[int] = []
    key = ""
    end, opened = 0, False
    for at, line in enumerate(lines.clean):
        if not _JSON_LINE.match(line):
            break
        for token in _TOKEN.finditer(line):
            if token["key"] is not None:
                key = token["key"].lower()
                continue
            name = key
            if stack and stack[-1][0] == "[" and not token["close"]:
                name = f"#{counts[-1]}"
                counts[-1] += 1
            if token["open"]:
                if len(stack) > 40:
                    return Tree(cards, end, cut=True)
                stack.append((token["open"], name))
                counts.append(0)
                opened = True
                if token["open"] == "{" and _card_depth(stack):
                    cards.append(Card())
            elif token["close"]:
                if stack:
                    stack.pop()
                    counts.pop()
            else:
                value = token["text"] if token["text"] is not None else token["bare"]
                base = _base(stack)
                if value is not None and base and cards:
                    path = (*(n for _, n in stack[base:]), name)
                    if path[-1] == "value":
                        path = path[:-1]
                    cards[-1].leaves.append((path, value, at))
            key = ""
            if opened and not stack:
                return Tree(cards, at + 1)
        if line.strip():
            end = at + 1
    return Tree(cards, end if cards else 0, cut=bool(stack))


def _base(stack: list[tuple[str, str]]) -> int:
    """Return how many brackets are open down to the card, 0 outside of one."""
    shape = "".join(bracket for bracket, _ in stack[:3])
    if shape.startswith("[{"):
        return 2
    return 3 if shape == "{[{" and stack[1][1] == "gpu_data" else 0


def _card_depth(stack: list[tuple[str, str]]) -> bool:
    return len(stack) == _base(stack)


def text_tree(lines: Lines) -> Tree:
    """Return the cards of a text listing: "GPU: n" and indented "KEY: value" lines below it."""
    cards: list[Card] = []
    names: list[str] = []
    seen: set[str] = set()
    end, body = 0, False
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if head := _GPU.match(line):
            if head["gpu"] in seen:
                break
            seen.add(head["gpu"])
            cards.append(Card([(("gpu",), head["gpu"], at)]))
            names = []
        elif cards and (item := _ITEM.match(line)):
            depth = len(item["indent"]) // 4
            if depth > len(names) + 1:
                break
            names = [*names[: depth - 1], item["key"].lower()]
            body = True
            if item["value"]:
                cards[-1].leaves.append((tuple(names), item["value"], at))
        else:
            break
        end = at + 1
    return Tree(cards, end if body else 0)
