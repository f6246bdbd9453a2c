"""Memory errors of a card: ECC counters and mode. What the card repaired is in `memory_repair`."""

from collections.abc import Iterator, Sequence

from steadygpu.catalog.card import card_of
from steadygpu.evidence.derive import growth
from steadygpu.evidence.ecc import EccCounters
from steadygpu.evidence.gpu import GpuIdentity, GpuMode
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
    tell,
)

GUIDE = "NVIDIA GPU Memory Error Management (docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt), read 2026-11"
UNCORRECTED = (
    "uncorrected",
    "sram_uncorrected",
    "sram_uncorrected_parity",
    "sram_uncorrected_secded",
    "dram_uncorrected",
)
CORRECTED = ("corrected", "sram_corrected", "dram_corrected")
LATER = "nvidia-smi -q -d ECC, once more some hours later"


def _latest(counters: Sequence[EccCounters], scope: str) -> EccCounters | None:
    """Return the last reading of a scope; a card has counters of both scopes at one moment."""
    return next((c for c in reversed(counters) if c.scope == scope), None)


def _above_zero(counters: EccCounters, fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f for f in fields if getattr(counters, f))


def _words(counters: EccCounters, fields: tuple[str, ...]) -> str:
    return ", ".join(f"{f.replace('_', ' ')} {getattr(counters, f)}" for f in fields)


def _all_zero(counters: EccCounters, total: str) -> tuple[str, ...] | Unclear | NotHere:
    """Return the fields that prove that nothing was counted, or what to say where they do not.

    Either the total, or DRAM and SRAM; newer drivers split SRAM into parity and SEC-DED.
    """
    sram: tuple[tuple[str, ...], ...] = ((f"sram_{total}",),)
    if total == "uncorrected":
        sram = (*sram, ("sram_uncorrected_parity", "sram_uncorrected_secded"))
    ways = ((total,), *((f"dram_{total}", *parts) for parts in sram))
    for fields in ways:
        if all(getattr(counters, f) == 0 for f in fields):
            return fields
    said = [lacking(counters, *fields) for fields in ways]
    return next(
        (one for one in said if isinstance(one, NotHere)),
        said[0] or Unclear(subject=counters.device, why=f"{total} is not whole"),
    )


@rule(
    id="silent.ecc-uncorrectable-volatile",
    title="Memory errors that ECC could not correct",
    severity="critical",
    action="drain",
    meaning="Since the driver was loaded the card met memory errors that it could not correct. Results may be wrong.",
    decision="Drain the card, reset it, and see whether a row was remapped; replace it if errors come back.",
    next_step="nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT; then nvidia-smi --gpu-reset -i INDEX",
    references=(GUIDE,),
    points_to="hardware",
)
def ecc_uncorrectable_volatile(readings: Mine[EccCounters]) -> Iterator[Seen]:
    """Counts for life are another rule's: a row that was remapped long ago is no alarm."""
    counters = _latest(readings, "volatile")
    if counters is None:
        return
    hits = _above_zero(counters, UNCORRECTED)
    if hits:
        says = f"since the driver was loaded: {_words(counters, hits)}"
        yield tell(counters, says, *hits)
        return
    proof = _all_zero(counters, "uncorrected")
    if isinstance(proof, tuple):
        yield fine(counters, "0 uncorrectable errors since load", *proof)
    else:
        yield proof


