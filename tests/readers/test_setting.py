"""What texts say the host is: a machine of its own, a guest, WSL, a Jetson."""

from typing import Any

import pytest

from pipeline import read
from steadygpu.evidence.device import host_ref
from steadygpu.evidence.setting import KernelVersion, Setting, guest, setting_of
from steadygpu.evidence.source import Source
from steadygpu.evidence.text import lines_of
from steadygpu.readers.cgroup import read_cgroup
from steadygpu.readers.dmidecode import read_dmidecode
from steadygpu.readers.kernel_log import read_kernel_log, read_kernel_log_blocks
from steadygpu.readers.lscpu import read_lscpu
from steadygpu.readers.uname import read_uname

LSCPU = "Architecture: x86_64\nCPU(s): 8\nVirtualization: VT-x\n{}NUMA node(s): 1\n"


def settings(facts: Any) -> list[tuple[str, str | None]]:
    return [(f.kind, f.hypervisor) for f in facts if isinstance(f, Setting)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LSCPU.format(""), [("bare-metal", None)]),
        (LSCPU.format("").replace("Architecture: x86_64\n", ""), []),
        (LSCPU.format("").replace("NUMA node(s): 1\n", ""), []),
        (LSCPU.format("").replace("Virtualization: VT-x\n", ""), []),
        (
            LSCPU.format("Hypervisor vendor: VMware\nVirtualization type: full\n"),
            [("vm", "VMware")],
        ),
        (LSCPU.format("Hypervisor vendor: Xen\nVirtualization type: none\n"), []),
        ("Hypervisor vendor: Windows Subsystem for Linux\n", [("wsl", None)]),
        (
            "Hypervisor vendor: vserver\nVirtualization type: container\n",
            [("container", "vserver")],
        ),
    ],
)
def test_lscpu(text: str, told: list[tuple[str, str | None]]) -> None:
    assert settings(read_lscpu(lines_of("l", text)).facts) == told


def test_a_filtered_lscpu_says_no_machine_of_its_own() -> None:
    assert not settings(read_lscpu(lines_of("l", LSCPU.format(""), filtered="grep -v Hyp")).facts)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Hypervisor detected: Microsoft Hyper-V", [("vm", "Microsoft Hyper-V")]),
        ("DMI: Amazon EC2 g5.xlarge/, BIOS 1.0 10/16/2017", [("vm", "Amazon EC2")]),
        ("DMI: Amazon EC2 g4dn.metal/Not Specified, BIOS 1.0 10/16/2017", [("bare-metal", None)]),
        ("DMI: Google Google Compute Engine/Google Compute Engine, BIOS Google 01/01/2011",
         [("vm", "Google Compute Engine")]),
        ("DMI: Microsoft Corporation Virtual Machine/Virtual Machine, BIOS Hyper-V UEFI Release v4.1",
         [("vm", "Microsoft Corporation Virtual Machine")]),
        ("DMI: VMware, Inc. VMware7,1/440BX Desktop Reference Platform, BIOS VMW71", [("vm", "VMware")]),
        ("DMI: Dell Inc. PowerEdge R760xa/0ABCDE, BIOS 2.1.5 03/14/2024", [("bare-metal", None)]),
        ("DMI: NVIDIA NVIDIA Jetson Orin Nano Developer Kit/Jetson, BIOS 36.3.0", [("jetson", None)]),
        ("DMI: Some Maker X1/X1, BIOS 1", []),
        ("DMI: Memory slots populated: 2/8", []),
        ("Booting paravirtualized kernel on bare hardware", []),
        ("Linux version 5.15.167.4-microsoft-standard-WSL2 (root@f9) (gcc) #1 SMP", [("wsl", None)]),
        ("Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com) #1", [("wsl", None)]),
        ("Linux version 5.15.148-tegra (buildbrain@x) (gcc) #1 SMP PREEMPT", [("jetson", None)]),
        ("Linux version 5.15.0-1053-azure (buildd@x) #61-Ubuntu SMP", []),
    ],
)  # fmt: skip
def test_kernel_log(line: str, told: list[tuple[str, str | None]]) -> None:
    again = "" if line.startswith("Linux version") else f"[    0.100000] {line}\n"
    text = f"[    0.000000] {line}\n{again}"
    assert settings(read_kernel_log(lines_of("k", text)).facts) == told
    assert settings(read_kernel_log_blocks([text.encode()], "k", None).facts) == told


