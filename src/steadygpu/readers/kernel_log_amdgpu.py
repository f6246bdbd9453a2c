"""The messages of the amdgpu driver: ring timeouts, resets, page faults, RAS, and what it refuses.

Covers Linux 4.18 to 7.0 and the out-of-tree module 5.x to 6.16, in two generations of texts: "[drm:function
[amdgpu]] *ERROR* text" without an address (up to 6.9), and "amdgpu <address>: amdgpu: text" with one (the second
"amdgpu:" is missing since 6.17). A message without an address is an event of the host. The process of a
timeout stands on a line of its own ("Process information: process X pid N", from 6.10 "Process X pid N").
"""

import re
from typing import Any

from steadygpu.evidence.amd import AmdgpuEvent
from steadygpu.evidence.device import normal_bdf
from steadygpu.readers.kernel_log_events import Families, Family
from steadygpu.readers.kernel_log_fold import Line

_HEAD = re.compile(
    r"(?:amdgpu (?P<bdf>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]): )?"
    r"(?:kfd kfd: )?(?:amdgpu: )*(?:\[drm(?::\w{1,80}(?:\.\w{1,40}){0,3} \[amdgpu\])?\] )?(?:\*ERROR\* )?"
    r"(?:\{\d{1,20}\} ?)?(?P<says>.*)$"
)
_RING = r"[Rr]ing (?P<ring>[\w.-]{1,40})"
_WHO = r"(?P<process>\S.{0,100}?)? {0,2}pid:? (?P<pid>\d{1,10})"

# The word of an event and its expression, in the order in which they are tried on the text after the head.
_MESSAGES: tuple[tuple[str, "re.Pattern[str]"], ...] = (
    ("soft_recovered", re.compile(_RING + r" timeout, but soft recovered")),
    ("ring_timeout", re.compile(_RING + r" timeout(?:,|\b)")),
    ("process", re.compile(r" {0,3}(?:Process information: process|Process|for process|in process) " + _WHO)),
    ("ring_reset", re.compile(_RING + r" reset (?:succeeded|success)")),
    ("ring_reset_failed", re.compile(_RING + r" reset fail")),
    ("reset_begin", re.compile(r"GPU reset begin\b")),
    ("reset_succeeded", re.compile(r"GPU reset\(\d{1,9}\) succeeded")),
    ("reset_failed", re.compile(
        r"GPU reset\(\d{1,9}\) failed|GPU reset end with ret = ?-\d{1,5}|GPU Recovery Failed: -\d{1,5}"
        r"|(?:ASIC|GPU) reset failed with error|device lost from bus")),
    ("vram_lost", re.compile(r"VRAM is lost due to GPU reset")),
    ("mes_hang", re.compile(
        r"MES(?:\(\d{1,2}\))? (?:ring buffer is full|failed to respond to msg=|might be in unrecoverable state)"
        r"|(?:\w{1,40} )?failed to (?:unmap|reset|map) legacy queue|(?:\w{1,40} )?failed to (?:remove|add) hardware queue (?:from|to) MES")),
    ("evict_failed", re.compile(r"[Ff]ailed to evict (?:queue|process)")),
    ("vm_fault", re.compile(
        r"\[(?P<ring>\w{3,12})\] (?:no-)?(?:retry )?(?:VMC )?page fault \(src_id:\d{1,6} ring:\d{1,6} vmid:(?P<vmid>\d{1,4})"
        r"(?: pasid:(?P<pasid>\d{1,10}))?(?:,? for process (?:" + _WHO + r"))?")),
    ("ras", re.compile(
        r"(?:socket: ?\d{1,4},? ?)?(?:die: ?\d{1,4},? ?)?(?P<errors>\d{1,20}) (?P<new>new )?"
        r"(?P<kind>correctable|uncorrectable|deferred) hardware errors? detected (?:in total )?in (?P<block>\w{1,20}) block")),
    ("ras_uncorrectable", re.compile(
        r"uncorrectable hardware error ?\(ERREVENT_(?P<block>\w{1,20}?)_INTERRUPT\) detected")),
    ("poison", re.compile(r"(?:RAS )?[Pp]oison (?:consumption|is consumed)")),
    ("bad_page_threshold", re.compile(
        r"(?:Saved bad pages |RAS records: ?)(?P<errors>\d{1,10}),? (?:reaches|exceeds?) threshold(?: value)?:? ?(?P<limit>\d{1,10})")),
    ("kfd_refused", re.compile(r"(?:kfd: )?skipped device \w{4}:\w{4}, PCI rejects atomics")),
    ("init_failed", re.compile(r"Fatal error during GPU init")),
    ("firmware_missing", re.compile(
        r"Direct firmware load for amdgpu/\S{1,80} failed|[Ff]ailed to (?:load|request|init) (?:\w{1,20} ){0,2}(?:firmware|microcode)")),
    ("smu_fault", re.compile(r"SMU: (?:I'm not done with your previous command|response:0xFFFFFFFF|No response)")),
    ("fence_timer", re.compile(r"Fence fallback timer expired on ring (?P<ring>[\w.-]{1,40})")),
)  # fmt: skip
_NUMBERS = ("pid", "errors", "limit", "vmid", "pasid")


def _take(families: Families, line: Line) -> bool:
    head = _HEAD.match(line.text)
    if head is None:
        return False
    says = head["says"]
    bdf = normal_bdf(head["bdf"]) if head["bdf"] else None
    # Lines without an address must say otherwise that they are the driver's.
    if bdf is None and not line.text.startswith(("amdgpu", "[drm", "kfd ")):
        return False
    for what, expression in _MESSAGES:
        found = expression.match(says)
        if found is None:
            continue
        fields: dict[str, Any] = {
            name: int(value) if name in _NUMBERS else value
            for name, value in found.groupdict().items()
            if value and name not in ("kind", "new")
        }
        if what == "ras":
            if not fields["errors"]:
                return True  # "0 uncorrectable hardware errors" is the all-clear
            what = f"ras_{found['kind']}"
        if "block" in fields:
            fields["block"] = fields["block"].lower()
        if fields.get("process") is None and fields.get("pid") == 0:
            fields.pop("pid")  # the driver does not know whose it was
        families.keep(
            AmdgpuEvent(
                device=line.card(bdf) if bdf else line.on_host(), at=line.at, what=what, says=says[:300],
                sources=(line.cite(),), **fields,
            ),
            line,
        )  # fmt: skip
        return True
    return False


FAMILIES: tuple[Family, ...] = (
    ("amdgpu", _take),
    ("kfd: ", _take),
)
WORDS: tuple[bytes, ...] = (b"amdgpu", b"kfd: ")
