"""Families of kernel messages on switches, memory, stalls, ports, disks and who owns error reports."""

from pathlib import Path
from typing import Any

import pytest

from steadygpu.evidence.kernel_log import (
    DiskEvent,
    KernelEvent,
    MemoryErrorEvent,
    NicEvent,
    NvrmEvent,
    SxidEvent,
)
from steadygpu.evidence.text import lines_of
from steadygpu.readers.kernel_log import read_kernel_log, read_kernel_log_blocks

RECORDED = Path(__file__).parents[1] / "recorded/kernel-log--host-faults.txt"


def of(text: str, kind: type[Any]) -> list[Any]:
    """The records of a kind, which the block reader must see too."""
    found = [f for f in read_kernel_log(lines_of("k.log", text)).facts if type(f) is kind]
    blocks = read_kernel_log_blocks([text.encode()], "k.log", None)
    assert [f for f in blocks.facts if type(f) is kind] == found
    return found


def line(message: str) -> str:
    return f"[  812.500000] {message}\n"


SWITCH = "nvidia-nvswitch4: SXid (PCI:0000:a6:00.0): "


@pytest.mark.parametrize(
    ("says", "code", "fatal", "link"),
    [
        ("24007, Fatal, Link 46 sourcetrack timeout error (First)", 24007, True, 46),
        ("12028, Non-fatal, Link 03 egress non-posted PRIV error", 12028, False, 3),
        ("11021, Correctable, Link 09 ingress remap ECC limit", 11021, False, 9),
        ("10003, Fatal, Unhandled interrupt", 10003, True, None),
        ("20034, Severity 1 Engine instance 30 Sub-engine instance 00", 20034, None, 30),
        ("20034, Data {0x00000004, 0x00000000}", 20034, None, None),
    ],
)
def test_every_form_of_sxid(says: str, code: int, fatal: bool | None, link: int | None) -> None:
    (event,) = of(line(SWITCH + says), SxidEvent)
    assert (event.code, event.fatal, event.link) == (code, fatal, link)
    assert (event.device.kind, event.device.bdf) == ("switch", "0000:a6:00.0")
    assert (event.device.label, event.says) == ("nvswitch4", says.partition(", ")[2])


def test_details_of_a_switch_fault_belong_to_its_first_line() -> None:
    text = (
        line(SWITCH + "20034, Fatal, Link 30 LTSSM Fault Up")
        + line(SWITCH + "20034, Severity 1 Engine instance 30 Sub-engine instance 00")
        + line(SWITCH + "20034, Data {0x00000004}")
        + line(SWITCH + "20034, Fatal, Link 31 LTSSM Fault Up")
    )
    assert [e.link for e in of(text, SxidEvent)] == [30, 31]


@pytest.mark.parametrize("says", ["", "x, Fatal", "99999999, Fatal", "7, Fatal"])
def test_no_switch_fault_without_a_code(says: str) -> None:
    assert not of(line(SWITCH + says), SxidEvent)


@pytest.mark.parametrize(
    ("message", "kind", "by", "errors", "module"),
    [
        ("EDAC MC0: 3 CE memory read error on CPU_SrcID#0_Chan#1_DIMM#0 (channel:1 slot:0)", "corrected", "edac", 3, "CPU_SrcID#0_Chan#1_DIMM#0"),
        ("EDAC MC0: 1 CE on mc#0csrow#2channel#1 (csrow:2 channel:1)", "corrected", "edac", 1, "mc#0csrow#2channel#1"),
        ("EDAC MC1: 2 UE memory scrubbing error on DIMM_B1", "uncorrected", "edac", 2, "DIMM_B1"),
        ('EDAC MC1: CE page 0x2, offset 0xc, grain 8, syndrome 0x6, row 0, channel 1, label "DIMM_A2": amd64', "corrected", "edac", 1, "DIMM_A2"),
        ('EDAC MC1: CE row 3, channel 0, label "": amd64_edac', "corrected", "edac", 1, None),
        ("EDAC MC0: 1 CE single-bit ECC on unknown memory (node:0 card:3)", "corrected", "edac", 1, None),
        ("Memory failure: 0x12ab: recovery action for dirty LRU page: Recovered", "uncorrected", "kernel", 1, None),
        ("Memory failure: 0x12ab: Sending SIGBUS to python:7 due to hardware memory corruption", "uncorrected", "kernel", 1, None),
        ("mce: Uncorrected hardware memory error in user-access at 3f2b4c00", "uncorrected", "kernel", 1, None),
        ("soft offline: 0x4f1: page already poisoned", "corrected", "kernel", 1, None),
    ],
)  # fmt: skip
def test_memory_errors(message: str, kind: str, by: str, errors: int, module: str | None) -> None:
    (event,) = of(line(message), MemoryErrorEvent)
    assert (event.kind, event.by, event.errors, event.device.label) == (kind, by, errors, module)
    assert event.device.kind == ("dimm" if module else "host")


