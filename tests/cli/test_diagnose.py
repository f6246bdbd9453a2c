import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import jsonschema
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from report.sample_report import SAMPLE, SICK, SILENT, make_rule
from steadygpu.cli import main
from steadygpu.cli.diagnose import exit_status
from steadygpu.evidence.device import host_ref
from steadygpu.verdict.answer import Coverage, HostAnswer, Open, Report
from steadygpu.verdict.rule import Seen, Unclear
from steadygpu.wire.schema import schema_text

DMESG = """[    0.000000] Linux version 6.8.0-64-generic (buildd@lcy02-amd64-020) #67-Ubuntu SMP
[    1.204417] rtc_cmos 00:00: setting system clock to 2026-11-16T06:12:04 UTC (1794809524)
[   10.118342] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build
"""
XID_31 = (
    "[  911.020304] NVRM: Xid (PCI:0000:17:00): 31, pid=41277, name=python, Ch 00000011, "
    "intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f12_34560000.\n"
)
XID_79 = "[ 2207.551120] NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.\n"
LSPCI = """00:00.0 Host bridge [0600]: Advanced Micro Devices, Inc. [AMD] Genoa Root Complex [1022:14a4] (rev 01)
00:01.1 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD] Genoa Root Port [1022:14ab] (rev 01) (prog-if 00 [Normal decode])
	Bus: primary=00, secondary=17, subordinate=17, sec-latency=0
	LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <64us
	LnkSta:	Speed 16GT/s (downgraded), Width x16
02:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd PM9A3 [144d:a80a] (prog-if 02 [NVM Express])
	Kernel driver in use: nvme
17:00.0 3D controller [0302]: NVIDIA Corporation AD102GL [L40S] [10de:26b9] (rev a1)
	Subsystem: NVIDIA Corporation Device [10de:1851]
	NUMA node: 0
	LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <4us
	LnkSta:	Speed 16GT/s, Width x16
	Kernel driver in use: nvidia
	Kernel modules: nvidiafb, nouveau, nvidia
"""
SMI_Q = """==============NVSMI LOG==============

Timestamp                                 : Mon Nov 16 09:30:05 2026
Driver Version                            : 570.133.20
CUDA Version                              : 12.8

Attached GPUs                             : 1
GPU 00000000:17:00.0
    Product Name                          : NVIDIA L40S
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : N/A
        Pending                           : N/A
    Serial Number                         : 1652222019731
    GPU UUID                              : GPU-77aa0001-1c2d-4e5f-8a9b-0c1d2e3f4a5b
    Minor Number                          : 0
    GPU Recovery Action                   : None
    PCI
        GPU Link Info
            PCIe Generation
                Max                       : 4
                Current                   : 4
                Device Current            : 4
                Device Max                : 4
                Host Max                  : 4
            Link Width
                Max                       : 16x
                Current                   : 16x
        Replays Since Reset               : 0
        Replay Number Rollovers           : 0
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        Applications Clocks Setting       : Not Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        Sync Boost                        : Not Active
        SW Thermal Slowdown               : Not Active
        Display Clock Setting             : Not Active
    FB Memory Usage
        Total                             : 46068 MiB
        Reserved                          : 595 MiB
        Used                              : 20310 MiB
        Free                              : 25163 MiB
    Compute Mode                          : Default
    Utilization
        GPU                               : 42 %
        Memory                            : 11 %
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 0
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 0
        Aggregate
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 0
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 0
            SRAM Threshold Exceeded       : No
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 0
        Pending                           : No
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 51 C
        GPU T.Limit Temp                  : 36 C
        GPU Shutdown T.Limit Temp         : -5 C
        GPU Slowdown T.Limit Temp         : -2 C
        GPU Max Operating T.Limit Temp    : 0 C
        Memory Current Temp               : N/A
    GPU Power Readings
        Average Power Draw                : 141.20 W
        Instantaneous Power Draw          : 140.00 W
        Current Power Limit               : 350.00 W
        Requested Power Limit             : 350.00 W
        Default Power Limit               : 350.00 W
        Min Power Limit                   : 100.00 W
        Max Power Limit                   : 350.00 W
    Clocks
        Graphics                          : 2490 MHz
        SM                                : 2490 MHz
        Memory                            : 9001 MHz
    Max Clocks
        Graphics                          : 2520 MHz
        SM                                : 2520 MHz
        Memory                            : 9001 MHz
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 41277
            Type                          : C
            Name                          : python
            Used GPU Memory               : 20300 MiB
"""
SOUND = {
    "q.txt": SMI_Q,
    "later.txt": SMI_Q.replace("09:30:05", "09:41:05"),
    "lspci.txt": LSPCI,
    "dmesg.txt": DMESG,
}
HERE = SimpleNamespace(name="steadygpu", main=lambda **_: main())


