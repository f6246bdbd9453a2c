"""What stands above the link of a card: the other links up to the root port."""

from collections.abc import Sequence

from steadygpu.evidence.link import PciDevice, PcieLink
from steadygpu.evidence.pcie_path import Segment, segments, whole
from steadygpu.rules.pcie_board import LSPCI
from steadygpu.verdict.rule import Finding, Unclear, cite


def port_hidden(link: PcieLink, devices: Sequence[PciDevice]) -> bool:
    """Say whether ports are listed and none is known to stand above this card."""
    own = next((d for d in devices if d.device == link.device), None)
    return own is not None and own.parent is None and any(d.role == "port" for d in devices)


def bad_above(
    link: PcieLink, links: Sequence[PcieLink], devices: Sequence[PciDevice], field: str
) -> Finding | Unclear | None:
    """Return the worst link above the card's own that has less than both its ends can, or None.

    Unclear where a link above was not read and none that was is bad.
    """
    unit = "x{:.0f}" if field == "width" else "{:g} GT/s"
    path = segments(link.device.bdf, links, devices)
    lost = not path and port_hidden(link, devices) and any(d.parent for d in devices)
    unread = no_root(link) if lost or not whole(path, devices) else None
    worst: tuple[float, Segment] | None = None
    for segment in path[1:]:
        has, can = segment.has(field), segment.can(f"max_{field}")
        if has is None or can is None:
            why = f"the link {segment.words} was not read"
            unread = unread or Unclear(subject=link.device, why=why, ask=LSPCI)
        elif has < can and (worst is None or has / can < worst[0]):
            worst = has / can, segment
    if worst is None:
        return unread
    segment = worst[1]
    has, can = segment.has(field) or 0.0, segment.can(f"max_{field}") or 0.0
    return Finding(
        subject=link.device,
        says=f"{unit.format(has)} {segment.words} above the card, where {unit.format(can)} is expected",
        sources=segment.proof(field, f"max_{field}"),
        touches=tuple(e.device for e in (segment.lower, segment.upper) if e is not None),
        first=link.at, last=link.at,
    )  # fmt: skip


def no_root(link: PcieLink) -> Unclear:
    """Return that the way from the card up to the root port was not read to its end."""
    why = "the ports between the card's switch and the root port were not read"
    return Unclear(subject=link.device, why=why, ask=LSPCI)


def narrow_above(
    link: PcieLink, links: Sequence[PcieLink], devices: Sequence[PciDevice]
) -> Finding | Unclear | None:
    """Return the link above the card's own whose ends can carry least, where that is less than the card can."""
    fields = ("max_width", "max_speed_gts")
    own = (link.max_width or 0) * (link.max_speed_gts or 0.0)
    worst: tuple[float, Segment] | None = None
    path = segments(link.device.bdf, links, devices)
    for segment in path[1:]:
        width, speed = (segment.can(field) for field in fields)
        if width is not None and speed is not None and width * speed < (worst[0] if worst else own):
            worst = width * speed, segment
    if worst is None:
        read = all(s.can(field) is not None for s in path[1:] for field in fields)
        return None if read and whole(path, devices) else no_root(link)
    segment = worst[1]
    says = (
        f"the link {segment.words} can be x{segment.can('max_width'):.0f} at {segment.can('max_speed_gts'):g} GT/s, "
        f"the card x{link.max_width} at {link.max_speed_gts:g} GT/s"
    )
    return Finding(
        subject=link.device, says=says, first=link.at, last=link.at,
        sources=tuple(dict.fromkeys((*segment.proof(*fields), *cite(link, *fields)))),
    )  # fmt: skip
