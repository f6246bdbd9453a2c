"""The PCIe link of a card: its width always, its speed only under load."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from steadygpu.evidence.amd import DpmLink
from steadygpu.evidence.derive import growth
from steadygpu.evidence.gpu import GpuClock, GpuLoad
from steadygpu.evidence.link import PciDevice, PcieLink
from steadygpu.evidence.setting import Setting, guest
from steadygpu.evidence.source import Source
from steadygpu.rules.pcie_above import bad_above, narrow_above, port_hidden
from steadygpu.rules.pcie_board import LSPCI, held_link, outer_link
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Maybe,
    NotHere,
    One,
    Seen,
    Trend,
    Unclear,
    cite,
    fine,
    lacking,
    rule,
)

SLOWEST_AT_WORK = 3  # nvidia-smi(1), Performance State: GeForce computes in P2, slower saves power
UNDER_LOAD = 0.2  # our choice: a card this busy does not save power on its link
AGAIN = "nvidia-smi -q, while the job runs"
TWICE = "nvidia-smi -q, twice, a minute apart"
REPLAYS_PER_MIN = (
    8  # DCGM, DCGM_LIMIT_MAX_PCIREPLAY_RATE (dcgm_gpu_hardware_limits.h, read 2026-11)
)
SPEC = "PCI Express Base Specification, link training: both ends settle on what each can do"


def _port(
    link: PcieLink, links: Sequence[PcieLink], devices: Sequence[PciDevice]
) -> PcieLink | None:
    """Return the link of the port above, or None where no text tells it."""
    own = next((d for d in devices if d.device == link.device), None)
    if own is None or own.parent is None:
        return None
    return next((one for one in links if one.device.bdf == own.parent), None)


def _expected(
    link: PcieLink, port: PcieLink | None, field: str
) -> tuple[float, tuple[Source, ...], str] | None:
    """Return what both ends can do, what proves it and whose limit it is; None where unread."""
    own: float | None = getattr(link, field)
    above: float | None = getattr(port, field) if port is not None else None
    if own is None or (port is not None and above is None):
        return None
    if port is not None and above is not None and above < own:
        return above, (*cite(link, field), *cite(port, field)), "port above"
    proof = cite(link, field) if port is None else (*cite(link, field), *cite(port, field))
    return own, proof, "card"


def _past_guest(
    link: PcieLink, limit: tuple[float, tuple[Source, ...], str] | None, settings: Sequence[Setting], field: str
) -> Fine | Unclear | None:  # fmt: skip
    """Return what is so in a guest where the port above seems to be the limit: that port is the hypervisor's."""
    virtual = guest(settings)
    if virtual is None or limit is None or limit[2] == "card":
        return None
    has, can = getattr(link, field), getattr(link, f"max_{field}")
    if has >= can:
        return fine(link, f"{has:g} of {can:g}", field)
    why = f"{field.split('_')[0]} {has:g} of {can:g}, and in {virtual.words} the port above tells nothing of the slot"
    return Unclear(subject=link.device, why=why, ask=f"on its host: {LSPCI}")


def _at_work(
    slow: Finding, link: PcieLink, load: GpuLoad | None, clock: GpuClock | None
) -> Finding | Unclear:
    """Return the finding on a slow link where the card was at work, else that it must be read again."""
    if load is None or load.busy_ratio is None or load.busy_ratio < UNDER_LOAD:
        why = f"{slow.says}, and no text shows the card at work"
        return Unclear(subject=link.device, why=why, ask=LSPCI + ", while the job runs")
    if clock is not None and (clock.pstate or 0) > SLOWEST_AT_WORK:
        why = f"{slow.says}, read in P{clock.pstate}, in which a card saves power"
        return Unclear(subject=link.device, why=why, ask=LSPCI + ", while the job runs")
    return replace(
        slow, says=f"{slow.says}; the card is {load.busy_ratio:.0%} busy",
        sources=tuple(dict.fromkeys((*slow.sources, *cite(load, "busy_ratio")))),
    )  # fmt: skip


