import gzip
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import traces
from pipeline import read, report
from steadygpu.archives.given import texts_of
from steadygpu.evidence.reading import Reading
from steadygpu.evidence.text import Body, Text
from steadygpu.readers import torch_trace
from steadygpu.readers.paste import read_text
from steadygpu.readers.torch_trace import read_torch_trace_blocks
from steadygpu.readers.trace_sums import Covered, LongEvents, sort_of
from traces import copy, event, kernel, pretty, trace


def one(text: str | bytes, cls: str = "TraceCard", name: str = "t.json") -> Any:
    (found,) = (f for _, r in read({name: text}) for f in r.facts if type(f).__name__ == cls)
    return found


def names(text: str | bytes) -> list[str]:
    return [type(f).__name__ for _, r in read({"t": text}) for f in r.facts]


def gaps_of(text: str | bytes) -> list[str]:
    return [g.why for _, r in read({"t": text}) for g in r.gaps]


def blocks(text: str, size: int) -> Reading:
    data = text.encode()
    return read_torch_trace_blocks(
        (data[at : at + size] for at in range(0, len(data), size)), "t", None
    )


def test_two_streams_that_overlap_count_once() -> None:
    card = one(trace([kernel("a", 0, 60), kernel("b", 40, 40), kernel("c", 90, 10)]))
    assert card.busy_ratio == pytest.approx(0.9)
    assert card.kernel_count == 3


def test_copies_are_told_by_way_and_against_the_span() -> None:
    text = trace([copy("HtoD", 0, 30, 300), copy("DtoH", 30, 10, 1), copy("HtoD", 40, 10, 50, "Pinned -> Device"),
                  kernel("gemm", 50, 50)])  # fmt: skip
    card = one(text)
    assert (card.h2d_ratio, card.d2h_ratio, card.d2d_ratio) == (0.4, 0.1, 0.0)
    assert card.pageable_ratio == 0.75
    assert card.h2d_bytes == 350
    assert card.busy_ratio == 1.0
    assert card.kernel_ratio == 0.5


def test_names_of_hip_and_of_old_torch_are_known() -> None:
    old = trace([event("Runtime", "hipLaunchKernel", 1.6e15, 5), event("Runtime", "hipDeviceSynchronize", 1.6e15 + 5, 45),
                 {**kernel("Cijk_Ailk_Bljk_SB_MT64x64x8", 1.6e15 + 50, 50), "cat": "Kernel"},
                 {**copy("HtoD", 1.6e15 + 50, 50, 8), "cat": "Memcpy", "name": "CopyHostToDevice"}])  # fmt: skip
    host, card = one(old, "TraceHost"), one(old)
    assert host.at.wall == pytest.approx(1.6e9)
    assert host.sync_ratio == pytest.approx(0.45)
    assert (host.sync_count, host.launch_count) == (1, 1)
    assert card.matrix_ratio == 1.0
    assert card.h2d_ratio == pytest.approx(0.5)


def test_the_span_is_that_of_the_steps() -> None:
    text = trace([event("cpu_op", "aten::randn", 0, 9000), *traces.starved()])
    host = one(text, "TraceHost")
    assert host.steps == 4
    assert host.span_s == pytest.approx(0.08)
    assert host.loader_wait_ratio == pytest.approx(16_500 / 20_000)


def test_the_longest_waits_come_first_with_what_the_host_did() -> None:
    found = [f for _, r in read({"t": trace(traces.synchronising())}) for f in r.facts]
    waits = [f for f in found if type(f).__name__ == "TraceGap"]
    assert [g.rank for g in waits] == [1, 2, 3]  # type: ignore[attr-defined]
    assert waits[0].during == "train.py(58): log_metrics"  # type: ignore[attr-defined]
    assert waits[0].length_s == pytest.approx(600e-6)  # type: ignore[attr-defined]


def test_the_innermost_event_that_covers_half_of_a_wait_is_named() -> None:
    host = LongEvents()
    host.add(0, 1000, "main", 1, 1, "")
    host.add(100, 700, "load", 2, 2, "")
    host.add(100, 90, "open", 3, 3, "")
    assert host.during(0, 1000)[0] == "load"  # type: ignore[index]
    assert host.during(5000, 6000) is None
    parts = LongEvents()
    for n in range(8):
        parts.add(100 * n, 80, "aten::copy_", n, n, "")
    assert parts.during(0, 800) == ("aten::copy_", None)


