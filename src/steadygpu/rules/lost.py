"""Cards that are there and do not answer: error cells, lost handles, cards the driver does not list."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from steadygpu.evidence.derive import span
from steadygpu.evidence.device import DeviceRef, host_ref, short_bdf
from steadygpu.evidence.driver import ToolMessage
from steadygpu.evidence.ecc import GpuRecovery
from steadygpu.evidence.gpu import CardListing, GpuErrorCells, GpuIdentity
from steadygpu.evidence.kernel_log import NvrmEvent
from steadygpu.evidence.link import PciDevice
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.setting import Setting, setting_of
from steadygpu.evidence.source import Source
from steadygpu.verdict.rule import (
    Action,
    All,
    Finding,
    Fine,
    Log,
    Mine,
    NotHere,
    One,
    Seen,
    Severity,
    Unclear,
    Whole,
    cite,
    fine,
    lacking,
    rule,
    the_host,
)

MANY_CELLS = 2  # our choice: recorded lost cards show fan and power together, odd fields come alone
NVIDIA = "10de:"  # PCI vendor number of NVIDIA (pci-ids.ucw.cz, 2026-11)
# NVML, nvmlDeviceGpuRecoveryAction_t; NVIDIA Xid catalogue, Xid 154 (read 2026-11)
WEIGHTS: dict[str, tuple[Severity, Action]] = {
    "none": ("info", "none"),
    "reset": ("critical", "reset-gpu"),
    "gpu_reset": ("critical", "reset-gpu"),
    "drain_and_reset": ("critical", "reset-gpu"),
    "reboot": ("critical", "reboot"),
    "node_reboot": ("critical", "reboot"),
    "system_reboot": ("critical", "reboot"),
    "bus_reset": ("critical", "reboot"),
    "drain_p2p": ("critical", "restart-job"),
    "recover_imex_domain": ("critical", "fix-config"),
}
UNKNOWN_WORD: tuple[Severity, Action] = ("warning", "watch")
DECISIONS = {
    "drain_p2p": "End the jobs that copy between cards, then ask the driver again.",
    "recover_imex_domain": "Bring the IMEX domain back: look at nvidia-imex on all its nodes.",
}
_MILD = re.compile(r"fan|addressing|display", re.IGNORECASE)
_LOST = re.compile(r"\blost\b", re.IGNORECASE)
_RESET = re.compile(r"requires? (?:a )?reset", re.IGNORECASE)


@rule(
    id="silent.gpu-err-fields",
    title="The tool shows errors in place of values",
    severity="critical",
    action="drain",
    meaning="The driver cannot read the card. The tool still exits with 0, so a check of its exit code passes.",
    decision="Drain the host and restart it; replace the card or the instance if the cells come back.",
    next_step="dmesg -T | grep -iE 'NVRM|Xid', then run one small CUDA program on that card",
    references=("nvidia-smi(1); NVML_ERROR_UNKNOWN and NVML_ERROR_GPU_IS_LOST",),
    points_to="hardware",
)
def gpu_err_fields(cells: All[GpuErrorCells], cards: Mine[GpuIdentity]) -> Iterator[Seen]:
    """One odd cell beside a readable rest is no lost card."""
    bad = [c for c in cells if c.fields]
    for cell in bad:
        severity, action = _cell_weight(cell)
        shown = ", ".join(cell.fields[:6]) + (", ..." if len(cell.fields) > 6 else "")
        words = ", ".join(dict.fromkeys(cell.words))
        yield Finding(
            subject=cell.device, says=f"{words} in {len(cell.fields)} cells ({shown}), {cell.readable} readable",
            sources=cell.sources, severity=severity, action=action, first=cell.at, last=cell.at,
        )  # fmt: skip
    devices = {c.device for c in bad}
    for card in cards:
        if card.device not in devices:
            yield fine(card, "no cell of this card reads an error", "name")


def _cell_weight(cell: GpuErrorCells) -> tuple[Severity, Action]:
    words = " ".join(cell.words)
    if _LOST.search(words):
        return "critical", "drain"
    if _RESET.search(words):
        return "critical", "reset-gpu"
    if all(_MILD.search(f) for f in cell.fields):
        return "info", "none"
    if len(cell.fields) >= MANY_CELLS or len(cell.fields) >= cell.readable:
        return "critical", "drain"
    return "warning", "watch"


@rule(
    id="silent.gpu-handle-lost",
    title="The tool cannot open a card",
    severity="critical",
    action="drain",
    meaning="The driver knows the address of the card and cannot talk to it.",
    decision="Drain the host, read the kernel log for the first event of that card, and restart.",
    next_step="dmesg -T | grep -iE 'NVRM|Xid|AER'; nvidia-bug-report.sh",
    references=("nvidia-smi(1); nvmlDeviceGetHandleByPciBusId",),
    points_to="hardware",
)
def gpu_handle_lost(messages: Log[ToolMessage]) -> Iterator[Seen]:
    """The sentence names the card; a tool that is missing or may not look proves nothing."""
    lost = [m for m in messages if m.meaning in ("handle_lost", "gpu_lost")]
    waiting = [m for m in messages if m.meaning == "reset_required"]
    if waiting and not lost:
        yield Finding(
            subject=waiting[0].device, says=waiting[0].says, count=len(waiting), action="reset-gpu",
            first=waiting[0].at, last=waiting[-1].at, sources=tuple(s for m in waiting for s in m.sources),
        )  # fmt: skip
        return
    if lost:
        yield Finding(
            subject=lost[0].device, says=lost[0].says, count=len(lost), first=lost[0].at,
            last=lost[-1].at, sources=tuple(s for m in lost for s in m.sources),
        )  # fmt: skip
        return
    for message in messages[:1]:
        if message.meaning in ("not_permitted", "unknown_error", "other", "command_missing"):
            yield Unclear(
                subject=message.device,
                why="the tool did not get to the cards",
                ask="sudo nvidia-smi",
            )
        else:
            yield NotHere(
                subject=message.device,
                because="the sentence is about the driver, not about one card",
            )


@rule(
    id="silent.gpu-missing",
    title="The driver lists fewer cards than PCI",
    severity="critical",
    action="drain",
    scope="host",
    meaning="A card is on the PCI bus and the driver does not offer it.",
    decision="Drain the host. Read what the driver printed about that address before you reseat the card.",
    next_step="dmesg | grep -E 'NVRM|ADDRESS'; sudo lspci -vvs ADDRESS",
    references=("lspci(8); nvidia-smi(1)",),
    points_to="hardware",
)
def gpu_missing(
    pci: All[PciDevice], listings: Mine[CardListing], cards: Mine[GpuIdentity], settings: Mine[Setting] = ()
) -> Iterator[Seen]:  # fmt: skip
    """Listings that are cut, filtered or taken in a container prove nothing."""
    there, vague = _expected(_cards(pci))
    if not there and vague:
        yield Unclear(
            subject=the_host(pci[0]), why="PCI does not tell the models", ask="lspci -nnk"
        )
        return
    if not there:
        for device in pci[:1]:
            yield NotHere(
                subject=the_host(device), because="PCI lists no card that the driver should offer"
            )
        return
    host = the_host(there[0])
    setting = setting_of(settings)
    inside = setting is not None and setting.kind == "container"
    whole = [
        s
        for s in listings
        if not inside and s.complete and not s.container and s.tool.startswith("nvidia-smi")
    ]
    if not whole:
        yield Unclear(
            subject=host,
            why="no whole listing of the driver was taken on the host",
            ask="nvidia-smi -L",
        )
        return
    listing = max(whole, key=lambda s: max(s.listed, s.attached or 0))
    listed = max(listing.listed, listing.attached or 0)
    known = {c.device.bdf for c in cards if c.device.bdf}
    absent = [p for p in there if p.device.bdf not in known] if len(known) >= listed else []
    if listed >= len(there) and not absent and not vague:
        yield Fine(
            subject=host,
            because=f"PCI {len(there)}, driver {listed} cards",
            sources=cite(listing, "listed"),
        )
    elif listed >= len(there):
        yield Unclear(
            subject=host,
            why="PCI and driver name different cards",
            ask="lspci -nnk and nvidia-smi -L",
        )
    else:
        yield _missing(there, absent, listing, listed)


def _missing(
    there: Sequence[PciDevice], absent: Sequence[PciDevice], listing: CardListing, listed: int
) -> Finding:
    names = ", ".join(short_bdf(p.device.bdf or "") for p in absent)
    proof: list[Fact] = [*there]
    sources: tuple[Source, ...] = tuple(
        s for p in proof for s in cite(p, "pci_id", "role", "driver")
    )
    says = f"PCI lists {len(there)} cards, the driver {listed}" + (f": {names}" if names else "")
    # Cards are lost one by one; a container is given a few of many, and sees all of them on PCI.
    few = len(there) - listed > max(1, len(there) // 4)
    return Finding(
        subject=absent[0].device if len(absent) == 1 else the_host(there[0]),
        says=says + ("; a container that was given some of them shows the same" if few else ""),
        sources=(*cite(listing, "listed", "attached"), *sources),
        touches=tuple(p.device for p in absent),
        severity="warning" if few else None,
        action="watch" if few else None,
        decision="List the cards on the host itself before you drain it." if few else None,
        next_step="nvidia-smi -L on the host, outside any container" if few else None,
    )


def _model(card: PciDevice, by_id: bool) -> str | None:
    return card.pci_id if by_id else card.name


def _cards(pci: Sequence[PciDevice]) -> list[PciDevice]:
    """Return the NVIDIA cards that no guest and no other driver holds; virtual functions are none."""
    return [
        p
        for p in pci
        if p.role == "card"
        and (p.pci_id or NVIDIA).startswith(NVIDIA)
        and (p.pci_id is not None or "nvidia" in (p.vendor or p.name or "nvidia").lower())
        and _whole_card(p.device.bdf or "")
        and p.driver in (None, "nvidia")
    ]


def _whole_card(bdf: str) -> bool:
    """Say whether an address is that of a card, not of a virtual function: those have other device numbers.

    A guest sees its cards behind no port, side by side on bus 0.
    """
    return bdf.endswith(":00.0") or (bdf.endswith(".0") and ":00:" in bdf)


def _expected(cards: Sequence[PciDevice]) -> tuple[list[PciDevice], bool]:
    """Return the cards of a model that the driver holds, and whether any card's model is unknown."""
    by_id = any(p.pci_id for p in cards)
    known = [
        p
        for p in cards
        if _model(p, by_id) and not any(a.field == "driver" for a in p.absent if p.driver_listed)
    ]
    if any(p.driver_listed for p in known):
        models = {_model(p, by_id) for p in known if p.driver == "nvidia"}
    else:
        models = {m for m, _ in Counter(_model(p, by_id) for p in known).most_common(1)}
    return [p for p in known if _model(p, by_id) in models], len(known) < len(cards)


