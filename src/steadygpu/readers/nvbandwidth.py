"""Reads nvbandwidth: copies between host and card and between two cards. nvbandwidth 0.2 to 0.10.

GB/s are 10^9 bytes. Tests in both directions at once, from all or to all share the links and are passed over, and
so is every test of several processes.
"""

import re

from steadygpu.evidence.bench import CopyRate
from steadygpu.evidence.device import DeviceRef, normal_bdf
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_HEAD = re.compile(r"nvbandwidth Version: ")
_DEVICE = re.compile(
    r"Device (?P<index>\d{1,4}): (?P<name>[^()]{1,100}?)(?: \((?P<bdf>[0-9A-Fa-f:.]{7,20})\))?\s*$"
)
_RUNNING = re.compile(r"[Rr]unning (?P<test>[a-z]+_to_[a-z]+_\w{1,60})\.?\s*$")
_TITLE = re.compile(
    r"memcpy (?:CE|SM) (?:CPU|GPU)\(row\) (?:->|<-|<->) (?:CPU|GPU)\(column\) bandwidth \(GB/s\)"
)
_NUMBERS = re.compile(r"\s{1,40}\d{1,4}(?:\s+\d{1,4})*\s*$")
_ROW = re.compile(r"\s{0,12}(?P<row>\d{1,4})(?P<cells>(?:\s+(?:\d{1,9}\.\d{1,6}|N/A)){1,1024})\s*$")
_ASIDE = re.compile(
    r"Built from |CUDA (?:Runtime|Driver) Version|Driver Version: |NOTE: |Additional system-specific|Performance can vary|"
    r"(?:SUM|COEFFICIENT_OF_VARIATION) \w|Waived:|ERROR: |memcpy |[Rr]unning \w{1,80}\.?\s*$|MPI version|Process \d"
)
_HOST = re.compile(
    r"[\w.-]{1,64}\s*$"
)  # newer versions print the name of the host below the driver
_TESTS = {"host_to_device_memcpy": "h2d", "device_to_host_memcpy": "d2h"}
_PEERS = re.compile(r"device_to_device_memcpy_(?:read|write)_(?:ce|sm)$")
_GB = 1e9


def read_nvbandwidth(lines: Lines) -> Reading:
    """Return one record for each cell of the tests that measure one link alone."""
    cards: dict[int, DeviceRef] = {}
    facts: list[Fact] = []
    columns: list[int] = []
    test = above = ""
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 20_000:
            break
        if _HEAD.match(line):
            if read_to:
                break
        elif named := _DEVICE.match(line):
            index = int(named["index"])
            cards[index] = DeviceRef(
                kind="card", index=index, label=named["name"], text=lines.name,
                bdf=normal_bdf(named["bdf"]) if named["bdf"] else None,
            )  # fmt: skip
        elif running := _RUNNING.match(line):
            test, columns = running["test"], []
        elif _TITLE.match(line):
            columns = []
        elif test and not columns and _NUMBERS.match(line):
            columns = [int(word) for word in line.split()]
        elif columns and (row := _ROW.match(line)):
            cells = row["cells"].split()
            if len(cells) == len(columns):
                facts += _cells(
                    lines, at, test, int(row["row"]), dict(zip(columns, cells, strict=True)), cards
                )
        elif not _ASIDE.match(line) and not (
            above.startswith("Driver Version: ") and _HOST.match(line)
        ):
            break
        above = line
        read_to = at + 1
    return Reading(facts=tuple(facts), read_to=read_to)


def _cells(
    lines: Lines, at: int, test: str, row: int, cells: dict[int, str], cards: dict[int, DeviceRef]
) -> list[CopyRate]:
    def card(index: int) -> DeviceRef:
        return cards.setdefault(index, DeviceRef(kind="card", index=index, text=lines.name))

    way = _TESTS.get(test.rpartition("_")[0])
    out: list[CopyRate] = []
    for column, word in cells.items():
        draft = Draft(lines)
        draft.put("bytes_per_s", word, at, lambda w: float(round(float(w) * _GB)))
        if way is not None and row == 0:
            draft.values |= {"tool": "nvbandwidth", "direction": way, "how": test}
            out += draft.record(CopyRate, card(column))
        elif _PEERS.match(test) and row != column and word != "N/A":
            draft.values |= {
                "tool": "nvbandwidth",
                "direction": "p2p",
                "how": test,
                "peer": card(column),
            }
            out += draft.record(CopyRate, card(row))
    return out
