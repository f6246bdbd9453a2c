"""Rules on what DCGM itself says of a card: its diagnostic and its health watches."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from steadygpu.evidence.dcgm import DiagResult, HealthResult
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.source import Source
from steadygpu.verdict.rule import (
    Action,
    All,
    Finding,
    Fine,
    NotHere,
    Seen,
    Severity,
    Unclear,
    cite,
    lacking,
    rule,
)

GUIDE = (
    "DCGM User Guide (docs.nvidia.com/datacenter/dcgm), diagnostics and health checks, read 2026-12"
)
MANY = 3  # our choice: more tests in one sentence are not read
SAID = 160  # our choice: as much of DCGM's sentence as helps
# Tests of the host's software: a failure is a setting, not a card.
SETTINGS = (
    "software", "denylist", "blacklist", "nvml_library", "cuda_main_library", "cuda_toolkit_library",
    "permissions_and_os_blocks", "permissions_and_os_related_blocks", "persistence_mode",
    "environment_variables", "graphics_processes",
)  # fmt: skip
# Tests among those of the host's software that look at the card.
OF_THE_CARD = ("page_retirement_row_remap", "page_retirement", "inforom")
_HEAT = re.compile(r"(?i)thermal|temperature|throttl|cooling")
_LINK_DOWN = re.compile(r"(?i)nvlink link \d+ is (?:currently )?down")


@rule(
    id="silent.dcgm-diag-failed",
    title="DCGM's diagnostic failed",
    severity="critical",
    action="drain",
    meaning="A test of NVIDIA's own diagnostic did not pass on this card; its sentence says what it met.",
    decision="Drain the card, follow the sentence of the test, and run the same level again; replace the card if it fails again.",
    next_step="dcgmi diag -r 3 -i INDEX -v, on an idle card; nvidia-bug-report.sh for the support case",
    references=(GUIDE,),
    points_to="hardware",
)
def dcgm_diag_failed(results: All[DiagResult]) -> Iterator[Seen]:
    """A test that fails on settings of the host or on heat weighs less, and so does a warning; a skipped one proves nothing."""
    cards: dict[DeviceRef, list[DiagResult]] = defaultdict(list)
    for one in results:
        cards[one.device].append(one)
    for device, own in cards.items():
        yield _diag(device, own)


def _diag(device: DeviceRef, own: Sequence[DiagResult]) -> Seen:
    failed = [r for r in own if r.result == "fail"]
    warned = [r for r in own if r.result == "warn"]
    passed = [r for r in own if r.result == "pass"]
    if hits := failed or warned:
        settings = all(
            r.test in SETTINGS or (r.category == "deployment" and r.test not in OF_THE_CARD)
            for r in hits
        )
        heat = all(_HEAT.search(r.says or "") for r in hits)
        severity: Severity | None = "warning" if settings or heat or not failed else None
        action: Action | None = None
        if severity:
            action = "fix-config" if (settings or heat) and failed else "watch"
        return Finding(
            subject=device, says=_told(hits, "failed" if failed else "warned"),
            sources=_proof(hits), severity=severity, action=action,
            first=hits[0].at, last=hits[-1].at,
            decision="Put right what the sentence names, then run the diagnostic again." if severity else None,
        )  # fmt: skip
    if unread := [r for r in own if r.result is None]:
        said = lacking(unread[0], "result")
        assert said is not None
        return said
    if passed:
        names = ", ".join(r.test for r in passed[:MANY])
        return Fine(
            subject=device,
            because=f"{len(passed)} tests passed: {names}",
            sources=_proof(passed[:6]),
        )
    return Unclear(
        subject=device,
        why="every test was skipped or not run",
        ask="dcgmi diag -r 2, on idle cards",
    )


def _told(hits: Sequence[DiagResult], word: str) -> str:
    said = []
    for one in hits[:MANY]:
        name = one.test.replace("_", " ")
        said.append(f"{name} {word}" + (f": {one.says[:SAID]}" if one.says else ""))
    more = len(hits) - MANY
    return "; ".join(said) + (f"; and {more} more" if more > 0 else "")


def _proof(records: Sequence[DiagResult]) -> tuple[Source, ...]:
    return tuple(dict.fromkeys(s for r in records for s in cite(r, "result", "says")))


@rule(
    id="silent.dcgm-health",
    title="A health watch of DCGM is not satisfied",
    severity="warning",
    action="watch",
    meaning="DCGM watches the card while it works and met what its sentence names.",
    decision="Follow the sentence; drain the card where it speaks of memory or of a lost card.",
    next_step="dcgmi health -c -j, again after some minutes; then dcgmi diag -r 2 -i INDEX on the idle card",
    references=(GUIDE,),
    points_to="hardware",
)
def dcgm_health(results: All[HealthResult]) -> Iterator[Seen]:
    """Links that are down may be links without a bridge; watches that are off watched nothing."""
    cards: dict[DeviceRef, list[HealthResult]] = defaultdict(list)
    parts = any(r.system != "overall" for r in results)
    for one in results:
        cards[one.device].append(one)
    for device, own in cards.items():
        yield _health(device, own, parts=parts)


def _health(device: DeviceRef, own: Sequence[HealthResult], *, parts: bool) -> Seen:
    bad = [r for r in own if r.status in ("warning", "failure")]
    if not bad:
        if said := next((s for r in own if (s := lacking(r, "status"))), None):
            return said
        sources = tuple(s for r in own for s in cite(r, "status"))
        return Fine(subject=device, because="DCGM watches and sees nothing", sources=sources)
    if parts and all(r.system == "overall" for r in bad):
        return NotHere(subject=device, because="the cards below say which part it is")
    says = "; ".join(
        f"{r.system.replace('_', ' ')} {r.status}" + (f": {r.says[:SAID]}" if r.says else "")
        for r in bad[:MANY]
    )
    sources = tuple(dict.fromkeys(s for r in bad for s in cite(r, "status", "says")))
    down = all(r.system == "nvlink" and _LINK_DOWN.search(r.says or "") for r in bad)
    return Finding(
        subject=device, says=says, sources=sources, first=bad[0].at, last=bad[-1].at,
        severity="info" if down else None, action="none" if down else None,
        decision="Look whether the card has a bridge at all: without one DCGM calls its links down, and that is no fault."
        if down else None,
    )  # fmt: skip
