"""The messages of a kernel log that tell of cards, links and the host: one function for each family.

Covers: nouveau, vfio-pci, pciehp of Linux 3.10 to 6.18, and the kernel's own reports on kills for want of
memory and panics. An OOM kill takes up to three lines and two more of its memory report that tell swap.
"""

import re
from calendar import timegm
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from steadygpu.evidence.amd import AmdgpuEvent
from steadygpu.evidence.device import DeviceRef, normal_bdf
from steadygpu.evidence.kernel_log import (
    ClockAnchor,
    DiskEvent,
    DriverBindEvent,
    KernelEvent,
    LinkDownEvent,
    MemoryErrorEvent,
    NicEvent,
    NvrmEvent,
    SxidEvent,
)
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.setting import Setting
from steadygpu.readers.kernel_log_aer import AerReports
from steadygpu.readers.kernel_log_fold import Fold, Line
from steadygpu.readers.kernel_log_nvrm import NvrmMessages

_BDF = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"
_HOTPLUG = re.compile(
    rf"(?:pciehp|pcieport) (?P<bdf>{_BDF})(?::\w{{1,20}})?: (?:pciehp: )?Slot\((?P<slot>[\w-]{{1,20}})\): (?P<says>Link Down|Card not present)\b.{{0,80}}"
)
_BIND = re.compile(
    rf"(?P<driver>nvidia|amdgpu|vfio-pci|nouveau|i915|xe) (?P<bdf>{_BDF}): (?:enabling device|vgaarb: |NVIDIA \S{{1,20}} \([0-9a-f]{{6,9}}\)|amdgpu: \w{{1,20}} \()"
)
_NOUVEAU_OLD = re.compile(rf"nouveau +\[ *DEVICE *\]\[(?P<bdf>{_BDF})\] ")
_BLACKLIST = re.compile(
    r"(?:modprobe\.blacklist|rd\.driver\.blacklist|module_blacklist)=[\w,.-]{0,300}?\bnouveau\b|\bnouveau\.modeset=0"
)
_RTC = re.compile(r"setting system clock to .{10,40}\((?P<wall>\d{6,12})\)")
_AUDIT = re.compile(r"\baudit\((?P<wall>\d{9,12}\.\d{1,6}):\d{1,12}\)")
_OOM = re.compile(
    r"[Oo]ut of memory(?: \([^)]{1,40}\))?: Kill(?:ed)? process (?P<pid>\d{1,10}) \((?P<name>[^)]{1,100})\)"
)
_OOM_TASK = re.compile(r"oom-kill:.{0,2000}?task=(?P<name>[^,]{1,100}),pid=\d{1,10}")
_SWAP = re.compile(r"(?P<which>Free|Total) swap {0,3}= {0,3}(?P<kb>\d{1,15}) ?kB")
_SCOPES = {
    "CONSTRAINT_MEMCG": "memcg", "CONSTRAINT_NONE": "host", "CONSTRAINT_CPUSET": "numa",
    "CONSTRAINT_MEMORY_POLICY": "numa",
}  # fmt: skip
_CONSTRAINT = re.compile(r"constraint=(CONSTRAINT_\w{1,20})")
_MCE = re.compile(
    r"mce: \[Hardware Error\]: (?P<says>Machine check events logged|CPU \d{1,6}: Machine Check.{0,120})"
)
_HOT = re.compile(r"(?:Core|Package) temperature(?:/speed)? (?:is )?above threshold")
_RTC_ERROR_S = 1.0  # the clock chip tells whole seconds and is read once
_AUDIT_ERROR_S = 0.1
_STEP_S = 0.5  # an anchor that differs less from the last one tells nothing new

# A word that every message of a family holds, and its reader, which returns whether the message was its own.
Family = tuple[str, "Callable[[Families, Line], bool]"]


Fact = (
    NvrmEvent | KernelEvent | LinkDownEvent | DriverBindEvent | SxidEvent | MemoryErrorEvent
    | NicEvent | DiskEvent | AmdgpuEvent | Setting
)  # fmt: skip


class Report(Protocol):
    """A report of several lines that is open on a host. `left` counts the lines that may still belong to it."""

    left: int

    def take(self, line: Line) -> bool:
        """Return whether the line is part of the report; sets `left` to 0 where nothing may follow."""

    def close(self, families: "Families") -> None:
        """Keep what the report told."""


