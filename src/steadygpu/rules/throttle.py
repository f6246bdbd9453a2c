"""Rules on heat and the power brake, which hold the clocks of a card down, and what that costs."""

from collections.abc import Iterator
from dataclasses import replace

from steadygpu.evidence.gpu import GpuClock, GpuClockReasons, GpuLoad, GpuTemperature
from steadygpu.evidence.reading import Fact
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Maybe,
    NotHere,
    One,
    Seen,
    Unclear,
    cite,
    fine,
    lacking,
    rule,
    tell,
)

MARGIN_SMALL_C = 5  # our choice: a warm day or a dusty filter takes about this much
WARM_C = 80  # our choice: no card prints a software limit below this
NEAR_LIMIT_C = 10  # our choice: the driver starts to slow down before its printed limit
MEMORY_NEAR_C = 5  # our choice: width of the memory sensor's steps and its delay
FULL_LOAD = 0.9  # our choice: below it the mean draw says nothing of the draw at work

HOLDS = ("idle", "hw_slowdown", "hw_thermal", "hw_power_brake", "sw_thermal")
REASONS = "nvidia-smi(1), Clocks Event Reasons"
SHOW = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER,CLOCK"


def missing(
    record: Fact | None, subject: Fact, words: str, *fields: str, ask: str | None = None
) -> NotHere | Unclear:
    """Return what to say where `record` is not there or one of its fields is None.

    `ask` is for a field that another text of the record's kind prints.
    """
    said = lacking(record, *fields) if record is not None else None
    if ask is not None and isinstance(said, Unclear) and said.ask is None:
        return replace(said, ask=ask)
    why = f"no text tells the {words} of this card"
    return said or Unclear(subject=subject.device, why=why, ask=SHOW)


def with_loss(found: Finding, clock: GpuClock | None, load: GpuLoad | None) -> Finding:
    """Return the finding with the clock that is lost, where the card works and both clocks are told.

    Idle cards lower their clock by themselves. What it costs in speed depends on the program: work that waits for
    memory hardly follows the core clock.
    """
    if clock is None or load is None or (load.busy_ratio or 0.0) < FULL_LOAD:
        return found
    name = "sm" if clock.sm_mhz is not None and clock.sm_limit_mhz else "graphics"
    now, top = getattr(clock, f"{name}_mhz"), getattr(clock, f"{name}_limit_mhz")
    if now is None or not top or now >= top:
        return found
    says = f"{found.says}; clock {now} of {top} MHz while {load.busy_ratio:.0%} busy, {1 - now / top:.0%} below"
    proof = (*cite(clock, f"{name}_mhz", f"{name}_limit_mhz"), *cite(load, "busy_ratio"))
    return replace(found, says=says, sources=tuple(dict.fromkeys((*found.sources, *proof))))


def head_room(heat: GpuTemperature | None) -> tuple[int | None, tuple[str, ...]]:
    """Return the degrees left to slowdown and the fields that prove them."""
    if heat is None:
        return None, ()
    if heat.margin_c is not None:
        return heat.margin_c, ("margin_c",)
    if heat.gpu_c is None or heat.slowdown_c is None:
        return None, ()
    return heat.slowdown_c - heat.gpu_c, ("gpu_c", "slowdown_c")


def _hot(heat: GpuTemperature | None) -> tuple[str, tuple[str, ...]] | None:
    """Return in words why the card is warm enough to be slowed by heat, or None."""
    if heat is None:
        return None
    room, fields = head_room(heat)
    if room is not None and room <= NEAR_LIMIT_C:
        return f"{room} C left to slowdown", fields
    if heat.gpu_c is not None and heat.gpu_c >= WARM_C:
        return f"{heat.gpu_c} C", ("gpu_c",)
    for name in ("target_c", "max_operating_c"):
        limit = getattr(heat, name)
        if heat.gpu_c is not None and limit is not None and heat.gpu_c >= limit - NEAR_LIMIT_C:
            return f"{heat.gpu_c} C of {limit} C", ("gpu_c", name)
    top = heat.memory_max_operating_c
    if heat.memory_c is not None and top is not None and heat.memory_c >= top - MEMORY_NEAR_C:
        return f"memory {heat.memory_c} C of {top} C", ("memory_c", "memory_max_operating_c")
    return None


