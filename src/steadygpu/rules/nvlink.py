"""Rules on NVLinks: what they count, and whether one is down that others have up."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from steadygpu.evidence.dcgm import HealthResult
from steadygpu.evidence.derive import Growth, growth
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.nvlink import ALL_LINKS, NvlinkErrors, NvlinkLink
from steadygpu.evidence.source import Source
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Mine,
    NotHere,
    Seen,
    Unclear,
    cite,
    lacking,
    rule,
)

COUNTS = {
    "recovery_failed": "failed recoveries", "replay": "replays", "recovery": "recoveries",
    "crc": "CRC errors", "crc_data": "CRC errors in data", "ecc": "ECC errors",
    "malformed": "malformed packets", "buffer_overrun": "buffer overruns", "rx_errors": "receive errors",
    "rx_remote": "remote receive errors", "rx_general": "general receive errors",
    "integrity": "integrity errors", "tx_discards": "discards", "recovered": "recovered links",
    "effective": "effective errors", "symbol": "symbol errors",
}  # fmt: skip
MANY_LINKS = 3  # our choice: more links in one sentence are not read
AGAIN = "nvidia-smi nvlink -e, again after an hour of work"
STATES = "nvidia-smi nvlink -s, of all cards"
# Boards on which every card of a host hangs on the same switches or mesh. Cards with a PCIe
# plug have links only where a bridge joins two of them: there a peer proves nothing.
_ON_BOARD = re.compile(r"\bSXM|\bHGX|HBM3|\bH20\b|\bH[12]00\b|\bB[123]00\b|\bGB[123]00\b")
_WITH_PLUG = re.compile(r"PCI[eE]|\bNVL\b|\bRTX\b|GeForce|Quadro|TITAN")


@rule(
    id="silent.nvlink-errors",
    title="An NVLink counts errors",
    severity="warning",
    action="watch",
    scope="fabric",
    meaning="The link sends packets anew or has to be trained again: it costs time, and a rise announces a link "
    "that will fail.",
    decision="Watch the rate. Where it goes on, look at the peers of this link, reset the cards, and have the board looked at.",
    next_step=AGAIN,
    references=(
        "DCGM, dcgmi nvlink -h: CRC, replay and recovery errors",
        "nvidia-smi(1), nvlink --errorcounters",
    ),
)
def nvlink_errors(readings: Mine[NvlinkErrors], health: Mine[HealthResult]) -> Iterator[Seen]:
    """Counts are since the load of the driver: only a rise, or DCGM's own watch, weighs a warning."""
    device = readings[0].device
    told = [
        h for h in health if h.system == "nvlink" and h.status in ("warning", "failure") and h.says
    ]
    links: dict[int, list[NvlinkErrors]] = defaultdict(list)
    for one in readings:
        links[one.link].append(one)
    grown = [
        (link, g) for link, own in links.items() for f in COUNTS
        if (g := growth(own, f)) is not None
    ]  # fmt: skip
    rose = [(link, g) for link, g in grown if g.rise]
    last = [own[-1] for own in links.values()]
    counted = [(r, f) for r in last for f in COUNTS if getattr(r, f)]
    if rose:
        yield _rise(device, rose)
    elif told and (hits := [(r, f) for r, f in counted if _same(r, f, told)]):
        sources = (*(s for h in told for s in h.sources), *_proof(hits))
        yield Finding(
            subject=device, says=f"DCGM watches and warns: {_listed(hits)}",
            sources=tuple(dict.fromkeys(sources)), first=told[0].at, last=told[0].at,
        )  # fmt: skip
    elif counted and not (grown and _all_told(links, counted)):
        yield Finding(
            subject=device, says=f"since the counters began: {_listed(counted)}; one reading shows no rate",
            sources=_proof(counted), severity="info", action="none", first=counted[0][0].at, last=counted[0][0].at,
            decision="Read the counters again after some hours of work; act if they rise.",
        )  # fmt: skip
    elif unread := _unread(readings):
        yield unread
    elif counted:
        because = f"{_listed(counted)} and no more since"
        yield Fine(subject=device, because=because, sources=_proof(counted))
    else:
        yield _nothing(last)


def _same(record: NvlinkErrors, field: str, told: Sequence[HealthResult]) -> bool:
    """Say whether the watch speaks of this count: both stand in one sentence."""
    places = {
        (s.name, s.first) for h in told for s in h.sources if not s.fields or "says" in s.fields
    }
    return any((s.name, s.first) in places for s in cite(record, field))


def _all_told(
    links: dict[int, list[NvlinkErrors]], counted: Sequence[tuple[NvlinkErrors, str]]
) -> bool:
    """Say whether every count above zero was read at two moments."""
    return all(growth(links[r.link], f) is not None for r, f in counted)


def _unread(readings: Sequence[NvlinkErrors]) -> Unclear | None:
    """Return what is unclear where a count that could be there was not read."""
    said = (lacking(r, a.field) for r in readings for a in r.absent)
    return next((one for one in said if isinstance(one, Unclear)), None)


def _nothing(last: Sequence[NvlinkErrors]) -> Seen:
    known = [(r, f) for r in last for f in COUNTS if getattr(r, f) is not None]
    if not known:
        absent = next((lacking(r, a.field) for r in last for a in r.absent), None)
        why = "no error counter was read"
        return absent or Unclear(subject=last[0].device, why=why, ask="nvidia-smi nvlink -e")
    because = f"{len(last)} link{'s' if len(last) > 1 else ''} without errors"
    return Fine(subject=last[0].device, because=because, sources=_proof(known[:6]))


