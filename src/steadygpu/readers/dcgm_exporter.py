"""Reads a scrape of dcgm-exporter (`curl :9400/metrics`), or the same samples on Prometheus' federate page.

Covers dcgm-exporter 2.0 to 4.5. Time stamps stand on a federate page only: samples of one card and one stamp
make its records. `Hostname` is the node, or the pod where the exporter runs without the host's network; a
MIG slice has labels of its own. `DCGM_FI_DEV_XID_ERRORS` holds the last code that was seen, 0 for none.
"""

import re
from collections.abc import Iterable
from typing import Any

from steadygpu.evidence.device import DeviceRef, host_ref, normal_bdf
from steadygpu.evidence.driver import DriverVersion
from steadygpu.evidence.gpu import GpuIdentity, GpuMode, MigInstance
from steadygpu.evidence.kernel_log import XidEvent
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.profile import GpuProfile
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.dcgm_exporter_fields import targets
from steadygpu.readers.prometheus_text import Sample, read_scrape
from steadygpu.readers.smi_word import Draft

BLANK = 1.4e14  # dcgm_structs.h: DCGM_FP64_BLANK and the integer blanks lie above
_NO_HOST = re.compile(r"(?:nvidia-)?dcgm-exporter|localhost|\d{1,3}(?:\.\d{1,3}){3}")
_VERSION = re.compile(r"\d{2,4}(?:\.\d{1,4}){1,2}")
_XID = ("DCGM_FI_DEV_XID_ERRORS", "DCGM_EXP_XID_ERRORS_COUNT")

Group = tuple[DeviceRef, Moment]
Drafts = dict[tuple[Group, type[Any], tuple[tuple[str, object], ...]], Draft]


def read_dcgm_exporter(lines: Lines) -> Reading:
    """Return the records of each card at each time stamp, up to the first sample of another exporter."""
    scrape = read_scrape(lines)
    read_to, samples = scrape.read_to, []
    for sample in scrape.samples:
        if sample.name.startswith("node_"):
            read_to = min(read_to, sample.at)
            break
        samples.append(sample)
    if not any(sample.name.startswith("DCGM_") for sample in samples):
        return Reading(read_to=_comments(lines, read_to))
    drafts: Drafts = {}
    facts: list[Fact] = []
    identities: dict[DeviceRef, Sample] = {}
    versions: dict[tuple[str | None, str], Sample] = {}
    refs: dict[tuple[str | None, ...], DeviceRef] = {}
    for sample in samples:
        if not sample.name.startswith("DCGM_") or not _names_card(sample):
            continue
        card = _card(lines, sample, refs)
        moment = UNKNOWN
        if sample.stamp is not None:
            moment = Moment(wall=sample.stamp, error_s=0.5, zone_known=True)
        if "GPU_I_ID" in sample.labels:
            _slice(lines, drafts, sample, card, moment)
            continue
        identities.setdefault(card, sample)
        versions.setdefault((card.host, sample.labels.get("DCGM_FI_DRIVER_VERSION", "")), sample)
        if sample.name in _XID:
            facts += _xid(lines, sample, card, moment)
        else:
            _put(lines, drafts, sample, card, moment)
    for ((ref, moment), record, key), draft in drafts.items():
        draft.values.update(key)
        facts += draft.record(record, ref, moment)
    facts += _identity(lines, identities)
    facts += _versions(lines, versions)
    return Reading(facts=tuple(facts), read_to=_comments(lines, read_to))


def _comments(lines: Lines, read_to: int) -> int:
    """Return where this scrape ends: comments before samples of node_exporter belong to these."""
    while read_to and re.match(r"# (?:HELP|TYPE) node_", lines.clean[read_to - 1]):
        read_to -= 1
    return read_to


def _names_card(sample: Sample) -> bool:
    labels = sample.labels
    return any(labels.get(name) for name in ("UUID", "gpu", "pci_bus_id", "device"))