def run(*args: str | Path, given: bytes = b"", env: dict[str, str] | None = None) -> Result:
    with mock.patch.object(sys, "argv", ["steadygpu", *map(str, args)]):
        return CliRunner().invoke(HERE, input=given, env=env)  # type: ignore[arg-type]


def spoken(result: Result) -> str:
    """What a person reads in one line: a message may be wrapped."""
    return " ".join(result.output.split())


def loaded(result: Result) -> dict[str, object]:
    return json.loads(result.stdout)


def healths(result: Result) -> dict[str | None, str]:
    return {h["host"]: h["answer"]["health"] for h in loaded(result)["hosts"]}  # type: ignore[index,union-attr]


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    folder = tmp_path / "sound"
    folder.mkdir()
    for name, text in SOUND.items():
        (folder / name).write_text(text)
    return folder


# Exit status


def test_a_sound_host_is_healthy_and_exits_with_0(sound: Path) -> None:
    for strict in ([], ["--strict=yes"]):
        result = run(sound, "--format", "json", *strict)
        assert healths(result) == {None: "healthy"}
        assert result.exit_code == 0
    assert "Nothing to do." in run(sound).stdout


def test_full_strictness_counts_rules_that_were_not_asked(sound: Path) -> None:
    assert run(sound, "--strict=full").exit_code == 3


@pytest.mark.parametrize("name", ["lspci.txt", "dmesg.txt", "q.txt later.txt"])
def test_without_one_of_its_texts_a_sound_host_is_unknown(sound: Path, name: str) -> None:
    for one in name.split():
        (sound / one).unlink()
    result = run(sound, "--format", "json")
    assert healths(result) == {None: "unknown"}
    assert result.exit_code == 0
    assert run(sound, "--strict=yes").exit_code == 3


@pytest.mark.parametrize(
    ("event", "fail_on", "status"),
    [
        (XID_79, None, 1), (XID_79, "critical", 1), (XID_79, "warning", 1), (XID_79, "never", 0),
        (XID_31, None, 1), (XID_31, "critical", 0), (XID_31, "warning", 1), (XID_31, "never", 0),
        ("", None, 0), ("", "critical", 0), ("", "warning", 0), ("", "never", 0),
    ],
)  # fmt: skip
def test_fail_on_names_the_severity_from_which_the_status_is_1(
    event: str, fail_on: str | None, status: int
) -> None:
    options = ["--fail-on", fail_on] if fail_on else []
    assert run("-", *options, given=(DMESG + event).encode()).exit_code == status


def test_a_finding_comes_before_what_is_unknown() -> None:
    assert run("-", "--strict=yes", given=(DMESG + XID_79).encode()).exit_code == 1
    quiet = run("-", "--strict=yes", "--fail-on=never", given=(DMESG + XID_79).encode())
    assert quiet.exit_code == 3


def test_wrong_use_comes_before_a_finding(tmp_path: Path) -> None:
    write(tmp_path, dmesg=DMESG + XID_79)
    assert run(tmp_path / "dmesg.txt", tmp_path / "gone.txt").exit_code == 2


