"""Reads lctl get_param llite.*.stats: what a Lustre client did since its mount.

Lustre 2.12 to 2.17: a count of samples, their unit, and for bytes and microseconds least, largest, sum and sum of
squares. Times are told from 2.14 on; they are of calls of programs, so that what the cache answers counts as well.
`snapshot_time` is of the clock, in newest versions of the boot; `elapsed_time` is told from 2.15 on.
"""

import re

from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.mount import NfsOp
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_NAME = re.compile(r"llite\.(?P<fs>[\w-]{1,40}?)(?:-[0-9a-f]{8,16})?\.stats=\s*$")
_TIME = re.compile(
    r"(?P<what>snapshot_time|start_time|elapsed_time)\s+(?P<s>\d{1,12}(?:\.\d{1,9})?) secs(?:\.[nu]?secs)?\s*$"
)
_ROW = re.compile(
    r"(?P<op>[a-z][a-z_]{2,30})\s+(?P<count>\d{1,18}) samples \[(?P<unit>\w{1,12})\](?P<rest>(?:\s+\d{1,39}){0,4})\s*$",
    re.ASCII,
)
_WALL_FROM = 1e9  # seconds: a snapshot before 2001 is a time since boot


class _Client:
    """What is told of one mounted filesystem."""

    def __init__(self, fs: str) -> None:
        self.fs = fs
        self.at = UNKNOWN
        self.elapsed: tuple[float, int] | None = None
        self.rows: dict[str, tuple[int, int, str, list[int]]] = {}

    def facts(self, lines: Lines) -> list[Fact]:
        """Return one record for each kind of call; bytes go to the call that moved them."""
        drafts: dict[str, Draft] = {}
        for name, (at, count, unit, rest) in self.rows.items():
            op = name.removesuffix("_bytes").upper()
            draft = drafts.setdefault(op, Draft(lines))
            draft.values.update(op=op, protocol="Lustre", since_mount=True)
            if not name.endswith("_bytes") or op.lower() not in self.rows:
                draft.take("ops", count, at)
                if self.elapsed is not None and self.elapsed[0] > 0:
                    draft.take("age_s", self.elapsed[0], self.elapsed[1])
                    for place in (at, self.elapsed[1]):
                        draft.take("ops_per_s", count / self.elapsed[0], place)
            if count > 0 and len(rest) > 2:
                if unit in ("usec", "usecs"):
                    draft.take("exe_ms", rest[2] / count / 1000, at)
                elif unit == "bytes":
                    draft.take("bytes_per_op", rest[2] / count, at)
        device = DeviceRef(kind="mount", label=self.fs, text=lines.name)
        return [fact for draft in drafts.values() for fact in draft.record(NfsOp, device, self.at)]


def read_llite_stats(lines: Lines) -> Reading:
    """Return one `NfsOp` of protocol Lustre for each kind of call, as means since the mount."""
    facts: list[Fact] = []
    client: _Client | None = None
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        if len(line) > 500:
            break
        if found := _NAME.match(line):
            facts += client.facts(lines) if client else []
            client = _Client(found["fs"])
        elif client is None:
            break
        elif found := _TIME.match(line):
            seconds = float(found["s"])
            if found["what"] == "elapsed_time":
                client.elapsed = seconds, at
            elif found["what"] == "snapshot_time" and seconds > _WALL_FROM:
                client.at = Moment(wall=seconds, zone_known=True)
        elif found := _ROW.match(line.strip()):
            rest = [int(word) for word in found["rest"].split()]
            client.rows[found["op"]] = at, int(found["count"]), found["unit"], rest
        else:
            break
        read_to = at + 1
    facts += client.facts(lines) if client else []
    return Reading(facts=tuple(facts), read_to=read_to)
