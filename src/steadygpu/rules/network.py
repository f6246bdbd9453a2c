"""Whether the network loses what the host sends or receives. RDMA is in `rdma`."""

from collections.abc import Iterator, Sequence

from steadygpu.evidence.derive import Growth, growth
from steadygpu.evidence.moment import UNKNOWN
from steadygpu.evidence.network import NicCounters, TcpCounters, is_virtual
from steadygpu.evidence.source import Source
from steadygpu.verdict.rule import (
    Finding,
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

DROPPED = ("rx_dropped", "tx_dropped")
LOST = (
    "rx_errors", "tx_errors", "rx_missed", "rx_overruns", "rx_no_buffer", "rx_crc_errors", "rx_discards", "tx_discards",
)  # fmt: skip
ALWAYS = (
    "rx_errors",
    "rx_dropped",
    "tx_errors",
    "tx_dropped",
)  # ip, ifconfig and the kernel print all four
RISE = 10  # our choice: fewer are a link that came up, or a burst at the start
DROPS_PER_S = 1.0  # our choice: frames of unknown protocols (LLDP, STP) come at most each 2 s and count as dropped
SHARE_NOW = 1e-3  # our choice: one packet of a thousand halves what TCP can do on a long way
SHARE_LIFE = 1e-5  # our choice: fewer in the life of a card are its boot and unknown protocols
MANY_PACKETS = 1_000_000  # our choice: a share of fewer packets says nothing
RETRANSMITTED = 0.005  # our choice: a fabric in one hall loses fewer than one segment of 200
MANY_SEGMENTS = 1000  # our choice: a share of fewer segments says nothing
TWICE = "date; ip -s -s link; sleep 60; date; ip -s -s link"


@rule(
    id="feed.nic-drops",
    title="A network card drops packets",
    severity="warning",
    action="fix-feed",
    scope="host",
    points_to="network",
    meaning="Packets that reached the card, or were to leave it, were thrown away: they are sent again or are lost.",
    decision="Find out where: errors are cable or optics; missed and no buffer are a host too slow (rings, queues, "
    "interrupts); discards of the port are congestion. Fix that before you blame NCCL or the storage.",
    next_step="ethtool -S IF | grep -vE ': 0$'; ethtool -g IF; ethtool -a IF",
    references=("Linux Documentation/networking/statistics.rst", "DOC-2532: Understanding mlx5 ethtool Counters"),
)  # fmt: skip
def nic_drops(readings: Mine[NicCounters]) -> Iterator[Seen]:
    """What rises counts. One reading says how much in the life of the card, and that is information."""
    device = readings[0].device
    if device.label and is_virtual(device.label):
        yield NotHere(subject=device, because=f"{device.label} is no card of its own")
        return
    for source in dict.fromkeys(r.source for r in readings):
        own = [r for r in readings if r.source == source]
        dated = [r for r in own if r.at != UNKNOWN]
        if len(dated) > 1 and dated[0].at != dated[-1].at:
            yield _while_watched(dated)
        else:
            yield _in_its_life(own[-1])


def _blank(reading: NicCounters) -> Seen | None:
    """Return what to say where a counter that this tool prints could not be read."""
    lost = [a.field for a in reading.absent if a.field in (*DROPPED, *LOST)]
    if any(a.reason == "disagree" for a in reading.absent if a.field in lost):
        why = "two readings differ, and no text tells which came first"
        return Unclear(subject=reading.device, why=why, ask=TWICE)
    needed = ALWAYS if reading.source != "ethtool" else ()
    if out := lacking(reading, *lost, *needed):
        return out
    if all(getattr(reading, f) is None for f in (*DROPPED, *LOST)):
        return Unclear(
            subject=reading.device, why="no counter of lost packets was printed", ask=TWICE
        )
    return None


def _words(field: str) -> str:
    return field.replace("_", " ")


def _packets(reading: NicCounters, field: str) -> tuple[int | None, str]:
    """Return the packets of the same direction, at the port where that is told, and the field."""
    way = field[:2]
    at_port = getattr(reading, f"{way}_packets_phy")
    if at_port is not None:
        return at_port, f"{way}_packets_phy"
    return getattr(reading, f"{way}_packets"), f"{way}_packets"


def _while_watched(readings: Sequence[NicCounters]) -> Seen:
    for reading in readings:
        if out := _blank(reading):
            return out
    rises = [g for f in (*DROPPED, *LOST) if (g := growth(readings, f)) is not None and g.rise]
    worst = [g for g in rises if _matters(g)]
    if worst:
        says = "; ".join(f"{_words(g.field)} {g.words()}{_share(g)}" for g in worst)
        sources: list[Source] = []
        for g in worst:
            for one in (g.first, g.last):
                sources += cite(one, g.field, _packets_of(one, g.field), "at")
        return Finding(
            subject=readings[0].device, says=says, sources=tuple(dict.fromkeys(sources)),
            first=worst[0].first.at, last=worst[0].last.at,
        )  # fmt: skip
    last = readings[-1]
    fields = [f for f in (*DROPPED, *LOST) if getattr(last, f) is not None]
    said = (
        "; ".join(f"{_words(g.field)} {g.words()}" for g in rises) or "no drop between two readings"
    )
    return fine(last, said, *fields)


def _matters(rise: Growth) -> bool:
    if rise.rise < RISE:
        return False
    if rise.field in LOST:
        return True
    fast = rise.span_s is not None and rise.span_s > 0 and rise.rise / rise.span_s >= DROPS_PER_S
    packets = _packets_between(rise)
    return fast or (packets >= MANY_PACKETS and rise.rise / packets >= SHARE_NOW)


def _packets_of(record: object, field: str) -> str:
    assert isinstance(record, NicCounters)
    return _packets(record, field)[1]


def _packets_between(rise: Growth) -> int:
    """Return the packets of the same direction between the readings, 0 where that is not known."""
    assert isinstance(rise.first, NicCounters)
    assert isinstance(rise.last, NicCounters)
    before, after = _packets(rise.first, rise.field)[0], _packets(rise.last, rise.field)[0]
    return max(0, after - before) if before is not None and after is not None else 0


def _share(rise: Growth) -> str:
    packets = _packets_between(rise)
    return (
        f", {100 * rise.rise / packets:.2g} % of the packets"
        if packets and rise.rise <= packets
        else ""
    )


def _in_its_life(reading: NicCounters) -> Seen:
    if out := _blank(reading):
        return out
    known = [f for f in (*DROPPED, *LOST) if getattr(reading, f) is not None]
    counted = [f for f in known if getattr(reading, f)]
    shares: dict[str, float] = {}
    for field in counted:
        packets, named = _packets(reading, field)
        if packets is None:
            return lacking(reading, named) or Unclear(subject=reading.device, why="no packets told")
        shares[field] = getattr(reading, field) / max(packets, 1)
    worst = [f for f in counted if shares[f] >= SHARE_LIFE and getattr(reading, f) >= RISE]
    if not worst:
        said = ", ".join(f"{_words(f)} {getattr(reading, f)}" for f in counted) or "nothing lost"
        return fine(reading, f"{said} since the counters began", *(counted or known))
    told = (
        f"{_words(f)} {getattr(reading, f)} of {_packets(reading, f)[0]} packets ({shares[f]:.2%})"
        for f in worst
    )
    return tell(
        reading,
        f"{', '.join(told)} since the counters began; one reading shows no rate",
        *worst,
        *(_packets(reading, f)[1] for f in worst),
        severity="info",
        action="none",
        meaning="Packets were lost at some time in the life of this card. Whether they are lost now, one reading cannot tell.",
        decision=f"Read the counters twice while the job runs: {TWICE}",
    )


@rule(
    id="feed.tcp-retransmits",
    title="TCP sends much again",
    severity="warning",
    action="fix-feed",
    scope="host",
    points_to="network",
    meaning="Segments that this host sent were lost on the way or not acknowledged in time: every stream waits for them.",
    decision="Look for the place of the loss: counters of the card, MTU along the way, the switch port, congestion.",
    next_step="ss -ti | grep -B1 retrans; ip -s -s link; ping -M do -s 8972 PEER where jumbo frames are meant",
    references=("Linux Documentation/networking/snmp_counter.rst: TcpRetransSegs",),
)
def tcp_retransmits(readings: Mine[TcpCounters]) -> Iterator[Seen]:
    """The share of segments between two readings; in the life of the host it is information."""
    fields = ("segments_out", "retransmitted")
    for source in dict.fromkeys(r.source for r in readings):
        own = [r for r in readings if r.source == source]
        dated = [r for r in own if r.at != UNKNOWN]
        last = (dated or own)[-1]
        missing = next((m for r in (dated or own) if (m := lacking(r, *fields))), None)
        again, sent = growth(dated, "retransmitted"), growth(dated, "segments_out")
        if missing:
            yield missing
        elif again is None or sent is None:
            yield _tcp_in_its_life(last)
        elif again.resets or sent.resets:
            why = "the counters went back between two readings (a boot, or nstat without -a)"
            yield Unclear(
                subject=last.device, why=why, ask="date; nstat -az; sleep 60; date; nstat -az"
            )
        elif sent.rise >= MANY_SEGMENTS and again.rise / sent.rise >= RETRANSMITTED:
            sources = (*cite(again.first, *fields, "at"), *cite(again.last, *fields, "at"))
            yield Finding(
                subject=last.device,
                says=f"retransmitted {again.words()}: {again.rise / sent.rise:.2%} of {sent.rise} segments sent",
                sources=tuple(dict.fromkeys(sources)), first=again.first.at, last=again.last.at,
            )  # fmt: skip
        elif sent.rise < MANY_SEGMENTS:
            why = f"only {sent.rise} segments were sent between the readings"
            yield Unclear(subject=last.device, why=why, ask="the same twice, while the job runs")
        else:
            said = (
                f"retransmitted {again.words()}: {again.rise / sent.rise:.2%} of the segments sent"
            )
            yield fine(last, said, *fields)


def _tcp_in_its_life(reading: TcpCounters) -> Seen:
    assert reading.segments_out is not None
    assert reading.retransmitted is not None
    fields = ("segments_out", "retransmitted")
    share = reading.retransmitted / max(reading.segments_out, 1)
    said = f"{reading.retransmitted} of {reading.segments_out} segments sent again since boot ({share:.2%})"
    if reading.segments_out < MANY_SEGMENTS or share < RETRANSMITTED:
        return fine(reading, said, *fields)
    return tell(
        reading,
        f"{said}; one reading shows no rate",
        *fields,
        severity="info",
        action="none",
        meaning="Of what TCP sent since boot much was sent again. Whether that goes on, one reading cannot tell.",
        decision="Read the counters twice while the job runs: date; nstat -az; sleep 60; date; nstat -az",
    )
