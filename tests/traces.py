"""Composes traces in the form of the PyTorch profiler, with invented values."""

import json
from typing import Any

Event = dict[str, Any]


def event(cat: str, name: str, ts: float, dur: float, tid: int = 11, **args: Any) -> Event:
    """One timed event."""
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": 40,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": args,
    }


def kernel(name: str, ts: float, dur: float, device: int = 0, **args: Any) -> Event:
    """A kernel on stream 7 of a card."""
    out = event("kernel", name, ts, dur, 7, device=device, stream=7, **args)
    return out | {"pid": device}


def copy(way: str, ts: float, dur: float, size: int, memory: str = "Pageable -> Device") -> Event:
    """A copy on stream 7 of card 0."""
    out = event(
        "gpu_memcpy", f"Memcpy {way} ({memory})", ts, dur, 7, device=0, stream=7, bytes=size
    )
    return out | {"pid": 0}


def trace(
    events: list[Event], *, host: str | None = "trainer-3", cards: int = 1, **head: Any
) -> str:
    """The text of a trace: one event a line."""
    about: dict[str, Any] = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": n, "name": "NVIDIA A30"} for n in range(cards)],
    }
    if host:
        about["host_name"] = host
    about |= {"displayTimeUnit": "ms", "baseTimeNanoseconds": 1790000000000000000, **head}
    lines = ",\n".join(f"  {json.dumps(e)}" for e in events)
    body = json.dumps(about, indent=2)[:-2]
    return f'{body},\n  "traceEvents": [\n{lines}\n  ],\n  "traceName": "rank0.pt.trace.json"\n}}\n'


def pretty(text: str) -> str:
    """The same in the lay-out of torch: one value a line."""
    whole = json.loads(text)
    events = whole.pop("traceEvents")
    out = json.dumps(whole, indent=2)[:-2] + ',\n  "traceEvents": [\n'
    return out + ",\n".join(_laid_out(e) for e in events) + "\n  ]}\n"


def _laid_out(one: Event) -> str:
    args = ", ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in one["args"].items())
    return (
        f'  {{\n    "ph": "X", "cat": "{one["cat"]}", "name": {json.dumps(one["name"])}, "pid": {one["pid"]}, '
        f'"tid": {one["tid"]},\n    "ts": {one["ts"]}, "dur": {one["dur"]},\n    "args": {{\n      {args}\n    }}\n  }}'
    )


def tiny_kernels(steps: int = 12) -> list[Event]:
    """Launch after launch: each kernel is over long before the next is launched."""
    out = []
    for n in range(steps):
        at = 1000.0 + 40 * n
        out += [
            event("cpu_op", "aten::mul", at, 30),
            event("cuda_runtime", "cudaLaunchKernel", at + 8, 6),
            kernel("void at::native::vectorized_elementwise_kernel<4, MulFunctor>", at + 12, 4),
        ]
    return out


def synchronising(steps: int = 12) -> list[Event]:
    """A value is fetched after each kernel, and the card waits while Python looks at it."""
    out = []
    for n in range(steps):
        at = 2000.0 + 900 * n
        out += [
            event("cuda_runtime", "cudaLaunchKernel", at + 5, 9),
            kernel("ampere_sgemm_128x64_tn", at + 20, 300),
            event("cpu_op", "aten::item", at + 30, 310),
            event("cuda_runtime", "cudaStreamSynchronize", at + 34, 290),
            event("python_function", "train.py(58): log_metrics", at + 345, 540),
        ]
    return out


def matrix(steps: int = 5) -> list[Event]:
    """Long matrix products, back to back."""
    out = []
    for n in range(steps):
        out += [
            event("cuda_runtime", "cudaLaunchKernel", 100 + 10 * n, 6),
            kernel(
                "sm80_xmma_gemm_f16f16_f16f32_tn_n",
                200.0 + 5000 * n,
                4900,
                **{"est. achieved occupancy %": 31},
            ),
        ]
    return out


def streaming(steps: int = 5) -> list[Event]:
    """Element-wise kernels over large tensors, back to back."""
    out = []
    for n in range(steps):
        out += [
            event("cuda_runtime", "cudaLaunchKernel", 100 + 10 * n, 6),
            kernel("void at::native::elementwise_kernel<128, 4>", 200.0 + 900 * n, 880),
        ]
    return out


def copying(steps: int = 4) -> list[Event]:
    """Each batch is copied from pageable memory before its kernel runs."""
    out = []
    for n in range(steps):
        at = 500.0 + 10_000 * n
        out += [
            event("cuda_runtime", "cudaMemcpyAsync", at, 6900),
            copy("HtoD", at + 10, 6800, 40_000_000),
            kernel("sm80_xmma_gemm_f16f16_f16f32_tn_n", at + 6900, 2900),
        ]
    return out


LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def starved(steps: int = 4, *, card: bool = True) -> list[Event]:
    """The loop waits for its batch most of each step."""
    out = []
    for n in range(steps):
        at = 100.0 + 20_000 * n
        out += [
            event("user_annotation", f"ProfilerStep#{n}", at, 20_000),
            event("user_annotation", LOADER, at + 10, 16_500),
            event("cpu_op", "aten::addmm", at + 16_600, 900),
        ]
        if card:
            out.append(kernel("ampere_sgemm_128x64_tn", at + 16_800, 2900))
    return out


def cpu_tiny(count: int = 1200) -> list[Event]:
    """Small operations on processors, one after the other."""
    return [event("cpu_op", "aten::add", 100.0 + 9 * n, 3.5) for n in range(count)]


def cpu_long() -> list[Event]:
    """One matrix product on processors."""
    return [event("cpu_op", "aten::matmul", 100, 90_500), event("cpu_op", "aten::mm", 130, 90_100)]
