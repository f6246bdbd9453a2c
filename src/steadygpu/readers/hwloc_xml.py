"""Reads the XML of lstopo: PCI devices, the NUMA node beside each, packages, cores and memory. hwloc 1.11 to 3.0.

It scans for tags: a cut file is read as far as it goes, and what would have to be counted is then absent. Up to 1.x
nodes enclose what is beside them and packages may be called Socket; since 2.0 a node stands inside what it is beside.
pci_link_speed is GB/s of the link as it ran and tells neither speed nor width, so it is not read.
"""

import re
from dataclasses import dataclass, field
from html import unescape

from steadygpu.evidence.cpu import CpuLayout
from steadygpu.evidence.device import DeviceKind, DeviceRef, host_ref, normal_bdf
from steadygpu.evidence.link import PciDevice
from steadygpu.evidence.memory import NumaNode
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Absent
from steadygpu.evidence.text import Lines
from steadygpu.evidence.units import MIB
from steadygpu.readers.lspci_name import VENDORS, role_of
from steadygpu.readers.smi_word import Draft

_TAG = re.compile(
    r"<(?P<close>/?)(?P<tag>object|info|topology)(?P<more>(?:\s[^<>]{0,4000}?)?)(?P<empty>/?)>"
)
_PAIR = re.compile(r'(?P<key>[a-z_]{1,30})="(?P<value>[^"]{0,2000})"')
_PCI = re.compile(
    r"(?P<code>[0-9a-f]{4}) \[(?P<id>[0-9a-f]{4}:[0-9a-f]{4})\] \[(?P<sub>[0-9a-f]{4}:[0-9a-f]{4})\]"
)
_WORDS = re.compile(r"0x[0-9a-f]{1,8}$|$")
_NVML = re.compile(r"nvml(?P<index>\d{1,4})$")
_LONGEST = (
    2_000_000  # a whole topology in one line is longer than this only when it is no such output
)
_DEEPEST = 64
_KINDS: dict[str, DeviceKind] = {"card": "card", "port": "port", "nic": "nic", "nvswitch": "switch"}
_PACKAGES = ("Package", "Socket")


@dataclass(slots=True)
class _Object:
    """One element: its attributes, where it stands, and the nodes right inside it."""

    type: str
    attributes: dict[str, str]
    at: int
    nodes: list["_Object"] = field(default_factory=list)
    holds_nodes: bool = False


@dataclass(slots=True)
class _Device:
    """A PCI function, the bridge above it, the node beside it, and what drivers say of it."""

    own: _Object
    bridge: _Object | None
    node: _Object | None
    infos: dict[str, str] = field(default_factory=dict)
    index: int | None = None


class _Scan:
    """Where the scan stands: open elements, and what was found."""

    def __init__(self) -> None:
        self.stack: list[_Object] = []
        self.devices: list[_Device] = []
        self.open_devices: list[_Device] = []
        self.counted: dict[str, list[int]] = {}
        self.nodes: list[_Object] = []
        self.infos: dict[str, tuple[str, int]] = {}
        self.begun = self.ended = False

    def tag(self, found: "re.Match[str]", at: int) -> None:
        """Take one tag."""
        name = found["tag"]
        if name == "topology":
            self.begun, self.ended = True, self.ended or bool(found["close"])
        elif name == "info":
            pairs = _pairs(found["more"])
            self._info(pairs.get("name", ""), pairs.get("value", ""), at)
        elif not found["close"]:
            self.begun = True
            self._open(_pairs(found["more"]), at, empty=bool(found["empty"]))
        elif self.stack:
            gone = self.stack.pop()
            if self.open_devices and self.open_devices[-1].own is gone:
                self.open_devices.pop()

    def _info(self, name: str, value: str, at: int) -> None:
        if self.open_devices:
            self.open_devices[-1].infos.setdefault(name, value)
        else:
            self.infos.setdefault(name, (value, at))

    def _open(self, attributes: dict[str, str], at: int, *, empty: bool) -> None:
        one = _Object(attributes.get("type", ""), attributes, at)
        if one.type == "NUMANode" and attributes.get("subtype") != "GPUMemory":
            self.nodes.append(one)
            if self.stack:
                self.stack[-1].nodes.append(one)
            for above in self.stack:
                above.holds_nodes = True
        elif "pci_busid" in attributes:
            self._device(one, empty=empty)
        elif one.type == "OSDev" and self.open_devices:
            nvml = _NVML.match(attributes.get("name", ""))
            self.open_devices[-1].index = (
                int(nvml["index"]) if nvml else self.open_devices[-1].index
            )
        self.counted.setdefault(one.type, []).append(at)
        if not empty:
            self.stack.append(one)

    def _device(self, own: _Object, *, empty: bool) -> None:
        bridge = next((o for o in reversed(self.stack) if o.type == "Bridge"), None)
        device = _Device(own, bridge, self._beside())
        self.devices.append(device)
        if not empty:
            self.open_devices.append(device)

    def _beside(self) -> _Object | None:
        """Return the node that encloses this place, or the only one right inside what encloses it."""
        for above in reversed(self.stack):
            if above.type == "NUMANode":
                return above
            if above.holds_nodes:
                return above.nodes[0] if len(above.nodes) == 1 else None
        return None