@dataclass(slots=True)
class Families:
    """Turns messages into events. `follow` says how many next lines may belong to an open report."""

    fold: Fold
    aer: AerReports
    nvrm: NvrmMessages
    table: "tuple[Family, ...]"
    follow: int = 0
    _oom: dict[str | None, list[Line]] = field(default_factory=dict)
    _open: dict[str | None, Report] = field(default_factory=dict)

    def take(self, line: Line) -> None:
        """Read one message of the kernel."""
        text = line.text
        self.follow = 0
        if self._open and self._goes_on(line):
            return
        if text.startswith("NVRM"):
            self.nvrm.take(line)
            self.follow = self.nvrm.follow
            return
        if line.stamp.boot_s is not None:
            _anchor(self.fold, line)
        if self.aer.take(line):
            self.follow = self.aer.follow
            return
        for word, reader in self.table:
            if word in text and reader(self, line):
                return

    def finish(self) -> None:
        """Close whatever is open."""
        self.aer.finish()
        for report in self._open.values():
            report.close(self)
        self._open.clear()
        for host in list(self._oom):
            self._close_oom(host)

    def begin(self, report: Report, line: Line) -> bool:
        """Open a report on the host of its first line; one that is open there is closed."""
        before = self._open.pop(line.host.name, None)
        if before is not None:
            before.close(self)
        self._open[line.host.name] = report
        self.follow = report.left
        return True

    def _goes_on(self, line: Line) -> bool:
        """Return whether the line is part of the report that is open on its host."""
        report = self._open.get(line.host.name)
        if report is None:
            return False
        report.left -= 1
        mine = report.take(line)
        if report.left <= 0:
            del self._open[line.host.name]
            report.close(self)
        else:
            self.follow = report.left
        return mine

    def keep(self, fact: Fact, line: Line) -> None:
        """Keep an event whose last line is `line`."""
        self.fold.add(fact, line.host, line.number)

    def event(self, line: Line, what: str, says: str, process: str | None = None) -> bool:
        """Keep a KernelEvent of one line."""
        self.keep(
            KernelEvent(
                device=line.on_host(),
                at=line.at,
                what=what,
                says=says,
                process=process,
                sources=(line.cite(),),
            ),
            line,
        )
        return True

    def oom(self, line: Line) -> bool:
        """Join the lines of one kill: who asked, who was chosen, who was killed."""
        key, text = line.host.name, line.text
        if "invoked oom-killer" in text:
            self._close_oom(key)
            self._oom[key] = [line]
        elif "oom-kill:" in text:
            parts = self._oom.setdefault(key, [])
            if parts and any("oom-kill:" in part.text for part in parts):
                self._close_oom(key)
                parts = self._oom.setdefault(key, [])
            parts.append(line)
        elif _OOM.search(text) is not None:
            self._oom.setdefault(key, []).append(line)
            self._close_oom(key)
        elif key in self._oom and _SWAP.search(text) is not None:
            self._oom[key].append(line)
        else:
            return False
        return True

    def _close_oom(self, key: str | None) -> None:
        lines = self._oom.pop(key, [])
        if not lines:
            return
        killed = next(
            (
                hit
                for part in reversed(lines)
                if (hit := _OOM.search(part.text) or _OOM_TASK.search(part.text))
            ),
            None,
        )
        swap: dict[str, int] = {}
        plain: list[Line] = []
        sources = []
        for part in lines:
            found = _SWAP.search(part.text)
            if found is None:
                plain.append(part)
                sources.append(part.cite())
            else:
                name = f"swap_{found['which'].lower()}_bytes"
                swap[name] = int(found["kb"]) * 1024
                sources.append(part.cite(name))
        last = plain[-1]
        self.keep(
            KernelEvent(
                device=last.on_host(), at=last.at, what="oom_kill", says=last.text[:300],
                process=killed["name"] if killed else None, scope=_scope(plain),
                swap_free_bytes=swap.get("swap_free_bytes"), swap_total_bytes=swap.get("swap_total_bytes"),
                sources=tuple(sources),
            ),
            last,
        )  # fmt: skip


def _scope(lines: "list[Line]") -> str | None:
    """Return whose memory ran short, None where no line tells."""
    for part in lines:
        found = _CONSTRAINT.search(part.text)
        if found is not None and found[1] in _SCOPES:
            return _SCOPES[found[1]]
    if "emory cgroup out of memory" in lines[-1].text:
        return "memcg"
    return "host" if _OOM.search(lines[-1].text) is not None else None


