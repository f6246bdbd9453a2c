"""The link of a card whose board has a switch of its own: what counts is the switch's upper port."""

from collections.abc import Sequence

from steadygpu.evidence.amd import DpmLink
from steadygpu.evidence.link import PciDevice, PcieLink
from steadygpu.verdict.rule import Finding, NotHere, Unclear, cite

LSPCI = "sudo lspci -vvnn"
# Ports of the switch on AMD boards (pci.ids 2026-08: Navi 10 XL up- and downstream, Vega bridges): the card's own
# function sits behind them and always shows full speed and width (nokyan/resources#512, drm/amd#1967).
UPPER = ("1002:1478", "1022:1470")
LOWER = ("1002:1479", "1022:1471")


def _part(device: PciDevice) -> str | None:
    """Return whether a port is the upper or lower one of a board's own switch, by number or by name."""
    name = device.name or ""
    if device.pci_id in UPPER or "Navi 10 XL Upstream" in name:
        return "upper"
    return "lower" if device.pci_id in LOWER or "Navi 10 XL Downstream" in name else None


def outer_link(
    link: PcieLink, links: Sequence[PcieLink], devices: Sequence[PciDevice]
) -> PcieLink | None:
    """Return the link between slot and board: of the board's own switch where it has one; None where unread."""
    own = next((d for d in devices if d.device == link.device), None)
    inner = {d.device.bdf: d for d in devices if d.device.bdf and _part(d) is not None}
    if own is None or not inner:
        return link
    if own.parent is None:
        return None if own.vendor in (None, "amd") else link
    top, steps = own, 0
    while top.parent in inner and steps < 4:
        top, steps = inner[top.parent], steps + 1
    if top is own:
        return link
    if _part(top) == "lower":
        return None  # the upper port of the switch is missing
    return next((one for one in links if one.device == top.device), None)


def held_link(
    link: PcieLink, links: Sequence[PcieLink], held: Sequence[DpmLink]
) -> Finding | NotHere | Unclear:
    """Find the port of an AMD board by the link that its driver holds, where no text tells what stands where."""
    none = NotHere(subject=link.device, because="not a card")
    told = [h for h in held if h.width and h.speed_gts]
    plain = [one for one in links if one.device.kind == "pci"]
    if len(told) != 1 or len(held) != 1:
        return none
    now = told[0]
    same = [one for one in plain if (one.width, one.speed_gts) == (now.width, now.speed_gts)]
    if not any(one is link for one in same):
        return none
    if any(one.absent for one in plain) or any(one.max_width is None for one in same):
        return Unclear(subject=link.device, why="not all link files were read", ask=LSPCI)
    own = [one for one in same if (one.device.bdf or "")[5:7] != "00"]  # bus 00 holds the roots
    if any(one.width == one.max_width for one in same) or len(own) != 1 or own[0] is not link:
        return none
    proof = (*cite(now, "width", "speed_gts"), *cite(link, "width", "speed_gts", "max_width"))
    return Finding(
        subject=link.device, sources=tuple(dict.fromkeys(proof)), first=link.at, last=link.at,
        says=f"x{link.width} at {link.speed_gts:g} GT/s where x{link.max_width} is expected: the driver of the card "
        "holds this link, so this is its port; its own function shows the link inside the board",
    )  # fmt: skip
