import csv
import json
import random
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from steadygpu.evidence.kernel_log import (
    AerEvent,
    ClockAnchor,
    DriverBindEvent,
    KernelEvent,
    KernelLogSpan,
    LinkDownEvent,
    MemoryErrorEvent,
    NvrmEvent,
    XidEvent,
)
from steadygpu.evidence.moment import before
from steadygpu.evidence.text import decode, lines_of
from steadygpu.readers import kernel_log, kernel_log_fold
from steadygpu.readers.kernel_log import read_kernel_log, read_kernel_log_blocks

SHARED = Path(__file__).parents[2].parent / "shared"


def read(text):
    return read_kernel_log(lines_of("dmesg.txt", text))


def of(reading, kind):
    return [fact for fact in reading.facts if type(fact) is kind]


def one(text, kind):
    """Return the only record of a kind, which the block reader must see too."""
    (fact,) = of(read(text), kind)
    blocks = read_kernel_log_blocks([text.encode()], "dmesg.txt", None)
    assert of(blocks, kind) == [fact]
    return fact


def utc(*parts):
    return datetime(*parts, tzinfo=UTC).timestamp()


XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


@pytest.mark.parametrize(
    ("line", "host", "wall", "boot_s", "zone"),
    [
        (f"[  812.500000] {XID}", None, None, 812.5, False),
        (f"<4>[  812.500000] {XID}", None, None, 812.5, False),
        (f"[  812.500000][ T4411] {XID}", None, None, 812.5, False),
        (f"kern  :warn  : [  812.500000] {XID}", None, None, 812.5, False),
        (f"[  812.500000] node7 kernel: {XID}", "node7", None, 812.5, False),
        (f"4,1201,812500000,-;{XID}", None, None, 812.5, False),
        (f"[Wed Jan 21 09:00:05 2026] {XID}", None, utc(2026, 1, 21, 9, 0, 5), None, False),
        (
            f"2026-01-21T09:00:05,250000+01:00 {XID}",
            None,
            utc(2026, 1, 21, 8, 0, 5) + 0.25,
            None,
            True,
        ),
        (
            f"kern  :warn  : 2026-01-21T09:00:05,250000-05:30 {XID}",
            None,
            utc(2026, 1, 21, 14, 30, 5) + 0.25,
            None,
            True,
        ),
        (
            f"2026-01-21T09:00:05+0000 node7 kernel: {XID}",
            "node7",
            utc(2026, 1, 21, 9, 0, 5),
            None,
            True,
        ),
        (
            f"2026-01-21T09:00:05.5Z node7 kernel: [  812.500000] {XID}",
            "node7",
            utc(2026, 1, 21, 9, 0, 5) + 0.5,
            812.5,
            True,
        ),
        (f"[2026-01-21 09:00:05] {XID}", None, utc(2026, 1, 21, 9, 0, 5), None, False),
        (
            f"2026-01-21 09:00:05 [  812.500000] {XID}",
            None,
            utc(2026, 1, 21, 9, 0, 5),
            812.5,
            False,
        ),
        (f"Jan 21 09:00:05 node7 kernel: {XID}", "node7", utc(1972, 1, 21, 9, 0, 5), None, False),
        (
            f"Jan  2 09:00:05.250000 node7 kernel: [  812.500000] {XID}",
            "node7",
            utc(1972, 1, 2, 9, 0, 5) + 0.25,
            812.5,
            False,
        ),
        (f"Jan 21 09:00:05 kernel: {XID}", None, utc(1972, 1, 21, 9, 0, 5), None, False),
        (f"Jan 21 09:00:05 {XID}", None, utc(1972, 1, 21, 9, 0, 5), None, False),
        (f"Feb 31 25:00:05 node7 kernel: {XID}", "node7", None, None, False),
        (f"2026-13-21T09:00:05+0000 node7 kernel: {XID}", "node7", None, None, False),
        (f"node7 kernel: {XID}", "node7", None, None, False),
        (f"kern  :warn  : {XID}", None, None, None, False),
        (f"kernel: {XID}", None, None, None, False),
        (XID, None, None, None, False),
        (f"\x1b[33m[  812.500000] \x1b[0m{XID}", None, None, 812.5, False),
    ],
)
def test_every_prefix_gives_time_and_host(line, host, wall, boot_s, zone):
    event = one(line + "\n", XidEvent)
    assert (event.code, event.device.bdf, event.device.host) == (79, "0000:3b:00.0", host)
    assert (event.at.wall, event.at.boot_s, event.at.zone_known) == (wall, boot_s, zone)
    assert event.says == "GPU has fallen off the bus."
    assert event.sources[0].quote == line
    assert (event.at.boot_id is None) == (boot_s is None)


