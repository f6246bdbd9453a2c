"""Fault numbers of the NVIDIA driver: what each one says of the card, the job and the host."""

from collections.abc import Iterator, Sequence

from steadygpu.catalog.nvlink_registers import GROUPS, groups_of, link_of
from steadygpu.evidence.derive import span
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.driver import DriverVersion, ToolMessage
from steadygpu.evidence.gpu import GpuIdentity
from steadygpu.evidence.kernel_log import NvrmEvent, XidEvent
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.source import Source
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Log,
    Mine,
    Seen,
    Unclear,
    Whole,
    cite,
    rule,
)

WHOLE_LOG = "journalctl -k -b --no-pager, or dmesg, from the first line of the boot"
CATALOGUE = "NVIDIA Xid catalogue (docs.nvidia.com/deploy/xid-errors), read 2026-11"
LOST = 79
GSP = (119, 120)
APPLICATION = (13, 43)
GSP_FIXED = (525, 105, 17)  # NVIDIA release notes of 525.105.17: timeouts since the first 525 fixed


def sources_of(events: Sequence[Fact]) -> tuple[Source, ...]:
    """Return every place that proves these events, each once."""
    return tuple(dict.fromkeys(s for e in events for s in e.sources))


def none_seen(device: DeviceRef, whole: bool, what: str) -> Seen:
    """Return what absence means: nothing was there only where the log was given whole."""
    if whole:
        return Fine(subject=device, because=f"no {what} in the whole log")
    return Unclear(
        subject=device,
        why=f"the log does not begin at the boot: it can show, not rule out, {what}",
        ask=WHOLE_LOG,
    )


def seen_codes(events: Sequence[XidEvent], says: str, extra: Sequence[Source] = ()) -> Finding:
    """Return the finding of these events of one card; `extra` are further lines that prove it."""
    count = sum(e.count for e in events)
    first, last = span(events)
    return Finding(
        subject=events[0].device,
        says=says + (f", {count} times" if count > 1 else ""),
        sources=tuple(dict.fromkeys((*sources_of(events), *extra))),
        first=first,
        last=last,
        count=count,
    )  # fmt: skip


def subject_of(events: Sequence[Fact]) -> DeviceRef:
    """Return whose events they are; the host where there are none."""
    return events[0].device if events else host_ref()


def _who(events: Sequence[XidEvent]) -> str:
    """Return the processes and MIG slices that the lines name."""
    names = dict.fromkeys(
        " ".join(
            part
            for part in (
                f"process {e.process}" if e.process else "",
                f"pid {e.pid}" if e.pid is not None else "",
                f"MIG slice {e.mig}" if e.mig else "",
            )
            if part
        )
        for e in events
    )
    named = [name for name in names if name]
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    return f" ({'; '.join(named[:3])}{more})" if named else ""


def _codes(events: Sequence[XidEvent]) -> str:
    return ", ".join(f"Xid {code}" for code in sorted({e.code for e in events}))


def _plain(events: Sequence[XidEvent], codes: Sequence[int], whole: bool, words: str) -> Seen:
    hits = [e for e in events if e.code in codes]
    if not hits:
        return none_seen(subject_of(events), whole, " or ".join(f"Xid {c}" for c in codes))
    return seen_codes(hits, f"{_codes(hits)}: {words}{_who(hits)}")


@rule(
    id="silent.xid79-fallen-off-bus",
    title="The card fell off the PCIe bus",
    severity="critical",
    action="drain",
    meaning="The card stopped answering on PCIe. Power, seating, heat, the slot or the board can cause this.",
    decision="Drain the host. Check power, seating and cooling before you blame software; replace the card if it comes back.",
    next_step="Power the host off fully, reseat the card and its power plugs, start it and read dmesg again.",
    references=(CATALOGUE + ", Xid 79",),
    points_to="hardware",
)
def xid79_fallen_off_bus(
    xids: All[XidEvent], driver: All[NvrmEvent], messages: All[ToolMessage], whole: Whole
) -> Iterator[Seen]:
    """A lost card may print a number, a sentence without one, or only a refusal of the tool."""
    lost: dict[DeviceRef, list[XidEvent | NvrmEvent | ToolMessage]] = {}
    signs: list[XidEvent | NvrmEvent | ToolMessage] = [x for x in xids if x.code == LOST]
    signs += [n for n in driver if n.what == "off_bus"]
    signs += [m for m in messages if m.meaning == "gpu_lost"]
    for event in signs:
        lost.setdefault(event.device, []).append(event)
    for device, events in lost.items():
        kinds = {type(e) for e in events}
        says = (
            "Xid 79: fallen off the bus"
            if XidEvent in kinds
            else "the driver says it has fallen off the bus, without an Xid"
            if NvrmEvent in kinds
            else "the tool says that the card is lost"
        )
        first, last = span(events)
        times = sum(e.count for e in events if isinstance(e, XidEvent)) or len(events)
        yield Finding(
            subject=device,
            says=says,
            sources=sources_of(events),
            first=first,
            last=last,
            count=times,
        )
    for device in dict.fromkeys(x.device for x in xids if x.device not in lost):
        yield none_seen(device, whole, "loss of this card")
    if not lost and not xids:
        yield none_seen(host_ref(), whole, "lost card")