@pytest.mark.parametrize(
    ("maker", "product", "told"),
    [
        ("QEMU", "Standard PC", [("vm", "QEMU")]),
        ("Red Hat", "KVM", [("vm", "KVM")]),
        ("innotek GmbH", "VirtualBox", [("vm", "VirtualBox")]),
        ("Supermicro", "SYS-821GE-TNHR", [("bare-metal", None)]),
        ("To be filled by O.E.M.", "To be filled by O.E.M.", []),
    ],
)
def test_dmidecode(maker: str, product: str, told: list[tuple[str, str | None]]) -> None:
    text = (
        "Handle 0x0001, DMI type 1, 27 bytes\nSystem Information\n"
        f"\tManufacturer: {maker}\n\tProduct Name: {product}\n\n"
        "Handle 0x0002, DMI type 2, 15 bytes\nBase Board Information\n\tManufacturer: QEMU\n"
    )
    assert settings(read_dmidecode(lines_of("d", text)).facts) == told


@pytest.mark.parametrize(
    ("text", "release", "machine", "told"),
    [
        ("Linux a1 5.15.153.1-microsoft-standard-WSL2 #1 SMP Fri Mar 29 23:14:13 UTC 2024 x86_64 GNU/Linux",
         "5.15.153.1-microsoft-standard-WSL2", "x86_64", [("wsl", None)]),
        ("Linux orin 5.10.192-tegra #1 SMP PREEMPT Thu Nov 9 20:22:58 PST 2023 aarch64 aarch64 aarch64 GNU/Linux",
         "5.10.192-tegra", "aarch64", [("jetson", None)]),
        ("Linux n1 3.10.0-1160.el7.x86_64 #1 SMP Mon Oct 19 16:18:59 UTC 2020 x86_64 x86_64 x86_64 GNU/Linux",
         "3.10.0-1160.el7.x86_64", "x86_64", []),
        ("Linux n1 6.1.0 #1", "6.1.0", None, []),
    ],
)  # fmt: skip
def test_uname(
    text: str, release: str, machine: str | None, told: list[tuple[str, str | None]]
) -> None:
    reading = read_uname(lines_of("u", text + "\nprose after it\n"))
    (kernel,) = (f for f in reading.facts if isinstance(f, KernelVersion))
    assert (kernel.release, kernel.machine) == (release, machine)
    assert kernel.device.host == text.split()[1]
    assert settings(reading.facts) == told
    assert reading.read_to == 1


@pytest.mark.parametrize(
    "text",
    [
        "Linux 5.15.0-91-generic (gpu01) \t01/02/24 \t_x86_64_\t(64 CPU)",
        "Linux is an operating system #1",
        "Linux a1 " + "9" * 5000 + ".1 #1",
        "Darwin mac 23.1.0 Darwin Kernel Version",
    ],
)
def test_other_lines_are_no_uname(text: str) -> None:
    reading = read_uname(lines_of("u", text))
    assert (reading.facts, reading.read_to) == ((), 0)


@pytest.mark.parametrize(
    ("mode", "told"), [("Pass-Through", 1), ("VGPU", 1), ("None", 0), ("N/A", 0)]
)
def test_nvidia_smi_q(mode: str, told: int) -> None:
    text = (
        "==============NVSMI LOG==============\n\nAttached GPUs                             : 1\n"
        "GPU 00000000:00:05.0\n    Product Name                          : NVIDIA L4\n"
        f"    GPU Virtualization Mode\n        Virtualization Mode               : {mode}\n"
    )
    facts = [f for _, reading in read({"q.txt": text.encode()}) for f in reading.facts]
    assert settings(facts) == [("vm", mode)] * told


def setting(kind: Any, by: str = "lscpu") -> Setting:
    return Setting(device=host_ref(), kind=kind, by=by, sources=(Source(name="x"),))


def test_the_most_specific_counts() -> None:
    vm, wsl, box, own = (setting(k) for k in ("vm", "wsl", "container", "bare-metal"))
    assert setting_of([own, vm, wsl, box]) == wsl
    assert setting_of([box, vm, own]) == box
    assert setting_of([]) is None
    assert guest([own, box, vm]) == vm
    assert guest([own, box]) is None
    assert wsl.words == "WSL"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0::/\n", []),
        ("0::/init.scope\n", []),
        ("0::/system.slice/containerd.service\n", []),
        ("0::/system.slice/docker.service\n", []),
        ("0::/docker/0a1b2c\n", ["docker"]),
        ("0::/system.slice/docker-0a1b2c.scope\n", ["docker"]),
        ("11:cpu,cpuacct:/kubepods/besteffort/pod0a-1b/2c3d\n", ["kubepods"]),
        ("0::/kubepods.slice/kubepods-pod0a.slice/cri-containerd-1b.scope\n", ["kubepods"]),
        ("1:name=systemd:/lxc.payload.ct104/init.scope\n", ["lxc"]),
        ("0::/machine.slice/libpod-0a1b.scope/container\n", ["libpod"]),
    ],
)
def test_cgroup(text: str, told: list[str]) -> None:
    reading = read_cgroup(lines_of("c", text + "prose\n"))
    assert settings(reading.facts) == [("container", engine) for engine in told]
    assert reading.read_to == 1
    beside = lines_of("c", text)
    beside.container = True
    assert not read_cgroup(beside).facts
