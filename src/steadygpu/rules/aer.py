"""PCIe error reports: on the way to a card they speak of slot, riser or power; elsewhere they do not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from steadygpu.evidence.derive import over, span
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.kernel_log import (
    AerEvent,
    KernelEvent,
    LinkDownEvent,
    NvrmEvent,
    XidEvent,
)
from steadygpu.evidence.link import PciDevice, PciErrorStatus
from steadygpu.evidence.moment import UNKNOWN, seconds_between
from steadygpu.evidence.setting import Setting, guest
from steadygpu.evidence.source import Source
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Mine,
    NotHere,
    Seen,
    Unclear,
    Whole,
    cite,
    fine,
    lacking,
    rule,
)

WHOLE_LOG = "journalctl -k -b --no-pager, or dmesg, from the first line of the boot"
TREE = "lspci -tv and sudo lspci -vvnn"
FOLLOWS_S = 600.0  # our choice: a recorded chain took 104 s from the first error to the loss
BESIDE_S = 5.0  # our choice: the slot may report a lost link just after the driver reports the card
PROBING = {"UnsupReq"}  # set when software probes a device (PCI Express Base 6.0, 6.2.3)
REFUSED = {"Unsupported Request", "ACS Violation", "Advisory Non-Fatal"}  # as the kernel words them
ASKED_WRONG = "Watch whether it comes back: the device refused a request, no data was lost."
SPEC = "PCI Express Base Specification 6.0, section 6.2"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a device lies: on the path to a card, elsewhere, or None; `proof` is what tells."""

    where: Literal["path", "elsewhere"] | None = None
    proof: tuple[Source, ...] = ()
    touches: tuple[DeviceRef, ...] = ()


def _above(device: PciDevice, parents: dict[str, str | None]) -> list[str]:
    """Return the ports above a device, nearest first."""
    chain: list[str] = []
    up = device.parent
    while up is not None and up not in chain:
        chain.append(up)
        up = parents.get(up)
    return chain


def _place(
    device: DeviceRef,
    event: AerEvent | LinkDownEvent | None,
    pci: Sequence[PciDevice],
    lost: Sequence[XidEvent | NvrmEvent],
) -> Place:
    """Return where `device` lies as far as the texts tell."""
    if device.kind == "card":
        return Place("path")
    if device.kind in ("nic", "disk"):
        return Place("elsewhere")
    card = next((p for p in pci if p.role == "card" and _same_slot(p.device, device)), None)
    if card is not None:  # the sound function of a card shares its link
        return Place("path", cite(card, "role", "class_code"), (card.device,))
    own = next((p for p in pci if p.device.bdf == device.bdf and device.bdf), None)
    if own is not None and own.role != "port":
        return Place("path" if own.role == "card" else "elsewhere", cite(own, "role", "class_code"))
    parents = {p.device.bdf: p.parent for p in pci if p.device.bdf}
    below = [p for p in pci if p.role != "port" and device.bdf in _above(p, parents)]
    cards = [p for p in below if p.role == "card"]
    if cards:
        proof = tuple(s for c in cards[:1] for s in cite(c, "parent"))
        return Place("path", proof, tuple(c.device for c in cards))
    if below:
        return Place("elsewhere", cite(below[0], "parent"))
    named = device.label and device.label not in ("pcieport", "nvidia", "amdgpu")
    if device.kind == "pci" and named:
        return Place("elsewhere")
    return _followed(device, event, lost)


def _same_slot(left: DeviceRef, right: DeviceRef) -> bool:
    return bool(left.bdf and right.bdf) and str(left.bdf)[:-1] == str(right.bdf)[:-1]


def _followed(
    device: DeviceRef,
    event: AerEvent | LinkDownEvent | None,
    lost: Sequence[XidEvent | NvrmEvent],
) -> Place:
    """Return the path where a port's error was followed by the loss of a card."""
    if event is None:
        return Place()
    end = event.at if event.last_at == UNKNOWN else event.last_at
    for loss in lost:
        if loss.device.bdf == device.bdf and device.bdf:
            return Place("path", loss.sources)
        apart = seconds_between(end, loss.at)
        early = BESIDE_S if isinstance(event, LinkDownEvent) else 0.0
        if device.kind == "port" and apart is not None and -early <= apart <= FOLLOWS_S:
            return Place("path", loss.sources, (loss.device,))
    return Place()