def report_of(*hosts: HostAnswer) -> Report:
    return replace(SAMPLE, hosts=hosts, between_unclear=())


CALM = replace(SILENT, answer=replace(SILENT.answer, health="healthy"), coverage=Coverage())
BROKEN = replace(CALM, broken=(("busy.card-idle", "KeyError: 'x'"),))


def unsure(severity: str) -> HostAnswer:
    rule = make_rule("silent.xid-repeated", severity, "none")  # type: ignore[arg-type]
    return replace(
        CALM, unclear=(Open(rule=rule, unclear=Unclear(subject=host_ref(), why="not printed")),)
    )


@pytest.mark.parametrize(
    ("hosts", "strict", "status"),
    [
        ((CALM,), None, 0), ((CALM,), "yes", 0), ((CALM,), "full", 0),
        ((SILENT,), None, 0), ((SILENT,), "yes", 3), ((SILENT,), "full", 3),
        ((BROKEN,), None, 4), ((BROKEN,), "yes", 4), ((BROKEN, SILENT), "yes", 4),
        ((unsure("critical"),), None, 0), ((unsure("critical"),), "yes", 3),
        ((unsure("warning"),), "yes", 0), ((CALM, SILENT), "yes", 3),
        ((replace(CALM, coverage=Coverage(not_asked=1)),), "yes", 0),
        ((replace(CALM, coverage=Coverage(not_asked=1)),), "full", 3),
        ((SICK,), None, 1), ((SICK, BROKEN), "yes", 1), ((), None, 0), ((), "yes", 3),
    ],
)  # fmt: skip
def test_precedence_of_the_status(
    hosts: tuple[HostAnswer, ...], strict: str | None, status: int
) -> None:
    assert exit_status(report_of(*hosts), "warning", strict) == status


def test_a_rule_that_breaks_is_reported_and_gives_4(monkeypatch: pytest.MonkeyPatch) -> None:
    from steadygpu.evidence.kernel_log import KernelLogSpan
    from steadygpu.verdict.rule import All, rule

    def check(spans: All[KernelLogSpan]) -> Iterator[Seen]:
        raise ZeroDivisionError("a flaw")

    words = make_rule("silent.xid-repeated", "critical", "none")
    broken = rule(
        id=words.id, title=words.title, severity="critical", action="none", meaning=words.meaning,
        decision=words.decision, next_step=words.next_step, references=words.references,
    )(check)  # fmt: skip
    monkeypatch.setattr("steadygpu.cli.diagnose.rules_for", lambda given: (broken,))
    result = run("-", "--format=json", given=DMESG.encode())
    assert result.exit_code == 4
    assert loaded(result)["hosts"][0]["broken"] == [  # type: ignore[index]
        {"id": "silent.xid-repeated", "error": "ZeroDivisionError: a flaw"}
    ]


# Wrong use


def test_no_file_is_wrong_use_and_the_message_shows_an_example() -> None:
    result = run("diagnose")
    assert result.exit_code == 2
    assert "steadygpu nvidia-smi.txt dmesg.txt" in spoken(result)
    assert not result.stdout


def test_a_missing_file_is_wrong_use_and_the_message_says_what_to_do() -> None:
    result = run("no-such-file.txt")
    assert result.exit_code == 2
    assert "no-such-file.txt: no such file or folder; name files that exist" in spoken(result)
    assert not result.stdout


def test_a_name_that_no_file_system_takes_is_wrong_use() -> None:
    result = run("x" * 5000)
    assert result.exit_code == 2
    assert not result.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_wrong_use_and_named(tmp_path: Path) -> None:
    write(tmp_path, closed=DMESG)
    (tmp_path / "closed.txt").chmod(0)
    result = run(tmp_path / "closed.txt")
    assert result.exit_code == 2
    assert "closed.txt" in spoken(result)
    assert "check its permissions" in spoken(result)
    told = json.loads(run(tmp_path, "--format", "json").output)
    assert told["summary"]["unknown"] == 1
    assert "Permission denied" in told["hosts"][0]["gaps"][0]["why"]