def test_journal_json_gives_boot_host_and_anchor():
    entry = {
        "_HOSTNAME": "node7", "_BOOT_ID": "ab" * 16, "_TRANSPORT": "kernel", "MESSAGE": XID,
        "__REALTIME_TIMESTAMP": "1768986005000000", "__MONOTONIC_TIMESTAMP": "812500000",
    }  # fmt: skip
    other = {**entry, "_TRANSPORT": "syslog", "SYSLOG_IDENTIFIER": "cron"}
    numbers = {
        **entry,
        "MESSAGE": list(b"NVRM: Xid (PCI:0000:3b:00): 13, x"),
        "_BOOT_ID": "cd" * 16,
    }
    later = {**entry, "__MONOTONIC_TIMESTAMP": "x", "__REALTIME_TIMESTAMP": None, "MESSAGE": "a\nb"}
    rows = [
        entry,
        other,
        numbers,
        later,
        {**entry, "MESSAGE": [999]},
        {**entry, "MESSAGE": 3},
        {**later, "_BOOT_ID": ""},
    ]
    text = "\n".join(json.dumps(row) for row in rows)
    reading = read(text + '\n{"MESSAGE": "x", bad}\n')
    assert reading.read_to == len(rows)
    first, second = of(reading, XidEvent)
    assert (first.at.wall, first.at.boot_s, first.at.boot_id) == (1768986005.0, 812.5, "ab" * 16)
    assert (second.code, second.at.boot_id, second.device.host) == (13, "cd" * 16, "node7")
    anchor = of(reading, ClockAnchor)[0]
    assert (anchor.by, anchor.wall, anchor.boot_s) == ("journal", 1768986005.0, 812.5)


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("Xid (0000:0a:00): 31, Ch 0000001b, engmask 00000101", {"code": 31, "channel": "0000001b"}),
        ("Xid (PCI:0000:0a:00): 43, pid=771, name=train, channel 0x0b00000a", {"pid": 771, "process": "train", "channel": "0x0b00000a"}),
        ("Xid (PCI:0000:0a:00): 43, pid=771, Ch 00000009", {"pid": 771, "process": None, "channel": "00000009"}),
        ("Xid (PCI:0000:0a:00 GPU-I:05 GPU-CI:00): 94, pid=9, name=a b, Contained", {"mig": "5/0", "process": "a b"}),
        ("Xid (PCI:0000:0a:00): 45, pid=5, name=python3, Ch 00000001 caused by previous Xid 149", {"previous": 149}),
        ("Xid (PCI:0000:0a:00): 31, pid=5, name=x, MMU Fault: ENGINE GRAPHICS UNRECOGNIZED_CLIENT faulted", {"unrecognised_client": True}),
        ("Xid (PCI:0000:0a:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", {"recovery": "reset"}),
        ("Xid (PCI:0000:0a:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)", {"recovery": "reboot"}),
        ("Xid (PCI:0000:0a:00): 154, GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)", {"recovery": "drain_p2p"}),
        ("Xid (PCI:0000:0a:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)", {"recovery": "drain_and_reset"}),
        ("Xid (PCI:0000:0a:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", {"recovery": "none"}),
        ("Xid (PCI:0000:0a:00): 154, GPU recovery action changed from 0x1 (PF FLR) to 0x4 (Word of tomorrow)", {"recovery": "drain_and_reset"}),
        ("Xid (PCI:0000:0a:00): 154, GPU recovery action changed from 0x1 (PF FLR) to 0xff (Word of tomorrow)", {"recovery": None}),
        ("Xid (PCI:0000:0a:00): 154, in other words", {"recovery": None}),
        ("Xid (PCI:0000:0a:00): 62", {"code": 62, "says": ""}),
    ],
)  # fmt: skip
def test_every_form_of_xid(message, wanted):
    event = one(f"[ 5.000001] NVRM: {message}\n", XidEvent)
    assert event.device.bdf == "0000:0a:00.0"
    assert {name: getattr(event, name) for name in wanted} == wanted


def test_code_0_and_a_damaged_line_lose_themselves_only():
    text = f"[ 1.000000] NVRM: Xid (PCI:0000:0a:00): 0, x\n[ 2.000000] NVRM: Xid (PCI:00\n[ 3.000000] {XID}\n"
    assert one(text, XidEvent).code == 79


