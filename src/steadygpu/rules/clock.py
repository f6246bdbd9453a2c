"""Rules on clocks that are low without heat or power: stuck, unlicensed, or only looking odd."""

from collections.abc import Iterator

from steadygpu.evidence.gpu import (
    GpuClock,
    GpuClockReasons,
    GpuIdentity,
    GpuLoad,
    GpuMode,
    GpuPower,
    GpuTemperature,
)
from steadygpu.evidence.reading import Fact
from steadygpu.rules.power import BELOW_LIMIT, LIMIT_LOWERED, power_share
from steadygpu.rules.throttle import MARGIN_SMALL_C, REASONS, head_room, missing
from steadygpu.verdict.rule import (
    Finding,
    Fine,
    Maybe,
    Mine,
    NotHere,
    One,
    Seen,
    Trend,
    Unclear,
    cite,
    fine,
    lacking,
    rule,
)

STUCK_RATIO = 0.3  # our choice: compute states of all cards lie above half of the top clock
BUSY = 0.9  # our choice: below it the driver may rightly choose a low clock
AMD_COMPUTES_MHZ = (
    300  # lowest first step of pp_dpm_sclk that public listings of Polaris to CDNA3 cards show
)
AMD_CHOSEN = ("low", "manual")  # Linux, power_dpm_force_performance_level: someone asked for it
AMD_HOT_C = 90  # our choice: Instinct cards slow down from about 100 C on at the junction
AMD_SHOW = "rocm-smi -a, while the job runs"
FAST_STATES = (
    0,
    1,
    2,
    3,
)  # nvidia-smi(1), Performance State: P0 is maximum, GeForce computes in P2
MANY_SAMPLES = 20  # our choice: fewer do not tell a habit from a moment
MANY_SWINGS = 3  # our choice: a clock that falls once or twice answers to something
SWING = 0.2  # our choice: a fifth of the clock is a fifth of the speed of compute-bound work
OVER_TIME = (
    "nvidia-smi --query-gpu=timestamp,index,uuid,utilization.gpu,clocks.sm --format=csv -l 1"
)
EVERY_REASON = (
    "idle", "application_clocks", "sw_power_cap", "hw_slowdown", "hw_thermal", "hw_power_brake",
    "sync_boost", "sw_thermal", "display_clock",
)  # fmt: skip
ABNORMAL = ("hw_slowdown", "hw_thermal", "hw_power_brake", "sw_thermal")


@rule(
    id="throttle.clock-stuck-low",
    title="Busy at a very low clock without a reason",
    severity="warning",
    action="fix-config",
    meaning="The card works in a fast state, yet its clock stays near idle and it names no reason.",
    decision="Do not read its utilisation as full use; free the clock before measuring anything.",
    next_step="Release locked clocks: sudo nvidia-smi -rgc; then look again under load",
    references=("nvidia-smi(1), Clocks and Max Clocks", REASONS),
    points_to="throttle",
)
def clock_stuck_low(
    clock: One[GpuClock], load: Maybe[GpuLoad], reasons: Maybe[GpuClockReasons],
    identity: Maybe[GpuIdentity], power: Maybe[GpuPower], heat: Maybe[GpuTemperature],
) -> Iterator[Seen]:  # fmt: skip
    """All at once: busy, a fast state, a clock below 30 % of the top one, and every reason denied."""
    if identity is not None and identity.vendor == "amd":
        yield _amd_stuck(clock, load, identity, power, heat)
        return
    if clock.sm_mhz is None or not clock.sm_limit_mhz:
        yield missing(clock, clock, "clocks", "sm_mhz", "sm_limit_mhz")
        return
    says = f"SM clock {clock.sm_mhz} of {clock.sm_limit_mhz} MHz"
    proof = cite(clock, "sm_mhz", "sm_limit_mhz", "pstate")
    if clock.sm_mhz >= STUCK_RATIO * clock.sm_limit_mhz:
        yield Fine(subject=clock.device, because=says, sources=proof)
    elif load is None or load.busy_ratio is None:
        yield missing(load, clock, "load", "busy_ratio")
    elif load.busy_ratio < BUSY:
        yield NotHere(subject=clock.device, because=f"the card is only {load.busy_ratio:.0%} busy")
    elif clock.pstate is None:
        yield missing(clock, clock, "performance state", "pstate")
    elif clock.pstate not in FAST_STATES:
        yield NotHere(subject=clock.device, because=f"P{clock.pstate} is a slow state")
    elif reasons is None or any(getattr(reasons, name) is None for name in EVERY_REASON):
        yield missing(reasons, clock, "clock reasons", *EVERY_REASON)
    elif any(getattr(reasons, name) for name in EVERY_REASON):
        yield NotHere(subject=clock.device, because="a reason for the low clock is active")
    else:
        yield Finding(
            subject=clock.device,
            says=f"{says} in P{clock.pstate} at {load.busy_ratio:.0%} busy, and no reason is active",
            sources=(*proof, *cite(load, "busy_ratio"), *cite(reasons, *EVERY_REASON)),
            first=clock.at, last=clock.at,
        )  # fmt: skip


