"""Reads the sentences that nvidia-smi, or the shell in its place, prints instead of data.

Covers nvidia-smi 304 to 610. The NVML library version follows a mismatch since 525; the address of a
card stands right behind `GPU` (530 and later), after a blank, or after the number of the card.
"""

import re

from steadygpu.evidence.device import DeviceRef, host_ref, normal_bdf
from steadygpu.evidence.driver import ToolMessage
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines

_LIBRARY = re.compile(r"NVML library version: (?P<version>\d{1,5}(?:\.\d{1,5}){0,3})\s*$")
_HANDLE = re.compile(
    r"Unable to determine the device handle for (?:gpu|GPU)\s*(?:(?P<index>\d{1,3}): )?"
    r"(?P<bdf>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])?:?\s*(?P<why>.*)"
)
_INIT = re.compile(r"Failed to initialize NVML: (?P<why>.*)")
_START = re.compile(
    r"NVIDIA-SMI has failed because|NVIDIA-SMI couldn't (?:find|communicate)"
    r"|No devices were found\s*$|Failed to properly shut ?down NVML"
    r"|Insufficient [Pp]ermissions\b|GPU is lost\b|No supported devices in vGPU mode"
)
_MISSING = re.compile(
    r"(?:(?:-?(?:ba|z|da|k)?sh|/\S{1,60}): )?(?:line )?(?:\d{1,6}: )*nvidia-smi: (?:command )?not found\s*$"
    r"|(?:bash|zsh): command not found: nvidia-smi\s*$|Command 'nvidia-smi' not found\b"
    r"|bash: nvidia-smi: No such file or directory\s*$"
)
_MORE = re.compile(
    r"Make sure that\b|the latest NVIDIA driver is installed|latest NVIDIA driver is installed"
    r"|Please (?:also try|make sure)\b|NVIDIA driver is installed and running"
)
_INSTALL = re.compile(r"(?:sudo )?apt(?:-get)? install \S|Ask your administrator")
_MEANINGS = (
    (re.compile(r"library version mismatch", re.IGNORECASE), "library_mismatch"),
    (
        re.compile(r"couldn't communicate|driver (?:is )?not loaded", re.IGNORECASE),
        "driver_not_loaded",
    ),
    (re.compile(r"No devices were found"), "no_devices"),
    (re.compile(r"GPU is lost", re.IGNORECASE), "gpu_lost"),
    (re.compile(r"requires? (?:a )?reset|reset required", re.IGNORECASE), "reset_required"),
    (re.compile(r"Insufficient Permissions|No Permission", re.IGNORECASE), "not_permitted"),
    (re.compile(r"Insufficient Resources", re.IGNORECASE), "insufficient_resources"),
)

_ASKS = {
    "command_missing": (
        "nvidia-smi was not found",
        "lspci -nn | grep -i nvidia; ls /usr/bin/nvidia-smi",
    ),
    "not_permitted": ("the tool was not allowed to read", "sudo nvidia-smi"),
}


def read_smi_message(lines: Lines) -> Reading:
    """Return one message for each sentence. A version line without its sentence is one by itself."""
    facts: list[Fact] = []
    gaps: list[Gap] = []
    at = read_to = 0
    while at < len(lines):
        if not lines.clean[at].strip():
            at += 1
            continue
        found = _message(lines, at)
        if found is None:
            break
        fact, at = found
        read_to = at
        facts.append(fact)
        if fact.meaning in _ASKS:
            why, ask = _ASKS[fact.meaning]
            gaps.append(Gap(where=fact.sources[0], why=why, ask=ask))
    return Reading(facts=tuple(facts), gaps=tuple(gaps), read_to=read_to)


def _message(lines: Lines, at: int) -> tuple[ToolMessage, int] | None:
    line = lines.clean[at].strip()
    if len(line) > 1000:
        return None
    device, tool, version, last, says = host_ref(), "nvidia-smi", None, at, line
    if handle := _HANDLE.match(line):
        device = _device(lines, handle)
        meaning = _meaning(handle["why"]) or "handle_lost"
    elif init := _INIT.match(line):
        meaning = _meaning(line) or (
            "unknown_error" if init["why"].startswith("Unknown Error") else "other"
        )
        after = lines.clean[at + 1] if at + 1 < len(lines) else ""
        if library := _LIBRARY.match(after):
            version, last = library["version"], at + 1
    elif library := _LIBRARY.match(line):
        meaning, version = "library_mismatch", library["version"]
    elif _MISSING.match(line):
        meaning = "command_missing"
        last = _follow(lines, at, _INSTALL)
    elif _START.match(line):
        meaning = _meaning(line) or "other"
        last = _follow(lines, at, _MORE)
        says = " ".join(lines.clean[i].strip() for i in range(at, last + 1))
    else:
        return None
    sources = [lines.cite(at, last if version is None else at, "says", "meaning")]
    if version is not None:
        sources.append(lines.cite(last, last, "library_version"))
    message = ToolMessage(
        device=device,
        tool=tool,
        meaning=meaning,
        says=says,
        library_version=version,
        container=lines.in_container,
        sources=tuple(sources),
    )
    return message, last + 1


def _meaning(says: str) -> str | None:
    return next((meaning for form, meaning in _MEANINGS if form.search(says)), None)


def _device(lines: Lines, handle: "re.Match[str]") -> DeviceRef:
    bdf = normal_bdf(handle["bdf"]) if handle["bdf"] else None
    index = int(handle["index"]) if handle["index"] else None
    if bdf is None and index is None:
        return host_ref()
    return DeviceRef(kind="card", bdf=bdf, index=index, text=lines.name)


def _follow(lines: Lines, at: int, more: "re.Pattern[str]") -> int:
    """Return the last line of a sentence that goes on in lines like `more`, blank ones between."""
    last, blank = at, 0
    for later in range(at + 1, min(at + 12, len(lines))):
        line = lines.clean[later].strip()
        if not line:
            blank += 1
            if blank > 1:
                break
        elif more.match(line):
            last, blank = later, 0
        else:
            break
    return last
