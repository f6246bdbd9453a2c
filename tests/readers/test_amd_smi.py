"""The listings of amd-smi, as JSON and as text."""

from typing import Any

import pytest

from pipeline import read
from shared import SHARED, needs_shared
from steadygpu.evidence.amd import AmdBadPages, AmdPeer, AmdRasCounters
from steadygpu.evidence.gpu import GpuClockReasons, GpuIdentity, GpuLoad, GpuMemory, GpuPower
from steadygpu.evidence.link import PcieLink
from steadygpu.evidence.text import lines_of
from steadygpu.readers.amd_smi import read_amd_smi

JSON = """[
    {
        "gpu": 4,
        "usage": {"gfx_activity": {"value": 97, "unit": "%"}, "vcn_activity": [{"value": 9, "unit": "%"}]},
        "power": {"socket_power": {"value": 690, "unit": "W"}},
        "pcie": {"width": 16, "speed": {"value": 32, "unit": "GT/s"}},
        "ecc": {"total_correctable_count": 7, "total_uncorrectable_count": "N/A"},
        "mem_usage": {"total_vram": {"value": 1024, "unit": "MB"}}
    }
]
"""
TEXT = """GPU: 4
    USAGE:
        GFX_ACTIVITY: 97 %
    POWER:
        SOCKET_POWER: 690 W
    PCIE:
        WIDTH: 16
        SPEED: 32 GT/s
    ECC:
        TOTAL_CORRECTABLE_COUNT: 7
        TOTAL_UNCORRECTABLE_COUNT: N/A
    MEM_USAGE:
        TOTAL_VRAM: 1024 MB
"""


def facts(text: str, cls: type[Any]) -> list[Any]:
    return [f for f in read_amd_smi(lines_of("a", text)).facts if isinstance(f, cls)]


@pytest.mark.parametrize(
    "text", [JSON, TEXT, '{\n"gpu_data": ' + JSON + "}\n", JSON.replace("\n", " ")]
)
def test_both_forms_say_the_same(text: str) -> None:
    (load,), (power,), (link,) = facts(text, GpuLoad), facts(text, GpuPower), facts(text, PcieLink)
    (memory,), (errors,) = facts(text, GpuMemory), facts(text, AmdRasCounters)
    assert (load.busy_ratio, power.draw_w, load.device.index) == (0.97, 690.0, 4)
    assert (link.width, link.speed_gts, link.max_width) == (16, 32.0, None)
    assert memory.total_bytes == 1 << 30
    assert (errors.correctable, errors.uncorrectable) == (7, None)
    assert errors.absent[0].reason == "not_supported"
    assert facts(text, GpuIdentity)[0].vendor == "amd"


def test_each_value_is_cited_where_it_stands() -> None:
    (load,) = facts(TEXT, GpuLoad)
    assert [(s.first, s.fields) for s in load.sources] == [(3, ("busy_ratio",))]
    spread = (
        '[\n{\n"gpu": 0,\n"power": {\n"socket_power": {\n"value": 5,\n"unit": "W"\n}\n}\n}\n]\n'
    )
    assert facts(spread, GpuPower)[0].sources[0].first == 6


@pytest.mark.parametrize(
    ("word", "active"), [("ACTIVE", True), ("NOT ACTIVE", False), ("N/A", None)]
)
def test_a_violation_is_a_reason(word: str, active: bool | None) -> None:
    text = f"GPU: 0\n    THROTTLE:\n        PPT_VIOLATION_STATUS: {word}\n"
    assert facts(text, GpuClockReasons)[0].sw_power_cap is active


@pytest.mark.parametrize(
    ("retired", "count"),
    [
        ('"No bad pages found."', 0), ('"N/A"', None), ('{"page_address": "0x1", "page_size": 4096}', 1),
        ('[{"page_address": "0x1"}, {"page_address": "0x2"}]', 2),
    ],
)  # fmt: skip
def test_bad_pages_are_counted(retired: str, count: int | None) -> None:
    (pages,) = facts(f'[{{"gpu": 0, "retired": {retired}}}]\n', AmdBadPages)
    assert pages.retired == count


def test_peers_by_json_and_by_table() -> None:
    link = '{"gpu": %d, "link_type": "%s", "link_status": "ENABLED"}'
    card = '{"gpu": %d, "bdf": "0000:0%d:00.0", "links": [%s, %s]}'
    rows = (
        card % (0, 1, link % (0, "SELF"), link % (1, "XGMI")),
        card % (1, 2, link % (0, "XGMI"), link % (1, "SELF")),
    )
    table = (
        "LINK TYPE TABLE:\n             0000:01:00.0 0000:02:00.0\n"
        "0000:01:00.0 SELF         XGMI\n0000:02:00.0 XGMI         SELF\n"
    )
    for text in (f"[{', '.join(rows)}]\n", table):
        links = facts(text, AmdPeer)
        assert [(one.device.bdf, one.peer.bdf, one.link_type) for one in links] == [
            ("0000:01:00.0", "0000:02:00.0", "XGMI"), ("0000:02:00.0", "0000:01:00.0", "XGMI"),
        ]  # fmt: skip


def test_a_cut_listing_gives_what_stands_and_says_so() -> None:
    reading = read_amd_smi(lines_of("a", "\n".join(JSON.split("\n")[:5])))
    assert [g.why for g in reading.gaps] == ["the JSON is cut"]
    assert any(isinstance(f, GpuPower) for f in reading.facts)


@pytest.mark.parametrize(
    "text",
    ["GPU: 0\nis busy\n", "[1, 2]\n", '{"a": 1}\n', "GPU: 0\n", "[" * 500, "LINK TYPE TABLE\n", ""],
)
def test_other_text_gives_nothing(text: str) -> None:
    assert read_amd_smi(lines_of("a", text)).facts == ()


def test_a_second_listing_is_left() -> None:
    assert read_amd_smi(lines_of("a", TEXT + TEXT)).read_to == 13
    assert read_amd_smi(lines_of("a", JSON + JSON)).read_to == 10


@needs_shared
@pytest.mark.parametrize("what", ["metric", "static", "bad-pages", "topology"])
def test_specimens_are_read_whole(what: str) -> None:
    files = sorted((SHARED / "evidence/composed/files").glob(f"amd-smi-{what}-*"))
    assert files
    for file in files:
        parts = read({file.name: file.read_bytes()})
        assert {text.kind for text, _ in parts} == {"amd-smi"}
        assert not [gap for _, reading in parts for gap in reading.gaps]
