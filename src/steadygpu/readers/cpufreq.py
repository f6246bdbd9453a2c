"""Reads `cpupower frequency-info` and the cpufreq files of sysfs: who chooses the clock of a processor, and within what.

Covers cpupower 3.10 to 6.12, cpufreq-info 008, sysfs of the same kernels as `grep .` and `head` print it. Oddities:
without `-c all` cpupower tells of one processor; the governor stands in a sentence that breaks over lines; sysfs
counts in kHz and names a policy by its first processor.
"""

import re

from steadygpu.evidence.cpu import CpuFrequency
from steadygpu.evidence.device import host_ref
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines
from steadygpu.readers.smi_word import Draft

_CPU = re.compile(r"analyzing CPU (?P<cpu>\d{1,5}):\s*$")
_SPEED = r"(\d{1,8}(?:\.\d{1,6})?) ?([kMG])Hz"
_HARDWARE = re.compile(rf"hardware limits: {_SPEED} - {_SPEED}\s*$")
_POLICY = re.compile(rf"current policy: frequency should be within {_SPEED} and {_SPEED}\.?\s*$")
_GOVERNOR = re.compile(r'The governor "(?P<governor>[\w-]{1,30})" may decide which speed to use\b')
_CURRENT = re.compile(rf"current CPU frequency(?::| is) {_SPEED}\b")
_DRIVER = re.compile(r"driver: (?P<driver>[\w.-]{1,40})\s*$")
_ACTIVE = re.compile(r"Active: (?P<active>yes|no)\s*$")
_OTHER = re.compile(
    r"CPUs which |maximum transition latency|available (?:frequency steps|cpufreq governors)|within this range\.?\s*$"
    r"|current CPU frequency|current policy|boost state support:\s*$|Supported: (?:yes|no)\s*$|Boost States: \d|Total States: \d"
    r"|Pstate-P\w{1,3}: |AMD PSTATE |Amd Pstate|energy performance preference|cpufreq stats: |\d{1,6} MHz max turbo"
    r"|no or unknown cpufreq driver is active|Lowest Non-linear|Highest Performance|GHz\.\s*$|Preferred Core"
)
_FILE = (
    r"/sys/devices/system/cpu/(?:cpu(?P<cpu>\d{1,5})/cpufreq|cpufreq/policy(?P<policy>\d{1,5}))/"
    r"(?P<file>[a-z_]{1,40})"
)
_LINE = re.compile(rf"{_FILE}:(?P<value>.{{0,500}}?)\s*$")
_TITLE = re.compile(rf"==> {_FILE} <==\s*$")
_WORDS = {"scaling_driver": "driver", "scaling_governor": "governor",
          "energy_performance_preference": "preference"}  # fmt: skip
_KHZ = {"scaling_cur_freq": "current_mhz", "scaling_min_freq": "min_mhz", "scaling_max_freq": "max_mhz",
        "cpuinfo_max_freq": "hardware_max_mhz"}  # fmt: skip
_PER_MHZ = {"k": 0.001, "M": 1.0, "G": 1000.0}


def read_cpufreq(lines: Lines) -> Reading:
    """Return one record for each processor or policy that the text tells of."""
    drafts: dict[int, Draft] = {}
    draft: Draft | None = None
    title: re.Match[str] | None = None
    read_to = 0
    for at, line in enumerate(lines.clean):
        if not line.strip():
            continue
        short = line[:600]
        if found := _CPU.match(short):
            if int(found["cpu"]) in drafts:
                break
            draft, title = drafts.setdefault(int(found["cpu"]), Draft(lines)), None
        elif found := _LINE.match(short):
            _file(
                drafts.setdefault(_number(found), Draft(lines)), found["file"], found["value"], at
            )
            draft = title = None
        elif found := _TITLE.match(short):
            title, draft = found, None
        elif title is not None:
            if not _file(
                drafts.setdefault(_number(title), Draft(lines)), title["file"], short.strip(), at
            ):
                break
            title = None
        elif draft is None or not _tool(draft, short.strip(), at):
            break
        read_to = at + 1
    facts: list[Fact] = []
    for cpu, one in drafts.items():
        one.values["cpu"] = cpu
        facts += one.record(CpuFrequency, host_ref())
    return Reading(facts=tuple(facts), read_to=read_to)


def _number(found: "re.Match[str]") -> int:
    return int(found["cpu"] or found["policy"])


def _file(draft: Draft, file: str, value: str, at: int) -> bool:
    """Take one file. Returns False where the value is none that such a file holds."""
    if file in _WORDS and re.fullmatch(r"[\w.-]{1,40}", value, re.ASCII):
        draft.take(_WORDS[file], value, at)
    elif file in _KHZ and re.fullmatch(r"\d{1,9}", value, re.ASCII):
        draft.take(_KHZ[file], int(value) / 1000, at)
    elif value == "<unknown>" and (file in _KHZ or file in _WORDS):
        draft.lack(_KHZ.get(file) or _WORDS[file], "not_supported", at)
    else:
        return file not in _WORDS and file not in _KHZ
    return True


def _tool(draft: Draft, line: str, at: int) -> bool:
    """Take one line of cpupower. Returns False for a line that it does not print."""
    if found := _DRIVER.match(line):
        draft.take("driver", found["driver"], at)
    elif found := _HARDWARE.match(line):
        draft.take("hardware_max_mhz", _mhz(*found.group(3, 4)), at)
    elif found := _POLICY.match(line):
        draft.take("min_mhz", _mhz(*found.group(1, 2)), at)
        draft.take("max_mhz", _mhz(*found.group(3, 4)), at)
    elif found := _GOVERNOR.match(line):
        draft.take("governor", found["governor"], at)
    elif found := _CURRENT.match(line):
        draft.take("current_mhz", _mhz(*found.group(1, 2)), at)
    elif found := _ACTIVE.match(line):
        draft.take("boost_active", found["active"] == "yes", at)
    else:
        return _OTHER.match(line) is not None
    return True


def _mhz(number: str, unit: str) -> float:
    return float(number) * _PER_MHZ[unit]