def test_a_file_that_cannot_be_read_is_wrong_use_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    result = run(write(tmp_path, closed=DMESG) / "closed.txt")
    assert result.exit_code == 2
    assert "closed.txt: Permission denied; check its permissions" in spoken(result)


def test_an_unknown_option_or_value_is_wrong_use(tmp_path: Path) -> None:
    write(tmp_path, dmesg=DMESG)
    for option in ("--colour", "--format=html", "--fail-on=info", "--strict=maybe"):
        result = run(tmp_path / "dmesg.txt", option)
        assert result.exit_code == 2
        assert option.partition("=")[0] in spoken(result)


# What is given


def test_standard_input_is_read_by_a_dash() -> None:
    result = run("-", "--format=json", given=f"ops@gpu-04:~$ dmesg\n{DMESG}{XID_79}".encode())
    assert healths(result) == {"gpu-04": "unhealthy"}
    (evidence,) = loaded(result)["hosts"][0]["findings"][0]["evidence"]  # type: ignore[index]
    assert evidence["source"] == "stdin"
    assert evidence["from"] == 5
    assert evidence["quote"] == XID_79.rstrip("\n")


def test_a_large_log_on_standard_input_is_read_to_its_end() -> None:
    filler = "".join(f"[{20 + n / 1000:12.6f}] usb 1-2: new device {n}\n" for n in range(40_000))
    body = (DMESG + filler + XID_79).encode()
    assert len(body) > 1_000_000
    done = steadygpu("-", "--format", "json", stdin=body)
    assert [f["id"] for f in json.loads(done.stdout)["hosts"][0]["findings"]] == [
        "silent.xid79-fallen-off-bus"
    ]


def test_a_folder_stands_for_the_files_below_it(tmp_path: Path) -> None:
    below = tmp_path / "logs" / "kernel"
    below.mkdir(parents=True)
    write(below, dmesg=DMESG + XID_79)
    result = run(tmp_path, "--format=json")
    (finding,) = loaded(result)["hosts"][0]["findings"]  # type: ignore[index]
    assert finding["evidence"][0]["source"] == "logs/kernel/dmesg.txt"


def test_folders_side_by_side_are_hosts(tmp_path: Path) -> None:
    for name, event in (("gpu-01", ""), ("gpu-02", XID_79), ("gpu-03", "")):
        (tmp_path / name).mkdir()
        write(tmp_path / name, dmesg=DMESG + event)
    result = run(tmp_path, "--format=json")
    assert healths(result) == {"gpu-01": "unknown", "gpu-02": "unhealthy", "gpu-03": "unknown"}
    assert loaded(result)["summary"] == {
        "hosts": 3, "unhealthy": 1, "degraded": 0, "healthy": 0, "unknown": 2,
    }  # fmt: skip
    assert result.exit_code == 1


def test_the_order_of_files_does_not_change_the_report(sound: Path) -> None:
    names = [sound / name for name in SOUND]
    for form in ("plain", "json"):
        assert run(*names, "--format", form).stdout == run(*names[::-1], "--format", form).stdout


def test_a_file_given_twice_says_nothing_twice(tmp_path: Path) -> None:
    name = write(tmp_path, dmesg=DMESG + XID_79) / "dmesg.txt"
    assert run(name, name, "--format=json").stdout == run(name, "--format=json").stdout


def test_a_file_named_in_any_way_that_a_file_system_allows(tmp_path: Path) -> None:
    name = os.fsdecode(b"odd \xff\n\x1b[31m.txt")
    (tmp_path / name).write_text(DMESG + XID_79)
    for form in ("terminal", "plain", "json"):
        result = run(tmp_path, "--format", form)
        assert result.exit_code == 1
        assert "\x1b" not in result.stdout
        assert r"odd \xff" in result.stdout or r"odd \udcff" in result.stdout.replace("\\\\", "\\")


# Nothing in, nothing claimed