def _losses(
    xids: Sequence[XidEvent], driver: Sequence[NvrmEvent]
) -> tuple[XidEvent | NvrmEvent, ...]:
    return (*(x for x in xids if x.code == 79), *(n for n in driver if n.what == "off_bus"))


def _by_device(events: Sequence[AerEvent]) -> dict[DeviceRef, list[AerEvent]]:
    found: dict[DeviceRef, list[AerEvent]] = {}
    for event in events:
        found.setdefault(event.device, []).append(event)
    return found


def _place_any(
    events: Sequence[AerEvent | LinkDownEvent],
    pci: Sequence[PciDevice],
    lost: Sequence[XidEvent | NvrmEvent],
) -> Place:
    """Return the best known place of the device of these events."""
    places = [_place(e.device, e, pci, lost) for e in events]
    return next((p for p in places if p.where), places[0])


def _finding(events: Sequence[AerEvent], place: Place, words: str) -> Finding:
    names = ", ".join(dict.fromkeys(n for e in events for n in e.names))
    count = sum(e.count for e in events)
    words = words if count > 1 else words.replace("errors", "error", 1)
    first, last = span(events)
    behind = ", ".join(t.bdf or "a card" for t in place.touches)
    after = f"; {behind} lies behind it" if behind else ""
    return Finding(
        subject=events[0].device,
        says=f"{count} {words}{over(first, last, count)}" + (f": {names}" if names else "") + after,
        sources=tuple(dict.fromkeys((*(s for e in events for s in e.sources), *place.proof))),
        first=first, last=last, count=count, touches=place.touches,
    )  # fmt: skip


def _none(
    seen: bool, whole: bool, what: str, kernel: Sequence[KernelEvent], settings: Sequence[Setting]
) -> Iterator[Seen]:
    """Yield what it means that nothing was reported, once for the host.

    Where the firmware keeps the reports to itself, the kernel prints none, so their absence proves nothing.
    Nor does it in a guest: the ports above its cards belong to the host.
    """
    if seen:
        return
    if virtual := guest(settings):
        why = f"this is {virtual.words}: only its host sees the ports above the cards, and each {what} there"
        ask = "on the host: sudo dmesg | grep -E 'AER|PCIe Bus Error'"
        yield Unclear(subject=host_ref(), why=why, ask=ask)
        return
    kept = next((e for e in kernel if e.what == "aer_firmware"), None)
    if kept is not None:
        where = f"line {kept.sources[0].first}" if kept.sources else "the log"
        yield Unclear(
            subject=host_ref(),
            why=f"the firmware keeps PCIe error reports ({where}: {kept.says[:80]}): the kernel may not see a {what}",
            ask="sudo lspci -vvv, and the event log of the BMC (sudo ipmitool sel list)",
        )
    elif whole:
        yield Fine(subject=host_ref(), because=f"no {what} in the whole log")
    else:
        yield Unclear(
            subject=host_ref(),
            why=f"the log does not begin at the boot: it can show, not rule out, a {what}",
            ask=WHOLE_LOG,
        )


def _unplaced(device: DeviceRef) -> Unclear:
    return Unclear(
        subject=device, why="no text tells whether a card lies behind this port", ask=TREE
    )


