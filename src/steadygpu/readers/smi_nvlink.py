"""Reads `nvidia-smi nvlink`: speeds and states (-s), error counters (-e), other ends (-R, -p).

Covers nvidia-smi 384 to 610. Up to Hopper -e prints Replay, Recovery and CRC Errors; Blackwell prints the
counters of NVLink 5, beside packets, FEC and raw counts that are no errors. A card whose links are all down
prints a sentence of NVML instead of lines. The unit of a speed is 10^9 bytes a second in one direction.
"""

import re

from steadygpu.evidence.device import DeviceRef, normal_bdf
from steadygpu.evidence.nvlink import ALL_LINKS, NvlinkErrors, NvlinkLink
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft, reason_of

GB = 1e9
_LONGEST = 400
_CARD = re.compile(
    r"GPU (?:(?P<index>\d{1,4})|(?P<bdf>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]))"
    r"(?:: (?P<name>[^()]{1,120}?)(?: \(UUID: (?P<uuid>[^()]{1,100})\))?)?\s*$"
)
_LINK = re.compile(r"\s*Link (?P<link>\d{1,3})(?:,|:)\s*(?P<what>\S.{0,200}?)\s*$")
_SPEED = re.compile(r"(?P<speed>\d{1,5}(?:\.\d{1,6})?) (?P<unit>GB|MB)/s")
_REMOTE = re.compile(
    r"(?:Remote Device )?(?P<bdf>(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])"
    r"(?:: Link (?P<link>\d{1,4}))?"
)
_OFF = re.compile(r"(?:NVML: )?Unable to retrieve NVLink information as all links are in[aA]ctive")
_NO_COUNTS = re.compile(r"NVML: Unable to retrieve NVLink ")
_COUNT = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z ()/-]{1,60}?(?: - \d{1,2}| \d{1,2})?): (?P<value>\S.{0,60})"
)
_COUNTERS = {
    "replay errors": "replay", "recovery errors": "recovery", "crc errors": "crc",
    "crc flit errors": "crc", "crc data errors": "crc_data", "ecc errors": "ecc",
    "malformed packet errors": "malformed", "buffer overrun errors": "buffer_overrun",
    "rx errors": "rx_errors", "rx remote errors": "rx_remote", "rx general errors": "rx_general",
    "local link integrity errors": "integrity", "tx discards": "tx_discards",
    "link recovery successful events": "recovered", "link recovery failed events": "recovery_failed",
    "effective errors": "effective", "symbol errors": "symbol",
}  # fmt: skip
Key = tuple[DeviceRef, int]


def read_smi_nvlink(lines: Lines) -> Reading:
    """Return one record for each link of each card: its state, speed and other end."""
    drafts: dict[Key, Draft] = {}
    card: DeviceRef = DeviceRef(kind="card", text=lines.name)
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        if named := _CARD.match(line):
            if not _continues(lines, at, counts=False):
                break
            card = _ref(lines, named)
        elif _OFF.match(line.strip()):
            drafts.setdefault((card, ALL_LINKS), Draft(lines)).take("active", False, at)
        elif _NO_COUNTS.match(line.strip()):
            pass
        elif not ((found := _LINK.match(line)) and _state(drafts, card, found, lines, at)):
            break
        read_to = at + 1
    facts: list[Fact] = []
    for (ref, link), draft in drafts.items():
        draft.values["link"] = link
        facts += draft.record(NvlinkLink, ref)
    return Reading(facts=tuple(facts), read_to=read_to)


def read_smi_nvlink_errors(lines: Lines) -> Reading:
    """Return one record for each link of each card: its error counters, absent where N/A stands."""
    drafts: dict[Key, Draft] = {}
    card: DeviceRef = DeviceRef(kind="card", text=lines.name)
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        if named := _CARD.match(line):
            if not _continues(lines, at, counts=True):
                break
            card = _ref(lines, named)
        elif not _NO_COUNTS.match(line.strip()):
            found = _LINK.match(line)
            count = _COUNT.fullmatch(found["what"]) if found else None
            if found is None or count is None:
                break
            if field := _COUNTERS.get(count["name"].lower()):
                draft = drafts.setdefault((card, int(found["link"])), Draft(lines))
                if field not in draft.values:
                    draft.put(field, count["value"], at, _counted)
        read_to = at + 1
    facts: list[Fact] = []
    for (ref, link), draft in drafts.items():
        draft.values["link"] = link
        facts += draft.record(NvlinkErrors, ref)
    return Reading(facts=tuple(facts), read_to=read_to)


def _continues(lines: Lines, at: int, *, counts: bool) -> bool:
    """Say whether a line of this listing follows the one of a card, which -L and others print too."""
    after = next((ln for ln in lines.clean[at + 1 : at + 4] if ln.strip()), "")
    if found := _LINK.match(after):
        return (_COUNT.fullmatch(found["what"]) is not None) is counts
    return bool(_NO_COUNTS.match(after.strip()) or _OFF.match(after.strip()))


def _ref(lines: Lines, named: "re.Match[str]") -> DeviceRef:
    name, uuid = named["name"], named["uuid"]
    return DeviceRef(
        kind="card",
        label=None if name is None or reason_of(name) else name.strip(),
        index=int(named["index"]) if named["index"] else None,
        bdf=normal_bdf(named["bdf"]) if named["bdf"] else None,
        uuid=None if uuid is None or reason_of(uuid) else uuid.strip(),
        text=lines.name,
    )


def _state(
    drafts: dict[Key, Draft], card: DeviceRef, found: "re.Match[str]", lines: Lines, at: int
) -> bool:
    """Take a line of a state, a speed or another end; False for another line."""
    what = found["what"]
    speed, remote = _SPEED.fullmatch(what), _REMOTE.fullmatch(what)
    if not (speed or remote or what.lower() in ("<inactive>", "inactive") or reason_of(what)):
        return False
    draft = drafts.setdefault((card, int(found["link"])), Draft(lines))
    if speed:
        draft.take("active", True, at)
        draft.take(
            "speed_bytes_s", float(speed["speed"]) * (GB if speed["unit"] == "GB" else 1e6), at
        )
    elif remote:
        draft.take("remote_bdf", normal_bdf(remote["bdf"]), at)
        if remote["link"]:
            draft.take("remote_link", int(remote["link"]), at)
    elif reason := reason_of(what):
        draft.lack("active", reason, at)
    else:
        draft.take("active", False, at)
    return True


def _counted(word: str) -> int | None:
    """Return a count; a driver that knows none prints -1 or all ones, which is no count."""
    return int(word) if re.fullmatch(r"\d{1,18}", word, re.ASCII) else None
