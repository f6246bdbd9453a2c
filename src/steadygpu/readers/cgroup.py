"""Reads `cat /proc/1/cgroup`: whether the first process runs in a container.

Covers cgroup v1 (a line for each controller) and v2 ("0::/PATH") of Docker, Podman, LXC, containerd, CRI-O and
Kubernetes. A container with a namespace of its own prints "0::/", which tells nothing. The file of another process than
the first one has the same form: of a host, only that of process 1 should be given.
"""

import re

from steadygpu.evidence.device import host_ref
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.setting import Setting
from steadygpu.evidence.text import Lines

_LINE = re.compile(
    r"\d{1,3}:(?:[a-z_]{1,20}(?:,[a-z_]{1,20}){0,9}|name=\w{1,40}|):(?P<path>/\S{0,400})$"
)
_ENGINE = re.compile(
    r"/(?:[\w.-]{0,80}?[-.])??(?P<engine>docker|kubepods|lxc|libpod|crio|cri-containerd|containerd)(?=[/.-]|$)(?!\.service)"
)


def read_cgroup(lines: Lines) -> Reading:
    """Return that the host is a container where a path names its engine; what a container printed is no host's."""
    read_to = 0
    told: list[tuple[int, str]] = []
    for at, line in enumerate(lines.clean):
        found = _LINE.match(line.rstrip()) if len(line) < 600 else None
        if found is None:
            break
        read_to = at + 1
        if engine := _ENGINE.search(found["path"]):
            told.append((at, engine["engine"]))
    if not told or lines.container:
        return Reading(read_to=read_to)
    proof = tuple(lines.cite(at, at, "kind", "hypervisor") for at, _ in told)
    setting: Fact = Setting(
        device=host_ref(), kind="container", by="proc-1-cgroup", hypervisor=told[0][1], sources=proof
    )  # fmt: skip
    return Reading(facts=(setting,), read_to=read_to)
