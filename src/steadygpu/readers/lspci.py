"""Reads what lspci prints: PCI functions, their links, error bits and bridges.

Covers pciutils 3.1 to 3.13: plain, -n, -nn, -mm, -k, -v to -vvv, with and without -D, whole,
filtered by grep, or a few lines without their head. Oddities: "(ok)" stands behind link values in
3.6 to 3.8 only; "NUMA node" is a line of its own with -vv and ends the Flags line with -v; a device
off the bus shows "(rev ff)" and "!!! Unknown header type 7f" and nothing else; without root the
capabilities read "<access denied>".
"""

import re
from dataclasses import dataclass, field
from typing import Any

from steadygpu.evidence.device import DeviceKind, DeviceRef, host_ref, normal_bdf
from steadygpu.evidence.gpu import CardListing
from steadygpu.evidence.link import PciAcs, PciDevice, PcieLink, PciErrorStatus
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Absent, Gap, Source
from steadygpu.evidence.text import Lines
from steadygpu.readers.lspci_name import class_code, label_of, maker_and_name, role_of

ASK = "sudo lspci -vvnn"

_HEAD = re.compile(
    r"(?P<bdf>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?:"
    r"(?P<numeric>[0-9a-f]{4}): (?P<id>[0-9a-f]{4}:[0-9a-f]{4})(?P<tail0>(?: \(.*)?)"
    r"|(?P<class>[A-Z3][^\":\[\]]{1,60}?)(?: \[(?P<code>[0-9a-f]{4})\])?: (?P<rest>\S.*)"
    r"|(?P<machine>\"[^\"]*\" \"[^\"]*\" .*))\s*$"
)
_QUOTED = re.compile(r"\"([^\"]*)\"")
_TAG = re.compile(r"^(.*?) ?(?:\[([0-9a-f]{4})\]|(?<!\S)([0-9a-f]{4}))$")
_BARE_CLASS = re.compile(r"Class ([0-9a-f]{4})$")
_BARE_ID = re.compile(r"Device ([0-9a-f]{4}:[0-9a-f]{4})$")
_TAIL = re.compile(r"\s*\((?:rev|prog-if) [^()]*(?:\([^()]*\)[^()]*)?\)\s*$")
_REV = re.compile(r"\(rev ([0-9a-f]{2})\)| -r([0-9a-f]{2})\b")
_ID = re.compile(r"\s*\[([0-9a-f]{4}:[0-9a-f]{4})\]\s*$")
_NOISE = re.compile(r"(?:pcilib|lspci): ")
_KEY = re.compile(
    r"[ \t]*(?P<key>LnkCap|LnkSta|LnkCtl2|UESta|UESvrt|CESta|ACSCtl|Bus|NUMA node|Subsystem|Flags"
    r"|Kernel driver in use|Kernel modules|Capabilities|Control|DeviceName|Physical Slot):\s*(?P<value>.*?)\s*$"
)
# What may stand in a listing without a head: only lines that no other tool prints.
_LOOSE = re.compile(
    r"[ \t]*(?:LnkCap2?|LnkSta2?|LnkCtl2?|DevCap2?|DevSta|DevCtl2?|UESta|UEMsk|UESvrt|CESta|CEMsk|AERCap|ACSCtl"
    r"|ACSCap|Kernel driver in use|Kernel modules|Capabilities): ?\s*\S|\t+\S"
)
_SPEED = re.compile(r"Speed (?:(\d{1,3}(?:\.\d{1,2})?)GT/s|([Uu]nknown|<unknown>))")
_WIDTH = re.compile(r"Width x(\d{1,3})\b")
_TARGET = re.compile(r"Target Link Speed: (\d{1,3}(?:\.\d{1,2})?)GT/s")
_FROZEN = re.compile(r"\bSpeedDis([+-])")
_BIT = re.compile(r"([A-Z][A-Za-z_]{1,30})([+-])")
_BITS_ONLY = re.compile(r"\s+(?:[A-Z][A-Za-z_]{1,30}[+-]\s*){1,40}$")
_BUS = re.compile(r"primary=[0-9a-f]{2,4}, secondary=([0-9a-f]{2}), subordinate=[0-9a-f]{2,4}")
_NUMA = re.compile(r"NUMA node (-?\d{1,5})")
_PORT = re.compile(r"Express (?:\(v\d{1,2}\) )?(Root Port|Upstream Port|Downstream Port)\b")
_SUB = re.compile(r"(?:.*\[)?([0-9a-f]{4}:[0-9a-f]{4})\]?$")
_UNKNOWN_HEADER = re.compile(r"[ \t]*!!! Unknown header type ([0-9a-f]{2})")
_REDIRECTS = ("ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl")
_KINDS: dict[str, DeviceKind] = {"card": "card", "port": "port", "nic": "nic"}
_FIRST_LEVEL = frozenset(
    ("Subsystem", "Flags", "Control", "DeviceName", "Physical Slot", "Capabilities",
     "Kernel driver in use", "Kernel modules")
)  # fmt: skip