@rule(
    id="throttle.hw-thermal",
    title="Heat makes the hardware cut the clocks",
    severity="warning",
    action="fix-config",
    meaning="The card itself lowered its clocks because it is too hot.",
    decision="Fix the air flow of this card before anything else; a faster card would throttle too.",
    next_step="Compare fans and inlet of this card with its neighbours, clean the filters, then run "
    "the load again for two minutes",
    references=(REASONS,),
    points_to="throttle",
)
def hw_thermal(
    reasons: One[GpuClockReasons], heat: Maybe[GpuTemperature], clock: Maybe[GpuClock],
    load: Maybe[GpuLoad],
) -> Iterator[Seen]:  # fmt: skip
    """The reason itself, or its parent while the card stands at its slowdown temperature."""
    room, fields = head_room(heat)
    if reasons.hw_thermal:
        also = ("hw_slowdown",) if reasons.hw_slowdown else ()
        said = tell(reasons, "HW thermal slowdown is active", "hw_thermal", *also)
        yield with_loss(said, clock, load)
    elif reasons.hw_slowdown and heat is not None and room is not None and room <= 0:
        words = f"HW slowdown is active with {room} C left to the slowdown temperature"
        said = tell(reasons, words, "hw_slowdown", also=cite(heat, *fields))
        yield with_loss(said, clock, load)
    elif absent := lacking(reasons, "hw_thermal", "hw_slowdown"):
        yield absent
    elif reasons.hw_slowdown and room is None:
        yield missing(heat, reasons, "temperature", "gpu_c", "slowdown_c")
    else:
        yield fine(reasons, "HW thermal slowdown is not active", "hw_thermal")


@rule(
    id="throttle.hw-power-brake",
    title="A power brake holds the clocks down",
    severity="critical",
    action="drain",
    meaning="The host pulls the power brake line of the card: the board or the power supplies ask "
    "for less draw. The clocks are forced down whatever the card does.",
    decision="Drain the host and look at its power supplies and feeds; the card is the messenger.",
    next_step="Read the power supply sensors and events: ipmitool sdr type 'Power Supply'; ipmitool "
    "sel list",
    references=(REASONS,),
    points_to="throttle",
)
def hw_power_brake(
    reasons: One[GpuClockReasons], others: All[GpuClockReasons], clock: Maybe[GpuClock],
    load: Maybe[GpuLoad],
) -> Iterator[Seen]:  # fmt: skip
    """The reason alone proves it, also on an idle card; how many cards brake tells where to look."""
    if said := lacking(reasons, "hw_power_brake"):
        yield said
        return
    if not reasons.hw_power_brake:
        yield fine(reasons, "HW power brake is not active", "hw_power_brake")
        return
    braked = {r.device: r for r in others if r.hw_power_brake and r.device != reasons.device}
    cards = len({r.device for r in others} | {reasons.device})
    says = "HW power brake is active"
    if braked:
        says += f", as on {len(braked) + 1} of {cards} cards of this host: the chassis' power"
    elif cards > 1:
        says += f" on this one of {cards} cards: its slot, cable or board"
    sources = [s for r in (reasons, *braked.values()) for s in cite(r, "hw_power_brake")]
    found = Finding(
        subject=reasons.device, says=says, sources=tuple(sources), first=reasons.at, last=reasons.at
    )
    yield with_loss(found, clock, load)


