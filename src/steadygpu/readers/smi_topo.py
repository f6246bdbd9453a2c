"""Reads `nvidia-smi topo -m`: paths between cards and NICs, CPU and NUMA affinity.

Covers nvidia-smi 375 to 610. Columns are parted by tabs, in a copied text often by blanks; the head
is underlined on a terminal. NICs stand by name (mlx5_0) before 515, then as NIC0 with a legend;
NUMA Affinity since 450, GPU NUMA ID since 530, which stands one tab too far. SOC was the word for
SYS before 384.
"""

import re
from dataclasses import dataclass, field

from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import CardListing
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines
from steadygpu.evidence.topology import GpuAffinity, PeerPath
from steadygpu.readers.smi_word import Draft, listed_in_order, reason_of

_LONGEST = 4000
_NAME = r"GPU\d{1,4}|NIC\d{1,4}|mlx\d{1,2}_\w{1,30}|[a-z][a-z0-9]{1,12}_\w{1,30}"
_HEAD = re.compile(rf"\s*(?:{_NAME})(?:\s|$)")
_COLUMN = re.compile(rf"CPU Affinity|NUMA Affinity|GPU NUMA ID|{_NAME}")
_ROW = re.compile(rf"(?P<name>{_NAME})\s+(?:X|NV\d|PIX|PXB|PHB|PSB|NODE|SYS|SOC|N/A|ERR)")
_PATH = re.compile(r"X|NV\d{1,3}|PIX|PXB|PHB|PSB|NODE|SYS|SOC")
_LEGEND = re.compile(
    r"\s*(?:Legend:|NIC Legend:|(?:X|SYS|SOC|NODE|PHB|PXB|PIX|PSB|NV#) +=\s.*|NIC\d{1,4}: \S+)\s*$"
)
_NIC = re.compile(r"\s*(?P<nic>NIC\d{1,4}): (?P<name>\S{1,60})\s*$")
_CPUS = re.compile(r"\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?){0,500}")
_NODES = re.compile(r"\d{1,4}(?:-\d{1,4})?(?:,\d{1,4}(?:-\d{1,4})?){0,60}")
_TAIL = {"CPU Affinity": "cpus", "NUMA Affinity": "numa", "GPU NUMA ID": "id"}


@dataclass(slots=True)
class _Row:
    at: int
    name: str
    paths: list[str]
    tail: list[str]
    tabs: bool


@dataclass(slots=True)
class _Matrix:
    head: int | None = None
    columns: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    rows: list[_Row] = field(default_factory=list)
    nics: dict[str, str] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    read_to: int = 0


def read_smi_topo(lines: Lines) -> Reading:
    """Return the path of each pair, the affinity of each card, and how many cards the matrix has."""
    matrix = _matrix(lines)
    if not matrix.rows:
        return Reading()
    if matrix.head is None:
        matrix.columns = [row.name for row in matrix.rows]
        matrix.tail = ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]
    refs = {row.name: _ref(lines, matrix, row.name) for row in matrix.rows}
    for name in matrix.columns:
        refs.setdefault(name, _ref(lines, matrix, name))
    facts: list[Fact] = []
    for row in matrix.rows:
        facts += _paths(lines, matrix, row, refs)
        if row.name.startswith("GPU"):
            facts += _affinity(lines, matrix, row).record(GpuAffinity, refs[row.name])
    cards = [row for row in matrix.rows if row.name.startswith("GPU")]
    if cards:
        headed = [name for name in matrix.columns if name.startswith("GPU")]
        whole = matrix.head is not None and headed == [row.name for row in cards]
        order = listed_in_order([int(row.name[3:]) for row in cards])
        facts.append(
            CardListing(
                device=host_ref(),
                tool="nvidia-smi-topo",
                listed=len({row.name for row in cards}),
                complete=whole and order and lines.filtered is None,
                container=lines.in_container,
                sources=tuple(lines.cite(row.at, row.at, "listed") for row in cards),
            )
        )
    return Reading(facts=tuple(facts), gaps=tuple(matrix.gaps), read_to=matrix.read_to)