@dataclass(slots=True)
class _Function:
    """One block of the listing while it is read."""

    head: int | None
    first: int
    last: int = 0
    ref: DeviceRef = field(default_factory=lambda: DeviceRef(kind="pci"))
    code: str = ""
    word: str = ""
    bus: str | None = None
    device: dict[str, Any] = field(default_factory=dict)
    device_at: list[Source] = field(default_factory=list)
    link: dict[str, Any] = field(default_factory=dict)
    link_at: list[Source] = field(default_factory=list)
    link_absent: list[Absent] = field(default_factory=list)
    errors: dict[str, Any] = field(default_factory=dict)
    errors_at: list[Source] = field(default_factory=list)
    severe: frozenset[str] | None = None
    acs: tuple[tuple[str, ...], Source] | None = None
    secondary: tuple[str, Source] | None = None
    denied: int | None = None
    verbose: bool = False
    torn: bool = False
    ended: bool = False


def read_lspci(lines: Lines) -> Reading:
    """Return one `PciDevice` a function, links, error bits, ACS bits, and the count of cards."""
    found: list[_Function] = []
    end, at, torn = 0, 0, lines.filtered is not None
    now: _Function | None = None
    seen: set[str | None] = set()
    after_blank = False
    clean = lines.clean
    while at < len(clean):
        line = clean[at]
        head = _HEAD.match(line) if line[:1] in "0123456789abcdef" else None
        if head is not None:
            if normal_bdf(head["bdf"]) in seen:
                break  # the same listing once more
            seen.add(normal_bdf(head["bdf"]))
            if now is not None:
                now.ended = True
            now = _begin(lines, at, head)
            found.append(now)
        elif not line.strip():
            after_blank = True
            if now is not None:
                now.ended = True
            at += 1
            continue
        elif line.strip() == "--" and found:
            torn = now_torn = True
            found[-1].torn = now_torn
            now = None
        elif _NOISE.match(line):
            pass
        elif now is not None and not after_blank and line[0] in " \t":
            _detail(lines, at, now)
        elif _LOOSE.match(line):
            if now is None or (after_blank and now.head is not None):
                now = _Function(
                    head=None, first=at, ref=DeviceRef(kind="pci", text=lines.name), torn=True
                )
                found.append(now)
            _detail(lines, at, now)
        else:
            break
        if now is not None:
            now.last = at
        after_blank = False
        at += 1
        end = at
    return Reading(facts=_facts(lines, found, torn), gaps=_gaps(lines, found), read_to=end)


def _begin(lines: Lines, at: int, head: re.Match[str]) -> _Function:
    bdf = normal_bdf(head["bdf"])
    fields: dict[str, Any] = {}
    rest, code, pci_id = "", head["numeric"] or head["code"], head["id"]
    revision = _REV.search(head[0])
    fields["revision_ff"] = revision is not None and "ff" in revision.groups()
    if head["machine"]:
        named = [_TAG.match(part) or part for part in _QUOTED.findall(head["machine"])[:3]]
        texts = [part if isinstance(part, str) else part[1] for part in named]
        ids = ["" if isinstance(part, str) else part[2] or part[3] for part in named]
        fields["class_name"], rest = texts[0] or None, " ".join(texts[1:])
        code = ids[0] or code
        if len(ids) == 3 and ids[1] and ids[2]:
            pci_id = f"{ids[1]}:{ids[2]}"
    elif head["class"]:
        fields["class_name"], rest = head["class"], head["rest"]
        for _ in range(2):
            rest = _TAIL.sub("", rest)
        if tagged := _ID.search(rest):
            rest, pci_id = rest[: tagged.start()], tagged[1]
        # What lspci prints where it has no list of names.
        if unnamed := _BARE_CLASS.match(head["class"]):
            code, fields["class_name"] = unnamed[1], None
        if unnamed := _BARE_ID.match(rest):
            rest, pci_id = "", unnamed[1]
    now = _Function(head=at, first=at, last=at)
    fields["class_code"], fields["pci_id"] = code, pci_id
    class_name = fields.get("class_name") or ""
    now.code = code or class_code(class_name)
    maker = maker_and_name((pci_id or "")[:4], rest)
    if maker.vendor:
        fields["vendor"] = maker.vendor
    if maker.name:
        fields["name"] = maker.name
    now.word = maker.vendor or maker.name.split(" ", 1)[0]
    role = role_of(now.code, maker.vendor, class_name)
    name = fields.get("name")
    now.ref = DeviceRef(
        kind=_KINDS.get(role, "pci"),
        bdf=bdf,
        label=label_of(name) if role == "card" and name else None,
        text=lines.name,
    )
    now.bus = bdf[:-5] if bdf else None
    now.device = {key: value for key, value in fields.items() if value is not None} | {"role": role}
    now.device_at.append(lines.cite(at, at, *now.device))
    return now