@rule(
    id="silent.aer-corrected-on-gpu-path",
    title="The PCIe path to a card needs correction",
    severity="warning",
    action="watch",
    meaning="The link to the card repeats or repairs transfers. Riser, slot, power and signal are the usual causes.",
    decision="Reseat the card or its riser at the next stop, and watch whether the errors go on under load.",
    next_step="sudo lspci -vvs ADDRESS | grep -E 'CESta|UESta|LnkSta', before and after a load",
    references=(SPEC + ", correctable errors",),
    points_to="hardware",
)
def aer_corrected_on_gpu_path(
    events: All[AerEvent], status: All[PciErrorStatus], pci: All[PciDevice],
    xids: All[XidEvent], driver: All[NvrmEvent], whole: Whole, kernel: All[KernelEvent] = (),
    settings: Mine[Setting] = (),
) -> Iterator[Seen]:  # fmt: skip
    """Bits that a register merely kept since boot are history; a report in the log is an event."""
    groups = _by_device([e for e in events if e.severity == "corrected"])
    lost = _losses(xids, driver)
    judged: set[DeviceRef] = set()
    for device, mine in groups.items():
        place = _place_any(mine, pci, lost)
        if place.where != "elsewhere":
            judged.add(device)
        if place.where == "path":
            yield _finding(mine, place, "corrected PCIe errors on the path to a card")
        elif place.where is None:
            yield _unplaced(device)
        else:
            yield Fine(subject=device, because="not on the path to a card")
    for kept in status:
        place = _place(kept.device, None, pci, lost)
        if kept.device in judged or place.where != "path":
            continue
        judged.add(kept.device)
        yield _kept_corrected(kept, place)
    yield from _none(bool(judged), whole, "corrected PCIe error", kernel, settings)


def _kept_corrected(kept: PciErrorStatus, place: Place) -> Seen:
    if missing := lacking(kept, "corrected"):
        return missing
    if kept.corrected:
        says = (
            f"error bits kept since boot: {', '.join(kept.corrected)}; when they came is not known"
        )
        return Finding(
            subject=kept.device,
            says=says,
            sources=(*cite(kept, "corrected"), *place.proof),
            severity="info",
            action="none",
            touches=place.touches,
        )
    return fine(kept, "no corrected error bit is set", "corrected")


@rule(
    id="silent.aer-corrected-elsewhere",
    title="A device that is no card needs correction on PCIe",
    severity="info",
    action="none",
    scope="host",
    meaning="A network card or a disk reports corrected PCIe errors. No card lies on that path.",
    decision="Do nothing for the cards. Look at that device if it is slow.",
    next_step="sudo lspci -vvs ADDRESS | grep -E 'CESta|LnkSta'",
    references=(SPEC + ", correctable errors",),
)
def aer_corrected_elsewhere(
    events: All[AerEvent], pci: All[PciDevice], xids: All[XidEvent], driver: All[NvrmEvent],
    whole: Whole, kernel: All[KernelEvent] = (), settings: Mine[Setting] = (),
) -> Iterator[Seen]:  # fmt: skip
    """The counterpart of the rule on the path; a port of unknown place is that rule's question."""
    groups = _by_device([e for e in events if e.severity == "corrected"])
    lost = _losses(xids, driver)
    judged = False
    for device, mine in groups.items():
        place = _place_any(mine, pci, lost)
        judged = judged or place.where != "path"
        if place.where == "elsewhere":
            yield _finding(mine, place, "corrected PCIe errors away from the cards")
        elif place.where is None:
            yield _unplaced(device)
        else:
            yield Fine(subject=device, because="on the path to a card")
    yield from _none(judged, whole, "corrected PCIe error", kernel, settings)


