"""What drivers say of network ports, disks, Intel cards and who owns PCIe error reports.

Covers: mlx5, bnxt_en, Intel, tg3 and r8169 network drivers, NVMe and the block layer, i915 and xe, and ACPI _OSC, of
Linux 3.10 to 6.18 (block errors lost the prefix "blk_update_request:" in 5.16; NVMe timeouts name tag and opcode
since 6.5; older Intel drivers print no address with the link).
"""

import re

from steadygpu.evidence.device import DeviceKind, DeviceRef, normal_bdf
from steadygpu.evidence.kernel_log import DiskEvent, KernelEvent, NicEvent
from steadygpu.readers.kernel_log_events import Families, Family
from steadygpu.readers.kernel_log_fold import Line

_BDF = r"(?P<bdf>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])"
_PORT = re.compile(
    rf"[\w-]{{2,20}}(?: {_BDF})?:? (?P<port>[A-Za-z][\w.-]{{0,20}}):? (?:\w{{2,10}}: )?(?:(?P=port):? )?(?:NIC )?[Ll]ink (?:is )?(?P<state>[Dd]own|[Uu]p)\b"
)
_MLX5 = re.compile(rf"mlx5_core {_BDF}(?: (?P<port>[A-Za-z][\w.-]{{0,20}}))?: (?P<says>.*)")
_MLX5_SAYS: tuple[tuple[str, "re.Pattern[str]"], ...] = (
    ("health", re.compile(
        r".{0,60}(?:health compromised|[Ff]irmware fatal|fw fatal|health recovery|print_health_info|device in (?:fatal|error) state)")),
    ("hot", re.compile(r".{0,60}[Hh]igh temperature|.{0,40}temp_warn")),
    ("command_timeout", re.compile(r".{0,80}\) timeout\. Will cause a leak of a command resource")),
)  # fmt: skip
_QUEUE = re.compile(
    r"NETDEV WATCHDOG: (?:CPU: \d{1,6}: )?(?P<port>[A-Za-z][\w.-]{0,20}) \(\w{1,20}\): transmit queue \d{1,6} timed out"
)
_NVME = re.compile(
    r"nvme (?P<disk>nvme\d{1,4}): (?:(?P<timeout>I/O .{1,80}? timeout, (?:aborting|disable|reset))"
    r"|(?P<reset>controller is down; will reset|Abort status: 0x[1-9a-f])"
    r"|(?P<gone>Device not ready; aborting|Removing after probe failure|Disabling device after reset failure))"
)
_BLOCK = re.compile(
    r"(?:blk_update_request: |print_req_error: |end_request: )?(?P<what>critical medium error|I/O error), dev (?P<disk>(?:nvme|sd|vd|xvd|md|dm-)\w{1,16}),"
)
_CARD = re.compile(
    rf"(?:i915|xe) {_BDF}: (?:\[drm\] )?(?:\*ERROR\* )?(?:(?P<hang>GPU HANG: .{{0,200}})|(?:(?:Tile\d{{1,2}}: )?GT\d{{1,2}}: )?"
    r"(?P<reset>Resetting (?:chip|\w{1,10}) for .{0,100}|[Rr]eset (?:started|queued|failed).{0,100}|Engine reset: .{0,100}))"
)
_FIRMWARE = re.compile(
    r"(?:acpi PNP0A0[38]:\w{1,4}: |ACPI: )?.{0,40}_OSC: (?P<says>platform does not support \[[^\]]{0,100}\bAER\b[^\]]{0,100}\]"
    r"|platform retains control of PCIe features .{0,60})"
)


def _of(line: Line, kind: DeviceKind, bdf: str | None, label: str | None) -> DeviceRef:
    """Return the device by its address, or by its label where the line tells no address."""
    at = normal_bdf(bdf) if bdf else None
    if at is not None:
        line.host.kinds.setdefault(at, kind)
    return DeviceRef(
        kind=kind, host=line.host.name, bdf=at, label=None if at else label, text=line.name
    )


def _link(families: Families, line: Line) -> bool:
    found = _PORT.match(line.text)
    if found is None:
        return False
    what = f"link_{found['state'].lower()}"
    return _nic(families, line, _of(line, "nic", found["bdf"], found["port"]), what)


def _nic(families: Families, line: Line, device: DeviceRef, what: str) -> bool:
    families.keep(
        NicEvent(
            device=device, at=line.at, what=what, says=line.text[:300], sources=(line.cite(),)
        ),
        line,
    )
    return True


def _mlx5(families: Families, line: Line) -> bool:
    found = _MLX5.match(line.text)
    if found is None:
        return False
    for what, expression in _MLX5_SAYS:
        if expression.match(found["says"]) is not None:
            return _nic(families, line, _of(line, "nic", found["bdf"], found["port"]), what)
    return False


def _queue(families: Families, line: Line) -> bool:
    found = _QUEUE.match(line.text)
    if found is None:
        return False
    return _nic(families, line, _of(line, "nic", None, found["port"]), "queue_timeout")


def _disk(families: Families, line: Line) -> bool:
    nvme, block = _NVME.match(line.text), _BLOCK.match(line.text)
    if nvme is not None:
        what = next(word for word in ("timeout", "reset", "gone") if nvme[word])
        label = nvme["disk"]
    elif block is not None:
        what = "medium_error" if block["what"].startswith("critical") else "io_error"
        label = block["disk"]
    else:
        return False
    families.keep(
        DiskEvent(
            device=_of(line, "disk", None, label), at=line.at, what=what, says=line.text[:300],
            sources=(line.cite(),),
        ),
        line,
    )  # fmt: skip
    return True


def _card(families: Families, line: Line) -> bool:
    found = _CARD.match(line.text)
    if found is None:
        return False
    families.keep(
        KernelEvent(
            device=line.card(normal_bdf(found["bdf"])), at=line.at, says=line.text[:300],
            what="gpu_hang" if found["hang"] else "gpu_reset", sources=(line.cite(),),
        ),
        line,
    )  # fmt: skip
    return True


def _ownership(families: Families, line: Line) -> bool:
    found = _FIRMWARE.match(line.text)
    if found is None or "aer_firmware" in line.host.boot.told:
        return False
    line.host.boot.told.add("aer_firmware")
    return families.event(line, "aer_firmware", found["says"])


FAMILIES: tuple[Family, ...] = (
    ("ink is ", _link),
    ("Link down", _link),
    ("Link up", _link),
    ("mlx5_core", _mlx5),
    ("NETDEV WATCHDOG", _queue),
    ("nvme", _disk),
    (" error, dev ", _disk),
    ("i915 ", _card),
    ("xe ", _card),
    ("_OSC: platform", _ownership),
)
WORDS: tuple[bytes, ...] = (
    b"Link ", b"mlx5_core", b"NETDEV WATCHDOG", b"nvme nvme", b" error, dev ",
    b"i915 0", b"xe 0", b"_OSC: platform",
)  # fmt: skip
