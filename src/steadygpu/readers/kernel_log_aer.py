"""PCIe error reports of a kernel log: lines of one report become one event.

Covers: Linux 3.10 to 6.18. Old kernels print `id=0010` and words ("Replay Timer Timeout"), 4.x and later
an address and short names ("Timeout"), 6.10 and later "error message received from"; firmware-first hosts
print CPER records ("{1}[Hardware Error]"), alone or followed by the port's own `aer_status` lines.
"""

import re
from dataclasses import dataclass, field

from steadygpu.evidence.device import DeviceKind, DeviceRef, normal_bdf
from steadygpu.evidence.kernel_log import AerEvent, KernelEvent, MemoryErrorEvent
from steadygpu.evidence.source import Source
from steadygpu.readers.kernel_log_fold import Fold, Host, Line

_BDF = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_DEVICE = re.compile(rf"(?P<driver>[\w-]{{1,60}}) (?P<bdf>{_BDF}): (?P<rest>.*)")
_HEAD = re.compile(
    r"(?:AER: )?(?:Multiple )?(?P<un>un)?correct(?:ed|able)(?: \((?P<how>fatal|non-fatal)\))?,? error (?:message )?"
    rf"received(?::| from)? *(?:id=(?P<id>[0-9a-f]{{4}})|(?P<bdf>{_BDF}))?",
    re.IGNORECASE,
)
_BODY = re.compile(
    r"(?:AER: )?PCIe Bus Error: severity=(?P<un>Un)?correct(?:ed|able)(?: \((?P<how>Fatal|Non-Fatal)\))?"
    r"(?:, type=(?P<type>[\w ]{1,40}))?",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"(?:AER: )? *device \[[0-9a-fA-F]{4}:[0-9a-fA-F]{4}\] error status/mask=(?P<bits>[0-9a-fA-F]{1,8})/"
)
_BIT = re.compile(
    r"(?:AER: )? *\[ *(?P<bit>\d{1,2})\] (?P<word>[A-Za-z][\w /-]{0,60}?) *(?:\(First\))? *$"
)
_MORE = re.compile(r"(?:AER: )? *(?:TLP Header:|Error of this Agent|aer_\w+[:=])")
_CPER = re.compile(r"\{(?P<id>\d{1,10})\}\[Hardware Error\]: *(?P<rest>.*)")
_CPER_SEVERITY = re.compile(r"event severity: (\w{1,20})")
_CPER_DEVICE = re.compile(rf"device_id: (?P<bdf>{_BDF})")
_CPER_BITS = re.compile(r"aer_(?P<un>un)?cor_status: 0x(?P<bits>[0-9a-fA-F]{1,8})")
_CPER_LAYER = re.compile(r"aer_layer=(?P<type>[\w ]{1,40})")
_CPER_DIMM = re.compile(r"DIMM location: (?!not present)(?P<dimm>\S.{0,120})")
_CPER_MEMORY = re.compile(
    r"(?:error_type: \d{1,3}, (?P<type>.{1,60})|error_status: (?P<status>.{1,100}))"
)
_CORRECTED = {
    0: "Receiver Error", 6: "Bad TLP", 7: "Bad DLLP", 8: "RELAY_NUM Rollover", 12: "Replay Timer Timeout",
    13: "Advisory Non-Fatal", 14: "Corrected Internal Error", 15: "Header Log Overflow",
}  # fmt: skip
_UNCORRECTED = {
    4: "Data Link Protocol", 5: "Surprise Down Error", 12: "Poisoned TLP", 13: "Flow Control Protocol",
    14: "Completion Timeout", 15: "Completer Abort", 16: "Unexpected Completion", 17: "Receiver Overflow",
    18: "Malformed TLP", 19: "ECRC", 20: "Unsupported Request", 21: "ACS Violation",
    22: "Uncorrectable Internal Error", 23: "MC Blocked TLP", 24: "AtomicOp Egress Blocked",
    25: "TLP Prefix Blocked Error", 26: "Poisoned TLP Egress Blocked",
}  # fmt: skip
_SURPRISE_BIT = 5  # PCI Express Base 5.0, 7.8.4.2: Surprise Down Error Status
_LAYERS = {
    "physical layer": "physical",
    "data link layer": "data_link",
    "transaction layer": "transaction",
}
_CPER_SEVERITIES = {"corrected": "corrected", "recoverable": "nonfatal", "fatal": "fatal"}
_CARD_DRIVERS = frozenset(("nvidia", "nouveau", "amdgpu", "i915", "xe", "habanalabs"))
_KINDS: dict[str, DeviceKind] = {
    "pcieport": "port", "mlx5_core": "nic", "mlx4_core": "nic", "bnxt_en": "nic", "ixgbe": "nic", "i40e": "nic",
    "ice": "nic", "igb": "nic", "igc": "nic", "e1000e": "nic", "ena": "nic", "nvme": "disk", "mpt3sas": "disk",
    "megaraid_sas": "disk", "ahci": "disk",
}  # fmt: skip
_OPEN_LINES = 64  # a report ends at the latest so many lines after its last line
_FOLLOW = 8