def test_names_of_a_card_go_into_its_reference():
    text = (
        f"[ 1.000000] NVRM: GPU Board Serial Number: 1650000000001\n[ 2.000000] {XID}\n"
        "[ 3.000000] NVRM: GPU at PCI:0000:3b:00: GPU-11112222-3333-4444-5555-666677778888\n"
        "[ 4.000000] NVRM: GPU Board Serial Number: 1650000000002\n"
        f"[ 5.000000] {XID}\n"
    )
    first, second = of(read(text), XidEvent)
    assert first.device == second.device
    assert second.device.uuid == "GPU-11112222-3333-4444-5555-666677778888"
    assert second.device.serial == "1650000000002"


OFF_BUS = """[  61.100000] NVRM: The NVIDIA GPU 0000:5e:00.0
               NVRM: (PCI ID: 10de:2330) installed in this system has
               NVRM: fallen off the bus and is not responding to commands.
"""


def test_record_of_three_lines_is_one_event():
    text = OFF_BUS + "[  61.200000] NVRM: The NVIDIA probe routine failed for 1 device(s).\n"
    events = of(read(text), NvrmEvent)
    assert [event.what for event in events] == ["off_bus", "probe_failed"]
    assert events[0].device.bdf == "0000:5e:00.0"
    assert [source.first for source in events[0].sources] == [1, 2, 3]


@pytest.mark.parametrize(
    ("says", "what", "bdf"),
    [
        ("GPU 0000:5e:00.0: GPU has fallen off the bus.", "off_bus", "0000:5e:00.0"),
        ("fallen off the bus and is not responding to commands.", "off_bus", None),
        ("GPU 0000:5e:00.0: RmInitAdapter failed! (0x22:0x56:751)", "init_failed", "0000:5e:00.0"),
        ("rm_init_adapter failed, device minor number 0", "init_failed", None),
        ("The NVIDIA probe routine failed for 1 device(s).", "probe_failed", None),
        ("The NVIDIA probe routine was not called for 2 device(s).", "probe_skipped", None),
        ("No NVIDIA devices probed.", "no_device", None),
        ("None of the NVIDIA devices were initialized.", "no_device", None),
        ("GPU2 _kgspRpcRecvPoll: GSP RPC timeout", "gsp_timeout", None),
        ("GPU0 nvAssertFailedNoLog: Assertion failed: 0 @ x.c:1", "assertion", None),
        ("GPU reset completed", "reset", None),
    ],
)
def test_other_messages_of_the_driver(says, what, bdf):
    event = one(f"[ 5.000001] NVRM: {says}\n", NvrmEvent)
    assert (event.what, event.device.bdf, event.says) == (what, bdf, says)


@pytest.mark.parametrize(
    ("says", "version", "is_open"),
    [
        (
            "loading NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Mar  5 22:42:15 UTC 2024",
            "535.161.08",
            False,
        ),
        (
            "loading NVIDIA UNIX Open Kernel Module for aarch64  575.57  Release Build",
            "575.57",
            True,
        ),
    ],
)
def test_loading_tells_version_and_flavour(says, version, is_open):
    event = one(f"[ 5.000001] NVRM: {says}\n", NvrmEvent)
    assert (event.what, event.version, event.open_module) == ("loading", version, is_open)


@pytest.mark.parametrize(
    "lines",
    [
        ["API mismatch: the client has the version 555.42.02, but",
         "this kernel module has the version 550.54.15.  Please",
         "make sure that this kernel module and all NVIDIA driver", "components have the same version."],
        ["API mismatch: the client 'smi' (pid 7)", "has the version 555.42.02, but this kernel module has",
         "the version 550.54.15. Please", "make sure"],
        ["API mismatch: the client 'smi' (pid 7) has the version 555.42.02, but this kernel module has the version 550.54.15."],
    ],
)  # fmt: skip
def test_api_mismatch_of_one_to_four_lines(lines):
    text = "[ 5.000001] NVRM: " + "\n               NVRM: ".join(lines) + "\n"
    event = one(text, NvrmEvent)
    assert (event.what, event.library_version, event.version) == (
        "library_mismatch",
        "555.42.02",
        "550.54.15",
    )


def test_open_records_end_where_something_else_is_said():
    text = (
        "[ 1.000000] NVRM: The NVIDIA GPU 0000:5e:00.0 (PCI ID: 10de:1db4)\n"
        "[ 1.000000] NVRM: installed in this system is not supported by the\n"
        "[ 2.000000] NVRM: The NVIDIA GPU 0000:5f:00.0\n"
        "[ 2.000000] NVRM: The NVIDIA probe routine failed for 1 device(s).\n"
        "[ 3.000000] NVRM: API mismatch: cut\n" + "[ 3.000000] NVRM: words\n" * 8
    )
    assert one(text, NvrmEvent).what == "probe_failed"


