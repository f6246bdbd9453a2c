"""Which driver holds a card."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.device import DeviceRef, short_bdf
from steadygpu.evidence.driver import KernelModule, ModuleListing
from steadygpu.evidence.kernel_log import DriverBindEvent
from steadygpu.evidence.link import PciDevice
from steadygpu.evidence.source import Source
from steadygpu.rules.stack import host_of, is_whole, module_of, nvidia_cards
from steadygpu.verdict.rule import All, Finding, Fine, Seen, Unclear, cite, fine, rule

OWN_DRIVERS = frozenset({"nvidia", "amdgpu", "radeon", "i915", "xe"})  # Linux, drivers/gpu/drm


def _owners(
    binds: Sequence[DriverBindEvent], devices: Sequence[PciDevice]
) -> dict[DeviceRef, tuple[str, tuple[Source, ...]]]:
    """Return the driver that owns each device: what lspci says, else the last one that bound."""
    owners: dict[DeviceRef, tuple[str, tuple[Source, ...]]] = {}
    for bind in binds:
        driver, sources = owners.get(bind.device, ("", ()))
        # All lines in which this driver speaks of the card are one proof.
        kept = sources if driver == bind.driver else ()
        owners[bind.device] = (bind.driver, (*kept, *bind.sources))
    for device in devices:
        if device.driver is not None:
            owners[device.device] = (device.driver, cite(device, "driver"))
    return owners


@rule(
    id="stack.nouveau-owns-gpu",
    title="nouveau holds the card",
    severity="critical",
    action="fix-config",
    scope="host",
    meaning="The kernel's own driver took the card, so the NVIDIA driver cannot.",
    decision="Keep nouveau from loading at any time, not in the first stage of the boot only.",
    next_step="Add modprobe.blacklist=nouveau to the kernel command line, rebuild the initramfs, "
    "restart",
    references=(
        "NVIDIA driver README, chapter 8, nouveau",
        "dracut.cmdline(7), rd.driver.blacklist",
    ),
    points_to="stack",
)
def nouveau_owns_gpu(
    binds: All[DriverBindEvent],
    devices: All[PciDevice],
    modules: All[KernelModule],
    whole: All[ModuleListing],
) -> Iterator[Seen]:
    """One finding for each card; the list of modules alone tells of the host."""
    owners = _owners(binds, devices)
    held = {ref: own for ref, own in owners.items() if own[0] == "nouveau"}
    working = any(own[0] in ("nvidia", "amdgpu") for own in owners.values())
    for ref, (_, sources) in held.items():
        says = f"nouveau is bound to {short_bdf(ref.bdf) if ref.bdf else 'a card'}"
        if working and ref in {d.device for d in devices if (d.class_code or "")[:4] == "0300"}:
            # A small card for the screen beside cards that compute is often meant so.
            says += "; other cards of the host have their own driver"
            yield Finding(
                subject=ref, says=says, sources=sources, severity="info", action="none",
                decision="Nothing to do where this card only drives a screen.",
            )  # fmt: skip
            continue
        yield Finding(subject=ref, says=says, sources=sources)
    if held:
        return
    subject = host_of(binds, devices, modules, whole)
    nouveau, nvidia = module_of(modules, "nouveau"), module_of(modules, "nvidia")
    cards = nvidia_cards(devices)
    shady = [d for d in devices if d.role == "card" and d.driver is None and d.driver_listed]
    if nouveau is not None and nvidia is None and is_whole(whole):
        says = "nouveau is loaded and nvidia is not"
        sources = (*cite(nouveau, "name"), *cite(whole[0], "count", "complete"))
        yield Finding(subject=subject, says=says, sources=sources)
    elif nouveau is None and is_whole(whole) and not shady:
        because = f"no nouveau among {whole[0].count} loaded modules"
        yield Fine(subject=subject, because=because, sources=cite(whole[0], "count"))
    elif cards and all(d.driver for d in devices if d.role == "card"):
        proof = tuple(s for d in cards for s in cite(d, "driver"))
        yield Fine(subject=subject, because="other drivers hold the cards", sources=proof)
    else:
        why = "no text shows who holds the cards"
        yield Unclear(subject=subject, why=why, ask="lspci -nnk")


@rule(
    id="stack.other-driver-owns-gpu",
    title="Another driver than the card's own holds it",
    severity="critical",
    action="fix-config",
    scope="gpu",
    meaning="A driver such as vfio-pci holds the card; on this host no job can use it. For a card "
    "that is handed to a virtual machine that is meant so.",
    decision="Unbind it, unless it belongs to a virtual machine.",
    next_step="lspci -nnk -d 10de: ; grep -r vfio /etc/modprobe.d /proc/cmdline",
    references=("Linux kernel, Documentation/driver-api/vfio.rst",),
    points_to="stack",
)
def other_driver_owns_gpu(devices: All[PciDevice]) -> Iterator[Seen]:
    """For cards of NVIDIA only; nouveau has its own rule."""
    cards = nvidia_cards(devices)
    handed_on = bool(cards) and all(c.driver == "vfio-pci" for c in cards)
    if not cards:
        yield Unclear(subject=host_of(devices), why="no NVIDIA card is listed", ask="lspci -nnk")
    for card in cards:
        if card.driver is None:
            why = "the driver in use was not printed"
            yield Unclear(subject=card.device, why=why, ask="lspci -nnk")
        elif card.driver in OWN_DRIVERS or card.driver == "nouveau":
            because = f"driver {card.driver}"
            yield fine(card, because, "driver")
        else:
            says = f"{card.driver} holds the card"
            sources = cite(card, "driver", "pci_id", "vendor", "name")
            yield Finding(
                subject=card.device, says=says + (", as all cards of this host" if handed_on else ""),
                sources=sources, severity="info" if handed_on else None,
                action="none" if handed_on else None,
                decision="Nothing to do on a host whose cards belong to its guests." if handed_on else None,
            )  # fmt: skip
