"""The NVIDIA driver's messages in a kernel log: Xid numbers and what it says without one.

Covers: drivers 304 to 595 (old drivers print `Xid (0000:01:00)` without "PCI:" and without pid; 450 and
later name pid and process; slices are told by GPU-I and GPU-CI; 555 and later print Xid 154). Some records
take up to five lines, of which the later ones begin with spaces and have no time.
"""

import re
from dataclasses import dataclass, field

from steadygpu.evidence.device import normal_bdf
from steadygpu.evidence.kernel_log import NvrmEvent, XidEvent
from steadygpu.readers.kernel_log_fold import Fold, Line

_BDF = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"
_XID = re.compile(
    r"Xid \((?P<bdf>[\w:.]{4,24})(?: GPU-I:(?P<gi>\d{1,4}))?(?: GPU-CI:(?P<ci>\d{1,4}))?\): (?P<code>\d{1,6})(?:, *(?P<rest>.*))?"
)
_WHO = re.compile(
    r"(?:pid=(?:(?P<pid>\d{1,10})|'?<?unknown>?'?)(?:, |$))?(?:name=(?P<name>[^,]{0,200}(?:,[^ ][^,]{0,200})*)(?:, |$))?"
)
_CHANNEL = re.compile(
    r"\b(?:Ch|Channel|ChID|channel)(?: ID)?[ :]+(?P<channel>(?:0x)?[0-9a-fA-F]{1,16})\b"
)
_PREVIOUS = re.compile(r"previous Xid (\d{1,6})")
_RECOVERY = re.compile(
    r"recovery action changed from .{0,80} to (?:0x)?(?P<number>[0-9a-fA-F]{1,2}) \((?P<word>[^)]{1,60})\)"
)
_UNRECOGNISED = re.compile(r"unrecogni[sz]ed[ _]client", re.IGNORECASE)
_ACTIONS = (
    "none",
    "reset",
    "reboot",
    "drain_p2p",
    "drain_and_reset",
    "recover_imex_domain",
    "bus_reset",
    "system_reboot",
)  # nvml.h, nvmlDeviceGpuRecoveryAction_t; 5 to 7 since driver 590
_ACTION_WORDS = (
    ("drain and reset", "drain_and_reset"), ("drain p2p", "drain_p2p"), ("imex", "recover_imex_domain"),
    ("bus reset", "bus_reset"), ("system reboot", "system_reboot"), ("reboot", "reboot"), ("reset", "reset"),
    ("flr", "reset"), ("none", "none"),
)  # fmt: skip
_GPU_AT = re.compile(rf"GPU at PCI:(?P<bdf>{_BDF}): (?P<uuid>GPU-[0-9a-f-]{{8,60}})")
_SERIAL = re.compile(r"GPU Board Serial Number: *(?P<serial>\w{4,40})")
_GPU = re.compile(rf"(?:GPU )?(?:PCI:)?(?P<bdf>{_BDF}): *(?P<rest>.*)")
_THE_GPU = re.compile(rf"The NVIDIA GPU (?P<bdf>{_BDF})")
_LOADING = re.compile(
    r"loading NVIDIA UNIX (?P<open>Open )?.{0,60}?Kernel Module(?: for \S{1,20})?\s+(?P<version>\d{1,4}(?:\.\d{1,6}){1,3})"
)
_CLIENT = re.compile(r"client .{0,120}?has the version (?P<version>\d{1,4}(?:\.\d{1,6}){1,3})")
_MODULE = re.compile(r"kernel module has (?:the )?version (?P<version>\d{1,4}(?:\.\d{1,6}){1,3})")
_GSP = re.compile(
    r"time ?out.{0,200}\bGSP\b|\bGSP\b.{0,200}time ?out|_kgsp\w{1,60}.{0,200}time ?out",
    re.IGNORECASE,
)
_GSP_FAILED = re.compile(
    r"(?:_kgspBootGspRm|kgspInitRm\w{0,20}|kgspBootstrap\w{0,20}|kgspWaitForRmInitDone\w{0,20})\b.{0,200}(?:fail|unexpected|cannot|error)"
    r"|GSP-CrashCat Report|GSP-RM (?:init|boot)\w{0,10} failed|[Cc]annot initialize GSP firmware",
    re.IGNORECASE,
)
_NVLINK = re.compile(
    r"k?nvlink\w{0,60}:|NVLink\b.{0,120}(?:fail|error|fault|timed? ?out)", re.IGNORECASE
)
_ASSERT = re.compile(
    r"nvAssert|Assertion failed|nvCheck\w{0,40}Failed|\bAssert(?:ion)?\b.{0,80}\bfailed",
    re.IGNORECASE,
)
_RESET = re.compile(r"\bGPU reset (?:complete|done|succe)", re.IGNORECASE)
_RECORD_LINES = 6  # NVRM records have up to five lines
_RECORD_GAP = 40  # lines of other senders that may stand between