OLD_AER = """[  10.000001] pcieport 0000:40:03.0: AER: Uncorrected (Fatal) error received: id=4018
[  10.000002] pcieport 0000:40:03.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, id=4018(Receiver ID)
[  10.000003] pcieport 0000:40:03.0:   device [8086:2f08] error status/mask=00000020/00000000
[  10.000004] pcieport 0000:40:03.0:    [ 5] Surprise Down Error    (First)
"""
NEW_AER = """[  11.000001] pcieport 0000:40:03.0: AER: Multiple Correctable error message received from 0000:41:00.0
[  11.000002] nvidia 0000:41:00.0: AER: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)
[  11.000003] nvidia 0000:41:00.0: AER:   device [10de:20b5] error status/mask=00000041/00002000
[  11.000004] nvidia 0000:41:00.0: AER:    [ 0] RxErr                  (First)
[  11.000005] nvidia 0000:41:00.0: AER:    [ 6] BadTLP
[  11.000006] nvidia 0000:41:00.0: AER:   Error of this Agent is reported first
"""


def test_error_report_of_old_kernels():
    event = one(OLD_AER, AerEvent)
    assert (event.device.kind, event.device.bdf, event.severity, event.layer) == (
        "port",
        "0000:40:03.0",
        "fatal",
        "transaction",
    )
    assert (event.names, event.surprise_down, event.reporter) == (
        ("Surprise Down Error",),
        True,
        None,
    )
    assert [source.first for source in event.sources] == [1, 2, 3, 4]


def test_error_report_of_new_kernels():
    event = one(NEW_AER, AerEvent)
    assert (event.device.kind, event.device.bdf, event.reporter) == (
        "card",
        "0000:41:00.0",
        "0000:40:03.0",
    )
    assert (event.severity, event.layer, event.names) == (
        "corrected",
        "physical",
        ("Receiver Error", "Bad TLP"),
    )
    assert len(event.sources) == 6


@pytest.mark.parametrize(
    ("kept", "severity", "layer", "names", "bdf"),
    [
        ([0], "fatal", None, (), "0000:40:03.0"),
        ([1], "fatal", "transaction", (), "0000:40:03.0"),
        ([1, 2], "fatal", "transaction", ("Surprise Down Error",), "0000:40:03.0"),
        ([1, 3], "fatal", "transaction", ("Surprise Down Error",), "0000:40:03.0"),
    ],
)
def test_parts_of_a_report_are_read(kept, severity, layer, names, bdf):
    lines = OLD_AER.splitlines()
    event = one("\n".join(lines[i] for i in kept) + "\n", AerEvent)
    assert (event.severity, event.layer, event.names, event.device.bdf) == (
        severity,
        layer,
        names,
        bdf,
    )


def test_reports_stay_apart():
    text = (
        OLD_AER
        + "[ 10.5] x\n" * 80
        + OLD_AER
        + NEW_AER
        + "".join(NEW_AER.splitlines(True)[1:3]) * 12
    )
    events = of(read(text), AerEvent)
    assert [event.severity for event in events] == ["fatal", "fatal"] + ["corrected"] * 13


def test_a_device_known_elsewhere_keeps_its_kind():
    text = (
        "[ 1.000000] pcieport 0000:00:01.0: AER: Corrected error received: 0000:3b:00.0\n"
        f"[ 2.000000] {XID}\n"
    )
    assert one(text, AerEvent).device.kind == "card"


CPER = """[ 20.1] {7}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4
[ 20.2] {7}[Hardware Error]: event severity: SEVERITY
[ 20.3] {7}[Hardware Error]:   section_type: SECTION
"""
CPER_PCIE = """[ 20.4] {7}[Hardware Error]:   device_id: 0000:9a:00.0
[ 20.5] {7}[Hardware Error]:   vendor_id: 0x10de, device_id: 0x20b0
[ 20.6] {7}[Hardware Error]:   aer_uncor_status: 0x00004000, aer_uncor_mask: 0x0
[ 20.7] {7}[Hardware Error]:   aer_layer=Transaction Layer, aer_agent=Receiver ID
[ 20.8] nvidia 0000:9a:00.0: AER: aer_status: 0x00004000, aer_mask: 0x00000000
"""


def test_firmware_first_form_of_a_pcie_error():
    text = CPER.replace("SEVERITY", "recoverable").replace("SECTION", "PCIe error") + CPER_PCIE
    event = one(text, AerEvent)
    assert (event.severity, event.layer, event.names) == (
        "nonfatal",
        "transaction",
        ("Completion Timeout",),
    )
    assert event.device.bdf == "0000:9a:00.0"
    assert not of(read(text), KernelEvent)