@rule(
    id="silent.ecc-history",
    title="Memory errors in the past of the card",
    severity="info",
    action="none",
    meaning="The card counted memory errors in its life and none that matter since the driver was loaded.",
    decision="Do nothing. Note the counts and compare them at the next maintenance.",
    next_step="nvidia-smi -q -d ECC,ROW_REMAPPER > ecc-$(date +%F).txt",
    references=(GUIDE,),
)
def ecc_history(readings: Mine[EccCounters]) -> Iterator[Seen]:
    """History alone: where errors are counted now, that is the finding."""
    counters = _latest(readings, "aggregate")
    if counters is None:
        return
    hits = _above_zero(counters, (*UNCORRECTED, *CORRECTED))
    if not hits:
        for total in ("uncorrected", "corrected"):
            proof = _all_zero(counters, total)
            if not isinstance(proof, tuple):
                yield proof
                return
        yield Fine(subject=counters.device, because="no error in the life of the card")
        return
    now = _latest([c for c in readings if c.at == counters.at], "volatile")
    if now is None:
        yield Unclear(
            subject=counters.device,
            why="counts since the driver was loaded are not given",
            ask="nvidia-smi -q -d ECC",
        )
        return
    if _above_zero(now, UNCORRECTED):
        yield Fine(subject=counters.device, because="errors are counted now, so this is no history")
        return
    proof = _all_zero(now, "uncorrected")
    if not isinstance(proof, tuple):
        yield proof
        return
    says = f"in its life: {_words(counters, hits)}; none uncorrectable since the driver was loaded"
    yield Finding(
        subject=counters.device, says=says, sources=(*cite(counters, *hits), *cite(now, *proof))
    )


@rule(
    id="silent.ecc-corrected-rising",
    title="Corrected memory errors rise",
    severity="warning",
    action="watch",
    meaning="Between two looks the card corrected more memory errors. Correction works; the rise is the sign.",
    decision="Watch the rate. Plan a reset or a replacement if it keeps rising or a row waits to be remapped.",
    next_step="nvidia-smi -q -d ECC,ROW_REMAPPER, again tomorrow",
    references=(GUIDE,),
    points_to="hardware",
)
def ecc_corrected_rising(counters: Trend[EccCounters]) -> Iterator[Seen]:
    """Like is compared with like: one field, one scope, the first moment and the last."""
    life = [c for c in counters if c.scope == "aggregate"]
    if not life:
        return
    last = life[-1]
    told = [g for f in CORRECTED if (g := growth(life, f)) is not None]
    rose = [g for g in told if g.rise]
    known = [g.field for g in told]
    if rose:
        proof = tuple(s for g in rose for r in (g.first, g.last) for s in cite(r, g.field))
        says = ", ".join(f"{g.field.replace('_', ' ')} {g.words()}" for g in rose)
        yield Finding(
            subject=last.device, says=f"in the life of the card: {says}", sources=proof,
            first=rose[0].first.at, last=rose[0].last.at,
        )  # fmt: skip
    elif "corrected" in known or {"sram_corrected", "dram_corrected"} <= set(known):
        yield fine(last, "corrected errors did not rise", *known)
    elif len({c.at for c in life}) > 1:
        yield Unclear(
            subject=last.device, why="the two moments do not both tell corrected errors", ask=LATER
        )
    else:
        missing = _all_zero(last, "corrected")
        one = Unclear(subject=last.device, why="one moment cannot show a rise", ask=LATER)
        yield missing if isinstance(missing, NotHere) else one


@rule(
    id="silent.ecc-sram-threshold",
    title="Too many errors in the on-chip memory",
    severity="critical",
    action="drain",
    meaning="The card itself says that its SRAM passed the number of uncorrectable errors that it may have.",
    decision="Drain the card and start its replacement.",
    next_step="nvidia-smi -q -d ECC and nvidia-bug-report.sh for the support case",
    references=(GUIDE,),
    points_to="hardware",
)
def ecc_sram_threshold(readings: Mine[EccCounters]) -> Iterator[Seen]:
    """Only a driver that splits SRAM errors prints this line."""
    exceeded = [c for c in readings if c.sram_threshold_exceeded]
    counters = _latest(readings, "aggregate")
    if exceeded:
        yield Finding(
            subject=exceeded[-1].device,
            says="SRAM threshold exceeded: Yes",
            sources=cite(exceeded[-1], "sram_threshold_exceeded"),
        )
    elif counters is None:
        return
    elif counters.sram_threshold_exceeded is None and counters.sram_uncorrected_parity is None:
        yield NotHere(
            subject=counters.device, because="this driver or card prints no SRAM threshold"
        )
    elif missing := lacking(counters, "sram_threshold_exceeded"):
        yield missing
    else:
        yield fine(counters, "threshold not exceeded", "sram_threshold_exceeded")


