"""Every Xid of the catalogue in every printed form: one finding each, with the action of its row."""

import json
from collections.abc import Callable
from functools import cache

import pytest

from pipeline import report
from steadygpu.catalog.xid import xid_rows
from steadygpu.verdict.answer import Ruled

CODES = sorted(xid_rows())
UNKNOWN = 777
BOOT = "00112233445566778899aabbccddeeff"
SAYS = "some words of the driver"


def bdf(code: int) -> str:
    """Return an address of its own for each code, so that one text holds them all."""
    return f"0000:{code % 256:02x}:{code // 256:02x}"


def message(code: int, *, pci: str = "PCI:", who: str = "", mig: str = "") -> str:
    return f"NVRM: Xid ({pci}{bdf(code)}{mig}): {code}, {who}{SAYS}"


def clock(code: int, separator: str = " ") -> str:
    second = code % 60
    return f"2026-02-03{separator}04:{code // 60 % 60:02d}:{second:02d}"


def journal(code: int) -> str:
    return json.dumps(
        {
            "__REALTIME_TIMESTAMP": str(1_770_091_500_000_000 + code * 1_000_000),
            "__MONOTONIC_TIMESTAMP": str(310_000_000 + code * 1_000_000),
            "_BOOT_ID": BOOT, "_HOSTNAME": "node-3", "_TRANSPORT": "kernel",
            "SYSLOG_IDENTIFIER": "kernel", "PRIORITY": "3", "MESSAGE": message(code),
        }
    )  # fmt: skip


FORMS: dict[str, Callable[[int], str]] = {
    "dmesg": lambda c: f"[{900 + c:5d}.120304] {message(c)}",
    "dmesg with pid and name": lambda c: f"[{900 + c:5d}.120304] {message(c, who='pid=4021, name=python3, ')}",
    "dmesg with an unknown process": lambda c: (
        f"[{900 + c:5d}.120304] " + message(c, who="pid='<unknown>', name=<unknown>, ")
    ),
    "dmesg of a slice": lambda c: (
        f"[{900 + c:5d}.120304] " + message(c, mig=" GPU-I:03 GPU-CI:00", who="pid=4021, name=python3, ")
    ),
    "dmesg of an old driver": lambda c: f"[{900 + c:5d}.120304] {message(c, pci='')}",
    "dmesg -T": lambda c: f"[Tue Feb  3 04:{c // 60:02d}:{c % 60:02d} 2026] {message(c)}",
    "dmesg --time-format iso": lambda c: f"{clock(c, 'T')},120304+00:00 {message(c)}",
    "dmesg with levels": lambda c: f"kern  :err   : [{900 + c:5d}.120304] {message(c)}",
    "kmsg": lambda c: f"3,{c},{(900 + c) * 1_000_000},-;{message(c)}",
    "journalctl -k": lambda c: f"Feb 03 04:{c // 60:02d}:{c % 60:02d} node-3 kernel: {message(c)}",
    "journalctl -o short-iso": lambda c: f"{clock(c, 'T')}+0000 node-3 kernel: {message(c)}",
    "journalctl -o json": journal,
    "syslog": lambda c: (
        f"Feb  3 04:{c // 60:02d}:{c % 60:02d} node-3 kernel: [{900 + c:5d}.120304] {message(c)}"
    ),
    "syslog of RFC 5424": lambda c: f"<3>1 {clock(c, 'T')}.120304+00:00 node-3 kernel - - - {message(c)}",
    "no time at all": lambda c: f"kernel: {message(c)}",
}  # fmt: skip


@cache
def told(form: str) -> dict[int, list[Ruled]]:
    """Return the findings on the line of each code where one text holds all codes."""
    codes = [*CODES, UNKNOWN]
    lines = [FORMS[form](code) for code in codes]
    out: dict[int, list[Ruled]] = {code: [] for code in codes}
    for host in report({"log.txt": "\n".join(lines) + "\n"}).hosts:
        for one in host.findings:
            for number in {source.first for source in one.finding.sources}:
                out[codes[number - 1]].append(one)
    return out


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("form", FORMS)
def test_a_code_gives_one_finding_with_the_action_of_its_row(form: str, code: int) -> None:
    row = xid_rows()[code]
    (one,) = told(form)[code]
    assert (one.severity, one.action) == (row.severity, row.action)
    assert f"Xid {code}:" in one.finding.says or f"Xid {code} " in one.finding.says
    assert one.finding.subject.bdf == f"{bdf(code)}.0"
    assert one.meaning.strip()
    assert one.decision.strip()


@pytest.mark.parametrize("form", FORMS)
def test_a_code_that_no_catalogue_names_is_watched_and_never_silent(form: str) -> None:
    (one,) = told(form)[UNKNOWN]
    assert (one.rule.id, one.severity, one.action) == ("silent.xid-other", "warning", "watch")


LINK_DOWN = "149, NETIR_LINK_EVT Fatal XC0 i0 Link 02 (0x004185c6 0x00000000)"
OFF_BUS = "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def flood(cause: str, cards: int, lines: int) -> bytes:
    """Return a log in which one cause is followed by clean-ups of every channel."""
    code = cause.partition(",")[0]
    out = [f"[ 4000.000001] NVRM: Xid (PCI:0000:1b:00): {cause}"]
    out += [
        f"[{4000.5 + n / 1000:12.6f}] NVRM: Xid (PCI:0000:{n % cards + 1:x}b:00): 45, "
        f"pid={3000 + n % 64}, name=python3, Ch {n % 4096:08x} caused by previous Xid {code}"
        for n in range(lines)
    ]
    return "\n".join(out).encode()


@pytest.mark.parametrize("lines", [12_000, pytest.param(168_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("cause", "cards", "rule"),
    [
        (LINK_DOWN, 8, "silent.nvlink-fatal"),
        (LINK_DOWN, 1, "silent.nvlink-fatal"),
        (OFF_BUS, 1, "silent.xid79-fallen-off-bus"),
    ],
    ids=["149 on 8 cards", "149", "79"],
)
def test_a_flood_of_clean_ups_is_one_incident_of_its_cause(
    cause: str, cards: int, rule: str, lines: int
) -> None:
    (host,) = report({"dmesg.txt": flood(cause, cards, lines)}).hosts
    assert [one.rule.id for one in host.findings if one.caused_by is None] == [rule]
    cleared = [one for one in host.findings if one.rule.id == "silent.xid45-cleanup"]
    assert len(cleared) == cards
    assert sum(one.finding.count for one in cleared) == lines


def test_a_flood_of_mild_errors_hides_no_fatal_one() -> None:
    mild = [
        f"[ 5000.{n:06d}] NVRM: Xid (PCI:0000:1b:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 03 "
        f"(0x000000c2 0x00000001 0x{n:08x} 0x00000000)"
        for n in range(1500)
    ]
    last = "[ 5001.000000] NVRM: Xid (PCI:0000:1b:00): 145, RLW_SRC_TRACK Fatal XC0 i0 Link 03"
    (host,) = report({"dmesg.txt": "\n".join([*mild, last])}).hosts
    assert {one.rule.id for one in host.findings} >= {"silent.nvlink-fatal", "silent.xid-other"}