def test_a_trace_without_cards_has_no_card_and_no_sync() -> None:
    text = trace(traces.cpu_long(), cards=0)
    assert names(text) == ["TraceHost"]
    host = one(text, "TraceHost")
    assert host.cards == 0
    assert host.sync_ratio is None
    assert host.longest_op == "aten::mm"


@pytest.mark.parametrize("lay_out", [str, pretty, lambda t: json.dumps(json.loads(t)),
                                     lambda t: json.dumps(json.loads(t), indent=1)])  # fmt: skip
@pytest.mark.parametrize("size", [1, 7, 333, 10_000_000])
def test_lay_out_and_blocks_change_nothing(lay_out: Any, size: int) -> None:
    text = lay_out(trace([*traces.synchronising(2), *traces.copying(1)]))
    whole = [f for _, r in read({"t": text}) for f in r.facts]
    parts = blocks(text, size).facts
    assert [type(f) for f in parts] == [type(f) for f in whole]
    for part, all_of in zip(parts, whole, strict=True):
        for name in ("busy_ratio", "op_count", "length_s"):
            assert getattr(part, name, None) == getattr(all_of, name, None)
        for here, there in zip(part.sources, all_of.sources, strict=True):
            assert (here.first, here.last, here.fields) == (there.first, there.last, there.fields)
            assert there.quote.startswith(here.quote) or len(text.splitlines()) == 1


def test_a_legacy_list_and_a_fragment_without_head_are_read() -> None:
    events = [kernel("gemm", 0, 10), kernel("gemm", 10, 10)]
    assert names(json.dumps(events)) == ["TraceCard"]
    fragment = "\n".join(pretty(trace(events)).split("\n")[13:])
    assert one(fragment).kernel_count in (1, 2)


def test_a_bad_event_loses_that_event() -> None:
    text = trace([kernel("a", 0, 10), kernel("b", 10, 10), kernel("c", 20, 10)])
    assert one(text.replace('"ts": 10,', '"ts": ERR!,')).kernel_count == 2
    assert one(text.replace('"ts": 10,', '"ts": "x",')).kernel_count == 2
    assert one(text.replace('"ts": 10,', f'"ts": {"9" * 5000},')).kernel_count == 2
    assert one(text.replace('"dur": 10,', '"dur": NaN,', 1)).kernel_count == 2
    assert one(text.replace('"dur": 10,', '"dur": -4,', 1)).kernel_count == 2


def test_a_trace_that_breaks_off_is_read_and_said() -> None:
    text = trace([kernel("a", 0, 10), kernel("b", 10, 10)])
    cut = text[: text.index('"b"')]
    card = one(cut)
    assert (card.busy_ratio, card.kernel_count, card.short_kernel_ratio) == (None, None, 0.0)
    assert {a.reason for a in card.absent} == {"cut"}
    assert gaps_of(cut) == ["the trace breaks off before its end"]
    assert not gaps_of(text)
    assert [g.why for g in blocks(cut, 50).gaps] == ["the trace breaks off before its end"]


def test_what_follows_a_trace_is_not_taken() -> None:
    smi = "GPU 0: NVIDIA A30 (UUID: GPU-00000000-1111-2222-3333-444444444444)\n"
    text = trace([kernel("a", 0, 10)])
    assert set(names(text + smi)) == {"TraceCard", "GpuIdentity", "CardListing"}
    cut = text[: text.rindex("  ],")]
    assert set(names(cut + "\n" + smi)) == {"TraceCard", "GpuIdentity", "CardListing"}
    assert "more text follows" in blocks(text + smi, 100).gaps[0].why