@pytest.mark.parametrize("severity", ["corrected", "fatal", "info", "tomorrow"])
def test_firmware_first_form_of_another_error(severity):
    text = CPER.replace("SEVERITY", severity).replace("SECTION", "memory error")
    event = one(text, MemoryErrorEvent) if severity != "tomorrow" else one(text, KernelEvent)
    if isinstance(event, KernelEvent):
        assert event.what == "mce"
    else:
        kind = "uncorrected" if severity == "fatal" else "corrected"
        assert (event.kind, event.by, event.device.kind) == (kind, "firmware", "host")
    assert not of(read(CPER.splitlines()[0]), KernelEvent)


@pytest.mark.parametrize(
    "line",
    [
        "acpi PNP0A08:00: _OSC: platform does not support [SHPCHotplug LTR DPC]",
        "pcieport 0000:00:1c.0: AER: enabled with IRQ 122",
        "nvidia 0000:02:00.0: device has no AER-aware driver",
        "pcieport 0000:00:1c.0: AER: device recovery successful",
        "pcieport 0000:00:1c.0: pciehp: Slot(4): Link Up",
        "EDAC MC: Ver: 3.0.0",
        "nouveau 0000:01:00.0: probe with driver nouveau failed with error -12",
        "traps: a.out[1] general protection fault ip:0 sp:0 error:0",
        "---[ end Kernel panic - not syncing: x ]---",
        "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver",
        "Kernel command line: ro quiet",
        "Core temperature/speed normal, Unloading",
        "audit(1.000:1) never set",
        "Out of memory somewhere",
        "INFO: task, soft lockup - no, blocked for more than",
    ],
)
def test_lines_that_tell_no_event(line):
    reading = read(f"[ 5.000001] {line}\n")
    assert [type(fact) for fact in reading.facts] == [KernelLogSpan]


@pytest.mark.parametrize(
    ("line", "what", "process"),
    [
        ("Out of memory: Killed process 911 (trainer) total-vm:1kB", "oom_kill", "trainer"),
        ("Memory cgroup out of memory: Kill process 911 (trainer) score 9", "oom_kill", "trainer"),
        (
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=trainer,pid=911,uid=0",
            "oom_kill",
            "trainer",
        ),
        ("kubelet invoked oom-killer: gfp_mask=0x1", "oom_kill", None),
        ("INFO: task python:912 blocked for more than 120 seconds.", "hung_task", "python"),
        ("watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python:912]", "soft_lockup", "python"),
        ("Kernel panic - not syncing: Fatal exception", "panic", None),
        ("BUG: unable to handle page fault for address: 0", "oops", None),
        ("general protection fault: 0000 [#1] SMP", "oops", None),
        ("mce: [Hardware Error]: Machine check events logged", "mce", None),
        ("acpi PNP0A08:00: _OSC: platform does not support [AER LTR]", "aer_firmware", None),
        (
            "acpi PNP0A03:01: _OSC: platform retains control of PCIe features (AE_NOT_FOUND)",
            "aer_firmware",
            None,
        ),
        ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 3", "hard_lockup", None),
        ("rcu: INFO: rcu_sched self-detected stall on CPU", "rcu_stall", None),
        ("INFO: rcu_preempt detected stalls on CPUs/tasks:", "rcu_stall", None),
        (
            "CPU5: Package temperature above threshold, cpu clock throttled (total events = 3)",
            "thermal",
            None,
        ),
        (
            "Kernel command line: ro modprobe.blacklist=nouveau,lbm quiet",
            "nouveau_blacklisted",
            None,
        ),
        ("Command line: ro nouveau.modeset=0", "nouveau_blacklisted", None),
    ],
)
def test_events_of_the_kernel(line, what, process):
    event = one(f"[ 5.000001] {line}\n", KernelEvent)
    assert (event.what, event.process, event.device.kind) == (what, process, "host")


def test_lines_of_one_kill_are_one_event():
    kill = (
        "[ 1.0] sh invoked oom-killer: x\n[ 1.1] oom-kill:constraint=X,task=a,pid=3,uid=0\n"
        "[ 1.2] Out of memory: Killed process 3 (a) x\n"
    )
    events = of(read(kill + "[ 2.0] oom-kill:constraint=X,task=b,pid=4\n" * 2), KernelEvent)
    assert [(event.process, len(event.sources)) for event in events] == [
        ("a", 3),
        ("b", 1),
        ("b", 1),
    ]


