"""Rules on power: the limits of a card, and what the power supplies of the host can give."""

from collections.abc import Iterator

from steadygpu.evidence.gpu import CardListing, GpuClock, GpuClockReasons, GpuLoad, GpuPower
from steadygpu.evidence.power_supply import PowerSupplies
from steadygpu.rules.throttle import FULL_LOAD, REASONS, missing, with_loss
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

AT_LIMIT = 0.9  # our choice: the draw printed is a mean, the limit holds for peaks
ON_LIMIT = 0.97  # our choice: the driver regulates within a few watts of the limit
BELOW_LIMIT = 0.7  # our choice: far enough below the limit that a mean does not explain it
REST_W = 100  # our choice: processors, memory, disks and fans of a host at work draw more than this
LIMIT_LOWERED = 0.95  # our choice: limits round to whole watts, 5 % is on purpose


def power_share(power: GpuPower | None) -> float | None:
    """Return the draw as a share of the limit in force, or None where either is not known."""
    if power is None or power.draw_w is None or not power.limit_w:
        return None
    return power.draw_w / power.limit_w


@rule(
    id="throttle.sw-power-cap",
    title="The card works at its power limit",
    severity="info",
    action="none",
    meaning="The card draws what its limit allows. That is how a card runs at full load, not a fault.",
    decision="Do nothing, unless the limit was set lower than you want.",
    next_step="Compare the limits: nvidia-smi -q -d POWER",
    references=(REASONS,),
)
def sw_power_cap(
    power: One[GpuPower], reasons: Maybe[GpuClockReasons], clock: Maybe[GpuClock],
    load: Maybe[GpuLoad],
) -> Iterator[Seen]:  # fmt: skip
    """A draw at the limit says it by itself; near it the reason must be printed. A cap far below is another rule's."""
    share = power_share(power)
    capped = reasons.sw_power_cap if reasons is not None else None
    if share is None:
        yield missing(power, power, "power draw", "draw_w", "limit_w")
        return
    says = f"{power.draw_w:g} W of {power.limit_w:g} W"
    if share < AT_LIMIT:
        yield fine(power, f"draw is {share:.0%} of the limit", "draw_w", "limit_w")
    elif capped and reasons is not None:
        found = tell(
            power, f"SW power cap is active at {says}: normal at full load", "draw_w", "limit_w",
            also=cite(reasons, "sw_power_cap"),
        )  # fmt: skip
        yield with_loss(found, clock, load)
    elif share >= ON_LIMIT:
        found = tell(power, f"draws {says}: power sets its pace", "draw_w", "limit_w")
        yield with_loss(found, clock, load)
    elif reasons is None or capped is None:
        yield missing(reasons, power, "clock reasons", "sw_power_cap")
    else:
        yield fine(reasons, "SW power cap is not active", "sw_power_cap")


@rule(
    id="throttle.sw-cap-below-limit",
    title="Power-capped although the draw is far below the limit",
    severity="warning",
    action="fix-config",
    meaning="The driver caps the clocks for power while the card draws much less than its limit: "
    "another limit than the printed one holds it.",
    decision="Find that limit (a module, rack or board limit) before blaming the code.",
    next_step="Read all limits: nvidia-smi -q -d POWER",
    references=(REASONS,),
    points_to="throttle",
)
def sw_cap_below_limit(
    reasons: One[GpuClockReasons], power: Maybe[GpuPower], load: Maybe[GpuLoad],
    clock: Maybe[GpuClock],
) -> Iterator[Seen]:  # fmt: skip
    """Only under load: the reason may stay printed for a moment after a job."""
    share = power_share(power)
    if said := lacking(reasons, "sw_power_cap"):
        yield said
    elif not reasons.sw_power_cap:
        yield fine(reasons, "SW power cap is not active", "sw_power_cap")
    elif share is None or power is None:
        yield missing(power, reasons, "power draw", "draw_w", "limit_w")
    elif share >= BELOW_LIMIT:
        yield Fine(
            subject=reasons.device, because=f"draw is {share:.0%} of the limit",
            sources=cite(power, "draw_w", "limit_w"),
        )  # fmt: skip
    elif load is None or load.busy_ratio is None:
        yield missing(load, reasons, "load", "busy_ratio")
    elif load.busy_ratio < FULL_LOAD:
        # Work in bursts draws its limit in each burst and less on the mean.
        yield NotHere(subject=reasons.device, because=f"the card is {load.busy_ratio:.0%} busy")
    else:
        says = f"SW power cap is active at {power.draw_w:g} W of {power.limit_w:g} W, {load.busy_ratio:.0%} busy"
        also = (*cite(power, "draw_w", "limit_w"), *cite(load, "busy_ratio"))
        yield with_loss(tell(reasons, says, "sw_power_cap", also=also), clock, load)


def _allowed(power: GpuPower) -> float | None:
    """Return the limit in force, or the one that was asked for where a text tells no other."""
    return power.limit_w if power.limit_w is not None else power.requested_limit_w


@rule(
    id="throttle.power-budget-exceeded",
    title="The cards may draw more than the supplies can give",
    severity="critical",
    action="fix-config",
    scope="host",
    meaning="When all cards work at their limit at once, the supplies are overloaded and switch off: the host dies "
    "without a word in any log, most likely while a load ramps up.",
    decision="Lower the power limits of the cards until they fit, or fit a larger supply. Add no card to this host.",
    next_step="sudo nvidia-smi -pl WATTS for each card (again after each boot), then repeat the load",
    references=(
        "SMBIOS Reference Specification 3.x, type 39, Max Power Capacity",
        "nvidia-smi(1), Power Limit",
    ),
    points_to="throttle",
)
def power_budget_exceeded(
    supplies: One[PowerSupplies], powers: All[GpuPower], listed: All[CardListing]
) -> Iterator[Seen]:
    """The sum of the limits and what a host needs at least, against all supplies that are there."""
    if said := lacking(supplies, "total_w"):
        yield said
        return
    limits = {p.device: p for p in powers if _allowed(p) is not None}
    cards = max((c.listed for c in listed), default=0)
    if not limits or len(limits) < max(cards, len({p.device for p in powers})):
        why = "the power limit of some card was not read"
        yield Unclear(subject=supplies.device, why=why, ask="nvidia-smi -q -d POWER")
        return
    gives, needs = supplies.total_w or 0.0, sum(_allowed(p) or 0.0 for p in limits.values())
    says = (
        f"the power limits of {len(limits)} cards add up to {needs:g} W, the rest of a host needs {REST_W} W or more, "
        f"and the supplies give {gives:g} W"
    )
    proof = [
        *cite(supplies, "total_w"),
        *(s for one in limits.values() for s in cite(one, "limit_w")),
    ]
    if needs + REST_W > gives:
        yield Finding(subject=supplies.device, says=says, sources=tuple(dict.fromkeys(proof)))
    else:
        yield Fine(subject=supplies.device, because=says, sources=tuple(dict.fromkeys(proof)))