def _proof(counts: Sequence[tuple[NvlinkErrors, str]]) -> tuple[Source, ...]:
    return tuple(dict.fromkeys(s for r, f in counts for s in cite(r, f)))


def _name(link: int) -> str:
    return "all links together" if link == ALL_LINKS else f"link {link}"


def _listed(counts: Sequence[tuple[NvlinkErrors, str]]) -> str:
    """Return the counts in words, the worst links first."""
    by_link: dict[int, list[str]] = defaultdict(list)
    size: dict[int, int] = defaultdict(int)
    for record, field in counts:
        value = getattr(record, field)
        by_link[record.link].append(f"{value} {COUNTS[field]}")
        size[record.link] += value
    worst = sorted(by_link, key=lambda link: (-size[link], link))
    said = [f"{_name(link)} {', '.join(by_link[link])}" for link in worst[:MANY_LINKS]]
    more = len(worst) - MANY_LINKS
    return "; ".join(said) + (f"; and {more} more links" if more > 0 else "")


def _rise(device: DeviceRef, rose: Sequence[tuple[int, Growth]]) -> Finding:
    ordered = sorted(rose, key=lambda one: (-one[1].rise, one[0]))
    said = [f"{_name(link)} {COUNTS[g.field]} {g.words()}" for link, g in ordered[:MANY_LINKS]]
    more = len(ordered) - MANY_LINKS
    proof = tuple(s for _, g in ordered for r in (g.first, g.last) for s in cite(r, g.field))
    return Finding(
        subject=device, says="; ".join(said) + (f"; and {more} more counts" if more > 0 else ""),
        sources=tuple(dict.fromkeys(proof)), first=ordered[0][1].first.at, last=ordered[0][1].last.at,
        count=sum(g.rise for _, g in ordered),
    )  # fmt: skip


@rule(
    id="silent.nvlink-inactive",
    title="An NVLink is down that other cards have up",
    severity="warning",
    action="drain",
    scope="fabric",
    meaning="Cards of the same model on this host use a link that this card does not have up: its traffic goes a "
    "slower way, or a job over all cards fails.",
    decision="Drain the host, reset all its cards together, and see whether the link comes up; then have the board looked at.",
    next_step="nvidia-smi nvlink -s; systemctl status nvidia-fabricmanager; dmesg | grep -iE 'nvlink|sxid'",
    references=("NVIDIA Fabric Manager User Guide, NVLink failures",),
)
def nvlink_inactive(links: All[NvlinkLink]) -> Iterator[Seen]:
    """Peers decide: a card without a bridge, or a board that wires fewer links, has none to lose."""
    cards: dict[DeviceRef, list[NvlinkLink]] = defaultdict(list)
    for link in links:
        cards[link.device].append(link)
    for device, own in cards.items():
        peers = [
            link for other, theirs in cards.items()
            if other != device and other.label == device.label for link in theirs
        ]  # fmt: skip
        yield _links_of(device, own, peers, alone=len(cards) == 1)


def _links_of(
    device: DeviceRef, own: Sequence[NvlinkLink], peers: Sequence[NvlinkLink], *, alone: bool
) -> Seen:
    down = [link for link in own if link.active is False]
    up = [link for link in own if link.active]
    unread = [link for link in own if link.active is None]
    if unread and not down:
        said = lacking(unread[0], "active")
        if isinstance(said, Unclear) and said.ask is None:
            return Unclear(subject=device, why="no text shows whether its links are up", ask=STATES)
        assert said is not None
        return said
    if not down:
        sources = tuple(s for link in up[:6] for s in cite(link, "active"))
        return Fine(subject=device, because=f"{len(up)} links are up", sources=sources)
    proof = tuple(s for link in down for s in cite(link, "active"))
    has_up = {link.link: link for link in peers if link.active}
    all_down = any(link.link == ALL_LINKS for link in down)
    lost = [link for link in down if link.link in has_up or (all_down and has_up)]
    if lost:
        witness = next(iter(has_up.values())) if all_down else has_up[lost[0].link]
        if not _on_board(device):
            why = "links are down that another card has up; a card with a bridge has links, one without has none"
            return Unclear(
                subject=device, why=why, ask="nvidia-smi topo -m, and look at the bridges"
            )
        names = ", ".join(str(link.link) for link in lost[:8]) + (", ..." if len(lost) > 8 else "")
        says = (
            "all links are down" if all_down else f"link{'s' if len(lost) > 1 else ''} {names} down"
        )
        cards = len({link.device for link in peers if link.active})
        says += f", up on {cards} other card{'s' if cards > 1 else ''} of this model"
        return Finding(
            subject=device, says=says, sources=tuple(dict.fromkeys((*proof, *cite(witness, "active")))),
            first=lost[0].at, last=lost[0].at,
        )  # fmt: skip
    if alone or not peers:
        why = "no other card of this model is listed: whether the links should be up is not known"
        return Unclear(subject=device, why=why, ask=STATES)
    if any(link.active is None for link in peers):
        return Unclear(subject=device, why="the links of another card were not read", ask=STATES)
    return NotHere(
        subject=device, because="no card of this model has these links up", source=proof[0]
    )


def _on_board(device: DeviceRef) -> bool:
    name = device.label or ""
    return bool(_ON_BOARD.search(name)) and not _WITH_PLUG.search(name)