def test_blacklist_is_told_once_a_boot():
    text = "[ 0.0] Command line: modprobe.blacklist=nouveau\n[ 0.1] Kernel command line: modprobe.blacklist=nouveau\n"
    assert one(text, KernelEvent).says == "modprobe.blacklist=nouveau"


@pytest.mark.parametrize(
    ("line", "bdf", "says"),
    [
        ("pcieport 0000:40:03.0: pciehp: Slot(12): Link Down", "0000:40:03.0", "Link Down"),
        (
            "pciehp 0000:40:03.0:pcie004: Slot(12): Card not present",
            "0000:40:03.0",
            "Card not present",
        ),
    ],
)
def test_links_that_went_down(line, bdf, says):
    event = one(f"[ 5.000001] {line}\n", LinkDownEvent)
    assert (event.device.kind, event.device.bdf, event.device.slot, event.says) == (
        "port",
        bdf,
        "12",
        says,
    )


@pytest.mark.parametrize(
    ("line", "driver", "kind"),
    [
        ("nouveau 0000:01:00.0: NVIDIA GK208B (b06070b1)", "nouveau", "card"),
        ("nouveau  [  DEVICE][0000:01:00.0] BOOT0  : 0x108390a1", "nouveau", "card"),
        ("vfio-pci 0000:01:00.0: vgaarb: changed VGA decodes", "vfio-pci", "pci"),
        ("nvidia 0000:01:00.0: enabling device (0000 -> 0003)", "nvidia", "card"),
    ],
)
def test_drivers_that_take_a_device(line, driver, kind):
    event = one(f"[ 5.000001] {line}\n[ 6.000001] {line}\n", DriverBindEvent)
    assert (event.driver, event.device.bdf, event.device.kind) == (driver, "0000:01:00.0", kind)


def test_unloading():
    text = "[ 5.0] [drm] [nvidia-drm] [GPU ID 0x00000100] Unloading driver\n"
    assert one(text, NvrmEvent).what == "unloading"


def test_anchors():
    text = (
        "[    1.500000] rtc_cmos 00:01: setting system clock to 2026-01-21T09:00:00 UTC (1768986000)\n"
        "[    2.000000] audit: type=2000 audit(1768986000.500:1): state=initialized\n"
        "[    3.000000] audit: type=1400 audit(1768986001.500:2): same clock\n"
        "[    4.000000] audit: type=1400 audit(1768989602.500:3): stepped\n"
    )
    anchors = of(read(text), ClockAnchor)
    assert [(a.by, a.boot_s, a.wall) for a in anchors] == [
        ("rtc", 1.5, 1768986000.0), ("audit", 2.0, 1768986000.5), ("audit", 4.0, 1768989602.5),
    ]  # fmt: skip
    assert all(anchor.at.zone_known for anchor in anchors)


BOOTS = """[    0.000000] Linux version 6.8.0 (x)
[   10.000000] a
[    9.500000] out of order by less than a second
[    0.000000] Linux version 6.8.0 (x)
[    5.000000] NVRM: Xid (PCI:0000:3b:00): 13, x
[    2.000000] seconds went back
-- Boot 0123456789abcdef0123456789abcdef --
[    3.000000] Linux version 6.8.0 (x)
[    3.500000] b
"""


def test_boots_are_told_apart():
    reading = read(BOOTS)
    spans = of(reading, KernelLogSpan)
    assert [(span.boot, span.lines, span.whole) for span in spans] == [
        (0, 3, True),
        (1, 2, True),
        (2, 1, None),
        (3, 2, True),
    ]
    assert of(reading, XidEvent)[0].at.boot_id == "dmesg.txt#1"
    assert spans[3].first.boot_id == "0123456789abcdef0123456789abcdef"
    blocks = read_kernel_log_blocks([BOOTS.encode()], "dmesg.txt", None)
    assert [span.boot for span in of(blocks, KernelLogSpan)] == [
        0,
        1,
        2,
    ]  # a step back without a word is not seen
    filtered = read_kernel_log(lines_of("x", BOOTS, filtered="grep"))
    assert {span.whole for span in of(filtered, KernelLogSpan)} == {None}


def test_boot_ids_of_a_journal_may_come_back():
    rows = [
        json.dumps(
            {
                "MESSAGE": XID,
                "_BOOT_ID": boot * 32,
                "_TRANSPORT": "kernel",
                "__MONOTONIC_TIMESTAMP": "5",
            }
        )
        for boot in "aba"
    ]
    assert [span.lines for span in of(read("\n".join(rows)), KernelLogSpan)] == [2, 1]


