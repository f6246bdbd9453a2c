"""Evidence to findings. `SUBJECTS` names each module and the record classes that it asks for first."""

from collections.abc import Iterable
from importlib import import_module
from typing import NamedTuple

from steadygpu.verdict.rule import Rule


class Subject(NamedTuple):
    """A rule module: how many rules it holds, and the record classes they are about.

    A test compares both with the module, so that it need not be imported to be counted.
    """

    rules: int
    needs: tuple[str, ...]


SUBJECTS: dict[str, Subject] = {
    "acs": Subject(1, ("PciAcs", "PciDevice", "PeerPath")),
    "aer": Subject(
        3,
        (
            "AerEvent",
            "KernelEvent",
            "LinkDownEvent",
            "NvrmEvent",
            "PciDevice",
            "PciErrorStatus",
            "XidEvent",
        ),
    ),
    "amd_ras": Subject(6, ("AmdBadPages", "AmdPeer", "AmdRasCounters", "AmdgpuEvent")),
    "amdgpu": Subject(6, ("AmdgpuEvent", "KernelEvent")),
    "bench": Subject(3, ("BurnResult", "CollectiveRate", "CollectiveRun", "CopyRate")),
    "bound": Subject(2, ("GpuLoad", "GpuPower", "GpuProfile", "TraceCard", "TraceHost")),
    "busy": Subject(
        5,
        (
            "GpuLoad",
            "GpuMode",
        ),
    ),
    "card_memory": Subject(
        4,
        (
            "GpuLoad",
            "GpuMemory",
            "GpuProcess",
        ),
    ),
    "card_mode": Subject(
        5,
        (
            "GpuFabric",
            "GpuMode",
        ),
    ),
    "clock": Subject(
        4,
        (
            "GpuClock",
            "GpuClockReasons",
            "GpuMode",
        ),
    ),
    "cpu": Subject(1, ("CpuLoad",)),
    "dcgm": Subject(2, ("DiagResult", "HealthResult")),
    "ecc": Subject(7, ("EccCounters", "GpuMode")),
    "governor": Subject(1, ("CpuFrequency",)),
    "host_fault": Subject(6, ("DiskEvent", "KernelEvent", "MemoryErrorEvent", "NicEvent")),
    "host_memory": Subject(1, ("HostMemory",)),
    "lost": Subject(5, ("GpuErrorCells", "GpuRecovery", "NvrmEvent", "PciDevice", "ToolMessage")),
    "memory_repair": Subject(4, ("RetiredPages", "RowRemap")),
    "network": Subject(2, ("NicCounters", "TcpCounters")),
    "network_fs": Subject(2, ("MappedFile", "NfsOp")),
    "numa": Subject(
        3, ("CardListing", "CpuLayout", "GpuAffinity", "GpuProcess", "PciDevice", "PeerPath")
    ),
    "nvlink_fatal": Subject(1, ("XidEvent",)),
    "oom": Subject(2, ("OomMessage",)),
    "nvlink": Subject(2, ("NvlinkErrors", "NvlinkLink")),
    "owner": Subject(2, ("DriverBindEvent", "KernelModule", "ModuleListing", "PciDevice")),
    "pcie": Subject(5, ("PcieLink",)),
    "placement": Subject(1, ("ProcessPlacement",)),
    "power": Subject(3, ("GpuClockReasons", "GpuPower", "PowerSupplies")),
    "power_limit": Subject(1, ("GpuPower",)),
    "rdma": Subject(2, ("NicState", "RdmaCounters", "RdmaPort")),
    "stack": Subject(
        6,
        (
            "CardListing",
            "DriverVersion",
            "KernelModule",
            "ModuleListing",
            "NvrmEvent",
            "PciDevice",
            "ToolMessage",
        ),
    ),
    "storage": Subject(
        3,
        (
            "CpuLoad",
            "DiskLoad",
            "FileListing",
        ),
    ),
    "sxid": Subject(2, ("SxidEvent",)),
    "threads": Subject(1, ("ThreadSetting",)),
    "throttle": Subject(5, ("GpuClockReasons", "GpuTemperature")),
    "trace": Subject(3, ("CallStat", "TraceCard", "TraceGap", "TraceHost")),
    "xid": Subject(
        8,
        (
            "NvrmEvent",
            "ToolMessage",
            "XidEvent",
        ),
    ),
    "xid_other": Subject(2, ("XidEvent",)),
}


def rules_of(module: str) -> tuple[Rule, ...]:
    """Return the rules of one subject in the order in which they stand. Imports the module."""
    found = import_module(f"steadygpu.rules.{module}")
    return tuple(value for value in vars(found).values() if isinstance(value, Rule))


def rules_for(given: Iterable[str]) -> tuple[Rule, ...]:
    """Return the rules of every subject of which some record class was given."""
    have = set(given)
    return tuple(
        r for name, row in SUBJECTS.items() if have & set(row.needs) for r in rules_of(name)
    )


def never_asked(given: Iterable[str]) -> int:
    """Return how many rules stand in subjects of which nothing was given."""
    have = set(given)
    return sum(row.rules for row in SUBJECTS.values() if not have & set(row.needs))