def _why_low(
    clock: GpuClock, power: GpuPower | None, heat: GpuTemperature | None
) -> NotHere | Unclear | None:
    """Return what may hold the clock of an AMD card down, whose tools name no reason."""
    level = clock.performance_level
    if level in AMD_CHOSEN or "profile" in (level or ""):
        return NotHere(subject=clock.device, because=f"performance level {level} was asked for")
    share = power_share(power)
    if share is not None and share >= BELOW_LIMIT:
        return Unclear(subject=clock.device, why=f"draws {share:.0%} of its cap", ask=AMD_SHOW)
    if heat is not None and heat.gpu_c is not None and heat.gpu_c >= AMD_HOT_C:
        return Unclear(subject=clock.device, why=f"is {heat.gpu_c} C warm", ask=AMD_SHOW)
    lost: tuple[tuple[Fact | None, str], ...] = (
        (clock, "performance_level"), (power, "draw_w"), (power, "limit_w"), (heat, "gpu_c"),
    )  # fmt: skip
    for record, field in lost:
        absent = [a for a in record.absent if a.field == field] if record is not None else []
        if any(a.reason != "not_supported" for a in absent):
            return Unclear(
                subject=clock.device, why=f"{field.replace('_', ' ')} was not read", ask=AMD_SHOW
            )
    return None


def _amd_stuck(
    clock: GpuClock, load: GpuLoad | None, identity: GpuIdentity,
    power: GpuPower | None, heat: GpuTemperature | None,
) -> Seen:  # fmt: skip
    """An AMD card prints no state and no reason: what else explains a low clock is asked instead."""
    if clock.sm_mhz is None:
        return missing(clock, clock, "clocks", "sm_mhz")
    proof = cite(clock, "sm_mhz", "performance_level")
    if clock.sm_limit_mhz:
        low = clock.sm_mhz < min(AMD_COMPUTES_MHZ, STUCK_RATIO * clock.sm_limit_mhz)
        says = f"shader clock {clock.sm_mhz} of {clock.sm_limit_mhz} MHz"
        proof = (*proof, *cite(clock, "sm_limit_mhz"))
        if not low:
            return Fine(subject=clock.device, because=says, sources=proof)
    elif clock.sm_mhz >= AMD_COMPUTES_MHZ or any(a.field == "sm_limit_mhz" for a in clock.absent):
        why = "no text tells the top clock of this card"
        return Unclear(subject=clock.device, why=why, ask=AMD_SHOW)
    else:
        says = f"shader clock {clock.sm_mhz} MHz, below the first step at which AMD cards compute"
    if load is None or load.busy_ratio is None:
        return missing(load, clock, "load", "busy_ratio", ask=AMD_SHOW)
    if load.busy_ratio < BUSY:
        return NotHere(subject=clock.device, because=f"the card is only {load.busy_ratio:.0%} busy")
    if why_low := _why_low(clock, power, heat):
        return why_low
    drawn = f", {power.draw_w:g} W" if power is not None and power.draw_w is not None else ""
    proof = (*proof, *cite(load, "busy_ratio"), *cite(identity, "vendor"))
    proof += cite(power, "draw_w") if power is not None and drawn else ()
    return Finding(
        subject=clock.device, says=f"{says}, at {load.busy_ratio:.0%} busy{drawn}",
        sources=tuple(dict.fromkeys(proof)), first=clock.at, last=clock.at,
        meaning="The card counts as busy, yet its clock stays where an idle card has it: the power control does not "
        "raise it, or the work waits and only looks like work.",
        next_step="rocm-smi --showperflevel --showclocks; sudo rocm-smi --setperflevel high on a test card, then look again",
    )  # fmt: skip


@rule(
    id="throttle.clock-oscillates",
    title="The clock swings at constant load",
    severity="warning",
    action="fix-config",
    meaning="The clock goes up and down by more than a fifth again and again while the card is busy all the time: "
    "requests that meet a low clock take longer, which shows in tail latency.",
    decision="Lock the clock at what the card holds under its power limit, or raise the limit.",
    next_step="nvidia-smi -q -d CLOCK,POWER,PERFORMANCE; then nvidia-smi -lgc MIN,MAX on a test card",
    references=("nvidia-smi(1), lock GPU clocks", REASONS),
)
def clock_oscillates(clocks: Trend[GpuClock], loads: Mine[GpuLoad]) -> Iterator[Seen]:
    """Only samples at full load count, and only swings that turn back: a clock that falls once has a reason."""
    device = clocks[0].device if clocks else None
    if device is None:
        return
    busy = {
        load.at: load for load in loads if load.busy_ratio is not None and load.busy_ratio >= BUSY
    }
    seen = [c for c in clocks if c.sm_mhz is not None and c.at in busy]
    if len(seen) < MANY_SAMPLES:
        why = f"fewer than {MANY_SAMPLES} samples of the clock at full load"
        yield Unclear(subject=device, why=why, ask=OVER_TIME)
        return
    top, swings, turned = 0, 0, True
    low = seen[0].sm_mhz or 0
    for clock in seen:
        now = clock.sm_mhz or 0
        top, low = max(top, now), min(low, now)
        if turned and now <= (1 - SWING) * top:
            swings, turned, low = swings + 1, False, now
        elif not turned and now >= low / (1 - SWING):
            turned, top = True, now
    lowest, highest = min(c.sm_mhz or 0 for c in seen), max(c.sm_mhz or 0 for c in seen)
    says = f"{lowest} to {highest} MHz in {len(seen)} samples at full load, {swings} falls of a fifth or more"
    proof = [s for c in seen for s in (*cite(c, "sm_mhz"), *cite(busy[c.at], "busy_ratio"))]
    if swings >= MANY_SWINGS:
        yield Finding(
            subject=device,
            says=says,
            sources=tuple(dict.fromkeys(proof)),
            first=seen[0].at,
            last=seen[-1].at,
        )
    else:
        yield Fine(subject=device, because=says, sources=tuple(dict.fromkeys(proof[:2])))


