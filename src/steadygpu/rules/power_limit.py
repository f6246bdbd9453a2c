"""The power limit in force, against the card's default or against its neighbours."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.gpu import GpuClock, GpuIdentity, GpuLoad, GpuPower
from steadygpu.rules.power import AT_LIMIT, LIMIT_LOWERED, power_share
from steadygpu.rules.throttle import missing, with_loss
from steadygpu.verdict.rule import All, Maybe, One, Seen, cite, fine, rule, tell

PEERS = 2  # our choice: two cards that agree tell what is usual on a host


def _peers(
    power: GpuPower, powers: Sequence[GpuPower], identities: Sequence[GpuIdentity]
) -> list[GpuPower]:
    """Return the other AMD cards of this kind in the text, where they tell one limit and no default; else nothing."""
    kinds = {i.device: (i.name, i.pci_id) for i in identities if i.vendor == "amd"}
    own = kinds.get(power.device)
    if own is None or own == (None, None) or any(p.default_limit_w is not None for p in powers):
        return []
    if len(kinds) < len({i.device for i in identities}) or any(i.absent for i in identities):
        return []
    others = [p for p in powers if p.device != power.device and kinds.get(p.device) == own]
    told = [p for p in others if p.limit_w is not None]
    lost = [
        a for p in (power, *others) for a in p.absent if a.field in ("limit_w", "default_limit_w")
    ]
    if (
        len(told) < PEERS
        or len({p.limit_w for p in told}) > 1
        or len({p.device for p in told}) < len(told)
    ):
        return []
    return [] if any(a.reason != "not_supported" for a in lost) else told


@rule(
    id="throttle.operating-limit-low",
    title="The power limit is below the card's default",
    severity="warning",
    action="fix-config",
    meaning="The limit in force is lower than the one this card ships with, so it runs slower under "
    "full load than others of its kind.",
    decision="Keep it if someone chose it; otherwise restore the default before measuring anything.",
    next_step="nvidia-smi -q -d POWER; restore with sudo nvidia-smi -pl DEFAULT_WATTS",
    references=("nvidia-smi(1), Power Limit",),
    points_to="throttle",
)
def operating_limit_low(
    power: One[GpuPower], powers: All[GpuPower], identities: All[GpuIdentity],
    clock: Maybe[GpuClock], load: Maybe[GpuLoad],
) -> Iterator[Seen]:  # fmt: skip
    """A warning only while the card draws that limit: then it costs speed now.

    AMD's table tells no default: there the limit that all other cards of the kind have stands for it.
    """
    fields = ("limit_w", "default_limit_w")
    if power.limit_w is not None and (peers := _peers(power, powers, identities)):
        usual = peers[0].limit_w or 0.0
        says = f"limit {power.limit_w:g} W, {usual:g} W on the {len(peers)} other cards of its kind"
        if power.limit_w >= LIMIT_LOWERED * usual:
            yield fine(power, says, "limit_w", also=cite(peers[0], "limit_w"))
            return
        share = power_share(power)
        held = share is not None and share >= AT_LIMIT
        yield tell(
            power, f"{says}, drawing {power.draw_w:g} W" if held else says, "limit_w",
            *(("draw_w",) if held else ()), also=[s for p in peers for s in cite(p, "limit_w")],
            severity="warning" if held else "info", action="fix-config" if held else "none",
        )  # fmt: skip
        return
    if power.limit_w is None or power.default_limit_w is None:
        yield missing(power, power, "power limits", *fields)
        return
    says = f"limit {power.limit_w:g} W, default {power.default_limit_w:g} W"
    if power.limit_w >= LIMIT_LOWERED * power.default_limit_w:
        yield fine(power, says, *fields)
        return
    share = power_share(power)
    held = share is not None and share >= AT_LIMIT
    if not held:
        yield tell(power, says, *fields, severity="info", action="none")
        return
    found = tell(power, f"{says}, drawing {power.draw_w:g} W", *fields, "draw_w")
    yield with_loss(found, clock, load)
