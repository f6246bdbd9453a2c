"""Reads lscpu: sockets, cores, NUMA nodes and clocks of the processors.

Covers util-linux 2.23 to 2.40: older ones print all labels at the margin, newer ones indent them. A guest prints its
"Hypervisor vendor"; the first domain of Xen prints it too, with the virtualization type none.
"""

import re
from collections.abc import Callable

from steadygpu.evidence.cpu import CpuLayout
from steadygpu.evidence.device import host_ref
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.setting import Setting, SettingKind
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft, number_of, whole_of

_LINE = re.compile(r"\s{0,8}(?P<label>[A-Z][\w ,()/'.-]{0,60}?):\s+(?P<word>\S.{0,4000})$")
_NODE = re.compile(r"NUMA node(\d{1,4}) CPU\(s\)")
_CPUS = re.compile(r"[\d,-]{1,4000}")
_VIRTUAL = ("Virtualization", "Virtualization type", "Hypervisor vendor")
_AFTER = ("NUMA node(s)", "L1d cache", "L1d")  # what a whole output prints below the virtualization
_FIRST = ("Architecture", "CPU op-mode(s)", "NUMA node(s)", "CPU(s)")


def _mhz(word: str) -> float | None:
    return number_of(word.replace(",", "."))


def _ratio(word: str) -> float | None:
    found = number_of(word, "%")
    return None if found is None else found / 100


_FIELDS: dict[str, tuple[str, Callable[[str], object | None]]] = {
    "Architecture": ("architecture", str), "Model name": ("model", str), "CPU(s)": ("cpus", whole_of),
    "On-line CPU(s) list": ("online", str), "Off-line CPU(s) list": ("offline", str),
    "Thread(s) per core": ("threads_per_core", whole_of),
    "Core(s) per socket": ("cores_per_socket", whole_of), "Socket(s)": ("sockets", whole_of),
    "NUMA node(s)": ("numa_nodes", whole_of), "CPU MHz": ("current_mhz", _mhz),
    "CPU max MHz": ("max_mhz", _mhz), "CPU min MHz": ("min_mhz", _mhz),
    "CPU(s) scaling MHz": ("scaling_ratio", _ratio), "Hypervisor vendor": ("hypervisor", str),
}  # fmt: skip


def read_lscpu(lines: Lines) -> Reading:
    """Return the layout; a text that begins anew ends it."""
    draft = Draft(lines)
    nodes: list[tuple[int, str]] = []
    seen: set[str] = set()
    virtual: dict[str, tuple[str, int]] = {}
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        found = _LINE.match(line) if len(line) <= 5000 else None
        if found is None:
            if read_to and re.match(r"\s{0,8}[A-Z][\w ,()/'.-]{0,60}:\s*$", line):
                read_to = at + 1  # a group of newer versions, or a value that is empty
                continue
            break
        label, word = found["label"], found["word"].strip()
        if label in _FIRST and label in seen:
            break
        seen.add(label)
        if label in _VIRTUAL:
            virtual[label] = word, at
        if label in _FIELDS:
            name, parse = _FIELDS[label]
            draft.put(name, word, at, parse)
        elif (node := _NODE.fullmatch(label)) and _CPUS.fullmatch(word):
            nodes.append((int(node[1]), word))
            draft.take("node_cpus", tuple(nodes), at)
        read_to = at + 1
    whole = lines.filtered is None and "Architecture" in seen and not seen.isdisjoint(_AFTER)
    setting = _setting(lines, virtual, whole)
    return Reading(facts=(*draft.record(CpuLayout, host_ref()), *setting), read_to=read_to)


def _setting(lines: Lines, virtual: dict[str, tuple[str, int]], whole: bool) -> tuple[Fact, ...]:
    """Return what the host is: the processor's own virtualization tells it only where no hypervisor is named."""
    how = virtual.get("Virtualization type", ("", 0))[0]
    vendor, at = virtual.get("Hypervisor vendor", (None, 0))
    if vendor is not None and how != "none":
        wsl = vendor == "Windows Subsystem for Linux"
        kind: SettingKind = "wsl" if wsl else "container" if how == "container" else "vm"
        return (
            Setting(
                device=host_ref(), kind=kind, by="lscpu", hypervisor=None if wsl else vendor,
                sources=(lines.cite(at, at, "kind", "hypervisor"),),
            ),
        )  # fmt: skip
    if vendor is None and not how and whole and "Virtualization" in virtual:
        at = virtual["Virtualization"][1]
        proof = (lines.cite(at, at, "kind"),)
        return (Setting(device=host_ref(), kind="bare-metal", by="lscpu", sources=proof),)
    return ()