@rule(
    id="throttle.vgpu-unlicensed",
    title="The virtual card has no licence",
    severity="warning",
    action="fix-config",
    meaning="A virtual card without a licence is slowed down more and more by its own driver.",
    decision="Get the licence back before looking at code or hardware.",
    next_step="Read why in the guest: journalctl -u nvidia-gridd -n 50; then restart nvidia-gridd",
    references=("NVIDIA vGPU software, Client Licensing User Guide, enforcement of licensing",),
    points_to="throttle",
)
def vgpu_unlicensed(mode: One[GpuMode]) -> Iterator[Seen]:
    """A card that is no virtual one computes without a licence, whatever its licence line says."""
    kind = (mode.virtualization or "").lower()
    if kind and kind != "vgpu":
        yield NotHere(subject=mode.device, because=f"virtualization mode is {mode.virtualization}")
    elif mode.vgpu_license is None:
        yield missing(mode, mode, "licence", "vgpu_license")
    elif mode.vgpu_license.lower().startswith("unlicensed"):
        proof = cite(mode, "vgpu_license", *(("virtualization",) if kind else ()))
        grace = (
            "unrestricted" in mode.vgpu_license.lower()
        )  # the first minutes after the guest's start
        yield Finding(
            subject=mode.device, says=f"licence status {mode.vgpu_license}", sources=proof,
            severity="info" if grace else None, action="none" if grace else None,
            first=mode.at, last=mode.at,
        )  # fmt: skip
    elif mode.vgpu_license.lower().startswith("licensed"):
        yield fine(mode, f"licence status {mode.vgpu_license}", "vgpu_license")
    else:
        yield Unclear(subject=mode.device, why=f"licence status reads {mode.vgpu_license}")


@rule(
    id="throttle.none-abnormal",
    title="Power-capped and otherwise as it should be",
    severity="info",
    action="none",
    meaning="The only active reason is the power cap, and there is room left to slowdown. A GeForce "
    "computes in P2; that is its normal state.",
    decision="Clocks, power and heat of this card need nothing.",
    next_step="steadygpu diagnose with iostat -xz 1 30 and nvidia-smi dmon taken during the job",
    references=(REASONS,),
)
def none_abnormal(
    reasons: One[GpuClockReasons],
    heat: Maybe[GpuTemperature],
    power: Maybe[GpuPower],
    clock: Maybe[GpuClock],
) -> Iterator[Seen]:
    """Said only where something looks alarming (the cap) and everything else is known to be quiet."""
    room, fields = head_room(heat)
    share = power_share(power)
    if any(getattr(reasons, name) for name in ABNORMAL):
        yield NotHere(subject=reasons.device, because="another reason than the power cap is active")
    elif said := lacking(reasons, "sw_power_cap", *ABNORMAL):
        yield said
    elif not reasons.sw_power_cap:
        yield fine(reasons, "no reason of heat or power is active", "sw_power_cap", *ABNORMAL)
    elif heat is None or room is None:
        yield missing(heat, reasons, "slowdown temperature", "gpu_c", "slowdown_c")
    elif room <= MARGIN_SMALL_C:
        yield NotHere(subject=reasons.device, because=f"only {room} C left to slowdown")
    elif power is not None and share is None:
        yield missing(power, reasons, "power draw", "draw_w", "limit_w")
    elif share is not None and share < BELOW_LIMIT:
        yield NotHere(subject=reasons.device, because=f"draw is only {share:.0%} of the limit")
    elif power is not None and (power.limit_w or 0) < LIMIT_LOWERED * (power.default_limit_w or 0):
        yield NotHere(subject=reasons.device, because="the limit is below the default")
    else:
        state = clock.pstate if clock is not None else None
        where = f" in P{state}" if state is not None else ""
        proof = [*cite(reasons, "sw_power_cap", *ABNORMAL), *cite(heat, *fields)]
        proof += cite(clock, "pstate") if clock is not None and where else ()
        proof += cite(power, "draw_w", "limit_w") if power is not None else ()
        yield Finding(
            subject=reasons.device,
            says=f"only the power cap is active{where}, {room} C left to slowdown: nothing abnormal",
            sources=tuple(proof), first=reasons.at, last=reasons.at,
        )  # fmt: skip