def kind_of_driver(driver: str) -> DeviceKind:
    """Return what a driver's device is; "pci" for drivers that we do not know."""
    return "card" if driver in _CARD_DRIVERS else _KINDS.get(driver, "pci")


@dataclass(slots=True)
class _Report:
    line: Line
    severity: str | None = None
    reporter: str | None = None
    bdf: str | None = None
    kind: DeviceKind = "pci"
    body: bool = False
    layer: str | None = None
    names: list[str] = field(default_factory=list)
    bits: int = 0
    surprise: bool = False
    cper: str | None = None
    section: str | None = None
    dimm: str | None = None
    says: str | None = None
    sources: list[Source] = field(default_factory=list)
    last: int = 0

    def cite(self, line: Line, *fields: str) -> None:
        self.last = line.number
        if len(self.sources) < 40:
            self.sources.append(line.cite(*fields))


@dataclass(slots=True)
class AerReports:
    """The reports that are still open. `take` eats one line; it belongs to nobody else if it returns True."""

    fold: Fold
    open: list[_Report] = field(default_factory=list)
    follow: int = 0

    def take(self, line: Line) -> bool:
        """Return whether the line is part of a PCIe error report."""
        self.follow = 0
        if self.open:
            self._close_old(line)
        text = line.text
        if text.startswith("{") and (cper := _CPER.match(text)) is not None:
            self._cper(line, cper)
            return True
        device = _DEVICE.match(text)
        if device is None:
            return False
        rest, bdf = device["rest"], normal_bdf(device["bdf"])
        kind = kind_of_driver(device["driver"])
        if (head := _HEAD.match(rest)) is not None:
            line.host.kinds.setdefault(bdf or "", kind)
            self._head(line, head, bdf)
        elif (body := _BODY.match(rest)) is not None:
            if kind != "pci":
                line.host.kinds[bdf or ""] = kind
            self._body(line, body, bdf, kind)
        elif (report := self._of(line.host, bdf)) is None:
            return False
        elif (status := _STATUS.match(rest)) is not None:
            report.bits |= int(status["bits"], 16)
            report.cite(line, "names", "surprise_down")
        elif (bit := _BIT.match(rest)) is not None:
            self._bit(line, report, bit)
        elif _MORE.match(rest) is not None:
            report.cite(line, "names" if "status" in rest else "severity")
        else:
            return False
        self.follow = _FOLLOW
        return True

    def finish(self) -> None:
        """Close all reports."""
        for report in self.open:
            self._emit(report)
        self.open.clear()

    def _close_old(self, line: Line) -> None:
        old = [report for report in self.open if line.number - report.last > _OPEN_LINES]
        if len(self.open) - len(old) > 8:
            old = self.open[:-8]
        for report in old:
            self._emit(report)
            self.open.remove(report)

    def _of(self, host: Host, bdf: str | None) -> _Report | None:
        for report in reversed(self.open):
            if report.line.host is host and report.bdf == bdf and (report.body or report.cper):
                return report
        return None

    def _head(self, line: Line, head: "re.Match[str]", bdf: str | None) -> None:
        report = _Report(line, severity=_severity(head), reporter=bdf)
        report.bdf = bdf
        if head["bdf"] is not None:
            report.bdf = normal_bdf(head["bdf"])
        elif head["id"] is not None and bdf is not None:
            number = int(head["id"], 16)
            report.bdf = f"{bdf[:4]}:{number >> 8:02x}:{(number >> 3) & 31:02x}.{number & 7}"
        report.kind = line.host.kinds.get(report.bdf or "", "pci")
        report.cite(line, "severity", "reporter")
        self.open.append(report)

    def _body(self, line: Line, body: "re.Match[str]", bdf: str | None, kind: DeviceKind) -> None:
        severity = _severity(body)
        waiting = [r for r in self.open if r.line.host is line.host and not r.body and not r.cper]
        report = next((r for r in waiting if r.bdf == bdf and r.severity == severity), None)
        if report is None:
            report = next((r for r in waiting if r.severity == severity), None)
        if report is None:
            report = _Report(line, severity=severity)
            self.open.append(report)
        report.body, report.bdf, report.kind = True, bdf, kind
        report.layer = _LAYERS.get((body["type"] or "").strip().lower())
        report.cite(line, "severity", "layer")

    def _bit(self, line: Line, report: _Report, bit: "re.Match[str]") -> None:
        number, word = int(bit["bit"]), bit["word"].strip()
        corrected = report.severity == "corrected"
        report.names.append((_CORRECTED if corrected else _UNCORRECTED).get(number, word))
        report.surprise |= not corrected and (
            number == _SURPRISE_BIT or word.startswith("Surprise")
        )
        report.cite(line, "names", "surprise_down")

    def _cper(self, line: Line, cper: "re.Match[str]") -> None:
        rest = cper["rest"]
        report = next(
            (r for r in reversed(self.open) if r.cper == cper["id"] and r.line.host is line.host),
            None,
        )
        if report is None or rest.startswith("Hardware error from"):
            report = _Report(line, cper=cper["id"])
            self.open.append(report)
        report.last = line.number
        self.follow = _FOLLOW
        if (found := _CPER_SEVERITY.match(rest)) is not None:
            report.severity = _CPER_SEVERITIES.get(
                found[1], "corrected" if found[1] == "info" else None
            )
            report.cite(line, "severity")
        elif rest.startswith("section_type: "):
            report.section = rest.removeprefix("section_type: ").strip()
            report.cite(line, "severity")
        elif (found := _CPER_DEVICE.match(rest)) is not None:
            report.bdf = normal_bdf(found["bdf"])
            report.cite(line, "device")
        elif (found := _CPER_BITS.match(rest)) is not None:
            report.bits |= int(found["bits"], 16)
            report.severity = report.severity or ("nonfatal" if found["un"] else "corrected")
            report.cite(line, "names", "surprise_down")
        elif (found := _CPER_LAYER.match(rest)) is not None:
            report.layer = _LAYERS.get(found["type"].strip().lower())
            report.cite(line, "layer")
        elif (found := _CPER_DIMM.match(rest)) is not None:
            report.dimm = found["dimm"].strip()
            report.cite(line, "device")
        elif (found := _CPER_MEMORY.match(rest)) is not None:
            report.says = found["type"] or report.says or found["status"]

    def _memory(self, report: _Report) -> MemoryErrorEvent:
        """Return the event of a report on the host's memory."""
        line = report.line
        device = (
            line.on_host()
            if report.dimm is None
            else DeviceRef(kind="dimm", host=line.host.name, label=report.dimm, text=line.name)
        )
        return MemoryErrorEvent(
            device=device, at=line.at, kind="corrected" if report.severity == "corrected" else "uncorrected",
            by="firmware", says=f"{report.severity} memory error" + (f": {report.says}" if report.says else ""),
            sources=tuple(report.sources),
        )  # fmt: skip

    def _emit(self, report: _Report) -> None:
        line = report.line
        if (
            report.cper is not None
            and not (report.section or "").startswith("PCIe")
            and report.bdf is None
        ):
            if report.severity is not None and (report.section or "").startswith("memory error"):
                self._keep(self._memory(report), report)
            elif report.section is not None or report.severity is not None:
                says = f"{report.severity or 'unknown'} {report.section or 'hardware error'}"
                self._keep(KernelEvent(device=line.on_host(), at=line.at, what="mce", says=says, sources=tuple(report.sources)), report)  # fmt: skip
            return
        if report.severity is None:
            return
        corrected = report.severity == "corrected"
        table = _CORRECTED if corrected else _UNCORRECTED
        names = report.names or [word for bit, word in table.items() if report.bits >> bit & 1]
        kind = line.host.kinds.get(report.bdf or "", report.kind)
        device = (
            line.card(report.bdf)
            if kind == "card"
            else DeviceRef(kind=kind, host=line.host.name, bdf=report.bdf, text=line.name)
        )
        self._keep(
            AerEvent(
                device=device,
                at=line.at,
                severity=report.severity,
                layer=report.layer,
                names=tuple(dict.fromkeys(names)),
                surprise_down=report.surprise
                or (not corrected and bool(report.bits >> _SURPRISE_BIT & 1)),
                reporter=report.reporter if report.reporter != report.bdf else None,
                sources=tuple(report.sources),
            ),
            report,
        )

    def _keep(self, fact: AerEvent | KernelEvent | MemoryErrorEvent, report: _Report) -> None:
        self.fold.add(fact, report.line.host, report.last)


def _severity(found: "re.Match[str]") -> str:
    if found["un"] is None:
        return "corrected"
    return "fatal" if (found["how"] or "").lower() == "fatal" else "nonfatal"