def _detail(lines: Lines, at: int, now: _Function) -> None:
    """Take one indented line of a block."""
    line = lines.clean[at]
    unknown = _UNKNOWN_HEADER.match(line)
    if unknown is not None:
        now.verbose = True
        if unknown[1] == "7f":
            now.device["revision_ff"] = True
            now.device_at.append(lines.cite(at, at, "revision_ff"))
        return
    keyed = _KEY.match(line)
    if keyed is None:
        return
    key, value = keyed["key"], keyed["value"]
    now.verbose = now.verbose or key in _FIRST_LEVEL
    now.ended = now.ended or key.startswith("Kernel ")
    if key == "Kernel driver in use" and value:
        now.device["driver"] = value
        now.device_at.append(lines.cite(at, at, "driver"))
    elif key == "Kernel modules":
        now.device["modules"] = tuple(part.strip() for part in value.split(",") if part.strip())
        now.device_at.append(lines.cite(at, at, "modules"))
    elif key in ("NUMA node", "Flags"):
        node = _NUMA.search(value if key == "Flags" else f"NUMA node {value}")
        if node is not None and int(node[1]) >= 0:
            now.device["numa_node"] = int(node[1])
            now.device_at.append(lines.cite(at, at, "numa_node"))
    elif key == "Subsystem" and (sub := _SUB.match(value)):
        now.device["subsystem_id"] = sub[1]
        now.device_at.append(lines.cite(at, at, "subsystem_id"))
    elif key == "Bus" and (bus := _BUS.match(value)):
        now.secondary = (bus[1], lines.cite(at, at, "parent"))
    elif key == "Capabilities" and (port := _PORT.search(value)):
        now.device["port_type"] = port[1].split()[0].lower()
        now.device_at.append(lines.cite(at, at, "port_type"))
    elif key == "Capabilities" and value.startswith("<access denied>"):
        now.denied = at
    elif key.startswith("Lnk"):
        _link(lines, at, now, key, value)
    elif key in ("UESta", "UESvrt", "CESta", "ACSCtl"):
        _bits(lines, at, now, key, value)


def _link(lines: Lines, at: int, now: _Function, key: str, value: str) -> None:
    got: dict[str, Any] = {}
    failed: list[str] = []
    if key == "LnkCtl2":
        if target := _TARGET.search(value):
            got["target_speed_gts"] = float(target[1])
        if frozen := _FROZEN.search(value):
            got["speed_frozen"] = frozen[1] == "+"
    else:
        prefix = "max_" if key == "LnkCap" else ""
        if speed := _SPEED.search(value):
            if speed[1]:
                got[prefix + "speed_gts"] = float(speed[1])
            else:
                failed.append(prefix + "speed_gts")
        if width := _WIDTH.search(value):
            if 1 <= int(width[1]) <= 32:
                got[prefix + "width"] = int(width[1])
            else:
                failed.append(prefix + "width")
        if key == "LnkSta" and "(downgraded)" in value:
            got["downgraded"] = True
        elif key == "LnkSta" and "(ok)" in value:
            got["downgraded"] = False
    fresh = [name for name in (*got, *failed) if name not in now.link]
    if not fresh:
        return
    source = lines.cite(at, at, *fresh)
    now.link |= {name: got[name] for name in fresh if name in got}
    now.link_absent += [Absent(field=f, reason="error", source=source) for f in failed]
    now.link_at.append(source)