@rule(
    id="silent.xid119-gsp-timeout",
    title="The GSP firmware stopped answering",
    severity="critical",
    action="reset-gpu",
    meaning="The driver waited for the firmware of the card in vain; the card hangs or will hang.",
    decision="Drain and reset the card. If it comes back, change the driver version before you suspect the card.",
    next_step="nvidia-smi --gpu-reset -i INDEX once no process holds the card, then nvidia-bug-report.sh",
    references=(CATALOGUE + ", Xid 119 and 120",),
    points_to="hardware",
)
def xid119_gsp_timeout(
    events: Log[XidEvent], versions: All[DriverVersion], whole: Whole
) -> Iterator[Seen]:
    """A driver version with a known fault is named where the texts tell it."""
    hits = [e for e in events if e.code in GSP]
    if not hits:
        yield none_seen(subject_of(events), whole, "Xid 119 or 120")
        return
    old = [v for v in versions if v.part == "module" and _known_gsp_fault(v.version)]
    note = f"; driver {old[0].version} has a known fault, fixed in 525.105.17" if old else ""
    yield seen_codes(
        hits,
        f"{_codes(hits)}: GSP firmware did not answer or failed{note}",
        cite(old[0], "version") if old else (),
    )


def _known_gsp_fault(version: str | None) -> bool:
    parts = tuple(int(p) for p in (version or "").split(".") if p.isdigit() and len(p) < 9)
    return parts[:1] == (525,) and len(parts) > 1 and parts < GSP_FIXED


@rule(
    id="silent.xid31-app-fault",
    title="A program touched memory that is not its own",
    severity="warning",
    action="restart-job",
    scope="job",
    meaning="A process used an address of the card that is not mapped. This is normally a fault of the program.",
    decision="Restart the job and look for the fault in it. Do not return the card for this.",
    next_step="compute-sanitizer --tool memcheck PROGRAM",
    references=(CATALOGUE + ", Xid 31",),
)
def xid31_app_fault(
    events: Log[XidEvent], everywhere: All[XidEvent], whole: Whole
) -> Iterator[Seen]:
    """The same code on several cards speaks for the program."""
    hits = [e for e in events if e.code == 31 and not e.unrecognised_client]
    if not hits:
        yield none_seen(subject_of(events), whole, "Xid 31")
        return
    others = [
        e for e in everywhere
        if e.code == 31 and not e.unrecognised_client and e.device != hits[0].device
    ]  # fmt: skip
    cards = len({e.device for e in others})
    note = f", and on {cards} more card{'s' if cards > 1 else ''}" if cards else ""
    yield seen_codes(
        hits, f"Xid 31: page fault of a program{_who(hits)}{note}", sources_of(others[:1])
    )


@rule(
    id="silent.xid31-unrecognized-client",
    title="A page fault that no program caused",
    severity="critical",
    action="reboot",
    meaning="The page fault names a client that the driver does not know, so no program of yours explains it.",
    decision="Drain the card and restart the host; send a bug report if it comes back.",
    next_step="nvidia-bug-report.sh, then reboot",
    references=(CATALOGUE + ", Xid 31",),
    points_to="hardware",
)
def xid31_unrecognized_client(events: Log[XidEvent], whole: Whole) -> Iterator[Seen]:
    """Only a line that says so counts."""
    hits = [e for e in events if e.code == 31 and e.unrecognised_client]
    if hits:
        yield seen_codes(hits, "Xid 31 from an unrecognised client")
    else:
        yield none_seen(subject_of(events), whole, "Xid 31 of an unrecognised client")