def _card(lines: Lines, sample: Sample, refs: dict[tuple[str | None, ...], DeviceRef]) -> DeviceRef:
    labels = sample.labels
    names = tuple(labels.get(n) for n in ("Hostname", "UUID", "gpu", "pci_bus_id", "modelName"))
    if names not in refs:
        host, uuid, index, bus, model = names
        refs[names] = DeviceRef(
            kind="card",
            host=host if host and len(host) < 64 and not _NO_HOST.match(host) else None,
            label=model[:120] if model else None,
            uuid=uuid[:100] if uuid and uuid.startswith("GPU-") else None,
            index=int(index) if index and re.fullmatch(r"\d{1,3}", index, re.ASCII) else None,
            bdf=normal_bdf(bus) if bus else None,
            text=lines.name,
        )
    return refs[names]


def _put(
    lines: Lines, drafts: Drafts, sample: Sample, card: DeviceRef, moment: Moment,
    only: type[Any] | None = None,
) -> None:  # fmt: skip
    if sample.value is None:
        return
    blank = sample.value >= BLANK
    for record, key, field, value in targets(sample.name, 0.0 if blank else sample.value):
        if only is not None and record is not only:
            continue
        draft = drafts.setdefault(((card, moment), record, key), Draft(lines))
        if field in draft.values:
            continue
        if blank:
            draft.lack(field, "not_supported", sample.at)
        elif value is not None:
            draft.take(field, value, sample.at)


def _slice(lines: Lines, drafts: Drafts, sample: Sample, card: DeviceRef, moment: Moment) -> None:
    """Take a sample of a MIG slice: its profile, and that the card is split."""
    gi, profile = sample.labels["GPU_I_ID"], sample.labels.get("GPU_I_PROFILE", "")
    if not re.fullmatch(r"\d{1,3}", gi, re.ASCII):
        return
    key = (("gi", int(gi)),)
    draft = drafts.setdefault(((card, UNKNOWN), MigInstance, key), Draft(lines))
    if profile and not draft.values:
        draft.take("profile", profile[:40], sample.at)
    mode = drafts.setdefault(((card, UNKNOWN), GpuMode, ()), Draft(lines))
    mode.take("mig_on", True, sample.at)
    ref = DeviceRef(
        kind="mig", host=card.host, label=f"{card.label or 'card'} {profile}".strip()[:160],
        uuid=card.uuid, bdf=card.bdf, index=card.index, mig=gi,
    )  # fmt: skip
    _put(lines, drafts, sample, ref, moment, only=GpuProfile)


def _xid(lines: Lines, sample: Sample, card: DeviceRef, moment: Moment) -> Iterable[XidEvent]:
    """Return the event that a code above zero stands for. When it happened is not told."""
    labels, count = sample.labels, 1
    code = sample.value or 0.0
    says = "the last Xid that dcgm-exporter saw"
    if sample.name == "DCGM_EXP_XID_ERRORS_COUNT":
        word = labels.get("xid", "")
        count, code = (
            round(min(code, 1e6)),
            float(word) if re.fullmatch(r"\d{1,4}", word, re.ASCII) else 0.0,
        )
        says = "counted by dcgm-exporter"
    if not 0 < code < 1000 or count < 1:
        return
    told = labels.get("err_msg", "")
    yield XidEvent(
        device=card, at=moment, code=round(code), count=count,
        says=f"{says}: {told[:120]}" if told else says, sources=(lines.cite(sample.at, sample.at),),
    )  # fmt: skip


def _identity(lines: Lines, cards: dict[DeviceRef, Sample]) -> Iterable[Fact]:
    for card, sample in cards.items():
        if card.label is not None:
            draft = Draft(lines)
            draft.take("name", card.label, sample.at)
            draft.values["vendor"] = "nvidia"
            yield from draft.record(GpuIdentity, card)


def _versions(lines: Lines, seen: dict[tuple[str | None, str], Sample]) -> Iterable[Fact]:
    for (host, version), sample in seen.items():
        if _VERSION.fullmatch(version):
            draft = Draft(lines)
            draft.take("version", version, sample.at)
            draft.values["part"] = "module"
            yield from draft.record(DriverVersion, host_ref(host))
