"""Whether RDMA ports are up, and whether their fabric loses packets."""

import re
from collections.abc import Iterator, Sequence

from steadygpu.evidence.derive import Growth, growth
from steadygpu.evidence.moment import UNKNOWN
from steadygpu.evidence.network import NicState, RdmaCounters, RdmaPort, is_virtual
from steadygpu.evidence.source import Source
from steadygpu.verdict.rule import (
    All,
    Finding,
    Fine,
    Mine,
    NotHere,
    Seen,
    Unclear,
    cite,
    fine,
    lacking,
    rule,
    tell,
)

SENT_AGAIN = (
    "ack_timeouts", "packet_seq_errors", "out_of_sequence", "implied_nak_seq_errors", "rnr_retry_errors",
    "adaptive_retransmissions",
)  # fmt: skip
BROKEN = (
    "icrc_errors", "tx_discards", "rx_errors", "integrity_errors", "buffer_overruns", "symbol_errors",
    "link_recoveries",
)  # fmt: skip
LOSS = (*SENT_AGAIN, *BROKEN)
OUT_OF_ORDER = ("out_of_sequence", "packet_seq_errors", "implied_nak_seq_errors")
RISE = 10  # our choice: fewer are a peer that went away
SOME = 100  # our choice: a job that is killed leaves some tens of timeouts at its peers
MANY = 1000  # our choice: so many timeouts and gaps in the order of packets no killed jobs leave
SHARE = (
    1e-6  # our choice: of many packets so few are no lossy fabric (an InfiniBand link loses none)
)
MANY_UP = 3  # our choice: so many ports of one make show what is meant to be up
TWICE = "grep . /sys/class/infiniband/*/ports/*/{,hw_}counters/*, twice, with date before each"


@rule(
    id="feed.rdma-loss",
    title="The RDMA fabric loses packets",
    severity="warning",
    action="fix-feed",
    scope="host",
    points_to="network",
    meaning="The card had to send again or met gaps in the order of packets: the fabric drops. ip -s link does not show "
    "it, since RDMA goes past the kernel. A collective waits for the slowest card.",
    decision="Read the counters twice under load. Where they rise: check flow control and ECN on card and switch alike "
    "(RoCE), cable and optics (InfiniBand), and the counters of the switch port.",
    next_step=TWICE,
    references=("NVIDIA: Understanding mlx5 Linux Counters and Status Parameters", "Linux ABI sysfs-class-infiniband"),
)  # fmt: skip
def rdma_loss(readings: Mine[RdmaCounters]) -> Iterator[Seen]:
    """What rises counts; in one reading timeouts and disorder together, unless they are few of many packets."""
    for source in dict.fromkeys(r.source for r in readings):
        own = [r for r in readings if r.source == source]
        dated = [r for r in own if r.at != UNKNOWN]
        blank = next((out for r in (dated or own) if (out := _blank(r))), None)
        if blank is not None:
            yield blank
        elif rises := [g for f in LOSS if (g := growth(dated, f)) is not None]:
            yield _while_watched(rises, dated)
        else:
            yield _in_its_life((dated or own)[-1])


def _blank(reading: RdmaCounters) -> Seen | None:
    lost = [a.field for a in reading.absent if a.field in LOSS]
    if any(a.reason == "disagree" for a in reading.absent if a.field in lost):
        why = "two readings differ, and no text tells which came first"
        return Unclear(subject=reading.device, why=why, ask=TWICE)
    if out := lacking(reading, *lost):
        return out
    if all(getattr(reading, f) is None for f in LOSS):
        return Unclear(
            subject=reading.device, why="no counter of lost packets was printed", ask=TWICE
        )
    return None


def _words(field: str) -> str:
    return field.replace("_", " ")


def _while_watched(rises: Sequence[Growth], readings: Sequence[RdmaCounters]) -> Seen:
    worst = [g for g in rises if g.rise >= RISE]
    last = readings[-1]
    if not worst:
        grown = [g for g in rises if g.rise]
        said = (
            "; ".join(f"{_words(g.field)} {g.words()}" for g in grown)
            or "no loss between two readings"
        )
        return fine(last, said, *(g.field for g in rises))
    sources: list[Source] = []
    for g in worst:
        sources += (*cite(g.first, g.field, "at"), *cite(g.last, g.field, "at"))
    return Finding(
        subject=last.device, says="; ".join(f"{_words(g.field)} {g.words()}" for g in worst),
        sources=tuple(dict.fromkeys(sources)), first=worst[0].first.at, last=worst[0].last.at,
    )  # fmt: skip


