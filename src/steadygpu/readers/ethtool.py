"""Reads `ethtool IF` (speed, link), `ethtool -i IF` (driver) and `ethtool -S IF` (the driver's own counters), ethtool 3 to 6.

Neither -S nor -i prints the interface: its name comes from the command above or from the name of the file.
Counter names are those of mlx5, mlx4, bnxt, ice, i40e, ixgbe, igb, e1000e, ena, virtio_net and ionic.
"""

import re
from pathlib import PurePosixPath
from typing import Any

from steadygpu.evidence.device import DeviceRef, normal_bdf
from steadygpu.evidence.network import NicCounters, NicState
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_SETTINGS = re.compile(r"Settings for (?P<nic>[^\s:]{1,32}):\s*$")
_CELL = re.compile(r"\s+(?P<name>[A-Z][\w /+-]{0,40}):\s*(?P<value>.{0,200}?)\s*$")
_GOES_ON = re.compile(r"\s{8,}\S")
_SPEED = re.compile(r"(?P<mbit>\d{1,7})Mb/s")
_DRIVER = re.compile(
    r"(?P<name>driver|version|firmware-version|expansion-rom-version|bus-info|supports-[a-z-]{1,20}): ?(?P<value>.{0,100}?)\s*$"
)
_COMMAND = re.compile(
    r"(?:.{0,200}?[$#>] )?(?:sudo )?(?:/\S{1,40}/)?ethtool\s+(?:-[a-zA-Z]|--[a-z]{3,12})\s+(?P<nic>[\w.-]{1,32})\b"
)
_STATISTICS = re.compile(r"NIC statistics:\s*$")
_COUNT = re.compile(r"\s+(?P<name>\S(?:[\w .\[\]:/()-]{0,78}\S)?): (?P<value>\d{1,20})\s*$")
_IN_NAME = re.compile(
    r"ethtool[-_. ]{1,3}(?:[a-zA-Z][-_. ])?(?P<nic>(?:en|eth|ib|em)[a-zA-Z0-9]{1,15})\b"
)

# What the drivers call it -> our field. The first that a text prints counts, unless it is summed.
_NAMES = {
    "rx_packets": "rx_packets", "tx_packets": "tx_packets", "rx_bytes": "rx_bytes", "tx_bytes": "tx_bytes",
    "rx_errors": "rx_errors", "tx_errors": "tx_errors", "rx_dropped": "rx_dropped", "tx_dropped": "tx_dropped",
    "rx_missed_errors": "rx_missed", "rx_fifo_errors": "rx_overruns", "rx_over_errors": "rx_overruns",
    "rx_crc_errors": "rx_crc_errors", "collisions": "collisions",
    # mlx5, mlx4: DOC-2532 "Understanding mlx5 ethtool Counters"
    "rx_out_of_buffer": "rx_no_buffer", "rx_discards_phy": "rx_discards", "tx_discards_phy": "tx_discards",
    "rx_crc_errors_phy": "rx_crc_errors", "rx_symbol_err_phy": "symbol_errors",
    "rx_pcs_symbol_err_phy": "symbol_errors", "link_down_events_phy": "link_downs",
    "rx_packets_phy": "rx_packets_phy", "tx_packets_phy": "tx_packets_phy",
    # bnxt
    "rx_total_discard_pkts": "rx_discards", "tx_total_discard_pkts": "tx_discards",
    "rx_fcs_err_frames": "rx_crc_errors", "rx_total_frames": "rx_packets_phy", "tx_total_frames": "tx_packets_phy",
    "link_down_events": "link_downs",
    # ice, i40e, ixgbe, igb, e1000e
    "rx_dropped.nic": "rx_discards", "rx_crc_errors.nic": "rx_crc_errors", "port.rx_dropped": "rx_discards",
    "port.rx_crc_errors": "rx_crc_errors", "rx_no_buffer_count": "rx_no_buffer",
    "rx_no_dma_resources": "rx_no_buffer",
    # ena, ionic
    "rx_drops": "rx_dropped", "tx_drops": "tx_dropped", "hw_rx_dropped": "rx_discards",
    "hw_tx_dropped": "tx_discards", "hw_rx_missed_errors": "rx_missed", "hw_rx_over_errors": "rx_overruns",
    "frames_rx_bad_fcs": "rx_crc_errors", "frames_rx_all": "rx_packets_phy", "frames_tx_all": "tx_packets_phy",
}  # fmt: skip
# Sums of counters that are printed for each queue or priority.
_SUMS = (
    (re.compile(r"rx_prio\d_pause$"), "rx_pause"),
    (re.compile(r"rx_queue_\d{1,3}_drops$"), "rx_dropped"),
    (re.compile(r"\[\d{1,3}\]: rx_discards$"), "rx_dropped"),
)