@rule(
    id="feed.pcie-width-low",
    title="The link of the card has lost lanes",
    severity="warning",
    action="fix-feed",
    meaning="The link runs with fewer lanes than the card has, and than the port above it has where that was read.",
    decision="Do not buy a card: look at the slot, its lane sharing and the seating of the card first.",
    next_step="Read the slot's width in the board's manual, seat the card anew, then: " + LSPCI,
    references=(SPEC,),
    points_to="pcie",
    rules_out=True,
)
def pcie_width_low(
    link: One[PcieLink], links: All[PcieLink], devices: All[PciDevice],
    settings: All[Setting] = (), held: All[DpmLink] = (),
) -> Iterator[Seen]:  # fmt: skip
    """Each link up to the root port against the narrower of its two ends, at any load; in a guest, the card's own.

    A board with a switch of its own is judged before that switch.
    """
    if link.device.kind != "card":
        yield (
            held_link(link, links, held)
            if link.device.kind == "pci"
            else NotHere(subject=link.device, because="not a card")
        )
        return
    outer = outer_link(link, links, devices)
    if outer is None:
        why = "the card sits behind a switch of its own, whose link was not read"
        yield Unclear(subject=link.device, why=why, ask=LSPCI)
        return
    card, link = link.device, outer
    if missing := lacking(link, "width", "max_width"):
        yield missing
        return
    inside = "" if link.device == card else ", at the port of the board's own switch"
    port = _port(link, links, devices)
    expected = _expected(link, port, "max_width")
    assert link.width is not None
    if link.width == 0:
        because = "no link of its own: a virtual function or machine"
        yield NotHere(subject=link.device, because=because)
    elif expected is None:
        why = "the width of the port above was not read"
        yield Unclear(subject=link.device, why=why, ask=LSPCI)
    elif virtual := _past_guest(link, expected, settings, "width"):
        yield virtual
    elif link.width < expected[0] and port_hidden(link, devices):
        yield Unclear(subject=link.device, why="the port above is not known", ask=LSPCI)
    elif link.width < expected[0]:
        found = Finding(
            subject=link.device, says=f"x{link.width} where x{expected[0]:.0f} is expected ({expected[2]}){inside}",
            touches=() if link.device == card else (card,),
            sources=tuple(dict.fromkeys((*cite(link, "width"), *expected[1]))), first=link.at, last=link.at,
        )  # fmt: skip
        yield _of_guest(found, settings, half=2 * link.width >= expected[0])
    elif not guest(settings) and (bad := bad_above(link, links, devices, "width")):
        yield bad
    else:
        yield fine(link, f"x{link.width} of x{expected[0]:.0f}", "width")


def _of_guest(found: Finding, settings: Sequence[Setting], half: bool) -> Finding:
    """Return what a guest can do about lost lanes: ask. Clouds wire many cards with half of their lanes."""
    virtual = guest(settings)
    if virtual is None:
        return found
    return replace(
        found, says=f"{found.says}, in {virtual.words}", severity="info" if half else "warning",
        action="none" if half else "watch", decision="Ask who runs the host how the slot is wired.",
        next_step=f"On the host: {LSPCI}",
    )  # fmt: skip


