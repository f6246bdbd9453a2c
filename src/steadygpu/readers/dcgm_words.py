"""What the sentences of DCGM's diagnostic and health watch mean for a card (DCGM 2.0 to 4.5, dcgm_errors.h).

The diagnostic breaks its lines within words, so expressions look at the text without blanks.
"""

import re
from collections.abc import Iterator

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.ecc import EccCounters, RetiredPages, RowRemap
from steadygpu.evidence.gpu import GpuClockReasons
from steadygpu.evidence.nvlink import NvlinkErrors, NvlinkLink
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.source import Source

SAYS_LIMIT = 400  # our choice: a sentence of DCGM takes up to 300 characters

_DBE = re.compile(r"(?P<n>\d{1,12})(?:volatile)?(?:double-bit|doublebit|uncorrectable)ecc")
_REMAP_FAILED = re.compile(r"rowremap(?:ping)?fail|failedtoremap")
_REMAP_WAITS = re.compile(
    r"(?:row)?remapping(?:s)?(?:are|is)pending|pendingrowremap|rowremap(?:ping)?spending"
)
_PAGES_WAIT = re.compile(r"pendingpageretirement|pagespendingretirement")
_HEAT = re.compile(r"hw_slowdown\(thermal\)|hw_?thermal|thermalviolation|thermalslowdown")
_BRAKE = re.compile(r"hw_slowdown\(powerbrake\)|hw_?power_?brake")
_NVLINK = re.compile(
    r"detected(?P<n>\d{1,12})nvlink(?P<what>[a-z]{0,12}?)errorsongpu\d{1,3}'snvlink\(link(?P<link>\d{1,3})\)"
)
_NVLINK_FIELDS = {
    "crc": "crc", "flitcrc": "crc", "crcflit": "crc", "datacrc": "crc_data", "crcdata": "crc_data",
    "replay": "replay", "recovery": "recovery",
}  # fmt: skip
_DOWN = re.compile(r"nvlinklink(?P<link>\d{1,3})is(?:currently)?down")


def facts_of(says: str, card: DeviceRef, sources: tuple[Source, ...]) -> Iterator[Fact]:
    """Yield the records that a sentence about a card proves, each with all its lines."""
    text = re.sub(r"\s+", "", says[:4000]).lower()

    def proof(*fields: str) -> tuple[Source, ...]:
        return tuple(
            Source(
                name=s.name, unit=s.unit, first=s.first, last=s.last, quote=s.quote, fields=fields
            )
            for s in sources
        )

    if (found := _DBE.search(text)) and int(found["n"]):
        yield EccCounters(
            device=card, scope="volatile", uncorrected=int(found["n"]), sources=proof("uncorrected")
        )
    failed, waits = _REMAP_FAILED.search(text), _REMAP_WAITS.search(text)
    if failed:
        yield RowRemap(device=card, failure=True, sources=proof("failure"))
    elif waits:
        yield RowRemap(device=card, pending=True, sources=proof("pending"))
    if _PAGES_WAIT.search(text):
        yield RetiredPages(device=card, pending=True, sources=proof("pending"))
    if _HEAT.search(text):
        yield GpuClockReasons(device=card, hw_thermal=True, sources=proof("hw_thermal"))
    elif _BRAKE.search(text):
        yield GpuClockReasons(device=card, hw_power_brake=True, sources=proof("hw_power_brake"))
    for link in _NVLINK.finditer(text):
        if field := _NVLINK_FIELDS.get(link["what"]):
            counted = {field: int(link["n"])}
            yield NvlinkErrors(device=card, link=int(link["link"]), sources=proof(field), **counted)  # type: ignore[arg-type]
    for down in _DOWN.finditer(text):
        yield NvlinkLink(device=card, link=int(down["link"]), active=False, sources=proof("active"))


def joined(chunks: list[str], width: int) -> str:
    """Return a sentence from the cells it was broken into at `width`, where a full cell breaks within words."""
    out = last = ""
    for chunk in chunks:
        whole = chunk.rstrip()
        if out and not (len(last) >= width or whole.startswith(" ")):
            out += " "
        out += whole
        last = whole
    return re.sub(r"\s+", " ", out).strip()[:SAYS_LIMIT]
