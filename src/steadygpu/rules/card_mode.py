"""Rules on how a card is set: compute mode, persistence, MIG, and its place in the fabric."""

from collections.abc import Iterator

from steadygpu.evidence.gpu import GpuFabric, GpuLoad, GpuMemory, GpuMode, GpuProcess, MigInstance
from steadygpu.evidence.setting import Setting, setting_of
from steadygpu.evidence.units import MIB
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Maybe,
    Mine,
    NotHere,
    One,
    Seen,
    Unclear,
    cite,
    fine,
    lacking,
    rule,
    tell,
)

CONTEXT = 64 * MIB  # our choice: an idle card shows a few MiB, one CUDA context 70 and more


@rule(
    id="stack.compute-mode-exclusive",
    title="The card takes one process only",
    severity="critical",
    action="fix-config",
    meaning="In this compute mode the first process owns the card; the next one fails with error 46, "
    "devices are busy or unavailable.",
    decision="Set the default mode, use MPS, or end the process that holds the card.",
    next_step="nvidia-smi -c 0 (or ask who set it)",
    references=("nvidia-smi(1), Compute Mode", "CUDA driver API, CUDA_ERROR_DEVICE_UNAVAILABLE"),
    points_to="stack",
)
def compute_mode_exclusive(
    mode: One[GpuMode], load: Maybe[GpuLoad], memory: Maybe[GpuMemory], processes: Mine[GpuProcess]
) -> Iterator[Seen]:
    """Critical where somebody holds a card that does nothing; else it is a setting, which MPS even asks for."""
    if mode.compute_mode is None:
        yield lacking(mode, "compute_mode") or Unclear(subject=mode.device, why="no compute mode")
        return
    if mode.compute_mode == "default":
        because = "compute mode is default"
        yield fine(mode, because, "compute_mode")
        return
    served = [
        p for p in processes if "mps-server" in (p.name or "") or (p.kind or "").startswith("M")
    ]
    if served:
        yield NotHere(subject=mode.device, because="MPS shares the card, which asks for this mode")
        return
    says = f"compute mode is {mode.compute_mode}"
    proof = cite(mode, "compute_mode")
    used = memory.used_bytes if memory is not None else None
    screens = bool(processes) and all((p.kind or "C") == "G" for p in processes)
    works = load is not None and (load.busy_ratio or 0.0) > 0 and mode.compute_mode != "prohibited"
    if (screens or works) and load is not None:
        says += f", {load.busy_ratio or 0.0:.0%} busy" + (", screens only" if screens else "")
        yield Finding(
            subject=mode.device, says=says, sources=(*proof, *cite(load, "busy_ratio", "has_process")),
            severity="info", action="none", first=mode.at, last=mode.at,
            decision="Nothing to do where one job at a time is meant.",
        )  # fmt: skip
        return
    if memory is not None and used is not None and used >= CONTEXT:
        says, proof = (
            f"{says} and {used // MIB} MiB are used",
            (*proof, *cite(memory, "used_bytes")),
        )
    elif load is not None and load.has_process:
        says, proof = f"{says} and a process is listed", (*proof, *cite(load, "has_process"))
    elif mode.compute_mode != "prohibited":
        yield Finding(
            subject=mode.device, says=f"{says}, no process seen", sources=proof, severity="info",
            action="none", first=mode.at, last=mode.at,
        )  # fmt: skip
        return
    yield Finding(subject=mode.device, says=says, sources=proof, first=mode.at, last=mode.at)


@rule(
    id="stack.persistence-off",
    title="Persistence mode is off",
    severity="info",
    action="none",
    meaning="Without a client the driver lets the card go, and each process that comes first waits "
    "seconds for it; hooks of containers can time out.",
    decision="Run nvidia-persistenced on a host without a display.",
    next_step="sudo nvidia-smi -pm 1; to keep it, run nvidia-persistenced without --no-persistence-mode",
    references=("NVIDIA driver README, chapter 26, persistence",),
)
def persistence_off(mode: One[GpuMode], settings: All[Setting] = ()) -> Iterator[Seen]:
    """Linux only: Windows keeps its driver loaded, that of WSL too; a Jetson has its card at hand always."""
    setting = setting_of(settings)
    if mode.driver_model is not None:
        yield NotHere(subject=mode.device, because=f"driver model is {mode.driver_model}")
    elif setting is not None and setting.kind in ("wsl", "jetson"):
        yield NotHere(subject=mode.device, because=f"the driver stays loaded in {setting.words}")
    elif said := lacking(mode, "persistence_on"):
        yield said
    elif mode.persistence_on:
        because = "persistence mode is on"
        yield fine(mode, because, "persistence_on")
    else:
        yield tell(mode, "persistence mode is off", "persistence_on")