def _anchor(fold: Fold, line: Line) -> None:
    text, boot_s = line.text, line.stamp.boot_s
    assert boot_s is not None
    if line.stamp.form == "json":
        if line.stamp.wall is not None:
            _keep_anchor(fold, line, "journal", line.stamp.wall, 1e-3)
    elif "audit(" in text and (found := _AUDIT.search(text)) is not None:
        _keep_anchor(fold, line, "audit", float(found["wall"]), _AUDIT_ERROR_S)
    elif "setting system clock" in text and (found := _RTC.search(text)) is not None:
        _keep_anchor(fold, line, "rtc", float(found["wall"]), _RTC_ERROR_S)


def _keep_anchor(fold: Fold, line: Line, by: str, wall: float, error_s: float) -> None:
    boot_s, boot = line.stamp.boot_s, line.host.boot
    assert boot_s is not None
    if wall < timegm((2000, 1, 1, 0, 0, 0)):
        return  # a clock that was never set
    known = boot.offsets.get(by)
    if known is not None and abs(wall - boot_s - known) < _STEP_S:
        return
    boot.offsets[by] = wall - boot_s
    line.host.learn_year(wall)
    at = Moment(wall=wall, boot_id=line.at.boot_id, boot_s=boot_s, error_s=error_s, zone_known=True)
    fold.add(
        ClockAnchor(
            device=line.on_host(),
            at=at,
            wall=wall,
            boot_s=boot_s,
            error_s=error_s,
            by=by,
            sources=(line.cite(),),
        ),
        line.host,
        line.number,
    )


def _hotplug(families: Families, line: Line) -> bool:
    found = _HOTPLUG.match(line.text)
    if found is None:
        return False
    device = DeviceRef(
        kind="port",
        host=line.host.name,
        bdf=normal_bdf(found["bdf"]),
        slot=found["slot"],
        text=line.name,
    )
    families.keep(
        LinkDownEvent(device=device, at=line.at, says=found["says"], sources=(line.cite(),)), line
    )
    return True


def _bind(families: Families, line: Line) -> bool:
    found = _BIND.match(line.text) or _NOUVEAU_OLD.match(line.text)
    if found is None:
        return False
    bdf = normal_bdf(found["bdf"]) or ""
    driver = found["driver"] if "driver" in found.re.groupindex else "nouveau"
    bound = line.host.boot.bound
    if bound.get(bdf) != driver:
        bound[bdf] = driver
        device = (
            line.card(bdf)
            if driver != "vfio-pci"
            else DeviceRef(kind="pci", host=line.host.name, bdf=bdf, text=line.name)
        )
        families.keep(
            DriverBindEvent(device=device, at=line.at, driver=driver, sources=(line.cite(),)), line
        )
    return True


def _command_line(families: Families, line: Line) -> bool:
    found = _BLACKLIST.search(line.text)
    if found is None or "nouveau_blacklisted" in line.host.boot.told:
        return False
    line.host.boot.told.add("nouveau_blacklisted")
    return families.event(line, "nouveau_blacklisted", found[0])


def _unload(families: Families, line: Line) -> bool:
    if (
        line.text.startswith(("nvidia-modeset: Unloading", "[drm] [nvidia-drm]"))
        and "Unloading" in line.text
    ):
        families.keep(NvrmEvent(device=line.on_host(), at=line.at, what="unloading", says=line.text, sources=(line.cite(),)), line)  # fmt: skip
        return True
    return False


def _one(expression: "re.Pattern[str]", what: str) -> "Callable[[Families, Line], bool]":
    """Return a reader of one-line kernel events; group `name` is the process, `says` what was said."""

    def read(families: Families, line: Line) -> bool:
        found = expression.search(line.text)
        if found is None:
            return False
        groups = found.groupdict()
        return families.event(line, what, groups.get("says") or line.text[:300], groups.get("name"))

    return read


def _panic(families: Families, line: Line) -> bool:
    if not line.text.startswith("Kernel panic - not syncing"):
        return False
    return families.event(line, "panic", line.text[:300])


FAMILIES: "tuple[Family, ...]" = (
    ("Slot(", _hotplug),
    ("ommand line:", _command_line),
    ("enabling device", _bind),
    ("vgaarb", _bind),
    ("nouveau", _bind),
    ("amdgpu: ", _bind),
    ("Unloading", _unload),
    ("ut of memory", Families.oom),
    ("oom-kill", Families.oom),
    (" swap", Families.oom),
    ("Kernel panic", _panic),
    ("mce: [Hardware Error]", _one(_MCE, "mce")),
    ("temperature", _one(_HOT, "thermal")),
)
