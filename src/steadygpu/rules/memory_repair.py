"""What a card took out of its memory: remapped rows (Ampere and later), retired pages (before)."""

from collections.abc import Iterator

from steadygpu.evidence.derive import growth
from steadygpu.evidence.ecc import RetiredPages, RowRemap
from steadygpu.rules.ecc import GUIDE
from steadygpu.verdict.rule import Finding, Fine, Mine, One, Seen, cite, fine, lacking, rule

MANY_PAGES = 63  # DCGM, DCGM_LIMIT_MAX_RETIRED_PAGES: the field diagnostic's limit (read 2026-11)


@rule(
    id="silent.row-remap-pending",
    title="A memory row waits to be remapped",
    severity="warning",
    action="reset-gpu",
    meaning="The card found a bad row and will replace it by a spare one at its next reset.",
    decision="Drain the card and reset it. It is sound afterwards unless a remap fails.",
    next_step="nvidia-smi --gpu-reset -i INDEX; then nvidia-smi -q -d ROW_REMAPPER",
    references=(GUIDE + ", row remapping",),
    points_to="hardware",
)
def row_remap_pending(rows: One[RowRemap]) -> Iterator[Seen]:
    """Rows remapped before are no alarm."""
    if missing := lacking(rows, "pending"):
        yield missing
    elif rows.pending:
        counts = [f for f in ("corrected", "uncorrected") if getattr(rows, f) is not None]
        note = "".join(f", {getattr(rows, f)} rows for {f} errors" for f in counts)
        yield Finding(
            subject=rows.device, says=f"remap pending{note}", sources=cite(rows, "pending", *counts)
        )
    else:
        yield fine(rows, "no remap is pending", "pending")


@rule(
    id="silent.row-remap-failure",
    title="A bad memory row could not be remapped",
    severity="critical",
    action="drain",
    meaning="The card found a bad row and had no spare one for it.",
    decision="Drain the card and start its replacement.",
    next_step="nvidia-bug-report.sh for the support case",
    references=(GUIDE + ", row remapping failure",),
    points_to="hardware",
)
def row_remap_failure(rows: One[RowRemap]) -> Iterator[Seen]:
    """The card's own word decides, not the number of rows."""
    if missing := lacking(rows, "failure"):
        yield missing
    elif rows.failure:
        yield Finding(subject=rows.device, says="remapping failed", sources=cite(rows, "failure"))
    else:
        yield fine(rows, "no remap failed", "failure")


@rule(
    id="silent.retired-pages-pending",
    title="A memory page waits to be retired",
    severity="warning",
    action="reset-gpu",
    meaning="The card found a bad page and will take it out of use when the driver is loaded again.",
    decision="Drain the card and reset it, or restart the host.",
    next_step="nvidia-smi --gpu-reset -i INDEX; then nvidia-smi -q -d PAGE_RETIREMENT",
    references=("NVIDIA Dynamic Page Retirement (docs.nvidia.com/deploy/dynamic-page-retirement)",),
    points_to="hardware",
)
def retired_pages_pending(pages: One[RetiredPages]) -> Iterator[Seen]:
    """Pages retired before are no alarm here."""
    if missing := lacking(pages, "pending"):
        yield missing
    elif pages.pending:
        yield Finding(
            subject=pages.device, says="page retirement pending", sources=cite(pages, "pending")
        )
    else:
        yield fine(pages, "no page waits", "pending")


@rule(
    id="silent.retired-pages-many",
    title="The card has taken many memory pages out of use",
    severity="warning",
    action="drain",
    meaning="The table of retired pages is nearly full or full; a bad page that comes next stays in use.",
    decision="Drain the card and start its replacement.",
    next_step="nvidia-smi -q -d PAGE_RETIREMENT; then dcgmi diag -r 3 -i INDEX for the support case",
    references=("NVIDIA Dynamic Page Retirement (docs.nvidia.com/deploy/dynamic-page-retirement)",),
    points_to="hardware",
)
def retired_pages_many(pages: One[RetiredPages], readings: Mine[RetiredPages]) -> Iterator[Seen]:
    """Both causes share one table. A few pages are history; pages that become more between two readings are not."""
    if missing := lacking(pages, "single_bit", "double_bit"):
        yield missing
        return
    total = (pages.single_bit or 0) + (pages.double_bit or 0)
    says = f"{total} pages retired, {pages.double_bit} for double-bit errors"
    proof = cite(pages, "single_bit", "double_bit")
    if total >= MANY_PAGES:
        yield Finding(
            subject=pages.device, says=f"{says}; the limit is {MANY_PAGES}", sources=proof
        )
    elif rises := [
        g for f in ("single_bit", "double_bit") if (g := growth(readings, f)) and g.rise
    ]:
        told = "; ".join(f"{g.field.replace('_', '-')} {g.words()}" for g in rises)
        both = [s for g in rises for one in (g.first, g.last) for s in cite(one, g.field)]
        yield Finding(
            subject=pages.device, says=f"pages become more: {told}", sources=(*proof, *both),
            first=rises[0].first.at, last=rises[0].last.at, severity="warning", action="watch",
            meaning="The memory of the card goes on losing pages between the two readings.",
            decision="Watch the card closely and plan its replacement before the table is full.",
        )  # fmt: skip
    elif total:
        yield Finding(
            subject=pages.device, says=says, sources=proof, severity="info", action="none"
        )
    else:
        yield Fine(subject=pages.device, because="no page is retired", sources=proof)