NOTHING = [
    b"", b"\n\n", b"\0" * 600, b"\xff\xfe", b"\xef\xbb\xbf", b"hello, world\n", b"\xff" * 300,
    bytes(range(256)) * 8, "дмесг\n".encode("utf-16"), b"GPU 0: NVIDIA L40S (UUID: \n", b"{" * 3000,
    b"<?xml version='1.0'?>\n<nvidia_smi_log>",
]  # fmt: skip


@pytest.mark.parametrize("body", NOTHING, ids=range(len(NOTHING)))
def test_an_input_that_tells_nothing_is_unknown_never_healthy(body: bytes) -> None:
    result = run("-", "--format=json", given=body)
    assert healths(result) == {None: "unknown"}
    assert result.exit_code == 0
    assert run("-", "--strict=yes", given=body).exit_code == 3


def test_what_was_not_read_is_named_with_what_to_run() -> None:
    result = run("-", given=b"hello, world\n")
    assert "no reader recognises this text" in spoken(result)
    assert "steadygpu texts" in spoken(result)
    assert "hello, world" in spoken(result)
    assert "the text is empty" in spoken(run("-", given=b""))


PIECES = [part.encode() for text in (*SOUND.values(), XID_31, XID_79) for part in text.splitlines(True)]  # fmt: skip
DAMAGE = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.sampled_from(PIECES).flatmap(lambda p: st.integers(0, len(p)).map(lambda n: p[:n])),
        st.binary(max_size=60),
        st.sampled_from([b"9" * 400, b"\xff\xfe", b"\0\0\0\0", b"1.2.3", b"\x1b[", b"N/A", b"-1", b"$ "]),
    ),
    max_size=40,
).map(b"".join)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.binary(max_size=400), DAMAGE), st.sampled_from(["terminal", "plain", "json"]))
def test_no_bytes_at_all_give_a_traceback(body: bytes, form: str) -> None:
    result = run("-", "--format", form, given=body)
    assert result.exit_code in (0, 1)
    assert "Traceback" not in result.output
    assert "broke:" not in result.output


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_alone_make_a_host_healthy(body: bytes) -> None:
    assert "healthy" not in healths(run("-", "--format=json", given=body)).values()


# The report


def test_each_format_leads_with_the_verdict(sound: Path) -> None:
    (sound / "dmesg.txt").write_text(DMESG + XID_79)
    terminal, plain = run(sound).stdout, run(sound, "--format=plain").stdout
    assert any("UNHEALTHY" in line for line in terminal.splitlines()[:4])
    assert terminal == run(sound, "--format=terminal").stdout
    assert "health: unhealthy" in plain
    assert XID_79.rstrip() in plain
    result = run(sound, "--format=json")
    jsonschema.validate(loaded(result), json.loads(schema_text("report")))
    assert healths(result) == {None: "unhealthy"}


def test_output_goes_to_the_file_and_nowhere_else(sound: Path, tmp_path: Path) -> None:
    for form in ("terminal", "plain", "json"):
        file = tmp_path / f"report.{form}"
        result = run(sound, "--format", form, "-o", file)
        assert result.output == ""
        assert result.exit_code == 0
        assert file.read_text() == run(sound, "--format", form).stdout


def test_the_status_is_the_same_where_the_report_goes_to_a_file(tmp_path: Path) -> None:
    write(tmp_path, dmesg=DMESG + XID_79)
    assert run(tmp_path / "dmesg.txt", "--output", tmp_path / "report").exit_code == 1


def test_an_output_that_cannot_be_written_is_wrong_use(sound: Path, tmp_path: Path) -> None:
    result = run(sound, "-o", tmp_path / "gone" / "report.txt")
    assert result.exit_code == 2
    assert "cannot write" in spoken(result)
    assert "No such file or directory" in spoken(result)
    assert run(sound, "-o", tmp_path).exit_code == 2