@rule(
    id="silent.ecc-mode-pending",
    title="The ECC mode changes at the next reset",
    severity="warning",
    action="watch",
    meaning="ECC is set to change, and the card still runs in the old mode.",
    decision="Reset the card at a quiet moment if the change is wanted; set it back if it is not.",
    next_step="nvidia-smi --gpu-reset -i INDEX, or nvidia-smi -e 0 or 1 to undo",
    references=("nvidia-smi(1), ECC Mode",),
)
def ecc_mode_pending(mode: One[GpuMode]) -> Iterator[Seen]:
    """Current and pending must both be read."""
    if missing := lacking(mode, "ecc_on", "ecc_pending_on"):
        yield missing
    elif mode.ecc_on != mode.ecc_pending_on:
        says = f"ECC is {_on(mode.ecc_on)} and will be {_on(mode.ecc_pending_on)} after a reset"
        yield Finding(
            subject=mode.device, says=says, sources=cite(mode, "ecc_on", "ecc_pending_on")
        )
    else:
        yield fine(mode, f"ECC stays {_on(mode.ecc_on)}", "ecc_on", "ecc_pending_on")


def _on(value: bool | None) -> str:
    return "on" if value else "off"


@rule(
    id="silent.ecc-off",
    title="ECC is off on a card that has it",
    severity="info",
    action="none",
    meaning="The card can correct memory errors and does not, because ECC is switched off.",
    decision="Switch ECC on where wrong results cost more than a little memory and speed.",
    next_step="sudo nvidia-smi -e 1 -i INDEX, then reset the card",
    references=("nvidia-smi(1), ECC Mode",),
)
def ecc_off(mode: One[GpuMode]) -> Iterator[Seen]:
    """A card without ECC is another rule's."""
    if missing := lacking(mode, "ecc_on"):
        yield missing
    elif mode.ecc_on:
        yield fine(mode, "ECC is on", "ecc_on")
    else:
        yield Finding(subject=mode.device, says="ECC is off", sources=cite(mode, "ecc_on"))


@rule(
    id="silent.ecc-unsupported",
    title="The card reports no ECC",
    severity="info",
    action="none",
    meaning="This model, or this driver for it, offers no ECC; memory errors of this card are not counted.",
    decision="Do not plan with ECC on this card. Use checks of results where errors matter.",
    next_step="nvidia-smi -q -d ECC",
    references=("nvidia-smi(1), ECC Mode",),
)
def ecc_unsupported(mode: One[GpuMode], card: Maybe[GpuIdentity]) -> Iterator[Seen]:
    """Only where the tool itself prints N/A. What the model can do is said beside it, not instead."""
    missing = lacking(mode, "ecc_on")
    if missing is None:
        yield fine(mode, f"ECC is {_on(mode.ecc_on)}", "ecc_on")
    elif isinstance(missing, NotHere):
        sources = (missing.source,) if missing.source else cite(mode, "ecc_on")
        row = card_of(card.name, card.pci_id, card.subsystem_id) if card else None
        note = ""
        if card is not None and row is not None and row.ecc in ("yes", "configurable"):
            note = f", though the {row.model} has ECC: a guest or a driver without it may hide it"
            sources = tuple(
                dict.fromkeys((*sources, *cite(card, "name", "pci_id", "subsystem_id")))
            )
        yield Finding(subject=mode.device, says=f"ECC mode reads N/A{note}", sources=sources)
    else:
        yield missing
