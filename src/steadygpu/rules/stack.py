"""Rules on the driver: whether it is loaded, matches its library, and owns the cards."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.driver import DriverVersion, KernelModule, ModuleListing, ToolMessage
from steadygpu.evidence.gpu import CardListing
from steadygpu.evidence.kernel_log import NvrmEvent
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
    rule,
    the_host,
)

RELOADS = 3  # our choice: one load at boot and one by an administrator are ordinary
NVIDIA = "10de:"  # PCI vendor number of NVIDIA (pci-ids.ucw.cz, 2026-11)
NVML = "NVIDIA Management Library API, return codes"


def host_of(*groups: Sequence[Fact]) -> DeviceRef:
    """Return the host as these records name it."""
    return next((the_host(fact) for group in groups for fact in group), host_ref())


def _answers(listings: Sequence[CardListing]) -> CardListing | None:
    """Return a listing that nvidia-smi printed with cards: the driver answered its library."""
    return next((c for c in listings if c.tool.startswith("nvidia-smi") and c.listed > 0), None)


def _answered(listing: CardListing, subject: DeviceRef) -> Fine:
    because = f"nvidia-smi lists {listing.listed} cards"
    return Fine(subject=subject, because=because, sources=cite(listing, "listed"))


def nvidia_cards(devices: Sequence[PciDevice]) -> list[PciDevice]:
    """Return the cards of NVIDIA among PCI functions; plain lspci prints no numbers, but the name."""
    return [
        d for d in devices if d.role == "card" and (
            d.pci_id.startswith(NVIDIA) if d.pci_id else "nvidia" in f"{d.vendor} {d.name}".lower()
        )
    ]  # fmt: skip


def module_of(modules: Sequence[KernelModule], name: str) -> KernelModule | None:
    """Return the loaded module of this name, or None."""
    return next((m for m in modules if m.name == name), None)


def is_whole(listings: Sequence[ModuleListing]) -> bool:
    """Say whether modules were listed, and each list to its end."""
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
    subject = host_of(messages, events, versions, listings)
    found = _mismatch(messages, events, versions)
    listing = _answers(listings)
    unread = any(v.version is None and v.cuda_max is None for v in versions)
    told = any(m.meaning == "library_mismatch" for m in messages)
    if found is not None and listing is not None and not told and events:
        says = f"{found[0]}, yet the tool lists cards: over, or of a container"
        yield Finding(
            subject=subject, says=says, sources=(*found[1], *listing.sources), severity="info",
            action="none", decision="Nothing to do on the host; look at containers with their own libraries.",
        )  # fmt: skip
    elif found is not None:
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
    subject = host_of(messages, modules, whole, devices, listings)
    told = [m for m in messages if m.meaning == "driver_not_loaded"]
    loaded, listing, cards = module_of(modules, "nvidia"), _answers(listings), nvidia_cards(devices)
    if told and loaded is not None:
        why = "module nvidia is loaded and does not answer"
        yield Unclear(subject=subject, why=why, ask="sudo dmesg | grep -iE 'nvrm|nvidia'")
    elif told:
        yield Finding(subject=subject, says=told[0].says, sources=told[0].sources)
    elif loaded is not None:
        yield Fine(subject=subject, because="module nvidia is loaded", sources=cite(loaded, "name"))
    elif listing is not None:
        yield _answered(listing, subject)
    elif is_whole(whole) and cards:
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
    subject = host_of(messages, listings)
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
    subject = host_of(modules, whole)
    nvidia, uvm = module_of(modules, "nvidia"), module_of(modules, "nvidia_uvm")
    if uvm is not None:
        because = "nvidia_uvm is loaded"
        yield Fine(subject=subject, because=because, sources=cite(uvm, "name"))
    elif not is_whole(whole):
        yield Unclear(subject=subject, why="the list of modules is not whole", ask="lsmod")
    elif nvidia is None:
        yield NotHere(subject=subject, because="nvidia is not loaded")
    else:
        says = f"nvidia is loaded, nvidia_uvm is not among {whole[0].count} modules"
        sources = (*cite(nvidia, "name"), *cite(whole[0], "count", "complete"))
        # The first CUDA program loads it where it may: only a failing one makes this a fault.
        yield Finding(
            subject=subject, says=says, sources=sources, severity="info", action="none",
            decision="Load it at boot where CUDA programs fail; else nothing.",
        )  # fmt: skip


@rule(
    id="stack.module-reloads",
    title="The driver was loaded again and again",
    severity="warning",
    action="fix-config",
    scope="host",
    meaning="The NVIDIA module was loaded at least three times in one boot: something unloads it "
    "each time.",
    decision="Find who does it: an installer, two owners of the driver, or a service that restarts.",
    next_step="journalctl -b | grep -iE 'nvidia.*(load|unload)|modprobe'",
    references=("NVIDIA driver README, chapter 26, persistence",),
    points_to="stack",
)
def module_reloads(events: All[NvrmEvent], whole: Whole) -> Iterator[Seen]:
    """Loads are counted for each boot of the log; times without a boot cannot be told apart."""
    subject = host_of(events)
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
    subject = host_of(messages, listings)
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
