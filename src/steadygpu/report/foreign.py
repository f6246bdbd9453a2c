"""Foreign strings made safe for a terminal, and text measured in its columns."""

import unicodedata

ELLIPSIS = "…"

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Control, format (all bidi and zero-width marks), lone surrogates, private and unassigned
# characters, line and paragraph separators: what a terminal may obey, hide or show anyhow.
_SHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def escape(text: str) -> str:
    """Return `text` on one line with every character that a terminal might obey or hide spelled out.

    A lone surrogate that stands for an undecodable byte shows as that byte.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(c) for c in text)


def cells(text: str) -> int:
    """Return how many columns an escaped text takes in a terminal."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def cut(text: str, width: int) -> str:
    """Return an escaped text cut to `width` columns; an ellipsis stands for what was cut."""
    if cells(text) <= width:
        return text
    return _split(text, width - 1)[0] + ELLIPSIS if width > 1 else ELLIPSIS[:width]


def wrap(text: str, width: int) -> list[str]:
    """Return an escaped text in lines of at most `width` columns; a longer word is broken."""
    width = max(width, 2)  # a wide character needs two columns
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if not word:
            continue
        if line and cells(line) + 1 + cells(word) <= width:
            line = f"{line} {word}"
            continue
        if line:
            lines.append(line)
        line = word
        while cells(line) > width:
            head, line = _split(line, width)
            lines.append(head)
    if line or not lines:
        lines.append(line)
    return lines


def _shown(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    hidden = unicodedata.category(char) in _SHOWN or 0xFE00 <= code <= 0xFE0F
    if not hidden:
        return char
    if 0xDC80 <= code <= 0xDCFF:  # PEP 383: an undecodable byte
        code -= 0xDC00
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _cell(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _split(text: str, width: int) -> tuple[str, str]:
    used = 0
    for at, char in enumerate(text):
        used += _cell(char)
        if used > width:
            return text[:at], text[at:]
    return text, ""