def test_a_gzipped_trace_is_read(tmp_path: Path) -> None:
    data = gzip.compress(trace(traces.matrix()).encode())
    path = tmp_path / "rank0.pt.trace.json.gz"
    path.write_bytes(data)
    ((text, reading),) = (r for t in texts_of([str(path)]) for r in read_text(t))
    assert text.kind == "torch-trace"
    assert any(type(f).__name__ == "TraceCard" for f in reading.facts)
    cut = [f for _, r in read({"t": data[: len(data) // 2]}) for f in r.facts]
    assert all(type(f).__name__.startswith("Trace") for f in cut)
    assert "a gzip file" in gaps_of(gzip.compress(b"hello\n"))[0]


def test_a_gzipped_kernel_log_is_read_too() -> None:
    log = b"[    9.500000] NVRM: Xid (PCI:0000:10:00): 79, pid=1, GPU has fallen off the bus.\n"
    assert "XidEvent" in names(gzip.compress(log))


def test_an_operation_that_lost_its_processor_once_is_not_long() -> None:
    small = [event("cpu_op", "aten::add", 9000.0 * n, 8000 if n % 9 == 0 else 4) for n in range(90)]
    assert one(trace(small, cards=0), "TraceHost").long_op_ratio == 0.0
    assert one(trace(small[::9], cards=0), "TraceHost").long_op_ratio > 0.09


def test_a_container_id_is_no_host() -> None:
    assert one(trace(traces.matrix(), host="4f1c0a9be2d7")).device.host is None


def test_kernels_are_sorted_by_name() -> None:
    assert sort_of("ncclDevKernel_AllGather_RING_LL") == "comm"
    assert sort_of("void cutlass::Kernel2<cutlass_80_wmma_tensorop>") == "matrix"
    assert sort_of("void cudnn::bn_fw_tr_1C11_kernel_NCHW") == "streaming"
    assert sort_of("void gemv2T_kernel_val<int, float>") == "streaming"
    assert sort_of("implicit_convolve_sgemm") == "matrix"
    assert sort_of("my_kernel") == "other"


def test_beyond_its_limit_a_sum_stays_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steadygpu.readers.trace_sums.INTERVALS", 100)
    covered = Covered()
    for n in range(5000):
        covered.add(10.0 * n, 10.0 * n + 4 + n % 3)
    assert len(covered.starts) <= 201
    assert covered.within(0, 50_000) == pytest.approx(sum(4 + n % 3 for n in range(5000)), rel=0.02)


def test_any_json_is_read_without_raising() -> None:
    for text in ('{"traceEvents": []}', '{"traceEvents": [1, null, {}, [[]]]}', '{"traceEvents": {', '[{"ph": "X"}]',
                 '{"schemaVersion": 1}', '{"traceEvents": [{"ph": "X", "cat": "kernel", "args": [], "name": 3}]}',
                 '{"traceEvents": [' + "[" * 5000, '{"traceEvents": [{"ph": ' + "{" * 3000):  # fmt: skip
        assert "broke" not in " ".join(gaps_of(text))
        assert not report({"t": text}).hosts or not report({"t": text}).hosts[0].broken


@pytest.mark.slow
def test_a_trace_above_fifty_megabytes_is_read_in_bounded_memory() -> None:
    shape = '{{\n    "ph": "X", "cat": "{}", "name": "{}",\n    "pid": 0, "tid": 7,\n    "ts": {}, "dur": {},\n    "args": {}\n  }}'
    args = '{"External id": 7744, "device": 0, "stream": 7, "correlation": 881, "registers per thread": 40, "grid": [9, 1, 1]}'

    def stream() -> Iterator[bytes]:
        yield b'{\n  "schemaVersion": 1,\n  "traceEvents": [\n'
        for n in range(360):
            rows = [
                shape.format("cpu_op", f"aten::op{i % 90}", n * 3e5 + i * 600, 80, args)
                for i in range(500)
            ]
            rows += [
                shape.format("kernel", "gemm", n * 3e5 + i * 600, 400, args) for i in range(500)
            ]
            yield (",\n".join(rows) + (",\n" if n < 359 else "\n")).encode()
        yield b"]}\n"

    size = sum(len(block) for block in stream())
    assert size > 50_000_000
    tracemalloc.start()
    reading = read_torch_trace_blocks(stream(), "t", None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    card = next(f for f in reading.facts if type(f).__name__ == "TraceCard")
    assert card.kernel_count == 180_000  # type: ignore[attr-defined]
    assert card.busy_ratio == pytest.approx(2 / 3, rel=0.01)  # type: ignore[attr-defined]
    assert peak < 20_000_000, peak


def test_a_large_file_is_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.json"
    path.write_text(trace(traces.matrix()))
    called: list[str] = []
    real = torch_trace.read_torch_trace_blocks

    def spy(blocks: Any, name: str, host: str | None) -> Reading:
        called.append(name)
        return real(blocks, name, host)

    monkeypatch.setattr(torch_trace, "read_torch_trace_blocks", spy)
    ((text, _),) = read_text(Text(name="t.json", body=Body(path=path)))
    assert (text.kind, called) == ("torch-trace", ["t.json"])