@rule(
    id="throttle.sw-thermal",
    title="Heat makes the driver lower the clocks",
    severity="warning",
    action="fix-config",
    meaning="The driver lowers the clocks to keep the card or its memory below its temperature limit.",
    decision="Better air or a lower power limit; the loss grows with the room temperature.",
    next_step="Watch it under load: nvidia-smi dmon -s pucv -d 1 -c 120",
    references=(REASONS,),
    points_to="throttle",
    rules_out=True,
)
def sw_thermal(
    reasons: One[GpuClockReasons], heat: Maybe[GpuTemperature], clock: Maybe[GpuClock],
    load: Maybe[GpuLoad],
) -> Iterator[Seen]:  # fmt: skip
    """The reason counts only while a temperature agrees: drivers print it on cold cards too.

    A pass has sources, and so rules throttling out, only where nothing else holds a working card.
    """
    active = reasons.sw_thermal or reasons.thermal
    named = "SW thermal slowdown" if reasons.sw_thermal else "a thermal violation"
    if reasons.thermal is None and (said := lacking(reasons, "sw_thermal")):
        yield said
    elif not active:
        states = [getattr(reasons, name) for name in HOLDS]
        if all(state is False for state in states):
            yield fine(
                reasons, "no thermal reason or power brake is active on a working card", *HOLDS
            )
        else:
            yield Fine(subject=reasons.device)
    elif heat is not None and (hot := _hot(heat)):
        found = tell(
            reasons, f"{named} is active at {hot[0]}", "sw_thermal", "thermal",
            also=cite(heat, *hot[1]),
        )  # fmt: skip
        yield with_loss(found, clock, load)
    elif heat is not None and heat.gpu_c is not None:
        why = f"{named} is printed as active, but {heat.gpu_c} C does not explain it"
        yield Unclear(subject=reasons.device, why=why, ask=SHOW)
    else:
        yield missing(heat, reasons, "temperature", "gpu_c")


@rule(
    id="throttle.memory-thermal",
    title="The memory of the card is at its temperature limit",
    severity="warning",
    action="fix-config",
    meaning="The memory is as hot as the maker allows; the card slows down to protect it even while "
    "the chip looks cool.",
    decision="Improve the air over the memory side of the card or lower its power limit.",
    next_step="Watch the memory under load: nvidia-smi dmon -s p -d 1 -c 120 (column mtemp)",
    references=("nvidia-smi(1), Memory Max Operating Temp",),
    points_to="throttle",
)
def memory_thermal(heat: One[GpuTemperature]) -> Iterator[Seen]:
    """The limit is the one that the card prints; there is no limit that fits all memories."""
    fields = ("memory_c", "memory_max_operating_c")
    if heat.memory_c is None or heat.memory_max_operating_c is None:
        yield missing(heat, heat, "memory temperature", *fields)
        return
    says = f"memory at {heat.memory_c} C of {heat.memory_max_operating_c} C"
    if heat.memory_c >= heat.memory_max_operating_c:
        yield tell(heat, says, *fields)
    else:
        yield fine(heat, says, *fields)


@rule(
    id="throttle.margin-small",
    title="Little room left before heat slows the card",
    severity="warning",
    action="fix-config",
    meaning="The card does not throttle yet, but a few degrees more and it will.",
    decision="Improve the air now; a warmer room or a longer job will cost speed.",
    next_step="Watch it through a long job: nvidia-smi dmon -s pucv -d 5 -c 120",
    references=("nvidia-smi(1), GPU Slowdown Temp and GPU T.Limit Temp",),
    points_to="throttle",
)
def margin_small(heat: One[GpuTemperature], reasons: Maybe[GpuClockReasons]) -> Iterator[Seen]:
    """Only while no thermal reason is active: then the throttling itself is the finding."""
    room, fields = head_room(heat)
    if room is None:
        yield missing(heat, heat, "slowdown temperature", "gpu_c", "slowdown_c")
    elif room > MARGIN_SMALL_C:
        yield fine(heat, f"{room} C left to slowdown", *fields)
    elif reasons is None or None in (reasons.hw_thermal, reasons.sw_thermal, reasons.hw_slowdown):
        yield missing(reasons, heat, "clock reasons", "hw_thermal", "sw_thermal", "hw_slowdown")
    elif reasons.hw_thermal or reasons.sw_thermal or reasons.hw_slowdown:
        yield NotHere(subject=heat.device, because="the card is slowed already")
    else:
        yield tell(
            heat,
            f"{room} C left to slowdown, not throttling yet",
            *fields,
            also=cite(reasons, "hw_thermal", "sw_thermal"),
        )