def test_hosts_of_one_syslog_are_kept_apart_and_others_senders_are_not_the_kernel():
    text = (
        f"Dec 31 23:59:58 n1 kernel: {XID}\nDec 31 23:59:59 n2 kernel: {XID}\n"
        f"Dec 31 23:59:59 n2 sudo[33]: COMMAND=grep {XID}\nJan  1 00:00:03 n1 kernel: {XID}\n"
    )
    reading = read(text)
    events = of(reading, XidEvent)
    assert [event.device.host for event in events] == ["n1", "n2", "n1"]
    assert before(events[0].at, events[2].at) is True
    assert [(s.device.host, s.lines) for s in of(reading, KernelLogSpan)] == [("n1", 2), ("n2", 2)]
    blocks = read_kernel_log_blocks([text.encode()], "dmesg.txt", None)
    assert of(blocks, XidEvent) == events


def test_a_year_from_elsewhere_is_used():
    text = (
        f"Dec 31 23:00:00 n1 kernel: [   50.0] {XID}\n"
        "Dec 31 23:00:01 n1 kernel: [   51.0] audit: type=1 audit(1767222001.000:1): x\n"
        f"Jan  1 00:00:03 n1 kernel: [ 3653.0] {XID}\n"
    )
    first, second = of(read(text), XidEvent)
    assert (first.at.wall, second.at.wall) == (utc(2025, 12, 31, 23), utc(2026, 1, 1, 0, 0, 3))
    assert not first.at.zone_known


def test_continuation_lines_and_end_of_the_log():
    text = (
        "[   20.869313] starting (1.33)\n                 with options: x\n\n[   21.000000] b\n--\n[   22.000000] c\n\n"
        "    Product Name                    : NVIDIA H100\n[   23.000000] not read\n"
    )
    reading = read(text)
    assert reading.read_to == 6
    assert read("[ 1.000000] a\n\n").read_to == 2
    assert read("Some prose\n[ 1.000000] a\n").read_to == 0
    assert read("").facts == ()
    assert read("[   20.869313] a\n                    Device Current   : 4\n").read_to == 1
    assert (
        read(
            "INFO: task a:1 blocked for more than 120 seconds.\n      Tainted: G\nThanks!\n"
        ).read_to
        == 2
    )


def test_identical_events_are_folded():
    text = "".join(f"[{n:6d}.000000] {XID}\n" for n in range(500))
    events = of(read(text), XidEvent)
    assert len(events) == kernel_log_fold.SAME_KEPT
    assert sum(event.count for event in events) == 500
    assert events[-1].last_at.boot_s == 499.0
    assert (events[-1].sources[0].first, events[-1].sources[0].last) == (200, 500)


def test_events_of_other_wording_are_counted_and_told(monkeypatch):
    monkeypatch.setattr(kernel_log_fold, "ALIKE_KEPT", 20)
    text = "".join(
        f"[{n:6d}.000000] NVRM: Xid (PCI:0000:3b:00): 13, number {n}\n" for n in range(50)
    )
    reading = read(text)
    assert sum(event.count for event in of(reading, XidEvent)) == 50
    assert len(of(reading, XidEvent)) == 20
    assert "30 more events" in reading.gaps[0].why
    monkeypatch.setattr(kernel_log_fold, "EVENTS_KEPT", 5)
    reading = read(text)
    assert len(of(reading, XidEvent)) == 5
    assert "left out" in reading.gaps[0].why


def test_hosts_and_boots_are_bounded(monkeypatch):
    monkeypatch.setattr(kernel_log, "HOSTS_KEPT", 3)
    monkeypatch.setattr(kernel_log, "BOOTS_KEPT", 3)
    text = "".join(f"Jan 21 09:00:05 n{n} kernel: [ {50 - n}.0] {XID}\n" for n in range(30))
    spans = of(read(text), KernelLogSpan)
    assert len({span.device.host for span in spans}) == 3
    assert len(spans) == 4
    spare = "".join(f"[ {50 - 2 * n}.0] {XID}\n" for n in range(20))
    assert len(of(read(spare), KernelLogSpan)) == 3


LONG = (
    BOOTS.replace("[    2.000000] seconds went back\n", "")
    + OFF_BUS
    + OLD_AER
    + NEW_AER
    + CPER
    + "".join(f"[ {n}.000000] noise {n}\n" for n in range(100, 400))
)