@rule(
    id="silent.aer-uncorrected",
    title="A PCIe transfer to a card failed for good",
    severity="critical",
    action="drain",
    meaning="PCIe reported an error that it could not repair, or the link of a slot went away.",
    decision="Drain the host; check seating, riser, power and cooling of the card before the driver.",
    next_step="Power off, reseat the card and its power plugs, start, and read sudo lspci -vv of its port.",
    references=(SPEC + ", uncorrectable errors",),
    points_to="hardware",
)
def aer_uncorrected(
    events: All[AerEvent], downs: All[LinkDownEvent], status: All[PciErrorStatus],
    pci: All[PciDevice], xids: All[XidEvent], driver: All[NvrmEvent], whole: Whole,
    kernel: All[KernelEvent] = (), settings: Mine[Setting] = (),
) -> Iterator[Seen]:  # fmt: skip
    """A link that went away by surprise counts by itself; anything else needs a card behind it."""
    groups = _by_device(
        [e for e in events if e.severity in ("nonfatal", "fatal") or e.surprise_down]
    )
    lost = _losses(xids, driver)
    judged: set[DeviceRef] = set()
    for device, mine in groups.items():
        dropped = [d for d in downs if d.device == device]
        place = _place_any([*mine, *dropped], pci, lost)
        judged.add(device)
        gone = any(e.surprise_down for e in mine)
        found = _finding(
            mine, place, "uncorrected PCIe errors" + (", the link went away" if gone else "")
        )
        if dropped:
            found = replace(
                found, says=f"{found.says}; the slot lost its link",
                sources=tuple(dict.fromkeys((*found.sources, *(s for d in dropped for s in d.sources)))),
            )  # fmt: skip
        if place.where == "elsewhere":
            yield _milder(found)
        elif place.where == "path" and _only_probing(mine):
            yield replace(found, severity="warning", action="watch", decision=ASKED_WRONG)
        elif place.where == "path":
            yield found
        elif gone:
            says = f"{found.says}; no text tells what lay behind it"
            yield replace(found, says=says, severity="warning", action="watch")
        else:
            yield _unplaced(device)
    for device in dict.fromkeys(d.device for d in downs if d.device not in judged):
        seen = _link_down([d for d in downs if d.device == device], pci, lost)
        if not isinstance(seen, NotHere):
            judged.add(device)
        yield seen
    for kept in status:
        place = _place(kept.device, None, pci, lost)
        if kept.device in judged or place.where != "path":
            continue
        judged.add(kept.device)
        yield _kept_uncorrected(kept, place)
    yield from _none(bool(judged), whole, "uncorrected PCIe error", kernel, settings)


def _only_probing(events: Sequence[AerEvent]) -> bool:
    """Say whether the device was only asked for what it does not do: software does that when it probes."""
    return all(
        e.severity == "nonfatal" and e.names and set(e.names) <= REFUSED and not e.surprise_down
        for e in events
    )


def _link_down(
    downs: Sequence[LinkDownEvent],
    pci: Sequence[PciDevice],
    lost: Sequence[XidEvent | NvrmEvent],
) -> Seen:
    """Return what a slot says that lost its link: a disk that is pulled prints the same words."""
    place = _place_any(downs, pci, lost)
    if place.where is None:
        return _unplaced(downs[0].device)
    if place.where == "elsewhere":
        return NotHere(subject=downs[0].device, because="the slot that lost its link holds no card")
    behind = ", ".join(t.bdf or "a card" for t in place.touches)
    words = ", ".join(dict.fromkeys(d.says for d in downs))
    first, last = span(downs)
    return Finding(
        subject=downs[0].device,
        says=f"the slot lost its link ({words})" + (f"; {behind} lies behind it" if behind else ""),
        sources=tuple(dict.fromkeys((*(s for d in downs for s in d.sources), *place.proof))),
        first=first,
        last=last,
        count=sum(d.count for d in downs),
        touches=place.touches,
    )


def _milder(found: Finding) -> Finding:
    return Finding(
        subject=found.subject, says=found.says + "; no card lies on this path", sources=found.sources,
        severity="warning", action="watch", first=found.first, last=found.last, count=found.count,
    )  # fmt: skip


def _kept_uncorrected(kept: PciErrorStatus, place: Place) -> Seen:
    if missing := lacking(kept, "uncorrected"):
        return missing
    assert kept.uncorrected is not None
    bits = [b for b in kept.uncorrected if b not in PROBING]
    if not bits:
        return fine(kept, "no uncorrected error bit is set", "uncorrected")
    says = f"error bits kept since boot: {', '.join(bits)}; when they came is not known"
    return Finding(
        subject=kept.device, says=says, sources=(*cite(kept, "uncorrected"), *place.proof),
        severity="warning", action="watch", touches=place.touches,
    )  # fmt: skip
