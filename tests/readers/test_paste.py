import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Body, Lines, Text
from steadygpu.readers import paste
from steadygpu.readers.kind import Kind
from steadygpu.readers.kinds import BY_NAME, KINDS, ask_for
from steadygpu.readers.paste import read_text

LIST = (
    "GPU 0: NVIDIA L40S (UUID: GPU-77aa0001-1c2d-4e5f-8a9b-0c1d2e3f4a5b)\n"
    "GPU 1: NVIDIA L40S (UUID: GPU-77aa0002-1c2d-4e5f-8a9b-0c1d2e3f4a5b)\n"
)
LSMOD = "Module                  Size  Used by\nnvidia_uvm           4853760  0\nnvidia              54607872  1 nvidia_uvm\n"
DMESG = (
    "[    0.000000] Linux version 6.8.0-64-generic (buildd@lcy02) #67-Ubuntu SMP\n"
    "[ 2207.551120] NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.\n"
)
Parts = tuple[tuple[Text, Reading], ...]


def read(content: str | bytes, name: str = "p.txt", **about: str) -> Parts:
    data = content if isinstance(content, bytes) else content.encode()
    return read_text(Text(name=name, body=Body(data=data), **about))  # type: ignore[arg-type]


def kinds(parts: Parts) -> list[str | None]:
    return [text.kind for text, _ in parts]


def facts(parts: Parts, name: str) -> list[Fact]:
    return [f for _, r in parts for f in r.facts if type(f).__name__ == name]


def whys(parts: Parts) -> list[str]:
    return [gap.why for _, r in parts for gap in r.gaps]


# Outputs in one file


def test_each_output_of_a_paste_is_read_by_its_own_reader() -> None:
    parts = read(LIST + LSMOD + DMESG)
    assert kinds(parts) == ["nvidia-smi-L", "lsmod", "kernel-log"]
    (xid,) = facts(parts, "XidEvent")
    assert xid.sources[0].first == 7
    assert xid.sources[0].quote == DMESG.splitlines()[1]
    assert not whys(parts)


def test_prompts_and_bare_commands_between_outputs_are_no_gaps() -> None:
    paste = (
        f"$ nvidia-smi -L\n{LIST}\nroot@gpu-01:~# lsmod\n{LSMOD}"
        f"sudo dmesg\n{DMESG}root@gpu-01:~#\n$\n"
    )
    parts = read(paste)
    assert kinds(parts) == ["nvidia-smi-L", "lsmod", "kernel-log"]
    assert not whys(parts)


def test_an_output_ends_at_the_next_prompt() -> None:
    parts = read(f"$ nvidia-smi -L\n{LIST.splitlines()[0]}\n$ nvidia-smi -L\n{LIST}")
    assert [len([f for f in r.facts if type(f).__name__ == "GpuIdentity"]) for _, r in parts] == [
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("prompt", "host"),
    [
        ("ops@gpu-01:~$ ", "gpu-01"),
        ("ops@gpu-01.lab.example:/var/log$ ", "gpu-01.lab.example"),
        ("root@gpu-01:~# ", "gpu-01"),
        ("root@gpu-01# ", "gpu-01"),
        ("[root@gpu-01 ~]# ", "gpu-01"),
        ("[ops@gpu-01 my folder]$ ", "gpu-01"),
        ("(base) ops@gpu-01:~$ ", "gpu-01"),
        ("root@localhost:~# ", None),
        ("root@localhost.localdomain:~# ", None),
        ("$ ", None),
        ("PS C:\\Users\\ops> ", None),
    ],
)
def test_the_prompt_names_the_host(prompt: str, host: str | None) -> None:
    ((text, _),) = read(f"{prompt}nvidia-smi -L\n{LIST}")
    assert text.host == host
    assert (text.host_from.quote if text.host_from else None) == (
        f"{prompt}nvidia-smi -L" if host else None
    )


def test_a_prompt_counts_for_what_follows_it_only() -> None:
    parts = read(f"{LIST}ops@gpu-01:~$ lsmod\n{LSMOD}ops@gpu-02:~$ dmesg\n{DMESG}")
    assert [text.host for text, _ in parts] == [None, "gpu-01", "gpu-02"]
    assert [text.host_from.first for text, _ in parts if text.host_from] == [3, 7]