@rule(
    id="silent.xid43-app-fault",
    title="A program failed and its channel was stopped",
    severity="warning",
    action="restart-job",
    scope="job",
    meaning="A kernel of a program failed and the driver stopped its channel. The card and its other users go on.",
    decision="Restart the job and debug it. Do not return the card for this.",
    next_step="CUDA_LAUNCH_BLOCKING=1 PROGRAM, or compute-sanitizer PROGRAM",
    references=(CATALOGUE + ", Xid 13 and 43",),
)
def xid43_app_fault(events: Log[XidEvent], whole: Whole) -> Iterator[Seen]:
    """13 is the exception, 43 the stopped channel that follows."""
    yield _plain(events, APPLICATION, whole, "application fault, its channel was stopped")


@rule(
    id="silent.xid45-cleanup",
    title="Channels were cleared after another event",
    severity="info",
    action="none",
    meaning="Xid 45 is the clean-up after a job ended or another error came; it is never the cause.",
    decision="Do nothing for this line. Look for the first Xid before it, or for a job that was ended.",
    next_step="dmesg -T | grep -i xid | head",
    references=(CATALOGUE + ", Xid 45",),
    scope="job",
)
def xid45_cleanup(events: Log[XidEvent], whole: Whole) -> Iterator[Seen]:
    """A consequence; the line itself may name its cause."""
    hits = [e for e in events if e.code == 45]
    if not hits:
        yield none_seen(subject_of(events), whole, "Xid 45")
        return
    named = sorted({e.previous for e in hits if e.previous is not None})
    note = f", caused by Xid {', '.join(map(str, named))}" if named else ""
    yield seen_codes(hits, f"Xid 45: channels cleared{_who(hits)}{note}")


@rule(
    id="silent.xid74-nvlink",
    title="A fault on an NVLink",
    severity="warning",
    action="watch",
    scope="fabric",
    meaning="An NVLink of this card reported a fault. The link, a connector or the card at its other end can be the cause.",
    decision="Look at the peers and the switch first; reset the cards of that link if the link stays down.",
    next_step="nvidia-smi nvlink -s; nvidia-smi nvlink -e",
    references=(CATALOGUE + ", Xid 74",),
)
def xid74_nvlink(events: Log[XidEvent], cards: Mine[GpuIdentity], whole: Whole) -> Iterator[Seen]:
    """The registers of the line tell more on Hopper cards, so what they would mean is said."""
    hits = [e for e in events if e.code == 74]
    if not hits:
        yield none_seen(subject_of(events), whole, "Xid 74")
        return
    links = sorted({link for e in hits if (link := link_of(e.says)) is not None})
    where = f" on link {', '.join(map(str, links))}" if links else ""
    found = {group for e in hits for group in groups_of(e.says)}
    first = next((words for group, words in GROUPS.items() if group in found), "")
    if not first and found:
        first = "a bit that NVIDIA does not describe: send a report"
    hopper = [c for c in cards if _is_hopper(c)]
    if first:
        first = f"; {'' if hopper else 'on Hopper cards the registers say: '}{first}"
    yield seen_codes(
        hits,
        f"Xid 74: NVLink fault{where}{first}{_who(hits)}",
        cite(hopper[0], "name", "architecture") if first and hopper else (),
    )


def _is_hopper(card: GpuIdentity) -> bool:
    name = card.name or ""
    return card.architecture == "Hopper" or any(m in name for m in ("H100", "H200", "GH200", "H20"))


@rule(
    id="silent.xid94-contained",
    title="A memory error stayed within one program",
    severity="warning",
    action="restart-job",
    scope="job",
    meaning="An uncorrectable memory error was held to one program. Others on the card go on unharmed.",
    decision="Restart that job, then look whether a row waits to be remapped before you use the card again.",
    next_step="nvidia-smi -q -d ROW_REMAPPER,ECC",
    references=(CATALOGUE + ", Xid 94",),
)
def xid94_contained(events: Log[XidEvent], whole: Whole) -> Iterator[Seen]:
    """The row remapper has the last word."""
    yield _plain(events, (94,), whole, "memory error contained to one program")
