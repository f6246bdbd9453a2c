"""Joins the names that several outputs have for one device. The order of outputs changes nothing."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from steadygpu.evidence.device import DeviceKind, DeviceRef
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.source import Gap, Source

Node = tuple[int, DeviceRef]

_PCI: tuple[DeviceKind, ...] = ("card", "nic", "port", "disk", "pci")  # strongest name first
ONE_CAPTURE_S = 600.0  # our choice: outputs further apart than this do not share indices


class _Groups:
    """Sets of nodes that are one device."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.up = {node: node for node in nodes}

    def find(self, node: Node) -> Node:
        while self.up[node] != node:
            self.up[node] = self.up[self.up[node]]
            node = self.up[node]
        return node

    def join(self, nodes: Iterable[Node]) -> None:
        first, *rest = nodes
        for node in rest:
            a, b = self.find(first), self.find(node)
            if a != b:
                self.up[b] = a

    def sets(self) -> list[list[Node]]:
        out: dict[Node, list[Node]] = defaultdict(list)
        for node in self.up:
            out[self.find(node)].append(node)
        return list(out.values())


def join(
    outputs: Mapping[int, Iterable[Fact]], host: str | None
) -> tuple[dict[Node, DeviceRef], list[Gap]]:
    """Return the one reference of each (output, reference), and a gap for what cannot be joined.

    UUID and serial join everywhere. A BDF joins unless two cards with different UUIDs or serials
    were seen at it: then what has no other name stays a device of its own. An index joins only
    outputs of one capture that list the same number of cards.
    """
    nodes: dict[Node, Source | None] = {}
    moments: dict[int, Moment] = {}
    for number, facts in outputs.items():
        for fact in facts:
            for ref in _refs(fact):
                nodes.setdefault((number, ref), fact.sources[0] if fact.sources else None)
            if fact.at.wall is not None and fact.nature != "event":
                moments.setdefault(number, fact.at)
    groups = _Groups(nodes)
    pci = [n for n in nodes if n[1].kind in _PCI]
    for name in ("uuid", "serial"):
        _join_by(groups, pci, name)
    gaps = _join_bdf(groups, pci, nodes)
    _join_index(groups, [n for n in pci if n[1].kind == "card"], moments)
    others: dict[DeviceRef, list[Node]] = defaultdict(list)
    for node in nodes:
        if node[1].kind not in _PCI:
            others[_bare(node[1], host)].append(node)
        elif (
            node[1].label
            and not (node[1].bdf or node[1].uuid or node[1].serial)
            and node[1].index is None
        ):
            others[DeviceRef(kind=node[1].kind, label=node[1].label)].append(node)
    for same in others.values():
        groups.join(same)
    sizes = _listed(nodes)
    out: dict[Node, DeviceRef] = {}
    for group in groups.sets():
        one = _one_ref(group, host, sizes, moments)
        out.update(dict.fromkeys(group, one))
    return out, gaps


def _refs(fact: Fact) -> list[DeviceRef]:
    peer = getattr(fact, "peer", None)
    return [fact.device, peer] if isinstance(peer, DeviceRef) else [fact.device]


def _bare(ref: DeviceRef, host: str | None) -> DeviceRef:
    if ref.kind == "host":
        return DeviceRef(kind="host", host=host)
    return DeviceRef(
        kind=ref.kind, host=host, label=ref.label, index=ref.index, uuid=ref.uuid, mig=ref.mig,
        bdf=ref.bdf, slot=ref.slot, minor=ref.minor,
    )  # fmt: skip


def _join_by(groups: _Groups, nodes: list[Node], name: str) -> None:
    same: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        value = getattr(node[1], name)
        if value:
            same[value].append(node)
    for group in same.values():
        groups.join(group)


def _identities(groups: _Groups, nodes: Iterable[Node]) -> dict[Node, set[str]]:
    """Return the UUIDs (else serials) of each group, by its root."""
    out: dict[Node, set[str]] = defaultdict(set)
    for node in nodes:
        names = {node[1].uuid} if node[1].uuid else {node[1].serial} if node[1].serial else set()
        out[groups.find(node)] |= {n for n in names if n}
    return out


