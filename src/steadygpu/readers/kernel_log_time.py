"""What stands before a message of a kernel log: time, host, sender.

Covers: printk seconds with and without a level, caller field of 5.x kernels ([T123]), `dmesg -T`,
`dmesg --time-format iso` (util-linux 2.23 on, comma before the fraction), `dmesg -x`, /dev/kmsg records,
syslog files of rsyslog 5 to 8 (BSD and ISO dates), journalctl short, short-precise, short-iso,
short-monotonic and json (systemd 219 to 256).
"""

import json
import re
from calendar import timegm
from dataclasses import dataclass

YEARLESS = 1972  # a leap year stands in where syslog prints none, so that 29 February exists
_MONTHS = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6, "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10,
    "Nov": 11, "Dec": 12,
}  # fmt: skip
_MON = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LEVEL = re.compile(
    r"(?:(?:kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d) *:\w{1,8} *: )"
)
_SECONDS = re.compile(
    r"(?:<\d{1,3}>)?\[ {0,12}(?P<s>\d{1,12}\.\d{1,9})\](?:\[ {0,8}[TC]\d{1,9}\])?(?: |$)"
)
_TEXTUAL = re.compile(
    rf"(?:<\d{{1,3}}>)?\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<mon>{_MON}) (?P<day>[ \d]\d) "
    r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d) (?P<year>\d{4})\](?: |$)"
)
_ISO = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?\[?(?P<year>\d{4})-(?P<mon>\d\d)-(?P<day>\d\d)[T ](?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)"
    r"(?:(?P<sep>[.,])(?P<part>\d{1,9}))? ?(?P<zone>Z|[+-]\d\d:?\d\d|[A-Z]{3,5}(?= ))?\]?(?: |$)"
)
_RFC5424 = re.compile(
    r"<\d{1,3}>1 (?P<iso>\d{4}-\S{1,40}) (?P<host>\S{1,255}) (?P<app>\S{1,48}) \S{1,128} \S{1,32} (?:-|\[[^\]]{0,500}\]) ?"
)
_HUMAN = re.compile(
    rf"\[(?P<mon>{_MON})(?P<day>[ \d]\d) (?P<h>\d\d):(?P<m>\d\d)\](?: |$)"
)  # dmesg -H
_LATER = re.compile(r"\[ {0,8}\+\d{1,6}\.\d{6}\](?: |$)")
_SYSLOG = re.compile(
    rf"(?:<\d{{1,3}}>)?(?P<mon>{_MON}) (?P<day>[ \d]\d) (?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:\.(?P<part>\d{{1,9}}))? "
)
_KMSG = re.compile(r"\d{1,3},\d{1,20},(?P<us>\d{1,20}),[-c+,\w=]{1,60};")
_SENDER = re.compile(
    r"(?:(?P<host>[A-Za-z0-9][\w.-]{0,250}) )?(?P<tag>[\w./@-]{1,120}?)(?:\[\d{1,10}\])?:(?: |$)"
)
_HOST_KERNEL = re.compile(r"(?:(?P<host>[A-Za-z0-9][\w.-]{0,250}) )?kernel(?:\[\d{1,10}\])?: ")
_MARK = re.compile(
    r"-- (?:Boot (?P<boot>[0-9a-f]{32})|Logs begin at|Journal begins at|No entries|Reboot)\b.{0,200}"
)
_PSTORE = re.compile(r"(?:Panic|Oops)#\d{1,6} Part\d{1,6}$|dmesg-[a-z]{1,20}-\d{1,30}:?$")


@dataclass(slots=True)
class Stamp:
    """The prefix of one log line and the message after it.

    `form` is the kind of prefix, "bare" where there was none, "mark" for a line that only says where a
    boot begins (`boot_id` names it). `kernel` tells whether the kernel is the sender. `wall` without a
    printed year is in YEARLESS.
    """

    form: str
    text: str
    host: str | None = None
    kernel: bool = True
    boot_s: float | None = None
    wall: float | None = None
    zone_known: bool = False
    error_s: float = 0.0
    boot_id: str | None = None