@rule(
    id="silent.gpu-recovery-action",
    title="The driver asks for a recovery of the card",
    severity="critical",
    action="reboot",
    meaning="The driver itself says what this card needs. Counters at zero do not weigh against it.",
    decision="Follow the named action after the jobs of the card have ended.",
    next_step="nvidia-smi --gpu-reset -i INDEX for a reset; a reboot where the driver asks for one",
    references=("nvidia-smi(1), GPU Recovery Action; NVIDIA Xid catalogue, Xid 154",),
    points_to="hardware",
)
def gpu_recovery_action(recovery: One[GpuRecovery]) -> Iterator[Seen]:
    """The newer line decides alone; older drivers print two lines of which both must say no."""
    if recovery.action not in (None, "none"):
        assert recovery.action is not None
        severity, action = WEIGHTS.get(recovery.action, UNKNOWN_WORD)
        yield Finding(
            subject=recovery.device,
            says=f"the driver asks for: {recovery.action.replace('_', ' ')}",
            sources=cite(recovery, "action"), severity=severity, action=action,
            decision=DECISIONS.get(recovery.action),
        )  # fmt: skip
    elif recovery.unrepairable_memory:
        yield Finding(
            subject=recovery.device, says="memory that cannot be repaired: Yes",
            sources=cite(recovery, "unrepairable_memory"),
            decision="Drain the card and start its replacement.",
        )  # fmt: skip
    elif recovery.channel_repair_pending or recovery.tpc_repair_pending:
        yield Finding(
            subject=recovery.device, says="a repair of the card waits for a reset",
            sources=cite(recovery, "channel_repair_pending", "tpc_repair_pending"), action="reset-gpu",
        )  # fmt: skip
    elif recovery.action == "none":
        yield Fine(
            subject=recovery.device,
            because="no recovery is asked for",
            sources=cite(recovery, "action"),
        )
    elif recovery.reset_required:
        yield Finding(
            subject=recovery.device,
            says="reset required: Yes",
            sources=cite(recovery, "reset_required"),
            action="reset-gpu",
        )
    elif recovery.drain_reset_recommended:
        yield Finding(
            subject=recovery.device, says="drain and reset recommended: Yes",
            sources=cite(recovery, "drain_reset_recommended"), action="reset-gpu",
        )  # fmt: skip
    elif recovery.reset_required is False and recovery.drain_reset_recommended is False:
        yield fine(recovery, "no reset is asked for", "reset_required", "drain_reset_recommended")
    else:
        yield lacking(recovery, "action") or Unclear(
            subject=recovery.device, why="no action was read"
        )