def _join_bdf(groups: _Groups, nodes: list[Node], where: Mapping[Node, Source | None]) -> list[Gap]:
    gaps: list[Gap] = []
    at: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        if node[1].bdf:
            at[node[1].bdf].append(node)
    identity = _identities(groups, nodes)

    def join(some: list[Node]) -> None:
        names = set().union(*(identity.get(groups.find(n), set()) for n in some))
        groups.join(some)
        identity[groups.find(some[0])] = names

    for bdf, group in sorted(at.items()):
        known = {groups.find(n) for n in group if identity.get(groups.find(n))}
        if len(known) <= 1:
            join(group)
            continue
        nameless = [n for n in group if not identity.get(groups.find(n))]
        by_output: dict[int, set[Node]] = defaultdict(set)
        for node in group:
            if identity.get(groups.find(node)):
                by_output[node[0]].add(node)
        orphans = [n for n in nameless if len(by_output.get(n[0], ())) != 1]
        for node in nameless:
            if node not in orphans:
                join([next(iter(by_output[node[0]])), node])
        if orphans:
            join(orphans)
            gaps.append(
                Gap(
                    where=where[orphans[0]] or Source(name="", quote=bdf),
                    why=f"two cards were seen at {bdf}: this cannot be said of either",
                    ask="nvidia-smi -q of the time of the event",
                )
            )
    return gaps


def _listed(nodes: Iterable[Node]) -> dict[int, int]:
    """Return how many cards with an index each output lists."""
    seen: dict[int, set[int]] = defaultdict(set)
    for number, ref in nodes:
        if ref.kind == "card" and ref.index is not None:
            seen[number].add(ref.index)
    return {number: len(indices) for number, indices in seen.items()}


def _join_index(groups: _Groups, cards: list[Node], moments: Mapping[int, Moment]) -> None:
    sizes = _listed(cards)
    full: dict[int, dict[int, Node]] = defaultdict(dict)
    bare: dict[int, dict[int, list[Node]]] = defaultdict(lambda: defaultdict(list))
    for node in cards:
        number, ref = node
        if ref.index is None:
            continue
        if ref.bdf or ref.uuid or ref.serial:
            full[number][ref.index] = node
        else:
            bare[number][ref.index].append(node)
    for number, by_index in bare.items():
        maps = [
            m for other, m in full.items()
            if sizes[other] == sizes[number] and _one_capture(moments.get(number), moments.get(other))
        ]  # fmt: skip
        for index, own in by_index.items():
            targets = {groups.find(m[index]) for m in maps if index in m}
            if len(targets) == 1 and all(index in m for m in maps):
                groups.join([targets.pop(), *own])
    # Outputs that know cards by index alone join among themselves under the same condition.
    for number, by_index in bare.items():
        for other, theirs in bare.items():
            if other <= number or sizes[other] != sizes[number] or set(by_index) != set(theirs):
                continue
            if not _one_capture(moments.get(number), moments.get(other)):
                continue
            roots = {i: {groups.find(n) for n in (*by_index[i], *theirs[i])} for i in by_index}
            if all(sum(_named(groups, r) for r in rs) <= 1 for rs in roots.values()):
                for index in by_index:
                    groups.join([*by_index[index], *theirs[index]])


def _named(groups: _Groups, root: Node) -> bool:
    return any(groups.find(n) == root and (n[1].bdf or n[1].uuid or n[1].serial) for n in groups.up)


def _wall(moment: Moment | None) -> float:
    return float("-inf") if moment is None or moment.wall is None else moment.wall


def _one_capture(left: Moment | None, right: Moment | None) -> bool:
    if left is None or right is None or left.wall is None or right.wall is None:
        return True
    return abs(left.wall - right.wall) <= ONE_CAPTURE_S


def _one_ref(
    group: list[Node], host: str | None, sizes: Mapping[int, int], moments: Mapping[int, Moment]
) -> DeviceRef:
    """Return one reference with all names of a group; ties go to the smallest, never to the order.

    A card that moved is where the latest output saw it.
    """
    refs = [ref for _, ref in group]
    kinds = {ref.kind for ref in refs}
    kind = next((k for k in _PCI if k in kinds), refs[0].kind)
    if kind == "host":
        return DeviceRef(kind="host", host=host)

    def pick(name: str) -> str | None:
        return min((v for r in refs if (v := getattr(r, name))), default=None)

    own = [(n, r) for n, r in group if r.index is not None]
    index = (
        min(own, key=lambda nr: (-sizes.get(nr[0], 0), nr[1].index or 0))[1].index if own else None
    )
    seen = [(_wall(moments.get(n)), r.bdf) for n, r in group if r.bdf]
    latest = max((at for at, _ in seen), default=0.0)
    bdf = min((place for at, place in seen if at == latest), default=None)
    uuid, serial = pick("uuid"), pick("serial")
    labels = sorted({r.label for r in refs if r.label}, key=lambda s: ("..." in s, -len(s), s))
    named = bdf or uuid or serial
    return DeviceRef(
        kind=kind, host=host, label=labels[0] if labels else None, bdf=bdf, uuid=uuid,
        serial=serial, slot=pick("slot"), index=index,
        minor=next((r.minor for r in refs if r.minor is not None), None), mig=pick("mig"),
        text=None if named or kind not in _PCI or (labels and index is None) else pick("text"),
    )  # fmt: skip