@pytest.mark.parametrize(
    "message",
    [
        "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0000:3a:0a.0 (INTERRUPT)",
        "EDAC MC: Ver: 3.0.0", "EDAC PCI0: Giving out device", "Memory: 1k/2k available", "soft offline",
        "hwpoison: Injecting memory failure", "EDAC MC0: UECE",
    ],
)  # fmt: skip
def test_lines_that_tell_no_memory_error(message: str) -> None:
    assert not of(line(message), MemoryErrorEvent)


def test_the_firmware_names_the_module() -> None:
    (event,) = [
        e for e in of(RECORDED.read_text(), MemoryErrorEvent) if e.by == "firmware"
    ]  # fmt: skip
    assert (event.device.label, event.kind) == ("P1-DIMMA1", "corrected")
    assert event.says == "corrected memory error: single-bit ECC"


@pytest.mark.parametrize(
    ("last", "scope"),
    [
        ("Out of memory: Killed process 9 (a) total-vm:1kB", "host"),
        ("Memory cgroup out of memory: Kill process 9 (a) score 9", "memcg"),
        ("oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=(null),task=a,pid=9,uid=0", "numa"),
        ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=a,pid=9,uid=0", "memcg"),
        ("a invoked oom-killer: x", None),
    ],
)
def test_whose_memory_ran_short(last: str, scope: str | None) -> None:
    (event,) = of(line(last), KernelEvent)
    assert (event.scope, event.swap_free_bytes) == (scope, None)


def test_swap_of_a_kill_is_read_and_cited() -> None:
    kill = (
        line("a invoked oom-killer: x") + line("Free swap  = 2048kB") + line("Total swap = 4096kB")
    )
    text = kill + line("Out of memory: Killed process 9 (a) x") + line("Free swap  = 1kB")
    (event,) = of(text, KernelEvent)
    assert (event.swap_free_bytes, event.swap_total_bytes) == (2048 * 1024, 4096 * 1024)
    assert [s.fields for s in event.sources] == [
        (),
        ("swap_free_bytes",),
        ("swap_total_bytes",),
        (),
    ]
    assert of(kill, KernelEvent)[0].says == "a invoked oom-killer: x"


HUNG = line("INFO: task python:912 blocked for more than 120 seconds.")


@pytest.mark.parametrize(
    ("stack", "inside"),
    [
        ("", None),
        ("Call Trace:\n __schedule+0x2eb/0x8d0\n io_schedule+0x46/0x70", "kernel"),
        ("Call Trace:\n <TASK>\n __schedule+0x2eb/0x8d0\n _nv01rm+0x35/0x50 [nvidia]\n uvm_a+0x1/0x2 [nvidia_uvm]", "nvidia"),
        ("Call Trace:\n [<ffffffff8151>] ? schedule+0x25/0x70\n [<ffffffffc0a1>] nfs_wait+0x1/0x2 [nfs]", "nfs"),
        (" uvm_a+0x1/0x2 [nvidia_uvm(POE)]", "nvidia_uvm"),
        ("nvidia 0000:3b:00.0: something [nvidia]", None),
    ],
)  # fmt: skip
def test_the_stack_of_a_stall_names_the_module(stack: str, inside: str | None) -> None:
    text = HUNG + "".join(line(part) for part in stack.split("\n") if part)
    (event,) = of(text, KernelEvent)
    assert (event.what, event.process, event.inside) == ("hung_task", "python", inside)
    bare = HUNG + line("usb 1-1: new device")
    assert of(bare + HUNG, KernelEvent)[0].inside is None


def test_other_messages_are_read_while_a_stack_is_open() -> None:
    text = (
        HUNG + line("Call Trace:") + line("EDAC MC0: 1 CE on D1 (x)") + line("a+0x1/0x2 [amdgpu]")
    )
    (event,) = of(text, KernelEvent)
    assert event.inside == "amdgpu"
    assert len(of(text, MemoryErrorEvent)) == 1
    many = HUNG + line("idle") * 200 + line("a+0x1/0x2 [amdgpu]")
    assert of(many, KernelEvent)[0].inside is None


