"""Rules on the driver: whether it is loaded, matches its library, and owns the cards."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.device import DeviceRef, host_ref, short_bdf
from steadygpu.evidence.driver import DriverVersion, KernelModule, ModuleListing, ToolMessage
from steadygpu.evidence.gpu import CardListing
from steadygpu.evidence.kernel_log import DriverBindEvent, NvrmEvent
from steadygpu.evidence.link import PciDevice
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.source import Source
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    NotHere,
    Seen,
    Unclear,
    Whole,
    cite,
    fine,
    rule,
    the_host,
)

RELOADS = 3  # our choice: one load at boot and one by an administrator are ordinary
NVIDIA = "10de:"  # PCI vendor number of NVIDIA (pci-ids.ucw.cz, 2026-11)
OWN_DRIVERS = frozenset(
    {"nvidia", "amdgpu", "radeon", "i915", "xe"}
)  # Linux kernel, drivers/gpu/drm
NVML = "NVIDIA Management Library API, return codes"


def _host(*groups: Sequence[Fact]) -> DeviceRef:
    return next((the_host(fact) for group in groups for fact in group), host_ref())


def _answers(listings: Sequence[CardListing]) -> CardListing | None:
    """Return a listing that nvidia-smi printed with cards: the driver answered its library."""
    return next((c for c in listings if c.tool.startswith("nvidia-smi") and c.listed > 0), None)


def _answered(listing: CardListing, subject: DeviceRef) -> Fine:
    because = f"nvidia-smi lists {listing.listed} cards"
    return Fine(subject=subject, because=because, sources=cite(listing, "listed"))


def _cards(devices: Sequence[PciDevice]) -> list[PciDevice]:
    """Return the cards of NVIDIA among PCI functions; plain lspci prints no numbers, but the name."""
    return [
        d for d in devices if d.role == "card" and (
            d.pci_id.startswith(NVIDIA) if d.pci_id else "nvidia" in f"{d.vendor} {d.name}".lower()
        )
    ]  # fmt: skip


def _module(modules: Sequence[KernelModule], name: str) -> KernelModule | None:
    return next((m for m in modules if m.name == name), None)


def _complete(listings: Sequence[ModuleListing]) -> bool:
    return bool(listings) and all(listing.complete for listing in listings)


def _mismatch(
    messages: Sequence[ToolMessage],
    events: Sequence[NvrmEvent],
    versions: Sequence[DriverVersion],
) -> tuple[str, tuple[Source, ...]] | None:
    """Return both versions in words and what proves that they differ, or None."""
    modules = [v for v in versions if v.part == "module" and v.version and v.vendor == "nvidia"]
    for event in (e for e in events if e.what == "library_mismatch"):
        says = f"module {event.version or 'unknown'}, library {event.library_version or 'unknown'}"
        return f"the kernel log names {says}", event.sources
    for said in (m for m in messages if m.meaning == "library_mismatch"):
        library = f"library {said.library_version}" if said.library_version else "the library"
        module = (
            f"module {modules[0].version}" if modules else "the loaded module (version not shown)"
        )
        proof = (*said.sources, *(cite(modules[0], "version") if modules else ()))
        return f"{said.tool}: {library} does not match {module}", proof
    for library_row in (v for v in versions if v.part == "library" and v.vendor == "nvidia"):
        for row in modules:
            if library_row.version and library_row.version != row.version:
                says = f"module {row.version}, library {library_row.version}"
                return says, (*cite(row, "version"), *cite(library_row, "version"))
    return None


@rule(
    id="stack.driver-library-mismatch",
    title="Loaded driver and its library have different versions",
    severity="critical",
    action="fix-config",
    scope="host",
    meaning="The library on disk is not of the version of the loaded kernel module, so no new process "
    "can use a card. An upgrade without a restart does this.",
    decision="Reload the module or restart the host, then pin the driver packages.",
    next_step="cat /proc/driver/nvidia/version; grep -h nvidia /var/log/apt/history.log "
    "/var/log/dnf.rpm.log | tail",
    references=(NVML,),
    points_to="stack",
)
def driver_library_mismatch(
    messages: All[ToolMessage],
    events: All[NvrmEvent],
    versions: All[DriverVersion],
    listings: All[CardListing],
) -> Iterator[Seen]:
    """Said by the tool, by the kernel log, or by two versions that differ; a listing of cards denies it."""
    subject = _host(messages, events, versions, listings)
    found = _mismatch(messages, events, versions)
    listing = _answers(listings)
    unread = any(v.version is None and v.cuda_max is None for v in versions)
    if found is not None:
        yield Finding(subject=subject, says=found[0], sources=found[1])
    elif listing is not None and not unread:
        yield _answered(listing, subject)
    else:
        why = "no text shows the library at work or both versions"
        yield Unclear(subject=subject, why=why, ask="nvidia-smi")


@rule(
    id="stack.driver-not-loaded",
    title="The driver of the cards is not loaded",
    severity="critical",
    action="fix-config",
    scope="host",
    meaning="There is no NVIDIA kernel module at work, so no tool and no job reaches a card.",
    decision="Find out why it did not load: not built for this kernel, not signed, or blacklisted.",
    next_step="modprobe nvidia; dmesg | tail -20; dkms status",
    references=("nvidia-smi(1)", "lsmod(8)"),
    points_to="stack",
)
def driver_not_loaded(
    messages: All[ToolMessage],
    modules: All[KernelModule],
    whole: All[ModuleListing],
    devices: All[PciDevice],
    listings: All[CardListing],
) -> Iterator[Seen]:
    """The tool says so, or a whole list of modules lacks it while a card is on the bus."""
    subject = _host(messages, modules, whole, devices, listings)
    told = [m for m in messages if m.meaning == "driver_not_loaded"]
    loaded, listing, cards = _module(modules, "nvidia"), _answers(listings), _cards(devices)
    if told:
        yield Finding(subject=subject, says=told[0].says, sources=told[0].sources)
    elif loaded is not None:
        yield Fine(subject=subject, because="module nvidia is loaded", sources=cite(loaded, "name"))
    elif listing is not None:
        yield _answered(listing, subject)
    elif _complete(whole) and cards:
        yield Finding(
            subject=subject,
            says=f"{len(cards)} NVIDIA cards on the bus, no module nvidia among {whole[0].count}",
            sources=(
                *cite(cards[0], "pci_id", "vendor", "name"),
                *cite(whole[0], "count", "complete"),
            ),
        )
    else:
        why = "no text shows whether the module is loaded"
        yield Unclear(subject=subject, why=why, ask="lsmod")


@rule(
    id="stack.no-devices",
    title="The driver runs but finds no card",
    severity="critical",
    action="fix-config",
    scope="host",
    meaning="The driver answers, and no card answers the driver.",
    decision="Look whether the cards are on the bus and who owns them before reinstalling anything.",
    next_step="lspci -nnk -d 10de: ; dmesg | grep -i nvrm",
    references=("nvidia-smi(1)",),
    points_to="stack",
)
def no_devices(messages: All[ToolMessage], listings: All[CardListing]) -> Iterator[Seen]:
    """The sentence of the tool; an empty paste is no proof."""
    subject = _host(messages, listings)
    told = [m for m in messages if m.meaning == "no_devices"]
    listing = _answers(listings)
    if told:
        yield Finding(
            subject=subject, says=f"{told[0].tool}: {told[0].says}", sources=told[0].sources
        )
    elif listing is not None:
        yield _answered(listing, subject)
    else:
        why = "no text shows whether the driver finds cards"
        yield Unclear(subject=subject, why=why, ask="nvidia-smi -L")


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
    for ref, (_, sources) in held.items():
        says = f"nouveau is bound to {short_bdf(ref.bdf) if ref.bdf else 'a card'}"
        yield Finding(subject=ref, says=says, sources=sources)
    if held:
        return
    subject = _host(binds, devices, modules, whole)
    nouveau, nvidia = _module(modules, "nouveau"), _module(modules, "nvidia")
    cards = _cards(devices)
    shady = [d for d in devices if d.role == "card" and d.driver is None and d.driver_listed]
    if nouveau is not None and nvidia is None and _complete(whole):
        says = "nouveau is loaded and nvidia is not"
        sources = (*cite(nouveau, "name"), *cite(whole[0], "count", "complete"))
        yield Finding(subject=subject, says=says, sources=sources)
    elif nouveau is None and _complete(whole) and not shady:
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
    cards = _cards(devices)
    if not cards:
        yield Unclear(subject=_host(devices), why="no NVIDIA card is listed", ask="lspci -nnk")
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
            yield Finding(subject=card.device, says=says, sources=sources)


@rule(
    id="stack.uvm-not-loaded",
    title="The unified memory module is not loaded",
    severity="warning",
    action="fix-config",
    scope="host",
    meaning="nvidia is loaded without nvidia_uvm. nvidia-smi works, and a CUDA program fails unless it "
    "may load the module itself.",
    decision="Load it at boot.",
    next_step="nvidia-modprobe -u -c=0; then run a CUDA program",
    references=("nvidia-modprobe(1), -u",),
    points_to="stack",
)
def uvm_not_loaded(modules: All[KernelModule], whole: All[ModuleListing]) -> Iterator[Seen]:
    """Only a whole list of modules proves that one is missing."""
    subject = _host(modules, whole)
    nvidia, uvm = _module(modules, "nvidia"), _module(modules, "nvidia_uvm")
    if uvm is not None:
        because = "nvidia_uvm is loaded"
        yield Fine(subject=subject, because=because, sources=cite(uvm, "name"))
    elif not _complete(whole):
        yield Unclear(subject=subject, why="the list of modules is not whole", ask="lsmod")
    elif nvidia is None:
        yield NotHere(subject=subject, because="nvidia is not loaded")
    else:
        says = f"nvidia is loaded, nvidia_uvm is not among {whole[0].count} modules"
        sources = (*cite(nvidia, "name"), *cite(whole[0], "count", "complete"))
        yield Finding(subject=subject, says=says, sources=sources)


@rule(
    id="stack.module-reloads",
    title="The driver was loaded again and again",
    severity="warning",
    action="fix-config",
    scope="host",
    meaning="The NVIDIA module was loaded at least three times in one boot: something unloads it or "
    "persistence is off.",
    decision="Find who does it: an installer, two owners of the driver, or a service that restarts.",
    next_step="journalctl -b | grep -iE 'nvidia.*(load|unload)|modprobe'",
    references=("NVIDIA driver README, chapter 26, persistence",),
    points_to="stack",
)
def module_reloads(events: All[NvrmEvent], whole: Whole) -> Iterator[Seen]:
    """Loads are counted for each boot of the log; times without a boot cannot be told apart."""
    subject = _host(events)
    loads = [e for e in events if e.what == "loading"]
    boots = {e.at.boot_id for e in loads if e.at.boot_id is not None}
    rows = {boot: [e for e in loads if e.at.boot_id == boot] for boot in boots}
    most = max(rows.values(), key=lambda own: sum(e.count for e in own), default=[])
    times = sum(e.count for e in most)
    sources = tuple(s for e in most for s in e.sources)
    if times >= RELOADS:
        yield Finding(
            subject=subject, says=f"the module was loaded {times} times in one boot",
            sources=sources, first=most[0].at, last=most[-1].at, count=times,
        )  # fmt: skip
    elif whole and most and len(boots) == 1 and len(most) == len(loads):
        because = f"loaded {times} times in this boot"
        yield Fine(subject=subject, because=because, sources=sources)
    elif whole and not loads:
        yield NotHere(subject=subject, because="the log shows no NVIDIA module being loaded")
    else:
        why = "the log does not show a whole boot"
        yield Unclear(subject=subject, why=why, ask="journalctl -k -b")


@rule(
    id="stack.container-lost-gpu-cgroup",
    title="A container lost its access to the cards",
    severity="critical",
    action="fix-config",
    scope="container",
    meaning="Inside the container the library answers Unknown Error while the host is fine: the device "
    "rules of its control group were set anew. A systemctl daemon-reload, as package upgrades do it, is "
    "the usual trigger.",
    decision="Restart the container; then hand devices over by CDI or by explicit device nodes.",
    next_step="Restart the container; on the host: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
    references=("NVIDIA Container Toolkit, troubleshooting, containers losing access to GPUs",),
    points_to="stack",
)
def container_lost_gpu_cgroup(
    messages: All[ToolMessage], listings: All[CardListing]
) -> Iterator[Seen]:
    """Unknown Error from within a container, or beside a listing that works on the host."""
    subject = _host(messages, listings)
    told = [m for m in messages if m.meaning == "unknown_error" and "NVML" in m.says]
    inside = [m for m in told if m.container]
    listing = _answers([c for c in listings if not c.container])
    if inside:
        says = f"in a container: {inside[0].says}"
        yield Finding(subject=subject, says=says, sources=inside[0].sources)
    elif told and listing is not None:
        says = (
            f"{told[0].says}, while nvidia-smi lists {listing.listed} cards elsewhere on the host"
        )
        sources = (*told[0].sources, *cite(listing, "listed"))
        yield Finding(subject=subject, says=says, sources=sources)
    elif told:
        why = "the text does not say whether it was taken in a container"
        yield Unclear(subject=subject, why=why, ask="nvidia-smi -L on the host")
    elif messages:
        because = "the tool does not say Unknown Error"
        yield Fine(subject=subject, because=because, sources=messages[0].sources)
    elif listing is not None:
        yield _answered(listing, subject)
    else:
        why = "no text of a container was given"
        yield Unclear(subject=subject, why=why, ask="nvidia-smi in the container")
