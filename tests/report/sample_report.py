"""A report composed by hand: two hosts, a cause with its consequence, and hostile strings."""

from collections.abc import Iterator
from dataclasses import replace

from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.source import Gap, Source
from steadygpu.verdict.answer import (
    Answer,
    Bottleneck,
    Coverage,
    HostAnswer,
    Incident,
    Open,
    Report,
    Ruled,
    RuledOut,
)
from steadygpu.verdict.rule import Action, Finding, Rule, Scope, Seen, Severity, Stage, Unclear

# title change, red, clear screen, bell, CR, right-to-left override, C1 CSI, undecodable byte
HOSTILE = "\x1b]0;owned\x07\x1b[31mred\x1b[2J\a\rover\u202egpj.exe\u2066\x9b5m\udcff\n[bold]next[/]"

CARD = DeviceRef(kind="card", index=3, bdf="0000:3b:00.0", uuid="GPU-6d1f")
PORT = DeviceRef(kind="port", bdf="0000:3a:00.0")
DISK = DeviceRef(kind="disk", label="nvme0n1")
PROCESS = DeviceRef(kind="process", label=HOSTILE, index=4711)


def check(_: object) -> Iterator[Seen]:
    """Say nothing: the sample is composed by hand."""
    yield from ()


def make_rule(
    rule_id: str, severity: Severity, action: Action, scope: Scope = "gpu", title: str = ""
) -> Rule:
    return Rule(
        id=rule_id, title=title or "the card is not well", stage=Stage(rule_id.partition(".")[0]),
        severity=severity, action=action, scope=scope,
        meaning="What the driver saw cannot be undone while the card is in use.",
        decision="Take the host out of service, then power-cycle it.",
        next_step="sudo nvidia-bug-report.sh, then open a case with the vendor",
        references=("https://docs.nvidia.com/deploy/xid-errors/",), needs=(), check=check,
    )  # fmt: skip


LOST = make_rule("silent.xid-79", "critical", "drain", title="the card has fallen off the bus")
AER = make_rule("silent.pcie-aer", "critical", "drain", title="the link to a card reports errors")
STORAGE = make_rule("feed.storage-saturated", "warning", "fix-feed", "host", "the disk is full up")
WIDTH = make_rule("feed.pcie-width-low", "warning", "fix-feed", title="too few lanes")
LINE = "[ 1234.567890] NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus."

_AT = Moment(wall=1769.0e6 + 0.25, zone_known=True, error_s=0.5)


def _sources(count: int, name: str = "dmesg.txt") -> tuple[Source, ...]:
    return tuple(Source(name=name, first=17 + n, last=17 + n, quote=LINE) for n in range(count))


AER_FOUND = Ruled(
    key="aaaa0001", rule=AER, severity="critical", action="drain", consequences=("aaaa0002",),
    finding=Finding(
        subject=PORT, says="12 uncorrected errors on the port above GPU 3", sources=_sources(5),
        first=_AT, last=replace(_AT, wall=1769.0e6 + 60), count=12, touches=(CARD,),
    ),
)  # fmt: skip
LOST_FOUND = Ruled(
    key="aaaa0002", rule=LOST, severity="critical", action="drain", caused_by="aaaa0001",
    finding=Finding(
        subject=CARD, says=f"Xid 79 of process {HOSTILE}", first=Moment(boot_s=1234.56789),
        sources=(Source(name="odd\x1b[1mname\n.txt", first=3, last=5, quote=f"a\n{HOSTILE}\tb"),),
    ),
)  # fmt: skip
DISK_FOUND = Ruled(
    key="aaaa0003", rule=STORAGE, severity="warning", action="fix-feed",
    finding=Finding(
        subject=DISK, says="92.5 % busy, queue 3.9, while GPU 0 is 18 % busy",
        sources=(Source(name="iostat.txt", first=17, last=17, quote="nvme0n1  850.0  漢字" * 9),),
        first=Moment(wall=1769.0e6),
    ),
)  # fmt: skip
PROCESS_FOUND = Ruled(
    key="aaaa0004", rule=STORAGE, severity="info", action="none",
    finding=Finding(subject=PROCESS, says=HOSTILE, sources=(Source(name="ps.txt", quote=""),)),
)  # fmt: skip


def unclear(at: int) -> Open:
    return Open(
        rule=WIDTH if at else LOST,
        unclear=Unclear(
            subject=replace(CARD, index=at), why="the width was not printed",
            ask=f"sudo lspci -vv -s {at:02x}:00.0" if at % 5 else None,
        ),
    )  # fmt: skip


SICK = HostAnswer(
    host="gpu-07",
    host_from=Source(name="dmesg.txt", quote="gpu-07 kernel: x"),
    taken=_AT,
    devices=(CARD, PORT, DISK),
    answer=Answer(
        health="unhealthy",
        core={"cards": True, "kernel_log": True, "throttle": True, "ecc": True, "versions": False},
        bottleneck=Bottleneck(kind="hardware", confidence="high", because=("silent.pcie-aer",)),
        ruled_out=(
            RuledOut(
                kind="throttle", because="no clock event reason in 12 samples under load",
                source=Source(name="q.txt", first=88, last=88),
            ),
            RuledOut(kind="numa", because="one NUMA node", source=None),
        ),
        incidents=(Incident(cause="aaaa0001", consequences=("aaaa0002",), order_known=False),),
        decision="Drain gpu-07 and have the slot of GPU 3 looked at. Do not buy a card.",
    ),
    findings=(AER_FOUND, LOST_FOUND, DISK_FOUND, PROCESS_FOUND),
    unclear=tuple(unclear(n) for n in range(16)),
    gaps=(
        Gap(
            where=Source(name="trace.bin", unit="byte", first=512, last=9999),
            why=f"not a trace: {HOSTILE}", ask="nsys stats",
        ),
    ),
    coverage=Coverage(
        kinds_read=("dmesg", "iostat"), judged=61, not_here=40, not_asked=25, unknown=5, broken=1
    ),
    broken=(("busy.idle", "ZeroDivisionError: division by zero"),),
)  # fmt: skip
SILENT = HostAnswer(
    host=None,
    host_from=None,
    taken=UNKNOWN,
    devices=(),
    answer=Answer(
        health="unknown",
        core={},
        bottleneck=Bottleneck(kind="undecided", confidence="low", ask="nvidia-smi -q"),
        ruled_out=(),
        incidents=(),
        decision="Nothing can be said yet.",
    ),
    findings=(),
    unclear=(),
    gaps=(),
    coverage=Coverage(not_asked=131),
)
SAMPLE = Report(
    version="0.1.0",
    catalog="2026-11-30",
    hosts=(SILENT, SICK),
    between_unclear=(
        Open(
            rule=STORAGE,
            unclear=Unclear(subject=host_ref("gpu-08"), why="only one host tells its MTU"),
        ),
    ),
    summary={"hosts": 2, "unhealthy": 1, "degraded": 0, "healthy": 0, "unknown": 1},
)