@rule(
    id="stack.mig-pending-reset",
    title="A change of the MIG mode waits for a reset",
    severity="warning",
    action="watch",
    meaning="The MIG mode that was asked for is not the one in force; it comes with the next reset, "
    "perhaps in the middle of someone's work.",
    decision="Reset the card when it is free, or take the change back.",
    next_step="nvidia-smi -i CARD --gpu-reset, when nothing runs on it",
    references=("NVIDIA Multi-Instance GPU User Guide, enabling MIG mode",),
    points_to="stack",
)
def mig_pending_reset(mode: One[GpuMode]) -> Iterator[Seen]:
    """Current against pending mode."""
    if said := lacking(mode, "mig_on", "mig_pending_on"):
        yield said
        return
    fields = ("mig_on", "mig_pending_on")
    words = {True: "on", False: "off", None: "unknown"}
    says = f"MIG is {words[mode.mig_on]}, pending {words[mode.mig_pending_on]}"
    if mode.mig_on == mode.mig_pending_on:
        yield fine(mode, says, *fields)
    else:
        yield tell(mode, says, *fields)


@rule(
    id="stack.mig-enabled-no-instances",
    title="MIG is on and no instance was made",
    severity="warning",
    action="fix-config",
    meaning="A card in MIG mode runs nothing until it is split: CUDA finds no device on it.",
    decision="Make the instances that the scheduler expects, or turn MIG off.",
    next_step="nvidia-smi mig -lgip, then nvidia-smi mig -cgi PROFILE -C",
    references=("NVIDIA Multi-Instance GPU User Guide, creating GPU instances",),
    points_to="stack",
)
def mig_enabled_no_instances(mode: One[GpuMode], instances: Mine[MigInstance]) -> Iterator[Seen]:
    """Only where the tool itself says that there are none: a text that lists none may not list any."""
    if said := lacking(mode, "mig_on"):
        yield said
    elif not mode.mig_on:
        yield NotHere(subject=mode.device, because="MIG is off")
    elif instances:
        because = f"{len(instances)} instances are listed"
        yield Fine(subject=mode.device, because=because, sources=instances[0].sources)
    elif mode.mig_devices is None:
        yield Unclear(subject=mode.device, why="no text lists its instances", ask="nvidia-smi")
    else:
        yield tell(mode, "MIG is on and the tool finds no MIG devices", "mig_on", "mig_devices")


@rule(
    id="stack.fabric-manager-not-running",
    title="The card is not part of the NVLink fabric",
    severity="critical",
    action="fix-config",
    meaning="The card waits for the Fabric Manager. Until that is done CUDA answers error 802, system "
    "not yet initialized.",
    decision="Start the Fabric Manager of exactly the driver's version.",
    next_step="systemctl status nvidia-fabricmanager; journalctl -u nvidia-fabricmanager -n 50",
    references=("NVIDIA Fabric Manager User Guide, GPU fabric state",),
    points_to="stack",
)
def fabric_manager_not_running(fabric: One[GpuFabric]) -> Iterator[Seen]:
    """By the state the card prints; a card without a fabric prints N/A."""
    if fabric.state is None:
        yield lacking(fabric, "state") or Unclear(subject=fabric.device, why="no fabric state")
        return
    says, proof = f"fabric state is {fabric.state}", cite(fabric, "state")
    if fabric.state in ("in progress", "not started"):
        yield Finding(
            subject=fabric.device, says=says, sources=proof, first=fabric.at, last=fabric.at
        )
    elif fabric.state == "completed" and (
        fabric.healthy is False or fabric.status not in (None, "success")
    ):
        bad = f"{says}, status {fabric.status}" + (", unhealthy" if fabric.healthy is False else "")
        yield tell(fabric, bad, "state", "status", "healthy")
    elif fabric.state == "completed":
        yield Fine(subject=fabric.device, because=says, sources=proof)
    elif fabric.state == "not supported":
        yield NotHere(subject=fabric.device, because=says)
    else:
        yield Unclear(subject=fabric.device, why=says)