@rule(
    id="silent.gpu-init-failed",
    title="The driver could not start the card",
    severity="critical",
    action="reboot",
    meaning="The driver found the card and could not bring it up: no job can use it. A card that hangs, power that is "
    "missing, or a driver that does not know the card can cause this.",
    decision="Restart the host once. If it comes back, power it off, seat the card and its plugs anew, and try the "
    "driver version that is known to work with this card.",
    next_step="sudo dmesg | grep -iE 'nvrm|nvidia'; then nvidia-bug-report.sh",
    references=("NVIDIA open-gpu-kernel-modules, osinit.c: RmInitAdapter",),
    points_to="hardware",
)
def gpu_init_failed(events: All[NvrmEvent], whole: Whole) -> Iterator[Seen]:
    """By the driver's own words, once for each card."""
    failed: dict[DeviceRef, list[NvrmEvent]] = {}
    for event in events:
        if event.what in ("init_failed", "probe_failed"):
            failed.setdefault(event.device, []).append(event)
    for device, mine in failed.items():
        first, last = span(mine)
        yield Finding(
            subject=device, says=mine[0].says[:200], sources=tuple(s for e in mine for s in e.sources),
            first=first, last=last, count=sum(e.count for e in mine),
        )  # fmt: skip
    if failed:
        return
    host = the_host(events[0]) if events else host_ref()
    if whole:
        yield Fine(subject=host, because="no card failed to start in the whole log")
    else:
        why = "the log does not begin at the boot: it can show, not rule out, a card that failed to start"
        yield Unclear(
            subject=host,
            why=why,
            ask="journalctl -k -b --no-pager, or dmesg, from the first line of the boot",
        )