def test_terminal_lines_fit_into_80_columns_in_a_pipe(sound: Path) -> None:
    (sound / "dmesg.txt").write_text(DMESG + XID_79)
    lines = run(sound, env={"COLUMNS": "300"}).stdout.splitlines()
    assert max(map(len, lines)) <= 80


# As a process


def steadygpu(
    *args: str | Path, stdin: bytes = b"", **env: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "steadygpu", *map(str, args)],
        input=stdin, capture_output=True, env={**os.environ, **env}, timeout=60, check=False,
    )  # fmt: skip


def on_a_terminal(*args: str | Path, **env: str) -> str:
    ours, theirs = pty.openpty()
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    with subprocess.Popen(
        [sys.executable, "-m", "steadygpu", *map(str, args)],
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env={**kept, **env},
    ):  # fmt: skip
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 65536):
                shown += block
        except OSError:  # Linux says EIO where the other end is closed
            pass
    os.close(ours)
    return shown.decode()


def test_colours_on_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    file = write(tmp_path, dmesg=DMESG + XID_79) / "dmesg.txt"
    assert "\x1b[" in on_a_terminal(file)
    assert "\x1b" not in on_a_terminal(file, "--no-color")
    assert "\x1b" not in on_a_terminal(file, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(file, "--format", "plain")
    assert b"\x1b" not in steadygpu(file).stdout


def test_the_process_ends_with_the_status(tmp_path: Path) -> None:
    write(tmp_path, dmesg=DMESG + XID_79)
    done = steadygpu(tmp_path / "dmesg.txt")
    assert done.returncode == 1
    assert done.stderr == b""
    done = steadygpu(tmp_path / "gone.txt")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("form", ["terminal", "plain", "json"])
def test_a_closed_pipe_ends_quietly(tmp_path: Path, form: str) -> None:
    file = write(tmp_path, dmesg=DMESG + XID_79) / "dmesg.txt"
    with subprocess.Popen(
        [sys.executable, "-m", "steadygpu", file, "--format", form],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 1  # what was found, although nobody read it


def test_an_interrupt_ends_quietly_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(paths: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("steadygpu.cli.diagnose.texts_of", interrupted)
    result = run("-")
    assert result.exit_code == 130
    assert result.output.strip() == ""


MEASURE = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "steadygpu", sys.argv[1], "--format", "json"], stdout=subprocess.PIPE)
sys.stdout.buffer.write(b"%d\\n" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss + done.stdout)
"""


def measured(log: Path) -> tuple[int, dict[str, object]]:
    """Return the peak memory in KiB and the report. A small process stands between: a child starts at its parent's peak."""
    out = subprocess.run(
        [sys.executable, "-I", "-c", MEASURE, log], capture_output=True, timeout=60, check=True
    ).stdout
    peak, _, shown = out.partition(b"\n")
    return int(peak), json.loads(shown)


def log_of(path: Path, megabytes: int) -> int:
    line = "[  100.000000] usb 1-2: new high-speed USB device number 4 using xhci_hcd, serial 01\n"
    block = (line * (1_000_000 // len(line))).encode()
    with path.open("wb") as file:
        file.write(DMESG.encode())
        for _ in range(megabytes):
            file.write(block)
        file.write(XID_79.encode())
    return DMESG.count("\n") + megabytes * block.count(b"\n") + 1


def test_a_log_of_200_mb_is_read_to_its_end_in_the_memory_of_a_small_one(tmp_path: Path) -> None:
    log_of(tmp_path / "small.log", 1)
    last = log_of(tmp_path / "kern.log", 200)
    small, _ = measured(tmp_path / "small.log")
    large, report = measured(tmp_path / "kern.log")
    (tmp_path / "kern.log").unlink()  # pytest keeps the folders of its last runs
    (finding,) = report["hosts"][0]["findings"]  # type: ignore[index]
    assert finding["id"] == "silent.xid79-fallen-off-bus"
    assert finding["evidence"][0]["from"] == last
    assert large - small < 20_000


def test_a_large_file_that_is_no_log_is_refused_not_swallowed() -> None:
    stream = io.BytesIO(b"not a log of any kind\n" * 3_500_000)
    fake = SimpleNamespace(buffer=io.BufferedReader(stream))  # type: ignore[arg-type]
    from steadygpu.archives.given import texts_of
    from steadygpu.readers.paste import read_text

    with mock.patch.object(sys, "stdin", fake):
        (text,) = texts_of(["-"])
        ((_, reading),) = read_text(text)
    assert [gap.why for gap in reading.gaps] == ["larger than 64 MB and no log"]


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("steadygpu", f"{sys.executable} -m steadygpu")],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_closed_pipe_of_another_command_ends_with_0(tmp_path: Path) -> None:
    for words in ("texts", "--help", "schema report"):
        done = shell(f"steadygpu {words} | head -c0", tmp_path)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_and_closed_streams_are_told_without_a_traceback(tmp_path: Path) -> None:
    write(tmp_path, dmesg=DMESG)
    for line, word in (
        ("steadygpu dmesg.txt > /dev/full", "No space left"),
        ("steadygpu texts > /dev/full", "No space left"),
        ("steadygpu dmesg.txt >&-", "standard output is closed"),
        ("steadygpu - <&-", "closed"),
    ):
        done = shell(line, tmp_path)
        assert done.returncode == 2, line
        assert word in done.stderr
        assert "Traceback" not in done.stderr


def test_strict_before_a_file_does_not_take_the_file_for_its_value(tmp_path: Path) -> None:
    file = write(tmp_path, dmesg=DMESG) / "dmesg.txt"
    assert run("--strict", str(file)).exit_code == 3
    assert run(str(file), "--strict").exit_code == 3


def test_a_process_substitution_is_read(tmp_path: Path) -> None:
    write(tmp_path, dmesg=DMESG + XID_79)
    done = shell("steadygpu <(cat dmesg.txt) --format plain", tmp_path)
    assert done.returncode == 1
    assert "silent.xid79-fallen-off-bus" in done.stdout


@pytest.mark.parametrize(
    "body", ["", "\x1b[0m\x1b[1m\n", "root@gpu-1:~# nvidia-smi\n", "nvidia-smi\n", "root@gpu-1:~# "]
)
def test_what_holds_no_output_is_one_unknown_host(tmp_path: Path, body: str) -> None:
    (tmp_path / "x.txt").write_text(body)
    result = run(str(tmp_path / "x.txt"), "--format", "json")
    told = json.loads(result.output)
    assert told["summary"]["unknown"] == 1
    assert told["hosts"][0]["gaps"]


def test_an_empty_folder_is_one_unknown_host(tmp_path: Path) -> None:
    told = json.loads(run(str(tmp_path), "--format", "json").output)
    assert told["summary"] == {
        "hosts": 1,
        "unhealthy": 0,
        "degraded": 0,
        "healthy": 0,
        "unknown": 1,
    }
    assert "holds no files" in told["hosts"][0]["gaps"][0]["why"]


def test_messages_show_control_characters_of_a_name(tmp_path: Path) -> None:
    result = run("gone\x1b]0;x\x07.txt")
    assert result.exit_code == 2
    assert "\x1b" not in spoken(result)


def test_an_empty_name_is_wrong_use() -> None:
    assert run("").exit_code == 2


def test_quiet_prints_nothing_and_keeps_status_and_file(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text(DMESG + XID_79)
    result = run("-q", str(tmp_path / "d.txt"), "-o", str(tmp_path / "r.txt"))
    assert (result.exit_code, result.output) == (1, "")
    assert "xid79-fallen-off-bus" in (tmp_path / "r.txt").read_text()


def test_verbose_says_how_each_text_was_read(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text(DMESG)
    (tmp_path / "odd.txt").write_text("some words\n")
    said = run("-v", "-q", str(tmp_path)).stderr
    assert "d.txt: kernel-log, " in said
    assert "odd.txt: unknown, 0 facts, 1 gaps" in said
