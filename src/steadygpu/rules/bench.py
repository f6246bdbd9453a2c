"""What tests under load showed: wrong results, a rate that falls with heat, copies below what the link carries."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.bench import BurnResult, CollectiveRate, CollectiveRun, CopyRate
from steadygpu.evidence.link import PciDevice, PcieLink
from steadygpu.evidence.pcie_path import segments, whole
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.source import Source
from steadygpu.evidence.units import pcie_bytes_per_s
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Maybe,
    Mine,
    NotHere,
    One,
    Seen,
    Unclear,
    cite,
    fine,
    rule,
    tell,
    the_host,
)

BURN = "gpu_burn 300"
CHECKED = "all_reduce_perf -b 8 -e 1G -f 2 -c 1 -g CARDS"
LSPCI = "sudo lspci -vvnn"
LOST = 0.03  # our choice: rates of a steady card differ by less than this between two quarters of a run
WARMED_C = 10.0  # our choice: less is what a card warms by anyway once it is at work
LARGE = 16_000_000  # our choice: smaller copies are bound by the launch, not by the link
SLOW = 0.6  # our choice: pinned copies reach about 80 % of the link, 60 % is no matter of measuring


@rule(
    id="silent.wrong-results",
    title="The hardware computed wrong results",
    severity="critical",
    action="drain",
    meaning="A test that compares its results found some that differ. Jobs on this hardware may be wrong "
    "without any error.",
    decision="Take it out of service, and distrust what it computed since the last clean test.",
    next_step=f"Repeat the test at stock clocks ({BURN}) and read the log: sudo dmesg | grep -E 'Xid|AER'",
    references=(
        "gpu-burn, README: a card whose results differ is reported FAULTY",
        "nccl-tests, doc/PERFORMANCE.md and README: -c checks the correctness of results",
    ),
    points_to="hardware",
)
def wrong_results(
    burns: All[BurnResult], rows: All[CollectiveRate], ends: All[CollectiveRun]
) -> Iterator[Seen]:
    """A run that did not end, or did not check, proves nothing."""
    for burn in burns:
        yield _burned(burn)
    if rows or ends:
        yield _collected(rows, ends)


def _burned(burn: BurnResult) -> Seen:
    told = {
        "errors": f"{burn.errors} wrong results",
        "died": "the worker of the card died",
        "faulty": "the test calls the card faulty",
    }
    bad = [name for name in told if getattr(burn, name)]
    if bad:
        return tell(burn, ", ".join(told[name] for name in bad), *bad)
    if burn.faulty is None:
        return Unclear(
            subject=burn.device, why="the test did not reach its verdict on the card", ask=BURN
        )
    return fine(burn, "the burn test calls the card OK", "faulty", "errors", "died")


def _collected(rows: Sequence[CollectiveRate], ends: Sequence[CollectiveRun]) -> Seen:
    told: list[Fact] = [*rows, *ends]
    host = the_host(told[0])
    wrong = [row for row in rows if row.wrong]
    out = [end for end in ends if end.out_of_bounds]
    if wrong or out:
        words = [f"{end.out_of_bounds} values out of bounds in {_run(end)}" for end in out]
        if wrong:
            worst = max(wrong, key=lambda row: row.wrong or 0)
            words.append(f"{worst.wrong} wrong values at {worst.size_bytes} bytes in {_run(worst)}")
        proof = [s for row in wrong for s in cite(row, "wrong")]
        proof += [s for end in out for s in cite(end, "out_of_bounds")]
        return Finding(subject=host, says=", ".join(words), sources=tuple(dict.fromkeys(proof)))
    if not ends or any(end.out_of_bounds is None for end in ends):
        return Unclear(subject=host, why="the run did not reach its end", ask=CHECKED)
    if not all(end.checked for end in ends):
        return Unclear(subject=host, why="the run did not check its results", ask=CHECKED)
    proof = [s for end in ends for s in cite(end, "out_of_bounds", "checked")]
    return Fine(
        subject=host,
        because="every value of the collectives came out right",
        sources=tuple(dict.fromkeys(proof)),
    )


def _run(one: CollectiveRate | CollectiveRun) -> str:
    return (one.op or "a collective") + (f" on {one.ranks} ranks" if one.ranks is not None else "")


@rule(
    id="throttle.thermal-minor",
    title="The card computes less as it warms up",
    severity="warning",
    action="fix-config",
    meaning="During one test the rate fell while the temperature rose. What is lost is the rate, which is mostly less "
    "than the clocks lose.",
    decision="Plan with the rate of the warm card. Improve the cooling if the loss matters to you.",
    next_step="Test again with the fans up or at another place in the rack, and compare the last rates",
    references=("gpu-burn, README: rates and temperatures while it runs",),
    points_to="throttle",
)
def thermal_minor(burn: One[BurnResult]) -> Iterator[Seen]:
    """Rates of the warm card against those of the same run just after its start."""
    fields = ("early_gflops", "late_gflops", "early_temp_c", "late_temp_c")
    if not burn.early_gflops or burn.late_gflops is None:
        why = "too few rates were printed to compare the start with the end"
        yield Unclear(subject=burn.device, why=why, ask=BURN)
        return
    lost = 1 - burn.late_gflops / burn.early_gflops
    rates = f"{burn.early_gflops:g} to {burn.late_gflops:g} Gflop/s"
    if lost < LOST:
        yield fine(burn, f"the rate stayed: {rates}", *fields[:2])
    elif burn.early_temp_c is None or burn.late_temp_c is None:
        yield Unclear(
            subject=burn.device, why="no temperature was printed beside the rates", ask=BURN
        )
    elif burn.late_temp_c - burn.early_temp_c < WARMED_C:
        yield fine(burn, f"the rate fell without heat: {rates}", *fields)
    else:
        warmed = f"{burn.early_temp_c:g} to {burn.late_temp_c:g} °C"
        yield tell(
            burn,
            f"throughput -{lost:.0%} ({rates}) while the card warmed up from {warmed}",
            *fields,
        )


@rule(
    id="feed.copy-slow",
    title="Copies are slower than the link allows",
    severity="warning",
    action="fix-feed",
    meaning="Large copies from pinned memory reach far less than the PCIe link of the card can carry. Every batch "
    "waits for that.",
    decision="Find what slows them before blaming the code: a link that runs below its maximum, memory of the far NUMA "
    "node, or other traffic on the same port.",
    next_step="Repeat it beside the card while reading the link: numactl --cpunodebind=NODE --membind=NODE nvbandwidth "
    "-t host_to_device_memcpy_ce; " + LSPCI,
    references=(
        "PCI Express Base Specification 6.0: line codes",
        "nvbandwidth, README: copies by copy engines and by kernels",
    ),
    points_to="pcie",
)
def copy_slow(
    rates: Mine[CopyRate], link: Maybe[PcieLink], links: All[PcieLink], devices: All[PciDevice]
) -> Iterator[Seen]:
    """The best rate of each direction against what card and port can both do; the worse direction counts."""
    card = rates[0].device
    host = [r for r in rates if r.direction in ("h2d", "d2h") and r.how != "pageable"]
    if not host:
        yield NotHere(subject=card, because="no copy between host and card from pinned memory")
        return
    if any(
        r.bytes_per_s is None or (r.size_bytes is None and r.tool != "nvbandwidth") for r in host
    ):
        yield Unclear(subject=card, why="a rate or its size was not printed", record="CopyRate")
        return
    large = [
        r for r in host if r.size_bytes is None or r.size_bytes >= LARGE
    ]  # nvbandwidth copies 64 MiB and more
    if not large:
        yield Unclear(subject=card, why="all copies were small", record="CopyRate")
        return
    can = _can(link, links, devices)
    if can is None:
        yield Unclear(subject=card, why="what the link can carry was not read", ask=LSPCI)
        return
    carries, words, proof = can
    ways = {way: [r for r in large if r.direction == way] for way in ("h2d", "d2h")}
    best = {way: max(r.bytes_per_s or 0.0 for r in some) for way, some in ways.items() if some}
    way = min(best, key=lambda name: best[name])
    ends = "host to card" if way == "h2d" else "card to host"
    says = (
        f"{best[way] / 1e9:.3g} GB/s from {ends}, {carries / 1e9:.3g} GB/s is what {words} carries"
    )
    used = ways[way] if best[way] < SLOW * carries else large
    sources = tuple(
        dict.fromkeys((*(s for r in used for s in cite(r, "bytes_per_s", "size_bytes")), *proof))
    )
    if best[way] < SLOW * carries:
        yield Finding(subject=card, says=says, sources=sources)
    else:
        yield Fine(subject=card, because=says, sources=sources)


def _can(
    link: PcieLink | None, links: Sequence[PcieLink], devices: Sequence[PciDevice]
) -> tuple[float, str, tuple[Source, ...]] | None:
    """Return bytes a second that the slowest link up to the root can do, in words, and proof; None where one is unread.

    Without a listing of the ports it is what the card's own end can do.
    """
    if link is None:
        return None
    path = segments(link.device.bdf, links, devices)
    if not path:
        listed = any(d.device == link.device for d in devices)
        if listed and any(d.role == "port" for d in devices):
            return None
        if link.max_speed_gts is None or link.max_width is None:
            return None
        words = f"its link (x{link.max_width} at {link.max_speed_gts:g} GT/s)"
        proof = cite(link, "max_speed_gts", "max_width")
        return pcie_bytes_per_s(link.max_speed_gts, link.max_width), words, proof
    worst: tuple[float, str] | None = None
    for segment in path:
        speed, width = segment.can("max_speed_gts"), segment.can("max_width")
        if speed is None or width is None or not whole(path, devices):
            return None
        carries = pcie_bytes_per_s(speed, int(width))
        if worst is None or carries < worst[0]:
            worst = carries, f"the link {segment.words} (x{width:g} at {speed:g} GT/s)"
    proof = tuple(s for segment in path for s in segment.proof("max_speed_gts", "max_width"))
    return None if worst is None else (*worst, proof)