@pytest.mark.parametrize(
    ("command", "cut"),
    [
        ("dmesg | grep -i nvrm", True), ("dmesg|tail -5", True), ("dmesg | head", True),
        ("lsmod | egrep nvidia", True), ("dmesg | awk /NVRM/", True), ("dmesg | sed -n 1p", True),
        ("dmesg", False), ("dmesg | less", False), ("dmesg | tee grep.txt", False),
    ],
)  # fmt: skip
def test_a_filter_behind_the_command_is_kept(command: str, cut: bool) -> None:
    ((text, reading),) = read(f"$ {command}\n{DMESG}")
    assert text.filtered == (command if cut else None)
    (span,) = [f for f in reading.facts if type(f).__name__ == "KernelLogSpan"]
    assert (span.whole is True) is not cut  # type: ignore[attr-defined]


def test_a_filter_counts_for_its_own_output_only() -> None:
    parts = read(f"$ lsmod | grep nvidia\n{LSMOD.split(chr(10), 1)[1]}$ dmesg\n{DMESG}")
    assert [text.filtered is not None for text, _ in parts] == [True, False]


def test_a_table_of_monitors_is_no_prompt() -> None:
    dmon = "# gpu    pwr  gtemp  mtemp     sm    mem\n# Idx      W      C      C      %      %\n    0    120     52      -     41     10\n"
    parts = read(f"ops@gpu-01:~$ nvidia-smi dmon -s pu\n{dmon}")
    assert kinds(parts) == ["nvidia-smi-dmon"]
    assert not whys(parts)


def test_a_line_of_a_thousand_characters_is_no_prompt() -> None:
    parts = read("$ " + "x" * 2000 + f"\n{LIST}")
    assert kinds(parts) == ["nvidia-smi-L", None]


def test_json_may_break_after_its_first_brace() -> None:
    body = (
        '{\n  "sysstat": {"hosts": [{"nodename": "gpu-01", "statistics": [\n'
        '{"avg-cpu": {"user": 5.0, "nice": 0.0, "system": 1.0, "iowait": 2.0, "steal": 0.0, "idle": 92.0}, "disk": []}\n'
        "]}]}}\n"
    )
    assert kinds(read(body)) == ["iostat-json"]
    assert kinds(read("{")) == [None]


# What no reader takes


def test_an_empty_text_is_a_gap() -> None:
    for body in (b"", b"\n \t\r\n", b"\0\0\0\0\0\0", b"\xff\xfe"):
        parts = read(body)
        assert whys(parts) == ["the text is empty"]
        assert parts[0][1].gaps[0].where.name == "p.txt"
        assert kinds(parts) == [None]


def test_a_text_that_nobody_knows_is_one_gap_with_what_to_run() -> None:
    ((text, reading),) = read("Dear all,\nthe card is slow.\n\nRegards\n")
    (gap,) = reading.gaps
    assert gap.why == "no reader recognises this text (and 1 more lines further down)"
    assert gap.ask == "steadygpu texts"
    assert (gap.where.first, gap.where.last) == (1, 2)
    assert gap.where.quote == "Dear all,\nthe card is slow."
    assert text.kind is None


def test_lines_between_known_outputs_are_one_gap_that_counts_them() -> None:
    parts = read(f"Hello\n{LIST}what is this\nand this\n{LSMOD}bye\n")
    assert kinds(parts) == ["nvidia-smi-L", "lsmod", None]
    assert whys(parts) == ["no reader recognises these lines (and 3 more lines further down)"]
    assert parts[-1][1].gaps[0].where.first == 1


def test_a_reader_that_breaks_is_a_gap_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(lines: Lines) -> Reading:
        raise RecursionError("too deep")

    monkeypatch.setattr("steadygpu.readers.smi_list.read_smi_list", broken)
    parts = read(LIST + LSMOD)
    assert kinds(parts)[-1] == "lsmod"
    assert whys(parts)[0] == "the reader of nvidia-smi-L broke: RecursionError: too deep"
    assert len(facts(parts, "KernelModule")) == 2


def test_a_reader_that_takes_nothing_leaves_the_line_to_the_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("steadygpu.readers.smi_list.read_smi_list", lambda lines: Reading())
    parts = read(LIST + LSMOD)
    assert kinds(parts) == ["lsmod", None]
    assert parts[-1][1].gaps[0].where.quote == LIST.rstrip("\n")


# Prefixes of collectors


def test_the_prefix_of_a_parallel_shell_names_the_host_of_each_line() -> None:
    one, two = LIST.splitlines()
    parts = read(f"gpu-01: {one}\ngpu-02: {two}\ngpu-01: {two}\n")
    assert [text.host for text, _ in parts] == ["gpu-01", "gpu-02"]
    assert [[f.sources[0].first for f in r.facts[:1]] for _, r in parts] == [[1], [2]]
    cards = [f for f in parts[0][1].facts if type(f).__name__ == "GpuIdentity"]
    assert [(c.sources[0].first, c.sources[0].quote) for c in cards] == [
        (1, f"gpu-01: {one}"),
        (3, f"gpu-01: {two}"),
    ]


