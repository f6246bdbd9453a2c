"""Rules on tests under load, branch by branch."""

from typing import Any

import pytest

from rules.hand import found, one, says
from steadygpu.evidence.bench import BurnResult, CollectiveRate, CollectiveRun, CopyRate
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.link import PciDevice, PcieLink
from steadygpu.evidence.source import Source
from steadygpu.evidence.units import pcie_bytes_per_s
from steadygpu.rules import bench
from steadygpu.verdict.rule import Fine, NotHere, Unclear

CARD = DeviceRef(kind="card", bdf="0000:41:00.0", index=0)
PORT = DeviceRef(kind="port", bdf="0000:40:01.0")
HOST = DeviceRef(kind="host")


def make(cls: type[Any], device: DeviceRef = CARD, **fields: Any) -> Any:
    proof = (Source(name=f"{cls.__name__}.txt", quote=f"{cls.__name__} line"),)
    return cls(device=device, sources=proof, **fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"errors": 3, "faulty": False, "died": False}, "3 wrong results"),
        ({"errors": 3, "faulty": True, "died": True}, "3 wrong results, the worker of the card died, the test calls"),
        ({"faulty": True}, "the test calls the card faulty"),
        ({"errors": 0, "died": True}, "died"),
    ],
)  # fmt: skip
def test_a_burn_that_found_errors(fields: Any, words: str) -> None:
    assert words in says(one(bench.wrong_results, (make(BurnResult, **fields),), (), ()))


def test_a_burn_is_fine_by_its_verdict_only() -> None:
    def seen(**fields: Any) -> Any:
        return one(bench.wrong_results, (make(BurnResult, **fields),), (), ())

    assert isinstance(seen(errors=0, died=False), Unclear)
    assert isinstance(seen(errors=0, died=False, faulty=False), Fine)
    assert isinstance(seen(faulty=False), Fine)


def test_collectives_that_were_checked() -> None:
    def seen(wrong: int | None, **end: Any) -> Any:
        row = make(
            CollectiveRate,
            HOST,
            size_bytes=8,
            in_place=False,
            wrong=wrong,
            op="all_gather",
            ranks=4,
        )
        ends = (make(CollectiveRun, HOST, **end),) if end else ()
        return one(bench.wrong_results, (), (row,), ends)

    assert "5 wrong values at 8 bytes in all_gather on 4 ranks" in says(seen(5))
    assert "2 values out of bounds in a collective" in says(seen(None, out_of_bounds=2))
    assert isinstance(seen(0, out_of_bounds=0, checked=True), Fine)
    assert isinstance(seen(0, out_of_bounds=0, checked=False), Unclear)
    assert isinstance(seen(0, out_of_bounds=0), Unclear)
    assert isinstance(seen(0, checked=True), Unclear)
    assert isinstance(seen(0), Unclear)


def test_a_rate_that_falls_with_heat() -> None:
    def seen(late: float | None, early_c: float | None = 50, late_c: float | None = 75) -> Any:
        record = make(
            BurnResult,
            early_gflops=1000,
            late_gflops=late,
            early_temp_c=early_c,
            late_temp_c=late_c,
        )
        return one(bench.thermal_minor, record)

    assert "throughput -5% (1000 to 950 Gflop/s) while the card warmed up from 50 to 75 °C" in says(
        seen(950)
    )
    assert "-40%" in says(seen(600))
    assert isinstance(seen(980), Fine)
    assert isinstance(seen(1000, None, None), Fine)
    assert isinstance(seen(900, 70, 75), Fine)
    assert isinstance(seen(900, None), Unclear)
    assert isinstance(seen(None), Unclear)


def copy(rate: float | None, **fields: Any) -> Any:
    told = {
        "tool": "bandwidthTest",
        "direction": "h2d",
        "how": "pinned",
        "size_bytes": 32_000_000,
    } | fields
    return make(CopyRate, bytes_per_s=rate, **told)


def link(device: DeviceRef = CARD, speed: float | None = 16.0, width: int | None = 16) -> Any:
    return make(PcieLink, device, max_speed_gts=speed, max_width=width)


def test_copies_against_what_the_card_can() -> None:
    def seen(*rates: Any, card: Any = None) -> Any:
        return one(bench.copy_slow, rates, card or link(), (), ())

    assert "10 GB/s from host to card, 31.5 GB/s is what its link (x16 at 16 GT/s) carries" in says(
        seen(copy(10e9))
    )
    assert "from card to host" in says(seen(copy(25e9), copy(9e9, direction="d2h")))
    assert isinstance(seen(copy(9e9), copy(25e9, size_bytes=64_000_000)), Fine)
    assert isinstance(seen(copy(9e9, how="pageable")), NotHere)
    assert isinstance(seen(copy(9e9, direction="p2p")), NotHere)
    assert isinstance(seen(copy(9e9, size_bytes=4096)), Unclear)
    assert isinstance(seen(copy(9e9, size_bytes=None)), Unclear)
    assert found(seen(copy(9e9, size_bytes=None, tool="nvbandwidth")))
    assert isinstance(seen(copy(None), copy(25e9)), Unclear)
    assert isinstance(seen(copy(9e9), card=link(width=None)), Unclear)
    assert isinstance(one(bench.copy_slow, (copy(9e9),), None, (), ()), Unclear)


def test_copies_against_what_the_port_can() -> None:
    card = make(PciDevice, role="card", parent=PORT.bdf)
    port = make(PciDevice, PORT, role="port", port_type="root")

    def seen(above: Any, *devices: Any) -> Any:
        return one(
            bench.copy_slow, (copy(6.4e9),), link(), tuple(x for x in (link(), above) if x), devices
        )

    assert isinstance(seen(link(PORT, 8.0, 8), card, port), Fine)
    assert "between 40:01.0 and 41:00.0 (x16 at 8 GT/s)" in says(
        seen(link(PORT, 8.0, 16), card, port)
    )
    assert isinstance(seen(None, card, port), Unclear)
    assert isinstance(seen(link(PORT, None, 16), card, port), Unclear)
    assert isinstance(seen(link(PORT), make(PciDevice, role="card"), port), Unclear)


@pytest.mark.parametrize(
    ("speed", "lanes", "rate"), [(2.5, 1, 0.25e9), (5, 16, 8e9), (16, 16, 31.5e9), (64, 16, 118e9)]
)
def test_what_a_link_carries(speed: float, lanes: int, rate: float) -> None:
    assert pcie_bytes_per_s(speed, lanes) == pytest.approx(rate, rel=0.001)