def read_ethtool(lines: Lines) -> Reading:
    """Return the state of one interface: speed in bits a second; "Unknown!" is not told by a port without link."""
    head = _SETTINGS.match(lines.clean[0]) if lines.clean else None
    if head is None:
        return _driver(lines)
    draft = Draft(lines)
    read_to = 1
    for at in range(1, len(lines)):
        line = lines.clean[at]
        if not line.strip():
            continue
        found = _CELL.match(line) if len(line) < 1000 else None
        if found is None and not _GOES_ON.match(line[:200]):
            break
        if found is not None:
            _setting(draft, found["name"], found["value"], at)
        read_to = at + 1
    device = DeviceRef(kind="nic", label=head["nic"], text=lines.name)
    return Reading(facts=tuple(draft.record(NicState, device)), read_to=read_to)


def _setting(draft: Draft, name: str, value: str, at: int) -> None:
    if name == "Speed":
        if speed := _SPEED.match(value):
            draft.take("speed_bits_s", int(speed["mbit"]) * 1_000_000, at)
        elif value.startswith("Unknown"):
            draft.lack("speed_bits_s", "not_printed", at)
    elif name == "Duplex" and value in ("Full", "Half"):
        draft.take("duplex", value.lower(), at)
    elif name == "Link detected" and value[:3] in ("yes", "no", "no "):
        draft.take("carrier", value.startswith("yes"), at)


def _driver(lines: Lines) -> Reading:
    draft = Draft(lines)
    bdf, name, read_to = None, _named(lines), 0
    for at, line in enumerate(lines.clean):
        found = _DRIVER.match(line) if len(line) < 1000 else None
        if found is None:
            if line.strip() and not (at == 0 and _COMMAND.match(line)):
                break
            continue
        if found["name"] == "driver" and "driver" in draft.values:
            break
        if found["name"] in ("driver", "firmware-version") and found["value"]:
            draft.take(found["name"].removesuffix("-version"), found["value"], at)
        elif found["name"] == "bus-info":
            bdf = normal_bdf(found["value"])
        read_to = at + 1
    # The address would keep this apart from what other texts know by name alone.
    device = DeviceRef(kind="nic", label=name, bdf=None if name else bdf, text=lines.name)
    return Reading(facts=tuple(draft.record(NicState, device)), read_to=read_to)


def _named(lines: Lines) -> str | None:
    """Return the interface that the command or the file's name tells."""
    found = _COMMAND.match(lines.clean[0]) if lines.clean and len(lines.clean[0]) < 1000 else None
    found = found or _IN_NAME.search(PurePosixPath(lines.name).name.replace("_", "-"))
    return found["nic"] if found else None


def read_ethtool_statistics(lines: Lines) -> Reading:
    """Return the counters of one interface under our names; queues and priorities are summed."""
    draft = Draft(lines)
    sums: dict[str, list[tuple[int, int]]] = {}
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 500:
            break
        if at == 0 and _COMMAND.match(line):
            continue
        if _STATISTICS.match(line):
            if read_to:
                break
        elif found := _COUNT.match(line):
            _count(draft, sums, found["name"], int(found["value"]), at)
        else:
            break
        read_to = at + 1
    for field, cells in sums.items():
        if field not in draft.values:
            draft.values[field] = sum(value for _, value in cells)
            for at, _ in cells:
                draft.places.setdefault((at, at), []).append(field)
    draft.values["source"] = "ethtool"
    device = DeviceRef(kind="nic", label=_named(lines), text=lines.name)
    facts: list[Any] = draft.record(NicCounters, device)
    return Reading(facts=tuple(facts), read_to=read_to)


def _count(
    draft: Draft, sums: dict[str, list[tuple[int, int]]], name: str, value: int, at: int
) -> None:
    field = _NAMES.get(name)
    if field is not None:
        if field not in draft.values:
            draft.take(field, value, at)
        return
    for form, summed in _SUMS:
        if form.match(name):
            sums.setdefault(summed, []).append((at, value))