@dataclass(slots=True)
class _Record:
    """An NVRM record of several lines that is still open."""

    lines: list[Line]
    bdf: str | None


@dataclass(slots=True)
class NvrmMessages:
    """Turns messages of the NVIDIA driver into events. `follow` lines after this one may go on."""

    fold: Fold
    follow: int = 0
    _records: dict[str | None, _Record] = field(default_factory=dict)

    def keep(self, fact: NvrmEvent | XidEvent, line: Line) -> None:
        """Keep an event whose last line is `line`."""
        self.fold.add(fact, line.host, line.number)

    def take(self, line: Line) -> None:
        """Read one message that begins with NVRM."""
        text = line.text.partition(":")[2].strip()
        host = line.host
        self.follow = 4 if "The NVIDIA GPU" in text or "API mismatch" in text else 0
        if (xid := _XID.match(text)) is not None:
            self._xid(line, xid)
        elif (known := _GPU_AT.match(text)) is not None:
            bdf = normal_bdf(known["bdf"]) or ""
            host.last_card = bdf
            host.kinds[bdf] = "card"
            _learn(host.uuids, bdf, known["uuid"])
        elif (serial := _SERIAL.match(text)) is not None:
            if host.last_card is not None:
                _learn(host.serials, host.last_card, serial["serial"])
        elif not self._record(line, text):
            self._line(line, text)

    def _xid(self, line: Line, xid: "re.Match[str]") -> None:
        code = int(xid["code"])
        if code == 0:
            return
        rest = xid["rest"] or ""
        who = _WHO.match(rest)
        assert who is not None  # every part of it is optional
        says = rest[who.end() :].strip()
        name = who["name"]
        channel, previous = _CHANNEL.search(says), _PREVIOUS.search(says)
        mig = f"{int(xid['gi'])}/{int(xid['ci'])}" if xid["gi"] and xid["ci"] else None
        self.keep(
            XidEvent(
                device=line.card(normal_bdf(xid["bdf"])),
                at=line.at,
                code=code,
                pid=int(who["pid"]) if who["pid"] else None,
                process=None if name is None or name.strip("'") in ("<unknown>", "") else name,
                channel=channel["channel"] if channel else None,
                says=says,
                recovery=_recovery(says) if code == 154 else None,
                previous=int(previous[1]) if previous else None,
                mig=mig,
                unrecognised_client=_UNRECOGNISED.search(says) is not None,
                sources=(line.cite(),),
            ),
            line,
        )

    def _record(self, line: Line, text: str) -> bool:
        """Return whether the line belongs to a record of several lines."""
        key = line.host.name
        card = _THE_GPU.match(text)
        if card is not None or text.startswith("API mismatch"):
            bdf = normal_bdf(card["bdf"]) if card is not None else None
            self._records[key] = _Record([line], bdf)
            self._complete(key)
            return True
        record = self._records.get(key)
        if record is None:
            return False
        if (
            line.number - record.lines[-1].number > _RECORD_GAP
            or len(record.lines) >= _RECORD_LINES
            or (_own_sentence(text) and not text.startswith("fallen off"))
        ):
            del self._records[key]
            return False
        record.lines.append(line)
        self._complete(key)
        return True

    def _complete(self, key: str | None) -> None:
        """Keep the event of an open record once all its words are there."""
        record = self._records[key]
        texts = [part.text.partition(":")[2].strip() for part in record.lines]
        joined, start, last = " ".join(texts), record.lines[0], record.lines[-1]
        if record.bdf is not None:
            if "fallen off the bus" in joined:
                self._event(start, "off_bus", joined, record.bdf, record.lines)
            elif "not supported" not in joined:
                return
            del self._records[key]
            return
        client, module = _CLIENT.search(joined), _MODULE.search(joined)
        if client is None or module is None:
            return
        first = next(i for i, text in enumerate(texts) if client["version"] in text)
        sources = [line.cite() for line in record.lines[:first]]
        sources.append(record.lines[first].cite("what", "library_version"))
        if last.number != record.lines[first].number:
            sources += [line.cite("says") for line in record.lines[first + 1 : -1]]
            sources.append(last.cite("version"))
        self.keep(
            NvrmEvent(
                device=last.on_host(),
                at=start.at,
                what="library_mismatch",
                says=joined,
                version=module["version"],
                library_version=client["version"],
                sources=tuple(sources),
            ),
            last,
        )
        del self._records[key]

    def _line(self, line: Line, text: str) -> None:
        if (loading := _LOADING.search(text)) is not None:
            self.keep(
                NvrmEvent(
                    device=line.on_host(), at=line.at, what="loading", says=text, version=loading["version"],
                    open_module=loading["open"] is not None, sources=(line.cite(),),
                ),
                line,
            )  # fmt: skip
            return
        what = _nvrm_what(text)
        if what is not None:
            named = _GPU.match(text)
            self._event(line, what, text, normal_bdf(named["bdf"]) if named else None, [line])

    def _event(self, line: Line, what: str, says: str, bdf: str | None, lines: list[Line]) -> None:
        device = line.card(bdf) if bdf is not None else line.on_host()
        self.keep(
            NvrmEvent(
                device=device,
                at=line.at,
                what=what,
                says=says,
                sources=tuple(part.cite() for part in lines),
            ),
            lines[-1],
        )