def _matrix(lines: Lines) -> _Matrix:
    """Return the head, rows and legends, as far as they belong together."""
    out = _Matrix()
    legend = False
    seen: set[str] = set()
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        if not legend and _ROW.match(line):
            if out.head is None and line.split(None, 1)[0] in seen:
                break
            _row(lines, out, line, at)
            seen.add(line.split(None, 1)[0])
        elif not out.rows and out.head is None and _HEAD.match(line):
            found = _COLUMN.findall(line)
            out.head = at
            out.columns = [name for name in found if name not in _TAIL]
            out.tail = [name for name in found if name in _TAIL]
        elif out.rows and _LEGEND.match(line):
            legend = True
            if nic := _NIC.match(line):
                out.nics[nic["nic"]] = nic["name"]
        else:
            break
        out.read_to = at + 1
    return out


def _row(lines: Lines, out: _Matrix, line: str, at: int) -> None:
    tabs = "\t" in line.strip()
    parts = [part.strip() for part in (line.rstrip("\n").split("\t") if tabs else line.split())]
    name, rest = parts[0], parts[1:]
    count = len(out.columns)
    if out.head is None:
        count = next((i for i, part in enumerate(rest) if not _PATH.fullmatch(part)), len(rest))
    if len(rest) < count:
        why = "a row with fewer paths than its head has columns"
        out.gaps.append(Gap(where=lines.cite(at), why=why))
        count = len(rest)
    out.rows.append(_Row(at=at, name=name, paths=rest[:count], tail=rest[count:], tabs=tabs))


def _ref(lines: Lines, matrix: _Matrix, name: str) -> DeviceRef:
    if name.startswith("GPU"):
        return DeviceRef(kind="card", index=int(name[3:]), text=lines.name)
    return DeviceRef(kind="nic", label=matrix.nics.get(name, name), text=lines.name)


def _paths(lines: Lines, matrix: _Matrix, row: _Row, refs: dict[str, DeviceRef]) -> list[PeerPath]:
    """Return the paths of a row; the cell of a device with itself says nothing."""
    return [
        PeerPath(
            device=refs[row.name],
            peer=refs[peer],
            path=path,
            sources=(lines.cite(row.at, row.at, "path"),),
        )
        for peer, path in zip(matrix.columns, row.paths, strict=False)
        if peer != row.name and path != "X" and _PATH.fullmatch(path)
    ]


def _affinity(lines: Lines, matrix: _Matrix, row: _Row) -> Draft:
    draft = Draft(lines)
    cells = _tail(matrix.tail, row)
    draft.put(
        "cpus", cells.get("cpus"), row.at, lambda word: word if _CPUS.fullmatch(word) else None
    )
    numa = cells.get("numa")
    if numa and reason_of(numa) is None:
        nodes = _nodes(numa)
        if nodes is not None:
            draft.take("numa_nodes", nodes, row.at)
            draft.take("node_known", True, row.at)
            if len(nodes) == 1:
                draft.take("numa_node", nodes[0], row.at)
    else:
        draft.put("numa_node", numa, row.at, str)
        if numa and reason_of(numa) == "not_supported":
            draft.take("node_known", False, row.at)
    draft.put("gpu_numa_id", cells.get("id"), row.at, _whole)
    return draft


def _tail(names: list[str], row: _Row) -> dict[str, str]:
    """Return the cells behind the paths. With tabs an empty cell keeps its place; with blanks it is lost."""
    keys = [_TAIL[name] for name in names]
    words = row.tail
    if row.tabs:
        if len(words) > len(keys) and "id" in keys and not words[2]:
            words = [*words[:2], *words[3:]]
        return {key: word for key, word in zip(keys, words, strict=False) if word}
    if len(words) == len(keys) or (len(words) < len(keys) and words and _CPUS.fullmatch(words[0])):
        out = dict(zip(keys, words, strict=False))
        if len(words) < len(keys) and len(words) > 1 and reason_of(words[-1]):
            del out[keys[len(words) - 1]]  # an empty cell before it: whose N/A it is cannot be told
        return out
    return {}


def _nodes(word: str) -> tuple[int, ...] | None:
    """Return the nodes of a list like 0-1,3, or None for what is no such list."""
    if not _NODES.fullmatch(word):
        return None
    out: list[int] = []
    for part in word.split(","):
        first, _, last = part.partition("-")
        out.extend(range(int(first), min(int(last or first), int(first) + 1023) + 1))
    return tuple(out) or None


def _whole(word: str) -> int | None:
    return int(word) if re.fullmatch(r"\d{1,4}", word, re.ASCII) else None