@rule(
    id="feed.pcie-speed-low-under-load",
    title="The link of a busy card is slower than it can be",
    severity="warning",
    action="fix-feed",
    meaning="A card at work keeps its link at full speed; this one does not reach it.",
    decision="Do not buy a card: find what holds the link down (BIOS setting, riser, target speed).",
    next_step="sudo lspci -vvs <address> | grep -E 'LnkCap|LnkSta|LnkCtl2', for the card and the port above",
    references=(SPEC,),
    points_to="pcie",
    rules_out=True,
)
def pcie_speed_low_under_load(
    link: One[PcieLink], load: Maybe[GpuLoad], clock: Maybe[GpuClock], links: All[PcieLink],
    devices: All[PciDevice], settings: All[Setting] = (),
) -> Iterator[Seen]:  # fmt: skip
    """Low speed while idle, or in a slow state of the card, saves power and proves nothing."""
    if link.device.kind != "card":
        yield NotHere(subject=link.device, because="not a card")
        return
    outer = outer_link(link, links, devices)
    if outer is None:
        why = "the card sits behind a switch of its own, whose link was not read"
        yield Unclear(subject=link.device, why=why, ask=LSPCI)
        return
    link = outer
    if missing := lacking(link, "speed_gts", "max_speed_gts"):
        yield missing
        return
    expected = _expected(link, _port(link, links, devices), "max_speed_gts")
    assert link.speed_gts is not None
    if expected is None:
        why = "the speed of the port above was not read"
        yield Unclear(subject=link.device, why=why, ask=LSPCI)
    elif virtual := _past_guest(link, expected, settings, "speed_gts"):
        yield virtual
    elif link.speed_gts >= expected[0]:
        bad = None if guest(settings) else bad_above(link, links, devices, "speed_gts")
        if isinstance(bad, Finding):
            yield _at_work(bad, link, load, clock)
        else:
            yield bad or fine(link, f"{link.speed_gts:g} of {expected[0]:g} GT/s", "speed_gts")
    elif port_hidden(link, devices):
        yield Unclear(subject=link.device, why="the port above is not known", ask=LSPCI)
    elif load is None or load.busy_ratio is None:
        why = "low speed, and no text shows whether the card was at work"
        yield Unclear(subject=link.device, why=why, ask=AGAIN)
    elif load.busy_ratio < UNDER_LOAD:
        yield Unclear(subject=link.device, why="low speed read while the card was idle", ask=AGAIN)
    elif clock is not None and (clock.pstate or 0) > SLOWEST_AT_WORK:
        why = f"low speed read in P{clock.pstate}, in which a card saves power"
        yield Unclear(subject=link.device, why=why, ask=AGAIN)
    else:
        says = f"{link.speed_gts:g} GT/s while {load.busy_ratio:.0%} busy, {expected[0]:g} expected ({expected[2]})"
        proof = (*cite(link, "speed_gts"), *expected[1], *cite(load, "busy_ratio"))
        yield Finding(
            subject=link.device, says=says, sources=tuple(dict.fromkeys(proof)), first=link.at, last=link.at
        )  # fmt: skip


@rule(
    id="feed.pcie-speed-idle",
    title="The link is slow while the card is idle",
    severity="info",
    action="none",
    meaning="An idle card lowers the speed of its link to save power. This is no fault.",
    decision="Nothing to do; read the link again while a job runs.",
    next_step=AGAIN,
    references=("NVML, nvmlDeviceGetCurrPcieLinkGeneration: the generation may be low when idle",),
)
def pcie_speed_idle(link: One[PcieLink], load: Maybe[GpuLoad]) -> Iterator[Seen]:
    """Told so that nobody takes the low figure for a fault."""
    if link.device.kind != "card":
        yield NotHere(subject=link.device, because="not a card")
    elif missing := lacking(link, "speed_gts", "max_speed_gts"):
        yield missing
    elif (link.speed_gts or 0.0) >= (link.max_speed_gts or 0.0):
        yield fine(link, f"{link.speed_gts:g} GT/s", "speed_gts")
    elif load is None or load.busy_ratio is None:
        why = "no text shows whether the card was at work"
        yield Unclear(subject=link.device, why=why, ask=AGAIN)
    elif load.busy_ratio < UNDER_LOAD:
        yield Finding(
            subject=link.device,
            says=f"{link.speed_gts:g} of {link.max_speed_gts:g} GT/s while {load.busy_ratio:.0%} busy",
            sources=tuple(dict.fromkeys((*cite(link, "speed_gts", "max_speed_gts"), *cite(load, "busy_ratio")))),
            first=link.at, last=link.at,
        )  # fmt: skip
    else:
        because = "the card was at work"
        yield Fine(subject=link.device, because=because, sources=cite(load, "busy_ratio"))


