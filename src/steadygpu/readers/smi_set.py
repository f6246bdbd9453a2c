"""Reads what nvidia-smi answers to a command that sets something: -pm, -c, -e, -mig, -pl, -ac, -lgc, -r.

Covers nvidia-smi 418 to 610. `All done.` ends an answer; a refusal is followed by a sentence on what may be done.
"""

import re

from steadygpu.evidence.device import DeviceRef, normal_bdf
from steadygpu.evidence.driver import ToolMessage
from steadygpu.evidence.gpu import GpuMode, GpuPower
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap
from steadygpu.evidence.text import Lines

_LONGEST = 400
_BDF = r"(?P<bdf>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])"
_SWITCH = re.compile(
    r"(?P<was>Enabled|Disabled) (?P<what>persistence mode|ECC support|Ecc support|MIG Mode) for GPU "
    + _BDF
    + r"\.?\s*$"
)
_ALREADY = re.compile(
    r"(?P<what>Persistence mode|ECC(?: mode| support)?|MIG [Mm]ode) is already (?P<was>Enabled|Disabled) for GPU "
    + _BDF
    + r"\.?\s*$"
)
_COMPUTE = re.compile(
    r"(?:Set compute mode to|Compute mode is already set to) (?P<mode>[A-Z_]{5,20}) for GPU "
    + _BDF
    + r"\.?\s*$"
)
_LIMIT = re.compile(
    r"Power limit for GPU "
    + _BDF
    + r" was (?:set to|already) (?P<watts>\d{1,5}(?:\.\d{1,3})?) W(?: from \d{1,5}(?:\.\d{1,3})? W)?\.?\s*$"
)
_CLOCKS = re.compile(
    r"(?:Applications|GPU|Memory) clocks (?:set to|locked at) .{1,80} for GPU "
    + _BDF
    + r"\.?\s*$|All done\.\s*$|GPU "
    + _BDF.replace("bdf", "bdf2")
    + r" was successfully reset\.\s*$"
    r"|Setting (?:applications|locked|default) .{1,120}$|All (?:applications|GPU|memory) clocks .{1,60}$"
)
_REFUSED = re.compile(
    r"(?P<what>Unable to (?:set|reset|enable|disable) .{1,80}?|The current user does not have permission to .{1,80}?)"
    r"(?: for GPU " + _BDF + r")?(?:: (?P<why>.{1,80}?))?\.?\s*$"
)
_PENDING = re.compile(
    r"Warning: MIG mode is in pending (?P<was>enable|disable) state for GPU " + _BDF + r":.{0,80}$"
)
_AFTER = re.compile(
    r"(?:Treating as warning and moving on\.|Terminating early due to previous errors\.?|Warning: persistence mode is disabled.{0,80}"
    r"|Reboot required.{0,20}|See the .{1,60} for more information.{0,20})\s*$"
)
_FIELDS = {"persistence mode": "persistence_on", "mig mode": "mig_on"}
_MODES = ("DEFAULT", "EXCLUSIVE_PROCESS", "EXCLUSIVE_THREAD", "PROHIBITED")


def read_smi_set(lines: Lines) -> Reading:
    """Return what each answer says is now set on its card, and what was refused."""
    facts: list[Fact] = []
    gaps: list[Gap] = []
    refs: dict[str, DeviceRef] = {}
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > _LONGEST:
            break
        found = _SWITCH.match(line) or _ALREADY.match(line)
        if found is not None:
            what = found["what"].lower()
            field = _FIELDS.get(what, "ecc_pending_on")
            facts.append(_mode(lines, refs, found["bdf"], {field: found["was"] == "Enabled"}, at))
        elif pending := _PENDING.match(line):
            on = pending["was"] == "enable"
            facts.append(
                _mode(lines, refs, pending["bdf"], {"mig_pending_on": on, "mig_on": not on}, at)
            )
        elif compute := _COMPUTE.match(line):
            mode = compute["mode"]
            if mode in _MODES:
                facts.append(_mode(lines, refs, compute["bdf"], {"compute_mode": mode.lower()}, at))
        elif limit := _LIMIT.match(line):
            facts.append(
                GpuPower(
                    device=_card(lines, refs, limit["bdf"]), requested_limit_w=float(limit["watts"]),
                    sources=(lines.cite(at, at, "requested_limit_w"),),
                )
            )  # fmt: skip
        elif refused := _REFUSED.match(line):
            facts.append(_refusal(lines, refs, refused, at))
            if facts[-1].meaning == "not_permitted":  # type: ignore[attr-defined]
                gaps.append(
                    Gap(
                        where=lines.cite(at),
                        why="the tool was not allowed to set this",
                        ask="sudo, with the same command",
                    )
                )
        elif not (_CLOCKS.match(line) or (read_to and _AFTER.match(line))):
            break
        read_to = at + 1
    return Reading(facts=tuple(facts), gaps=tuple(gaps), read_to=read_to)


def _card(lines: Lines, refs: dict[str, DeviceRef], bdf: str) -> DeviceRef:
    return refs.setdefault(bdf, DeviceRef(kind="card", bdf=normal_bdf(bdf), text=lines.name))


def _mode(
    lines: Lines, refs: dict[str, DeviceRef], bdf: str, values: dict[str, bool | str], at: int
) -> GpuMode:
    return GpuMode(
        device=_card(lines, refs, bdf),
        sources=(lines.cite(at, at, *values),),
        **values,  # type: ignore[arg-type]
    )


def _refusal(
    lines: Lines, refs: dict[str, DeviceRef], refused: "re.Match[str]", at: int
) -> ToolMessage:
    why = (refused["why"] or refused["what"]).lower()
    meaning = "other"
    if "permission" in why:
        meaning = "not_permitted"
    elif "lost" in why:
        meaning = "gpu_lost"
    elif "requires reset" in why or "reset required" in why:
        meaning = "reset_required"
    elif "unknown error" in why:
        meaning = "unknown_error"
    bdf = refused["bdf"]
    card = _card(lines, refs, bdf) if bdf else DeviceRef(kind="host")
    return ToolMessage(
        device=card, tool="nvidia-smi", meaning=meaning, says=lines.clean[at].strip(),
        container=lines.in_container, sources=(lines.cite(at, at, "says", "meaning"),),
    )  # fmt: skip
