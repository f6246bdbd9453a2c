from typing import Any

import pytest

from steadygpu.evidence.dcgm import DiagResult, HealthResult
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.source import Source
from steadygpu.evidence.text import lines_of
from steadygpu.readers.dcgm_words import facts_of, joined
from steadygpu.readers.dcgmi_diag import read_dcgmi_diag, read_dcgmi_diag_json
from steadygpu.readers.dcgmi_health import read_dcgmi_health, read_dcgmi_health_json

CARD = DeviceRef(kind="card", index=2)
LINE = Source(name="d", quote="x")


@pytest.mark.parametrize(
    ("says", "record", "field", "value"),
    [
        ("Detected 3 volatile double-bit ECC error(s) in GPU 0.", "EccCounters", "uncorrected", 3),
        ("3 double-b it ECC errors", "EccCounters", "uncorrected", 3),
        ("GPU 3 has uncorrectable memory errors and row remappings are pending", "RowRemap", "pending", True),
        ("GPU 0 had row remap failures", "RowRemap", "failure", True),
        ("There are pending page retirements for GPU 1", "RetiredPages", "pending", True),
        ("GPU 0 Thermal violations totaling 1.0 seconds", "GpuClockReasons", "hw_thermal", True),
        ("throttled: hw_slowdown (power brake)", "GpuClockReasons", "hw_power_brake", True),
        ("Detected 9 NvLink CRC errors on GPU 3's NVLink (link 5)", "NvlinkErrors", "crc", 9),
        ("GPU 3's NvLink link 2 is currently down", "NvlinkLink", "active", False),
    ],
)  # fmt: skip
def test_what_a_sentence_proves(says: str, record: str, field: str, value: object) -> None:
    (fact,) = facts_of(says, CARD, (LINE,))
    assert type(fact).__name__ == record
    assert getattr(fact, field) == value
    assert fact.sources[0].fields == (field,)


@pytest.mark.parametrize("says", ["", "0 double-bit ECC errors", "all is well", "9" * 9000])
def test_a_sentence_that_proves_nothing(says: str) -> None:
    assert not list(facts_of(says, CARD, (LINE,)))


def test_a_full_cell_breaks_within_a_word_and_a_short_one_between_words() -> None:
    assert joined(["x" * 44 + "y", "z ends"], 45) == "x" * 44 + "yz ends"
    assert joined(["one", "two"], 45) == "one two"
    assert joined(["x" * 45, " two"], 45) == "x" * 45 + " two"


def diag(*rows: str) -> list[DiagResult]:
    read = read_dcgmi_diag(lines_of("d", "".join(f"{row}\n" for row in rows)))
    return [f for f in read.facts if isinstance(f, DiagResult)]


def test_results_of_both_forms_of_the_table() -> None:
    old = diag(
        "| GPU Memory                | Pass - GPUs: 0, 1   |",
        "|                           | Fail - GPU: 2       |",
    )
    assert [(r.device.index, r.result) for r in old] == [(0, "pass"), (1, "pass"), (2, "fail")]
    new = diag("| memory   | Fail      |", "|          | GPU2: Fail |")
    assert [(r.device.index, r.result) for r in new] == [(2, "fail")]
    assert diag("| PCIe     | Skip - All |")[0].device.kind == "host"
    assert not diag("| PCIe     | Perfect |")


def test_the_card_of_a_message_is_the_card_of_the_result() -> None:
    (one,) = diag(
        "| SM Stress   | Fail - All |", "| Warning     | GPU 5 is too |", "|             | slow |"
    )
    assert (one.device.index, one.says) == (5, "GPU 5 is too slow")
    assert [s.first for s in one.sources] == [1, 2, 3]


def test_a_run_that_failed_is_a_gap_that_names_what_to_run() -> None:
    for read in (
        read_dcgmi_diag(
            lines_of("d", "Error: Unable to complete diagnostic for group 2147483647.\n")
        ),
        read_dcgmi_diag_json(
            lines_of("d", '{"DCGM Diagnostic": {"runtime_error": "no engine"}}\n')
        ),
    ):
        assert read.read_to == 1
        assert read.gaps[0].ask
        assert not read.facts


@pytest.mark.parametrize("word", ["PASS", "Pass", "pass"])
def test_json_of_2_and_3_names_cards_as_text(word: str) -> None:
    body = (
        '{"DCGM GPU Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [null, {"name": "SM Stress",'
        f' "results": [{{"gpu_ids": "0,3", "status": "{word}"}}, {{"status": "Odd"}}]}}]}}]}}}}'
    )
    read = read_dcgmi_diag_json(lines_of("d", body))
    facts: list[Any] = list(read.facts)
    assert [(f.device.index, f.test, f.result) for f in facts] == [
        (0, "sm_stress", "pass"),
        (3, "sm_stress", "pass"),
    ]


def test_another_json_is_not_read() -> None:
    assert read_dcgmi_diag_json(lines_of("d", '{"other": 1}')).read_to == 0
    assert (
        read_dcgmi_health_json(lines_of("d", '{"body": {"a": "b"}, "header": ["Nvlink"]}')).read_to
        == 0
    )


def test_health_of_a_part_is_of_the_card_above_it() -> None:
    text = (
        "| Overall Health            | Warning       |\n| GPU                       |               |\n"
        "| -> 3                      | Warning       |\n|    -> Errors              |               |\n"
        "|       -> Thermal system   | Warning       |\n|                           | it is         |\n"
        "|                           | warm          |\n"
    )
    read = read_dcgmi_health(lines_of("h", text))
    overall, part = (f for f in read.facts if isinstance(f, HealthResult))
    assert (overall.device.kind, overall.status) == ("host", "warning")
    assert (part.device.index, part.system, part.says) == (3, "thermal", "it is warm")
    assert [s.first for s in part.sources] == [5, 6, 7]
    assert read_dcgmi_health(lines_of("h", text + "next\n")).read_to == 7


def test_watches_that_are_off_are_a_gap_and_one_that_is_on_is_none() -> None:
    text = "Health monitor systems report\n| PCIe | Off |\n| Memory | {} |\n"
    assert read_dcgmi_health(lines_of("h", text.format("Off"))).gaps[0].ask
    assert not read_dcgmi_health(lines_of("h", text.format("On"))).gaps
    assert read_dcgmi_health(
        lines_of("h", "Error: Health watches not enabled. Please enable watches.\n")
    ).gaps