@rule(
    id="feed.pcie-limited-by-slot",
    title="The slot is narrower or slower than the card",
    severity="info",
    action="none",
    meaning="The port above the card cannot do what the card can. The link may be sound and still be the limit.",
    decision="Do not buy a faster card for this slot; move the card to a wider slot where copies set the pace.",
    next_step="Compare the slots in the board's manual; measure copies: nvbandwidth",
    references=(SPEC,),
)
def pcie_limited_by_slot(
    link: One[PcieLink], links: All[PcieLink], devices: All[PciDevice], settings: All[Setting] = ()
) -> Iterator[Seen]:
    """What the ports above can do, against what the card can do; the narrowest on the path is named."""
    if link.device.kind != "card":
        yield NotHere(subject=link.device, because="not a card")
        return
    if virtual := guest(settings):
        because = f"in {virtual.words} the ports above are not those of the slot"
        yield NotHere(subject=link.device, because=because)
        return
    port = _port(link, links, devices)
    if port is None:
        yield Unclear(subject=link.device, why="no text shows the port above the card", ask=LSPCI)
        return
    both = ("max_width", "max_speed_gts")
    if missing := lacking(link, *both) or lacking(port, *both):
        yield missing if missing.subject == link.device else Unclear(
            subject=link.device, why="the port above was not read in full", ask=LSPCI
        )  # fmt: skip
        return
    low = [field for field in both if getattr(port, field) < getattr(link, field)]
    if low:
        says = "; ".join(
            f"port {'x' if f == 'max_width' else ''}{getattr(port, f):g}, card {'x' if f == 'max_width' else ''}"
            f"{getattr(link, f):g}{'' if f == 'max_width' else ' GT/s'}"
            for f in low
        )
        proof = (*cite(port, *low), *cite(link, *low))
        yield Finding(
            subject=link.device, says=says, sources=tuple(dict.fromkeys(proof)), first=link.at, last=link.at
        )  # fmt: skip
    else:
        because = "the port can do what the card can"
        yield narrow_above(link, links, devices) or Fine(
            subject=link.device, because=because, sources=cite(port, "max_width")
        )


@rule(
    id="feed.link-errors",
    title="The link of the card sends packets again and again",
    severity="critical",
    action="drain",
    meaning="A replay is a packet that arrived damaged and was sent anew: it costs time, and many of them "
    "announce a link that will lose data or drop.",
    decision="Seat the card and its riser anew; then compare a checked copy at full and at lower link speed.",
    next_step="nvidia-smi -q twice under load; sudo lspci -vvnn, DevSta of the card and of the port above",
    references=("DCGM, health watch of PCIe replays", SPEC),
)
def link_errors(links: Trend[PcieLink]) -> Iterator[Seen]:
    """By the rise between two moments. A replay repairs what it counts, so the rise is a warning to watch."""
    counted = [link for link in links if link.replays is not None]
    if len(counted) == 1 and counted[0].replays == 0:
        because = "no replay since the last reset"
        yield Fine(subject=counted[0].device, because=because, sources=cite(counted[0], "replays"))
        return
    if len(counted) < 2:
        for link in links[:1]:
            why = "replays of one moment do not tell how fast they come"
            why = why if counted else "no replay counter was read"
            yield Unclear(subject=link.device, why=why, ask=TWICE)
        return
    grown = growth(counted, "replays")
    if grown is None or grown.span_s is None:
        why = "the times of the two texts cannot be compared"
        yield Unclear(subject=counted[0].device, why=why, ask=TWICE)
        return
    first, last = counted[0], counted[-1]
    minutes = grown.span_s / 60
    says = f"replays {grown.words()}"
    proof = tuple(s for link in counted for s in cite(link, "replays"))
    if first.device.kind != "card":
        yield NotHere(subject=first.device, because="not a card")
    elif grown.rise > REPLAYS_PER_MIN * max(minutes, 1.0):
        yield Finding(
            subject=first.device, says=f"{says}; {REPLAYS_PER_MIN} a minute are tolerated", sources=proof,
            severity="warning", action="watch", first=first.at, last=last.at, count=grown.rise,
        )  # fmt: skip
    elif grown.resets:
        yield Unclear(subject=first.device, why=f"the counter began anew between the texts: {says}")
    else:
        yield Fine(subject=first.device, because=says, sources=proof)