@pytest.mark.parametrize("size", [1, 7, 64, 1000, 10**6])
@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_blocks_of_any_size_read_the_same(size, coding, monkeypatch):
    data = LONG.replace("\n", "\r\n").encode(coding)
    blocks = [data[at : at + size] for at in range(0, len(data), size)]
    if size < 8 and coding in ("utf-16-le", "utf-16-be"):
        blocks = [data[:400], *blocks[400 // size + 1 :]] if 400 % size == 0 else [data]
    whole = read(LONG)
    events = [fact for fact in whole.facts if type(fact) is not KernelLogSpan]
    for missing in (False, True):
        if missing:
            monkeypatch.setitem(sys.modules, "re2", None)
        reading = read_kernel_log_blocks(blocks, "dmesg.txt", None)
        if coding not in ("utf-16-le", "utf-16-be") or size >= 8:
            assert reading.read_to == len(LONG.splitlines())
            assert [fact for fact in reading.facts if type(fact) is not KernelLogSpan] == events


def test_lines_without_end_do_not_fill_memory():
    blocks = [b"x" * 50_000] * 20 + [b"\n[ 1.000000] " + XID.encode()]
    reading = read_kernel_log_blocks(blocks, "dmesg.txt", "n9")
    assert reading.read_to == 2
    assert of(reading, XidEvent)[0].device.host == "n9"


def test_no_text_raises():
    dice = random.Random(3)
    pieces = [
        *LONG.split(),
        XID,
        "{",
        "\x00",
        "�",
        "[",
        "-- Boot",
        "Feb 31 09:00:00 a kernel: ",
        "\n",
        "\n",
    ]
    for _ in range(300):
        text = " ".join(dice.choice(pieces) for _ in range(60))
        read(text)
        read_kernel_log_blocks([text.encode("utf-8", "surrogatepass")], "x", None)
    for at in range(0, len(LONG), 101):
        read(LONG[:at] + "\ufffd" + LONG[at + 3 :])


@pytest.mark.skipif(
    not (SHARED / "evidence" / "manifest.csv").exists(),
    reason="no shared evidence beside the checkout",
)
def test_recorded_logs():
    with (SHARED / "evidence" / "manifest.csv").open() as file:
        names = [row["file"] for row in csv.DictReader(file) if row["kind"] == "kernel-log"]
    assert names
    for name in names:
        data = (SHARED / "evidence" / "files" / name).read_bytes()
        lines = lines_of(name, decode(data))
        reading = read_kernel_log(lines)
        assert reading.read_to == len(lines), name
        blocks = read_kernel_log_blocks([data], name, None)
        assert [f for f in blocks.facts if type(f) is not KernelLogSpan] == [
            f for f in reading.facts if type(f) is not KernelLogSpan
        ], name
        for fact in reading.facts:
            for source in fact.sources:
                assert lines.raw[source.first - 1].startswith(source.quote.split("\n")[0][:300])


@pytest.mark.parametrize(
    ("before", "host", "wall", "zone"),
    [
        ("Mon 2026-11-23 09:12:09 UTC n1 kernel: ", "n1", utc(2026, 11, 23, 9, 12, 9), True),
        ("Mon 2026-11-23 09:12:09 CET n1 kernel: ", "n1", utc(2026, 11, 23, 9, 12, 9), False),
        ("<4>1 2026-11-23T09:12:09.5+01:00 n1 kernel - - - ", "n1", utc(2026, 11, 23, 8, 12, 9) + 0.5, True),
        ("[Nov23 09:12] ", None, utc(1972, 11, 23, 9, 12, 0), False),
        ("[  +0.000012] ", None, None, False),
    ],
)  # fmt: skip
def test_more_forms_of_a_line(
    before: str, host: str | None, wall: float | None, zone: bool
) -> None:
    from pipeline import read

    text = f"{before}NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
    ((kind, reading),) = read({"k.log": text})
    assert kind.kind == "kernel-log"
    (event,) = [f for f in reading.facts if type(f).__name__ == "XidEvent"]
    assert (event.code, event.device.host) == (79, host)
    assert (event.at.wall, event.at.zone_known) == (wall, zone)


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-23 09:12:09,123 INFO nvidia driver found",
        "[2026-11-23 09:12:09.123 Control  1234] Accepting connection on nvidia MPS",
        '<?xml version="1.0" encoding="UTF-8"?>\n<topology>\n</topology>',
        "| HL-SMI Version:       hl-1.15.1-fw-49.0.0.0     |\n|===============================+======================+\n",
    ],
)
def test_texts_of_other_tools_are_gaps(line: str) -> None:
    from pipeline import read

    parts = read({"x": line + "\n"})
    assert not [f for _, r in parts for f in r.facts]
    assert any(r.gaps for _, r in parts)
