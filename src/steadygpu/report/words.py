"""The wording that all renderers share. What it returns is not escaped yet, unless it says so."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.setting import Setting
from steadygpu.evidence.source import Source
from steadygpu.verdict.answer import CORE, Answer, Bottleneck, HostAnswer, Report, Ruled

HEALTHS = ("unhealthy", "degraded", "unknown", "healthy")  # worst first

_NOUNS = {
    "card": "GPU", "mig": "MIG device", "port": "PCIe port", "pci": "PCI device", "disk": "disk",
    "nic": "network card", "cpu": "CPU", "numa": "NUMA node", "process": "process",
    "module": "module", "host": "host", "link": "link",
}  # fmt: skip
_CORE_WORDS = {
    "cards": "cards counted against PCI",
    "kernel_log": "kernel log of this boot",
    "throttle": "temperature, clocks and throttle reasons",
    "ecc": "ECC state",
    "versions": "whether driver versions agree",
}
_CORE_ASKS = {
    "cards": "lspci -nn",
    "kernel_log": "sudo dmesg",
    "throttle": "nvidia-smi -q",
    "ecc": "nvidia-smi -q",
    "versions": "nvidia-smi",
}
_PACE = {
    "hardware": "a hardware fault",
    "stack": "the driver or software stack",
    "throttle": "the card is throttled",
    "storage": "storage",
    "small-files": "many small files",
    "cpu": "the CPU",
    "numa": "NUMA placement",
    "pcie": "the PCIe link",
    "network": "the network",
    "launch": "kernel launches",
    "memory-bandwidth": "the card's memory bandwidth",
    "compute": "the card's compute",
    "idle": "nothing runs on the cards",
    "undecided": "undecided",
}
_NUMBERED = re.compile(r"(?:GPU|MIG|NUMA|CPU)\s*(\d+)", re.IGNORECASE)


def device_label(device: DeviceRef) -> str:
    """Return what a person calls the device, such as `GPU 3 (0000:3b:00.0)`."""
    noun = _NOUNS.get(device.kind, device.kind)
    if device.kind == "host":
        name = device.host or device.label
        return f"host {name}" if name else "the host"
    if device.kind == "mig" and device.mig is not None:
        noun = f"MIG {device.mig} of GPU" if device.index is not None else f"MIG {device.mig}"
    name = _own_name(device)
    address = device.bdf or device.uuid or device.serial or device.slot
    if name is None:
        return f"{noun} {address}" if address else noun
    return f"{noun} {name} ({address})" if address and address != name else f"{noun} {name}"


def _own_name(device: DeviceRef) -> str | None:
    if device.index is not None and device.kind in ("card", "mig", "cpu", "numa"):
        return str(device.index)
    if device.label:
        numbered = _NUMBERED.fullmatch(device.label)
        return numbered[1] if numbered else device.label
    number = device.index if device.index is not None else device.minor
    return None if number is None else str(number)


def setting_words(setting: Setting | None) -> str | None:
    """Return what the host is, such as `a virtual machine (KVM)`, or None where no text says it."""
    if setting is None:
        return None
    return setting.words + (f" ({setting.hypervisor})" if setting.hypervisor else "")


def place(source: Source) -> str:
    """Return where a source stands: `dmesg.txt:17`, `dmesg.txt:17-19`, `trace.bin:byte 512`."""
    span = str(source.first) if source.first == source.last else f"{source.first}-{source.last}"
    return (
        f"{source.name}:{span}" if source.unit == "line" else f"{source.name}:{source.unit} {span}"
    )


DAY_ONLY_S = 21_600.0  # our choice: a moment less certain than six hours came from a date alone


def iso(moment: Moment) -> str | None:
    """Return the wall time in ISO 8601, with Z only where the zone is known; None without one or without a year.

    A moment of which only the day is known is the date alone.
    """
    text = _iso(moment) if moment.year_known else None
    return text[:10] if text and moment.error_s >= DAY_ONLY_S else text


def _iso(moment: Moment) -> str | None:
    if moment.wall is None:
        return None
    try:
        when = datetime.fromtimestamp(moment.wall, UTC)
    except (ValueError, OverflowError, OSError):
        return None  # no calendar holds it
    text = when.replace(tzinfo=None).isoformat()
    if when.microsecond:
        text = text.rstrip("0")
    return f"{text}Z" if moment.zone_known else text


def moment_words(moment: Moment) -> str | None:
    """Return the wall time, else the seconds since boot, else None."""
    text = _iso(moment)
    if text is None and moment.boot_s is not None:
        return f"{moment.boot_s:.3f}".rstrip("0").rstrip(".") + " s after boot"
    if text is not None and moment.error_s >= DAY_ONLY_S:
        return f"{text[:10]} (time of day unknown)"
    if text is not None and not moment.year_known:
        return f"{text[5:]} (year and zone unknown)"
    if text is not None and not moment.zone_known:
        return f"{text} (zone unknown)"
    return text


def when_words(ruled: Ruled) -> str | None:
    """Return when and how often a finding was seen, or None for once at no known moment."""
    first, last = moment_words(ruled.finding.first), moment_words(ruled.finding.last)
    span = first if last in (None, first) else f"{first or 'unknown'} to {last}"
    times = f"{ruled.finding.count} times" if ruled.finding.count > 1 else None
    return ", ".join(part for part in (span, times) if part) or None


def host_name(host: HostAnswer) -> str:
    """Return the name of the host, or words that say that it has none."""
    return host.host or "(no name)"


def open_core(answer: Answer) -> list[str]:
    """Return the core questions that were not answered, in words, with what answers each."""
    return [
        f"{_CORE_WORDS[name]} ({_CORE_ASKS[name]})"
        for name in CORE
        if not answer.core.get(name, False)
    ]


def health_sentence(answer: Answer) -> str:
    """Return the health and what it means."""
    if answer.health == "unknown":
        open_ = len(open_core(answer))
        return f"unknown: no fault in what was given, and {open_} of {len(CORE)} basic questions are open"
    means = {
        "unhealthy": "it needs a drain, a GPU reset or a reboot",
        "degraded": "something is wrong that needs no drain, reset or reboot",
        "healthy": "nothing was found, and the five core questions are answered",
    }.get(answer.health)
    return f"{answer.health}: {means}" if means else answer.health


def bottleneck_sentence(bottleneck: Bottleneck) -> str:
    """Return what sets the pace, how sure that is, and by which rules."""
    text = _PACE.get(bottleneck.kind, bottleneck.kind)
    if bottleneck.kind != "undecided":
        kind = "" if text == bottleneck.kind else f" [{bottleneck.kind}]"
        text = f"{text}{kind}, {bottleneck.confidence} confidence"
    if bottleneck.because:
        text += f", by {', '.join(bottleneck.because)}"
    return text


def severity_count(findings: Sequence[Ruled]) -> str:
    """Return such as `1 critical, 2 warning`."""
    counted = [(s, sum(f.severity == s for f in findings)) for s in ("critical", "warning", "info")]
    return ", ".join(f"{count} {severity}" for severity, count in counted if count) or "none"


def host_summary(report: Report) -> dict[str, int]:
    """Return how many hosts there are, and how many of each health."""
    names = ("hosts", "unhealthy", "degraded", "healthy", "unknown")
    counted = {n: sum(h.answer.health == n for h in report.hosts) for n in names}
    counted["hosts"] = len(report.hosts)
    return {name: report.summary.get(name, counted[name]) for name in names}


def coverage_sentence(host: HostAnswer) -> str:
    """Return how many rules were judged and what was read."""
    seen = host.coverage
    text = (
        f"{seen.judged} rules judged, {seen.unknown} could not tell, {seen.not_here} do not apply, "
        f"{seen.not_asked} not asked, {seen.broken} broken"
    )
    return f"{text}; read: {', '.join(seen.kinds_read) or 'nothing'}"


def tree(findings: Sequence[Ruled]) -> Iterator[tuple[int, Ruled]]:
    """Yield each finding once with its depth: causes in the given order, consequences below them."""
    keys = {f.key for f in findings}
    below: dict[str, list[Ruled]] = {}
    for ruled in findings:
        if ruled.caused_by in keys and ruled.caused_by is not None:
            below.setdefault(ruled.caused_by, []).append(ruled)
    done: set[int] = set()
    roots = [f for f in findings if f.caused_by not in keys]
    # A ring of causes has no root: its findings come last, since none may be lost.
    for root in (*roots, *findings):
        pending = [(0, root)]
        while pending:
            depth, ruled = pending.pop()
            if id(ruled) in done:
                continue
            done.add(id(ruled))
            yield depth, ruled
            pending.extend((depth + 1, f) for f in reversed(below.get(ruled.key, [])))


def order_unproven(answer: Answer) -> set[str]:
    """Return the keys of causes whose consequences are not proven to have come later."""
    return {i.cause for i in answer.incidents if not i.order_known}