def _in_its_life(reading: RdmaCounters) -> Seen:
    known = {f: value for f in LOSS if (value := getattr(reading, f)) is not None}
    worst = [f for f, value in known.items() if value >= SOME]
    if not worst:
        counted = [f for f, value in known.items() if value] or list(known)
        said = ", ".join(f"{_words(f)} {known[f]}" for f in counted)
        return fine(reading, f"{said} since the counters began", *counted)
    packets = sum(p for p in (reading.rx_packets, reading.tx_packets) if p is not None)
    lost = sum(known.get(f, 0) for f in ("ack_timeouts", *OUT_OF_ORDER))
    few = packets and lost / packets < SHARE
    lossy = known.get("ack_timeouts", 0) >= MANY and any(
        known.get(f, 0) >= MANY for f in OUT_OF_ORDER
    )
    said = ", ".join(f"{_words(f)} {known[f]}" for f in worst)
    if packets:
        said += f", of {packets} packets"
    loud = lossy and not few
    return tell(
        reading,
        f"{said} since the counters began; one reading shows no rate",
        *worst,
        *(("rx_packets", "tx_packets") if packets else ()),
        severity=None if loud else "info",
        action=None if loud else "none",
        meaning=None
        if loud
        else "The port counted losses at some time. Whether they go on, one reading cannot tell.",
        decision=None if loud else f"Read the counters again while the job runs: {TWICE}",
    )


_WHY = {
    "polling": "no signal comes from the other end: cable, optics, or the port there",
    "disabled": "the port is switched off here, by an administrator or a driver",
}
_INIT = "the link is up, but nobody made the port active (InfiniBand: the subnet manager; Ethernet: the interface is down)"


@rule(
    id="feed.rdma-port-down",
    title="An RDMA port is down",
    severity="warning",
    action="fix-feed",
    scope="host",
    points_to="network",
    meaning="This port carries nothing: jobs that count on it fail, or go over fewer ports or over TCP, and are slow.",
    decision="See whether the port is meant to be used. If so, reseat or change cable and optics, look at the switch port, "
    "or switch the port on; else leave it out of NCCL_IB_HCA.",
    next_step="ibstat; rdma link; ip -br link; dmesg | grep -iE 'link (up|down)|mlx5'",
    references=("ibstat(8)", "InfiniBand Architecture Specification 1.3, port states"),
)  # fmt: skip
def rdma_port_down(ports: All[RdmaPort], nics: All[NicState]) -> Iterator[Seen]:
    """Ports of one make show what is meant: half of them down is a card with a port that nobody uses."""
    for port in ports:
        yield _port(port, ports)
    if not ports:
        yield from _interfaces(nics)


def _port(port: RdmaPort, ports: Sequence[RdmaPort]) -> Seen:
    if missing := lacking(port, "state"):
        return missing
    if port.state == "active":
        return fine(port, f"{port.device.label} active", "state")
    said = f"{port.state}, {port.physical}" if port.physical else f"{port.state}"
    why = _INIT if port.state in ("init", "armed") else _WHY.get(port.physical or "")
    mates = [p for p in ports if p.device != port.device and _alike(p, port)]
    up = sum(p.state == "active" for p in mates)
    down = sum(p.state not in ("active", None) for p in mates) + 1
    says = f"{said}{f': {why}' if why else ''}"
    if mates:
        says += f"; {up} of {up + down} ports of its make are active"
    if port.state == "down" and _spare(port, ports, up, down):
        return tell(
            port, says, "state", "physical", severity="info", action="none",
            meaning="A port without a link that may never have been used: the second port of a card, or one without a cable.",
            decision="If the port is meant to be used, treat it as a fault: cable, optics, switch port. Else do nothing.",
        )  # fmt: skip
    return tell(port, says, "state", "physical")


def _alike(one: RdmaPort, other: RdmaPort) -> bool:
    if one.hca_type and other.hca_type:
        return one.hca_type == other.hca_type
    return not (one.link_layer and other.link_layer) or one.link_layer == other.link_layer


def _spare(port: RdmaPort, ports: Sequence[RdmaPort], up: int, down: int) -> bool:
    """Say whether nothing shows that this port is meant to be up."""
    card = (port.device.label or "").rpartition("/")[0]
    second = any(
        p.state == "active" and p.device != port.device and (p.device.label or "").rpartition("/")[0] == card
        for p in ports
    )  # fmt: skip
    if second:
        return True
    if up:
        return down >= up
    return port.link_layer != "InfiniBand"


def _interfaces(nics: Sequence[NicState]) -> Iterator[Seen]:
    """Without a word of RDMA: one interface that is down among many of its name that are up."""
    cards = [
        n
        for n in nics
        if n.device.label and not is_virtual(n.device.label) and n.link_type != "loopback"
    ]
    for nic in cards:
        if nic.state is None and any(a.field == "state" for a in nic.absent):
            missing = lacking(nic, "state")
            assert missing is not None
            yield missing
        elif nic.state == "UP":
            yield Fine(
                subject=nic.device, because=f"{nic.device.label} up", sources=cite(nic, "state")
            )
        elif nic.state == "DOWN":
            mates = [n for n in cards if n is not nic and _family(n) == _family(nic)]
            up = sum(n.state == "UP" for n in mates)
            if up >= MANY_UP and up > 3 * (len(mates) - up + 1):
                yield tell(
                    nic, f"down, while {up} of {len(mates) + 1} interfaces of its name are up", "state",
                    severity="info", action="none",
                    meaning="One interface is down where nearly all of its kind are up. No text tells whether RDMA uses it.",
                    decision="See with rdma link or ibstat whether it belongs to an RDMA port that is meant to be up.",
                )  # fmt: skip
            else:
                yield NotHere(subject=nic.device, because=f"{nic.device.label} is not in use")


def _family(nic: NicState) -> str:
    return re.sub(r"\d+", "#", nic.device.label or "")