def read_hwloc_xml(lines: Lines) -> Reading:
    """Return devices, nodes and the layout as far as the text goes."""
    scan = _Scan()
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST or not line.lstrip().startswith("<"):
            break
        if scan.begun and ("<?xml" in line or "<!DOCTYPE" in line):
            break
        for found in _TAG.finditer(line):
            scan.tag(found, at)
        read_to = at + 1
        if scan.ended or len(scan.stack) > _DEEPEST:
            break
    if not scan.begun or not scan.counted:
        return Reading()  # XML of another tool
    name = scan.infos.get("HostName", ("", 0))[0]
    host = name if re.fullmatch(r"[\w.-]{1,253}", name) else None
    facts: list[Fact] = []
    for device in scan.devices:
        facts += _device(lines, device, host)
    for node in scan.nodes:
        facts += _node(lines, node, host)
    facts += _layout(lines, scan, host, read_to - 1)
    return Reading(facts=tuple(facts), read_to=read_to)


def _pairs(more: str) -> dict[str, str]:
    return {found["key"]: unescape(found["value"]) for found in _PAIR.finditer(more)}


def _device(lines: Lines, device: _Device, host: str | None) -> list[PciDevice]:
    own = device.own
    bdf = normal_bdf(own.attributes["pci_busid"])
    told = _PCI.match(own.attributes.get("pci_type", ""))
    if bdf is None or told is None:
        return []
    vendor = next((name for name, number, _ in VENDORS if number == told["id"][:4]), "")
    role = role_of(told["code"], vendor, "")
    draft = Draft(lines)
    draft.take("class_code", told["code"], own.at)
    draft.take("pci_id", told["id"], own.at)
    draft.take("role", role, own.at)
    if told["sub"] != "0000:0000":
        draft.take("subsystem_id", told["sub"], own.at)
    if vendor:
        draft.take("vendor", vendor, own.at)
    bridge, node = device.bridge, device.node
    if bridge is not None and (parent := normal_bdf(bridge.attributes.get("pci_busid", ""))):
        for at in sorted({own.at, bridge.at}):
            draft.take("parent", parent, at)
    elif bridge is not None and role == "port":
        draft.take("port_type", "root", own.at)
    if node is not None and (number := _number(node.attributes.get("os_index", ""))) is not None:
        for at in sorted({own.at, node.at}):
            draft.take("numa_node", number, at)
    infos = device.infos if role == "card" else {}
    ref = DeviceRef(
        kind=_KINDS.get(role, "pci"), host=host, bdf=bdf, text=lines.name, label=infos.get("GPUModel"),
        uuid=infos.get("NVIDIAUUID"), serial=infos.get("NVIDIASerial"), index=device.index if role == "card" else None,
    )  # fmt: skip
    return draft.record(PciDevice, ref)


def _node(lines: Lines, node: _Object, host: str | None) -> list[NumaNode]:
    number = _number(node.attributes.get("os_index", ""))
    if number is None:
        return []
    draft = Draft(lines)
    draft.values["node"] = number
    if (size := _number(node.attributes.get("local_memory", ""))) is not None:
        draft.take("size_bytes", size // MIB * MIB, node.at)  # in MiB, as numactl tells it
    if (cpus := _cpus(node.attributes.get("cpuset", ""))) is not None:
        draft.take("cpus", cpus, node.at)
    return draft.record(NumaNode, host_ref(host))


def _layout(lines: Lines, scan: _Scan, host: str | None, last: int) -> list[CpuLayout]:
    draft = Draft(lines)
    for info, name in (("Architecture", "architecture"), ("CPUModel", "model")):
        if info in scan.infos:
            draft.take(name, *scan.infos[info])
    packages = [at for name in _PACKAGES for at in scan.counted.get(name, ())]
    cores, cpus = scan.counted.get("Core", []), scan.counted.get("PU", [])
    nodes = [node.at for node in scan.nodes]
    counts = {"sockets": packages, "numa_nodes": nodes, "cpus": cpus}
    for name, places in counts.items():
        if places and scan.ended:
            draft.take(name, len(places), places[0], places[-1])
        elif places:
            where = lines.cite(last, last, name)
            draft.absent.append(Absent(field=name, reason="cut", source=where))
    if scan.ended and packages and cores and len(cores) % len(packages) == 0:
        draft.take("cores_per_socket", len(cores) // len(packages), packages[0], cores[-1])
    if scan.ended and cores and cpus and len(cpus) % len(cores) == 0:
        draft.take("threads_per_core", len(cpus) // len(cores), cores[0], cpus[-1])
    return draft.record(CpuLayout, host_ref(host))


def _number(word: str) -> int | None:
    return int(word) if re.fullmatch(r"\d{1,18}", word, re.ASCII) else None


def _cpus(mask: str) -> tuple[int, ...] | None:
    """Return the CPUs of a mask of 32-bit words, highest first; an empty word is zero."""
    words = mask.split(",")
    if not mask or len(words) > 1000 or not all(_WORDS.match(word) for word in words):
        return None
    value = 0
    for word in words:
        value = value << 32 | int(word or "0", 16)
    return tuple(at for at, bit in enumerate(reversed(f"{value:b}")) if bit == "1")