def _bits(lines: Lines, at: int, now: _Function, key: str, value: str) -> None:
    last = at
    while last + 1 < len(lines) and last - at < 3 and _BITS_ONLY.match(lines.clean[last + 1]):
        last += 1
        value += " " + lines.clean[last]
    bits = _BIT.findall(value)
    if not bits:
        return
    names = tuple(name for name, sign in bits if sign == "+")
    if key == "ACSCtl":
        redirects = tuple(name for name in names if name in _REDIRECTS)
        now.acs = (redirects, lines.cite(at, last, "redirects"))
    elif key == "UESvrt":
        now.severe = frozenset(names)
        now.errors_at.append(lines.cite(at, last, "uncorrected_fatal"))
    elif key == "UESta":
        now.errors["uncorrected"] = names
        now.errors_at.append(lines.cite(at, last, "uncorrected", "uncorrected_fatal"))
    else:
        now.errors["corrected"] = names
        now.errors_at.append(lines.cite(at, last, "corrected"))


def _facts(lines: Lines, found: list[_Function], torn: bool) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    above = {}
    for one in found:
        if one.secondary is not None and one.ref.bdf and one.secondary[0] != "00":
            above[one.ref.bdf[:-7] + one.secondary[0]] = (one.ref.bdf, one.secondary[1])
    for one in found:
        if one.head is not None or one.device:
            parent = above.get(one.bus or "")
            if parent is not None and parent[0] != one.ref.bdf:
                one.device["parent"] = parent[0]
                one.device_at.append(parent[1])
            # Each block ends with the kernel's lines or a blank one: without them it may be cut.
            if one.verbose and one.ended and not one.torn and lines.filtered is None:
                one.device["driver_listed"] = True
                one.device_at.append(lines.cite(one.first, one.last, "driver_listed"))
            facts.append(PciDevice(device=one.ref, sources=tuple(one.device_at), **one.device))
        facts.extend(_registers(lines, one))
    if any(one.head is not None for one in found):
        facts.append(_listing(lines, found, torn))
    return tuple(facts)


def _registers(lines: Lines, one: _Function) -> list[Fact]:
    facts: list[Fact] = []
    absent, at = [a for a in one.link_absent if a.field not in one.link], one.link_at
    if one.denied is not None and not at and one.ref.kind == "card":
        names = ("speed_gts", "width", "max_speed_gts", "max_width")
        source = lines.cite(one.denied, one.denied, *names)
        at = [source]
        absent = [
            Absent(field=name, reason="not_permitted", source=source, ask=ASK) for name in names
        ]
    if at:
        facts.append(PcieLink(device=one.ref, absent=tuple(absent), sources=tuple(at), **one.link))
    if one.errors:
        if one.severe is not None and "uncorrected" in one.errors:
            one.errors["uncorrected_fatal"] = tuple(
                name for name in one.errors["uncorrected"] if name in one.severe
            )
        facts.append(PciErrorStatus(device=one.ref, sources=tuple(one.errors_at), **one.errors))
    if one.acs is not None:
        facts.append(PciAcs(device=one.ref, redirects=one.acs[0], sources=(one.acs[1],)))
    return facts


def _listing(lines: Lines, found: list[_Function], torn: bool) -> CardListing:
    heads = [one for one in found if one.head is not None]
    cards = [one for one in heads if one.ref.kind == "card"]
    others = len(heads) - len(cards)
    makers = {one.word for one in heads}
    # `lspci | grep -i nvidia` shows one maker only; a whole listing of a host shows several.
    whole = not torn and (
        (any(one.code == "0600" for one in heads) and len(makers) > 1 and others > 1)
        or (others >= 8 and len(makers) > 2)
    )
    places = tuple(lines.cite(one.first, one.first, "listed") for one in cards)
    return CardListing(
        device=host_ref(lines.host),
        tool="lspci",
        listed=len(cards),
        complete=whole,
        sources=places or (lines.cite(heads[0].first, heads[-1].last, "listed"),),
    )


def _gaps(lines: Lines, found: list[_Function]) -> tuple[Gap, ...]:
    denied = next((one.denied for one in found if one.denied is not None), None)
    if denied is None:
        return ()
    why = "capabilities are shown to root only: run as root"
    return (Gap(where=lines.cite(denied), why=why, ask=ASK),)