def _own_sentence(text: str) -> bool:
    return _nvrm_what(text) is not None or _LOADING.search(text) is not None


def _nvrm_what(text: str) -> str | None:
    if "fallen off the bus" in text:
        return "off_bus"
    if "RmInitAdapter failed" in text or "rm_init_adapter failed" in text:
        return "init_failed"
    if "probe routine failed" in text:
        return "probe_failed"
    if "probe routine was not called" in text:
        return "probe_skipped"
    if text.startswith("No NVIDIA") or "None of the NVIDIA" in text:
        return "no_device"
    for expression, what in (
        (_GSP, "gsp_timeout"),
        (_GSP_FAILED, "gsp_failed"),
        (_ASSERT, "assertion"),
        (_RESET, "reset"),
        (_NVLINK, "nvlink"),
    ):
        if expression.search(text) is not None:
            return what
    return None


def _learn(names: dict[str, list[str]], bdf: str, name: str) -> None:
    known = names.setdefault(bdf, [])
    if not known or known[-1] != name:
        known.append(name)
        del known[:-4]


def _recovery(says: str) -> str | None:
    found = _RECOVERY.search(says)
    if found is None:
        return None
    word = found["word"].lower()
    for part, action in _ACTION_WORDS:
        if part in word:
            return action
    number = int(found["number"], 16)
    return _ACTIONS[number] if number < len(_ACTIONS) else None