def test_a_blank_line_between_lines_with_a_prefix_does_no_harm() -> None:
    rows = [f"gpu-01: {line}" for line in LIST.splitlines()]
    parts = read("\n\n".join(rows) + "\n")
    assert [text.host for text, _ in parts] == ["gpu-01"]
    assert [f.sources[0].first for f in facts(parts, "GpuIdentity")] == [1, 3]


def test_a_word_and_a_colon_alone_are_no_host() -> None:
    for body in ("note: the card is slow\nnote: very slow\n", "a: b\nplain\nplain\n"):
        parts = read(body)
        assert [text.host for text, _ in parts] == [None]
        assert kinds(parts) == [None]


@pytest.mark.parametrize(
    "prefix", ["2026-11-16T09:30:05.123456789Z ", "2026-11-16T09:30:05.123Z stdout F "]
)
def test_the_time_that_a_container_log_puts_first_is_taken_off(prefix: str) -> None:
    parts = read("".join(f"{prefix}{line}\n" for line in LIST.splitlines()))
    assert kinds(parts) == ["nvidia-smi-L"]
    assert (
        facts(parts, "GpuIdentity")[0].sources[0].quote == f"{prefix}{LIST.splitlines()[0]}"[:400]
    )


# Size


class Endless(io.RawIOBase):
    def __init__(self, block: bytes, times: int) -> None:
        self.block, self.left, self.read_bytes = block, times, 0

    def read(self, size: int = -1) -> bytes:  # type: ignore[override]
        self.left -= 1
        self.read_bytes += len(self.block)
        return self.block if self.left >= 0 else b""


def stream(block: bytes, times: int, head: bytes) -> tuple[Text, Endless]:
    pipe = Endless(block, times)
    return Text(name="stdin", body=Body(stream=pipe, head=head)), pipe  # type: ignore[arg-type]


def test_a_large_listing_is_read_whole_from_a_file_or_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "l").write_text(LIST)
    assert kinds(read_text(Text(name="l", body=Body(path=tmp_path / "l")))) == ["nvidia-smi-L"]
    text, _ = stream(LIST.splitlines(True)[1].encode(), 1, LIST.splitlines(True)[0].encode())
    assert len(facts(read_text(text), "GpuIdentity")) == 2


def test_what_is_larger_than_64_mb_and_no_log_is_refused_before_its_end() -> None:
    text, pipe = stream(b"not a log\n" * 100_000, 10_000, b"not a log\n")
    parts = read_text(text)
    assert whys(parts) == ["larger than 64 MB and no log"]
    assert pipe.read_bytes < 70_000_000


def test_a_log_of_any_size_is_read_in_blocks(tmp_path: Path) -> None:
    filler = b"[  100.000000] usb 1-2: new high-speed USB device number 4\n"
    log = DMESG.splitlines(True)[0].encode() + filler * 20_000 + DMESG.splitlines(True)[1].encode()
    (tmp_path / "kern.log").write_bytes(log)
    for body in (Body(data=log), Body(path=tmp_path / "kern.log")):
        parts = read_text(Text(name="kern.log", body=body, host="gpu-01"))
        assert kinds(parts) == ["kernel-log"]
        (xid,) = facts(parts, "XidEvent")
        assert xid.device.host == "gpu-01"
        assert xid.sources[0].first == 20_002
    text, _ = stream(filler * 100, 300, DMESG.encode())
    assert kinds(read_text(text)) == ["kernel-log"]
    assert len(facts(read_text(stream(filler, 1, DMESG.encode())[0]), "XidEvent")) == 1


def test_a_log_whose_reader_breaks_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Reading:
        raise ValueError("odd")

    monkeypatch.setattr("steadygpu.readers.kernel_log.read_kernel_log_blocks", broken)
    text, _ = stream(b"", 0, DMESG.encode())
    parts = read_text(text)
    assert whys(parts) == ["the reader of kernel-log broke: ValueError: odd"]
    assert kinds(parts) == [None]


def test_a_file_that_cannot_be_read_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        read_text(Text(name="gone", body=Body(path=tmp_path / "gone")))


# Any text at all

LINES = [line for text in (LIST, LSMOD, DMESG) for line in text.splitlines()]
MIXED = st.lists(
    st.one_of(
        st.sampled_from(LINES),
        st.sampled_from(["$ dmesg", "ops@gpu-01:~$ lsmod | grep nv", "gpu-01: x", "{", ""]),
        st.text(max_size=40),
    ),
    max_size=30,
).map("\n".join)