@pytest.mark.parametrize(
    ("message", "what", "bdf", "label"),
    [
        ("mlx5_core 0000:17:00.0 ens1: Link down", "link_down", "0000:17:00.0", None),
        ("mlx5_core 0000:17:00.0 ens1: Link up", "link_up", "0000:17:00.0", None),
        ("i40e 0000:3b:00.0 eno1: NIC Link is Down", "link_down", "0000:3b:00.0", None),
        ("ice 0000:31:00.0 ens1f0: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC", "link_up", "0000:31:00.0", None),
        ("e1000e: eno2 NIC Link is Down", "link_down", None, "eno2"),
        ("igb 0000:04:00.0 eth3: igb: eth3 NIC Link is Down", "link_down", "0000:04:00.0", None),
        ("bnxt_en 0000:19:00.0 eth0: NIC Link is Down", "link_down", "0000:19:00.0", None),
        ("tg3 0000:02:00.0 eth0: Link is down", "link_down", "0000:02:00.0", None),
        ("mlx5_core 0000:17:00.0: poll_health:794:(pid 0): device's health compromised - reached miss count", "health", "0000:17:00.0", None),
        ("mlx5_core 0000:17:00.0: temp_warn:200:(pid 9): High temperature on sensors with bit set 0 1", "hot", "0000:17:00.0", None),
        ("mlx5_core 0000:17:00.0: wait_func:1000:(pid 9): ENABLE_HCA(0x104) timeout. Will cause a leak of a command resource", "command_timeout", "0000:17:00.0", None),
        ("NETDEV WATCHDOG: ens1 (mlx5_core): transmit queue 3 timed out", "queue_timeout", None, "ens1"),
        ("NETDEV WATCHDOG: CPU: 7: ens1 (mlx5_core): transmit queue 3 timed out 5012 ms", "queue_timeout", None, "ens1"),
    ],
)  # fmt: skip
def test_network_ports(message: str, what: str, bdf: str | None, label: str | None) -> None:
    (event,) = of(line(message), NicEvent)
    assert (event.what, event.device.kind) == (what, "nic")
    assert (event.device.bdf, event.device.label) == (bdf, label)


@pytest.mark.parametrize(
    ("message", "what", "label"),
    [
        ("nvme nvme1: I/O 123 QID 4 timeout, aborting", "timeout", "nvme1"),
        (
            "nvme nvme1: I/O tag 123 (f07b) opcode 0x2 (I/O Cmd) QID 4 timeout, aborting req_op:READ(0)",
            "timeout",
            "nvme1",
        ),
        ("nvme nvme1: controller is down; will reset: CSTS=0x3", "reset", "nvme1"),
        ("nvme nvme1: Device not ready; aborting reset, CSTS=0x1", "gone", "nvme1"),
        ("nvme nvme1: Removing after probe failure status: -19", "gone", "nvme1"),
        ("I/O error, dev nvme1n1, sector 9 op 0x0:(READ)", "io_error", "nvme1n1"),
        ("end_request: I/O error, dev sda, sector 9", "io_error", "sda"),
        ("blk_update_request: critical medium error, dev sdb, sector 9", "medium_error", "sdb"),
    ],
)
def test_disks(message: str, what: str, label: str) -> None:
    (event,) = of(line(message), DiskEvent)
    assert (event.what, event.device.kind, event.device.label) == (what, "disk", label)


@pytest.mark.parametrize(
    "message",
    [
        "mlx5_core 0000:1a:00.0: firmware version: 28.39.1002", "nvme nvme0: pci function 0000:01:00.0",
        "mlx5_core 0000:1a:00.0: Port module event: module 0, Cable plugged", "nvme nvme0: Abort status: 0x0",
        "blk_update_request: I/O error, dev fd0, sector 0", "I/O error, dev sr0, sector 0", "nvme nvme0: 8/0/0 read",
        "IPv6: ADDRCONF(NETDEV_CHANGE): eno1: link becomes ready", "pcieport 0000:00:1c.0: pciehp: Slot(4): Link Up",
        "ACPI: PCI Interrupt Link is disabled", "i915 0000:00:02.0: [drm] Finished loading DMC firmware", "xe x: y",
        "acpi PNP0A08:29: _OSC: OS now controls [PCIeHotplug PME PCIeCapability LTR]", "mlx5_core: x",
    ],
)  # fmt: skip
def test_ordinary_lines_tell_nothing(message: str) -> None:
    for kind in (NicEvent, DiskEvent, KernelEvent):
        assert not of(line(message), kind)


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ("i915 0000:00:02.0: [drm] GPU HANG: ecode 12:1:85dffffb, in chrome [1234]", "gpu_hang"),
        ("i915 0000:00:02.0: [drm] Resetting chip for stopped heartbeat on rcs0", "gpu_reset"),
        ("xe 0000:03:00.0: [drm] Tile0: GT0: Engine reset: engine_class=rcs, logical_mask: 0x1", "gpu_reset"),
        ("xe 0000:03:00.0: [drm] *ERROR* GT0: reset failed (-ETIMEDOUT)", "gpu_reset"),
    ],
)  # fmt: skip
def test_intel_cards(message: str, what: str) -> None:
    (event,) = of(line(message), KernelEvent)
    assert (event.what, event.device.kind) == (what, "card")


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ("NVRM: _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP", "gsp_failed"),
        ("NVRM: nvlink: link 3 failed to train", "nvlink"),
        ("NVRM: knvlinkDiscoverPostRxDetLinks: Getting peer0's postRxDetLinkMask failed!", "nvlink"),
    ],
)  # fmt: skip
def test_more_messages_of_the_driver(message: str, what: str) -> None:
    (event,) = of(line(message), NvrmEvent)
    assert event.what == what
