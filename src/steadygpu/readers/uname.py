"""Reads `uname -a`: the kernel that runs, the host's name, and whether this is WSL or a Jetson.

Covers GNU coreutils 8.22 to 9.7 and busybox: "Linux HOST RELEASE #BUILD DATE MACHINE ... GNU/Linux" on one line.
"""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.setting import KernelVersion, Setting
from steadygpu.evidence.text import Lines
from steadygpu.readers.setting_word import told_by_release

_LINE = re.compile(
    r"Linux (?P<host>[\w.-]{1,64}) (?P<release>\d{1,3}\.\d{1,4}[\w.+~-]{0,100}) (?P<build>#\d{1,6}\S{0,60}(?: .{0,300})?)$"
)
_MACHINE = re.compile(
    r" (?P<machine>x86_64|aarch64|arm64|ppc64le|i686|riscv64|armv\w{1,6}|s390x)(?= |$)"
)


def read_uname(lines: Lines) -> Reading:
    """Return the version of the kernel, and what its release says the host is."""
    found = next((_LINE.match(line.rstrip()) for line in lines.clean[:1] if len(line) < 600), None)
    if found is None:
        return Reading()
    host = host_ref(found["host"])
    machine = _MACHINE.search(found["build"])
    facts: list[Fact] = [
        KernelVersion(
            device=host, release=found["release"], build=found["build"][: machine.start() if machine else None].strip(),
            machine=machine["machine"] if machine else None, sources=(lines.cite(0, 0, "release", "build", "machine"),),
        )
    ]  # fmt: skip
    if told := told_by_release(found["release"]):
        facts.append(
            Setting(
                device=host,
                kind=told[0],
                by="uname",
                hypervisor=told[1],
                sources=(lines.cite(0, 0, "kind"),),
            )
        )
    return Reading(facts=tuple(facts), read_to=1)