def stamp_of(line: str) -> Stamp:
    """Return the prefix of a cleaned line; form "bare" where the line has none that we know."""
    if line.startswith("{"):
        found = _of_json(line)
        if found is not None:
            return found
    if (mark := _MARK.match(line)) is not None:
        return Stamp("mark", "", boot_id=mark["boot"], kernel=False)
    at = 0
    levelled = _LEVEL.match(line)
    if levelled is not None:
        at = levelled.end()
    if (hit := _SECONDS.match(line, at)) is not None:
        seconds = float(hit["s"])
        text = line[hit.end() :]
        named = _HOST_KERNEL.match(text)
        if named is not None:
            return Stamp("seconds", text[named.end() :], named["host"], boot_s=seconds)
        return Stamp("seconds", text, boot_s=seconds)
    if (hit := _TEXTUAL.match(line, at)) is not None:
        wall = _wall(hit, int(hit["year"]), _MONTHS[hit["mon"]])
        return Stamp("textual", line[hit.end() :], wall=wall, error_s=0.5)
    if (hit := _HUMAN.match(line)) is not None:
        clock = (YEARLESS, _MONTHS[hit["mon"]], int(hit["day"]), int(hit["h"]), int(hit["m"]), 0)
        return Stamp("human", line[hit.end() :], wall=float(timegm(clock)), error_s=60.0)
    if (hit := _LATER.match(line)) is not None:
        return Stamp("human", line[hit.end() :])
    if (hit := _RFC5424.match(line)) is not None:
        plain = f"{hit['iso']} {hit['host']} {hit['app']}: {line[hit.end() :]}"
        if (iso := _ISO.match(plain)) is not None:
            return _of_iso(plain, iso, levelled=False)
    if (hit := _ISO.match(line, at)) is not None:
        return _of_iso(line, hit, levelled is not None)
    if (hit := _SYSLOG.match(line, at)) is not None:
        found = _sent("syslog", line[hit.end() :])
        if found.form != "bare":
            found.wall = _wall(hit, YEARLESS, _MONTHS[hit["mon"]])
            found.error_s = _half(hit["part"])
            return found
    if (hit := _KMSG.match(line)) is not None:
        return Stamp("kmsg", line[hit.end() :], boot_s=int(hit["us"]) / 1e6)
    if (hit := _HOST_KERNEL.match(line, at)) is not None:
        return Stamp("named", line[hit.end() :], hit["host"])
    if levelled is not None:
        return Stamp("level", line[at:])
    if _PSTORE.match(line):
        return Stamp("mark", "", kernel=False)
    return Stamp("bare", line)


def _of_iso(line: str, hit: "re.Match[str]", levelled: bool) -> Stamp:
    text = line[hit.end() :]
    dmesg = levelled or hit["sep"] == ","
    found = Stamp("iso", text) if dmesg else _sent("iso", text)
    if found.form == "bare":
        found = Stamp("iso", text)
        seconds = _SECONDS.match(text)
        if seconds is not None:
            found.boot_s, found.text = float(seconds["s"]), text[seconds.end() :]
    found.wall = _wall(hit, int(hit["year"]), int(hit["mon"]))
    found.error_s = _half(hit["part"])
    zone = hit["zone"]
    if zone is not None and zone[0].isalpha() and zone not in ("Z", "UTC", "GMT"):
        zone = None  # the letters of a zone do not tell its offset
    if zone is not None and found.wall is not None:
        found.zone_known = True
        if not zone[0].isalpha():
            away = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
            found.wall -= away if zone[0] == "+" else -away
    return found


def _sent(form: str, text: str) -> Stamp:
    """Return the stamp of `host sender[pid]: [seconds] message`, form "bare" where it is none."""
    hit = _SENDER.match(text)
    if hit is None:
        return Stamp("bare", text)
    host, tag = hit["host"], hit["tag"]
    rest = text[hit.end() :]
    if tag == "kernel":
        seconds = _SECONDS.match(rest)
        if seconds is not None:
            return Stamp(form, rest[seconds.end() :], host, boot_s=float(seconds["s"]))
        return Stamp(form, rest, host)
    if host is None and tag in ("NVRM", "audit", "mce", "watchdog", "BUG", "INFO", "oom-kill"):
        return Stamp(form, text)
    return Stamp(form, rest, host, kernel=False)


def _wall(hit: "re.Match[str]", year: int, month: int) -> float | None:
    day, hour, minute, second = (int(hit[name]) for name in ("day", "h", "m", "s"))
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second <= 60):
        return None
    if year < 1:
        return None
    groups = hit.re.groupindex
    part = hit["part"] if "part" in groups else None
    return timegm((year, month, day, hour, minute, second)) + (float("0." + part) if part else 0.0)


def _half(part: str | None) -> float:
    """Return half of the last printed digit."""
    return 0.5 / 10 ** len(part) if part else 0.5


def _of_json(line: str) -> Stamp | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or "MESSAGE" not in entry:
        return None
    message = entry["MESSAGE"]
    if isinstance(message, list):  # journald gives bytes as numbers where they are not UTF-8
        try:
            message = bytes(message).decode("utf-8", "replace")
        except (TypeError, ValueError):
            message = ""
    sender = entry.get("_TRANSPORT", entry.get("SYSLOG_IDENTIFIER", "kernel"))
    host, boot = entry.get("_HOSTNAME"), entry.get("_BOOT_ID")
    wall, boot_s = (
        _micro(entry.get("__REALTIME_TIMESTAMP")),
        _micro(entry.get("__MONOTONIC_TIMESTAMP")),
    )
    return Stamp(
        "json",
        message if isinstance(message, str) else "",
        host if isinstance(host, str) and host else None,
        kernel=sender == "kernel",
        boot_s=boot_s,
        wall=wall,
        zone_known=wall is not None,
        error_s=5e-7,
        boot_id=boot if isinstance(boot, str) and boot else None,
    )


def _micro(printed: object) -> float | None:
    if isinstance(printed, str) and len(printed) <= 20 and printed.isascii() and printed.isdigit():
        return int(printed) / 1e6
    return None
