"""Reads a scrape of node_exporter (`curl :9100/metrics`) as far as our records reach.

Covers node_exporter 1.0 to 1.9. Its counters run since boot: shares and rates made of them are means since boot, as
the first report of iostat is. `node_time_seconds` is the moment, `node_uname_info` names the host.

To read more: a row in `_GAUGES` for a sample that is a field of a record as it stands, with the label that tells
several apart; a function like `_cpu` for what needs several samples. Networks are in `node_exporter_network`.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from steadygpu.evidence.cpu import CpuLayout, CpuLoad
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.memory import NumaNode
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.storage import DiskLoad
from steadygpu.evidence.text import Lines
from steadygpu.readers.node_exporter_network import network_facts
from steadygpu.readers.prometheus_text import Sample, read_scrape
from steadygpu.readers.smi_word import Draft

Samples = dict[str, list[Sample]]

_OURS = re.compile(r"(?:node|go|process|promhttp|scrape)_")
_NAME = re.compile(r"[\w.-]{1,64}")
_NUMBER = re.compile(r"\d{1,4}")
_MODES = {
    "user": "user_ratio", "nice": "nice_ratio", "system": "system_ratio", "iowait": "iowait_ratio",
    "steal": "steal_ratio", "idle": "idle_ratio",
}  # fmt: skip
_ALL_MODES = {*_MODES, "irq", "softirq"}


def _bytes(value: float) -> int:
    return round(value)


# Sample, record, the label and the field that tell several apart, field, how the value converts.
_GAUGES: tuple[tuple[str, type[Any], str, str, str, Callable[[float], object]], ...] = (
    ("node_memory_numa_MemTotal", NumaNode, "node", "node", "size_bytes", _bytes),
    ("node_memory_numa_MemFree", NumaNode, "node", "node", "free_bytes", _bytes),
)
# Counters of a disk: field, and what turns the mean a second into its unit.
_DISK = {
    "node_disk_io_time_seconds_total": ("busy_ratio", 1.0),
    "node_disk_io_time_weighted_seconds_total": ("queue", 1.0),
    "node_disk_reads_completed_total": ("reads_per_s", 1.0),
    "node_disk_writes_completed_total": ("writes_per_s", 1.0),
    "node_disk_read_bytes_total": ("read_bytes_per_s", 1.0),
    "node_disk_written_bytes_total": ("write_bytes_per_s", 1.0),
}


def read_node_exporter(lines: Lines) -> Reading:
    """Return what the scrape tells of processors, memory, disks and networks, up to a sample of another exporter."""
    scrape = read_scrape(lines)
    samples: Samples = defaultdict(list)
    read_to = scrape.read_to
    for sample in scrape.samples:
        if not _OURS.match(sample.name):
            read_to = sample.at
            while read_to and lines.clean[read_to - 1].startswith("#"):
                read_to -= 1
            break
        if sample.value is not None and sample.value >= 0:
            samples[sample.name].append(sample)
    host = host_ref(_host(samples))
    at = _moment(samples)
    facts = [*_cpu(lines, samples, host, at), *_gauges(lines, samples, host, at)]
    facts += _disks(lines, samples, host, at)
    facts += network_facts(lines, samples, host, at)
    return Reading(facts=tuple(facts), read_to=read_to)


def _host(samples: Samples) -> str | None:
    names = (s.labels.get("nodename", "") for s in samples.get("node_uname_info", ()))
    return next((n for n in names if _NAME.fullmatch(n) and not n.startswith("localhost")), None)


def _moment(samples: Samples) -> Moment:
    time = next(iter(samples.get("node_time_seconds", ())), None)
    if time is None or time.value is None or not 0 < time.value < 1e11:
        return UNKNOWN
    return Moment(wall=time.value, error_s=0.5, zone_known=True)


def _cpu(lines: Lines, samples: Samples, host: DeviceRef, at: Moment) -> Iterable[Fact]:
    """Return how many processors there are, their clocks, and their shares of time since boot."""
    seconds = samples.get("node_cpu_seconds_total", [])
    layout, load = Draft(lines), Draft(lines)
    cpus = {s.labels["cpu"]: s for s in seconds if s.labels.get("cpu")}
    if cpus:
        layout.values["cpus"] = len(cpus)
        rows = [s.at for s in seconds]
        layout.places[(min(rows), max(rows))] = ["cpus"]
    for name, field in (
        ("node_cpu_scaling_frequency_hertz", "current_mhz"),
        ("node_cpu_scaling_frequency_max_hertz", "max_mhz"),
        ("node_cpu_scaling_frequency_min_hertz", "min_mhz"),
    ):
        known = samples.get(name, [])
        if known:
            mean = sum(s.value or 0.0 for s in known) / len(known)
            layout.take(field, round(mean / 1e6, 1), known[0].at, known[-1].at)
    yield from layout.record(CpuLayout, host, at)
    by_mode: dict[str, float] = defaultdict(float)
    for sample in seconds:
        by_mode[sample.labels.get("mode", "")] += sample.value or 0.0
    total = sum(seen for mode, seen in by_mode.items() if mode in _ALL_MODES)
    if total > 0 and "idle" in by_mode:
        for mode, field in _MODES.items():
            if mode in by_mode:
                load.values[field] = round(by_mode[mode] / total, 6)
                rows = [s.at for s in seconds if s.labels.get("mode") in _ALL_MODES]
                load.places.setdefault((min(rows), max(rows)), []).append(field)
        load.values["since_boot"] = True
    yield from load.record(CpuLoad, host, at)


def _gauges(lines: Lines, samples: Samples, host: DeviceRef, at: Moment) -> Iterable[Fact]:
    drafts: dict[tuple[type[Any], str, int], Draft] = {}
    for name, record, label, key, field, convert in _GAUGES:
        for sample in samples.get(name, ()):
            word = sample.labels.get(label, "")
            if sample.value is not None and sample.value < 1e18 and _NUMBER.fullmatch(word):
                draft = drafts.setdefault((record, key, int(word)), Draft(lines))
                draft.take(field, convert(sample.value), sample.at)
    for (record, key, number), draft in drafts.items():
        draft.values[key] = number
        yield from draft.record(record, host, at)


def _disks(lines: Lines, samples: Samples, host: DeviceRef, at: Moment) -> Iterable[Fact]:
    """Return the means of each disk since boot; nothing where the scrape does not tell how long that is."""
    boot = next((s.value for s in samples.get("node_boot_time_seconds", ())), None)
    uptime = at.wall - boot if at.wall is not None and boot is not None else 0.0
    if uptime < 1:
        return
    drafts: dict[str, Draft] = {}
    for name, (field, factor) in _DISK.items():
        for sample in samples.get(name, ()):
            disk = sample.labels.get("device", "")
            if sample.value is not None and _NAME.fullmatch(disk):
                mean = sample.value * factor / uptime
                if field != "busy_ratio" or mean <= 1.05:
                    draft = drafts.setdefault(disk, Draft(lines))
                    draft.take(field, min(mean, 1.0) if field == "busy_ratio" else mean, sample.at)
    for disk, draft in drafts.items():
        draft.values["since_boot"] = True
        if disk.startswith("nvme"):
            draft.values["rotational"] = False
        ref = DeviceRef(kind="disk", label=disk, host=host.host)
        yield from draft.record(DiskLoad, ref, at)
