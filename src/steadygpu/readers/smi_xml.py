"""Reads `nvidia-smi -q -x`: the tree of -q as XML, versions v4 to v13.

It scans lines for tags and needs neither a DTD nor a closing tag: a cut file is read as far as it goes.
"""

import re

from steadygpu.evidence.device import normal_bdf
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_fields import label_of
from steadygpu.readers.smi_tree import Card, Tree, facts_of

_TOKEN = re.compile(
    r"<(?P<close>/?)(?P<tag>[A-Za-z_][\w.-]{0,80})(?P<more>[^<>]{0,400}?)(?P<empty>/?)>|<[?!][^>]{0,400}>|(?P<text>[^<]+|<)"
)
_ID = re.compile(r'\bid="(?P<bdf>[0-9A-Fa-f:.]{7,20})"')
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))
_LISTS = {"process_info", "mig_devices"}  # levels that -q does not have
_ROOT = "nvidia_smi_log"
_LONGEST = 100_000  # a whole output in one line is longer than this only when it is no such output
_DEEPEST = 30


class _Scan:
    """Where the scan stands: open tags, the text since the last one, the card."""

    def __init__(self, lines: Lines) -> None:
        self.tree = Tree(lines=lines, tool="nvidia-smi-xml", closed=False)
        self.stack: list[str] = []
        self.text: list[tuple[str, int]] = []
        self.opened = 0
        self.leaf = False
        self.card: Card | None = None
        self.ended = False

    def open(self, tag: str, more: str, at: int, *, empty: bool) -> None:
        """Take an opening tag."""
        if tag == "gpu" and (found := _ID.search(more)):
            self.card = self.tree.card(normal_bdf(found["bdf"]), at)
            self.stack = ["gpu"]
        elif not empty:
            self.stack.append(tag)
        elif tag == "processes" and self.card is not None:
            self.card.no_process = at
        self.text, self.leaf, self.opened = [], not empty, at

    def close(self, tag: str, at: int) -> None:
        """Take a closing tag: the end of a leaf is a cell."""
        if tag == _ROOT:
            self.tree.closed = self.ended = True
        if tag not in self.stack:
            return
        while self.stack[-1] != tag:
            self.stack.pop()
        word = "".join(part for part, _ in self.text).strip()
        if self.leaf and word:
            self._cell(word, at)
        elif tag == "processes" and self.card is not None and not self.card.processes:
            self.card.no_process = self.opened if self.leaf else at
        self.stack.pop()
        self.text, self.leaf = [], False
        if tag == "gpu":
            self.card = None

    def _cell(self, word: str, at: int) -> None:
        for code, sign in _ENTITIES:
            word = word.replace(code, sign)
        labels = [label_of(tag) for tag in self.stack if tag not in _LISTS]
        if self.card is not None and "gpu" in labels:
            path = "/".join(labels[labels.index("gpu") + 1 :])
            self.card.put(path, word, self.opened, at)
        elif len(self.stack) <= 2:
            self.tree.header.setdefault(labels[-1], (word, self.opened, at))


def read_smi_xml(lines: Lines) -> Reading:
    """Return what each card's element says, as far as the text goes."""
    scan = _Scan(lines)
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST or ("<" not in line and not scan.leaf):
            break
        if read_to and re.match(r"\s*<\?xml", line):
            break
        _line(scan, line, at)
        read_to = at + 1
        if scan.ended or len(scan.stack) > _DEEPEST:
            break
    if not scan.tree.cards and not scan.tree.header:
        return Reading()  # XML of another tool
    return Reading(facts=facts_of(scan.tree), read_to=read_to)


def _line(scan: _Scan, line: str, at: int) -> None:
    for found in _TOKEN.finditer(line):
        if found["text"] is not None:
            scan.text.append((found["text"], at))
        elif found["tag"] is None:
            continue
        elif found["close"]:
            scan.close(found["tag"], at)
        else:
            scan.open(found["tag"], found["more"], at, empty=bool(found["empty"]))