@settings(deadline=None)
@given(MIXED)
def test_no_text_raises_and_every_quote_stands_where_it_is_said_to(content: str) -> None:
    data = content.encode("utf-8", "replace")
    stood = paste.lines_of("p.txt", paste.decode(data)).raw
    for _, reading in read(data):
        places = [s for f in reading.facts for s in f.sources] + [g.where for g in reading.gaps]
        for place in places:
            if place.quote:
                assert stood[place.first - 1].startswith(place.quote.split("\n")[0])


@settings(deadline=None)
@given(MIXED)
def test_reading_twice_gives_the_same(content: str) -> None:
    data = content.encode("utf-8", "replace")
    assert read(data) == read(data)


# The table of kinds


@pytest.mark.parametrize("kind", KINDS, ids=[k.name for k in KINDS])
def test_a_row_of_the_table_is_whole(kind: Kind) -> None:
    assert BY_NAME[kind.name] is kind
    assert kind.title
    assert kind.heads
    assert kind.gives


def test_what_to_ask_for_is_the_text_that_shows_most_unless_it_was_given() -> None:
    assert ask_for("GpuTemperature") == "nvidia-smi -q"
    assert ask_for("GpuTemperature", {"nvidia-smi", "lspci"}) == "nvidia-smi -q"
    assert ask_for("GpuTemperature", {"nvidia-smi-q"}) is None
    assert ask_for("GpuTemperature", {"nvidia-smi-xml"}) is None
    assert ask_for("ToolMessage") is None
    assert ask_for("NoSuchRecord") is None


def long_log(lines: int = 40_000) -> str:
    return "".join(f"[{n:12.6f}] eth0: link {n} is quiet\n" for n in range(lines))


def test_what_follows_a_log_of_more_than_a_megabyte_is_read_too() -> None:
    paste = f"root@n1:~# dmesg\n[    0.000000] Linux version 6.1.0\n{long_log()}root@n1:~# nvidia-smi -L\n{LIST}"
    parts = read(paste)
    assert kinds(parts) == ["kernel-log", "nvidia-smi-L"]
    assert {text.host for text, _ in parts} == {"n1"}
    spans = [f for _, r in parts for f in r.facts if type(f).__name__ == "KernelLogSpan"]
    assert [span.whole for span in spans] == [True]


def test_the_filter_before_a_long_log_counts() -> None:
    paste = f"root@n1:~# dmesg | grep -v NVRM\n[    0.000000] Linux version 6.1.0\n{long_log()}"
    spans = [f for _, r in read(paste) for f in r.facts if type(f).__name__ == "KernelLogSpan"]
    assert [span.whole for span in spans] == [None]


def test_a_log_that_is_streamed_takes_the_prompt_before_it_and_names_what_it_could_not_read(
    tmp_path: Path,
) -> None:
    file = tmp_path / "big.txt"
    body = f"root@n1:~# dmesg\n[    0.000000] Linux version 6.1.0\n{long_log()}"
    file.write_text(body + "==============NVSMI LOG==============\n")
    ((text, reading),) = read_text(Text(name="big.txt", body=Body(path=file)))
    assert text.host == "n1"
    assert [f.whole for f in reading.facts if type(f).__name__ == "KernelLogSpan"] == [True]
    assert reading.facts[0].sources[0].first == 2
    assert any("another output" in gap.why for gap in reading.gaps)


def test_a_prompt_with_a_blank_behind_it_is_a_prompt() -> None:
    parts = read(f"$ nvidia-smi -L\n{LIST}\nroot@gpu-01:~# ")
    assert not whys(parts)


def test_lines_without_a_prefix_after_many_with_one_are_read() -> None:
    rows = (
        "".join(
            f"gpu-0{n}: GPU 0: NVIDIA A40 (UUID: GPU-{n:08d}-0000-0000-0000-000000000000)\n"
            for n in range(1, 8)
        )
        * 9
    )
    parts = read(rows + LSMOD)
    assert "lsmod" in kinds(parts)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"\x1f\x8b\x08\x00abc", "gunzip"),
        (b"PK\x03\x04..", "unzip"),
        (b"\x89PNG\r\n", "copy the text"),
    ],
)
def test_files_that_hold_no_text_say_what_to_do(data: bytes, word: str) -> None:
    ((_, reading),) = read_text(Text(name="x", body=Body(data=data)))
    assert word in (reading.gaps[0].ask or "")
