"""Reads `nvidia-smi -q`: all fields of every card, or the sections that -d chose.

Covers drivers 304 to 610. 304 names the sections of ECC by single and double bit; 470 has remapped
rows; 535 renames throttle reasons to event reasons; 550 splits SRAM errors; 595 writes KMD Version.
"""

import re

from steadygpu.evidence.device import normal_bdf
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_fields import label_of
from steadygpu.readers.smi_tree import Card, Tree, facts_of

_LONGEST = 1000  # no line of this output is longer; what is, is another text
_BANNER = re.compile(r"=+NVSMI LOG=+\s*$")
_TOP = re.compile(
    r"(?P<label>Timestamp|Driver Version|CUDA Version|KMD Version|CUDA UMD Version|Attached GPUs)\s*:\s*(?P<word>.*)$"
)
_CARD = re.compile(r"GPU (?P<bdf>[0-9A-Fa-f:.]{7,20})\s*$")
_LEAF = re.compile(r"(?P<indent>[ \t]+)(?P<label>[A-Za-z][^:]{0,79}?)\s*: ?(?P<word>.*)$")
_HEADER = re.compile(r"(?P<indent>[ \t]+)(?P<label>[A-Za-z][\w .()/+-]{0,60}?)\s*$")
_TABS = 4


def read_smi_q(lines: Lines) -> Reading:
    """Return what each card's section says. A fragment without a head is one card without a name."""
    tree = Tree(lines=lines, tool="nvidia-smi-q")
    card: Card | None = None
    stack: list[tuple[int, str]] = []
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        if not line[0].isspace():
            if _BANNER.match(line):
                if tree.cards or tree.header:
                    break  # the next output begins
            elif found := _TOP.match(line):
                label = label_of(found["label"])
                if label in tree.header:
                    break
                tree.header[label] = (found["word"], at, at)
            elif (found := _CARD.match(line)) and normal_bdf(found["bdf"]):
                bdf = normal_bdf(found["bdf"])
                if any(other.bdf == bdf for other in tree.cards):
                    break
                card, stack = tree.card(bdf, at), []
            else:
                break
        elif found := _LEAF.match(line):
            card = card or tree.card(None, at)
            _leaf(card, stack, found, at)
        elif found := _HEADER.match(line):
            card = card or tree.card(None, at)
            _drop(stack, found["indent"])
            stack.append((_width(found["indent"]), label_of(found["label"])))
        else:
            break
        read_to = at + 1
    return Reading(facts=facts_of(tree), read_to=read_to)


def _width(indent: str) -> int:
    return len(indent.expandtabs(_TABS))


def _drop(stack: list[tuple[int, str]], indent: str) -> None:
    while stack and stack[-1][0] >= _width(indent):
        stack.pop()


def _leaf(card: Card, stack: list[tuple[int, str]], found: "re.Match[str]", at: int) -> None:
    _drop(stack, found["indent"])
    label = label_of(found["label"])
    if not found["word"].strip() and label in ("mig_device", "processes"):
        stack.append((_width(found["indent"]), label))
        return
    path = "/".join([*(name for _, name in stack if name != "mig_devices"), label])
    card.put(path, found["word"].strip(), at, at)
