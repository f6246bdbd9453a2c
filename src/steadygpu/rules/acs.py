"""Access control on the bridges above the cards: it sends what one card writes to another through the root."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.device import short_bdf
from steadygpu.evidence.link import PciAcs, PciDevice
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.topology import PeerPath
from steadygpu.verdict.rule import All, Finding, Fine, NotHere, Seen, Unclear, cite, rule, the_host

LSPCI = "sudo lspci -vvnn"
# PCI Express Base Specification, access control services: these three turn peer traffic upwards.
UPWARDS = ("ReqRedir", "CmpltRedir", "UpstreamFwd")


@rule(
    id="stack.acs-redirect-on-gpu-path",
    title="Bridges above the cards redirect peer traffic",
    severity="critical",
    action="fix-config",
    scope="host",
    meaning="Access control on these bridges sends copies between cards up to the root and through the IOMMU: they are "
    "slow there, and on some platforms they hang.",
    decision="Where no guest needs the isolation, turn access control off on these bridges and set iommu=pt; then "
    "measure copies between cards again.",
    next_step="setpci -s BRIDGE ECAP_ACS+6.w=0000 until the next boot (BIOS: ACS off); then nccl-tests all_reduce_perf",
    references=(
        "NCCL user guide, troubleshooting: PCI access control services",
        "PCI Express Base Specification, access control services",
    ),
)
def acs_redirect_on_gpu_path(
    acs: All[PciAcs], pci: All[PciDevice], paths: All[PeerPath]
) -> Iterator[Seen]:
    """A warning where the cards have no NVLink; beside NVLink, or where no text tells, good to know.

    Critical only with a hang, which these texts do not show.
    """
    given: list[Fact] = [*acs, *pci]
    if not given:
        return
    host = the_host(given[0])
    cards = [p for p in pci if p.role == "card"]
    if len(cards) < 2:
        yield NotHere(subject=host, because="there is no pair of cards")
        return
    above = _ports_above(cards, pci)
    mine = [a for a in acs if a.device.bdf in above]
    if not mine:
        yield Unclear(subject=host, why="access control of the bridges was not read", ask=LSPCI)
        return
    turned = [a for a in mine if any(name in UPWARDS for name in a.redirects or ())]
    if not turned:
        because = f"no redirect on {len(mine)} bridges above the cards"
        yield Fine(subject=host, because=because, sources=cite(mine[0], "redirects"))
        return
    between = [p for p in paths if p.device.kind == p.peer.kind == "card"]
    linked = bool(between) and all(p.path.startswith("NV") for p in between)
    names = ", ".join(short_bdf(a.device.bdf or "") for a in turned[:6])
    more = f" and {len(turned) - 6} more" if len(turned) > 6 else ""
    how = (
        "; all cards have NVLink"
        if linked
        else ""
        if between
        else "; no text tells whether the cards have NVLink"
    )
    loud = bool(between) and not linked
    yield Finding(
        subject=host,
        says=f"peer traffic is redirected at {names}{more}{how}",
        sources=tuple(dict.fromkeys(s for a in turned for s in cite(a, "redirects"))),
        severity="warning" if loud else "info",
        action=None if loud else "none",
    )


def _ports_above(cards: Sequence[PciDevice], pci: Sequence[PciDevice]) -> set[str]:
    parents = {p.device.bdf: p.parent for p in pci if p.device.bdf}
    found: set[str] = set()
    for card in cards:
        up = card.parent
        while up is not None and up not in found:
            found.add(up)
            up = parents.get(up)
    return found
