"""Smaller tables of the catalogue: names, tools, clock reasons, NVML."""

import pytest

from steadygpu.catalog.card import card_of, cards, cards_of
from steadygpu.catalog.clock_reason import clock_reasons, reasons_in
from steadygpu.catalog.name import names
from steadygpu.catalog.nvml import nvml_codes, nvml_fields
from steadygpu.catalog.xid import xid_rows
from steadygpu.catalog.xid_tools import TOOLS, xid_tools


def models(*args: str | None) -> list[str]:
    return [row.model for row in cards_of(*args)]


def test_cut_names_fit_every_card_that_begins_so_and_decide_nothing() -> None:
    assert len(models("NVIDIA GeForce ...")) > 20
    assert models("NVIDIA A100-SXM4-80...") == ["A100 SXM4 80GB"]
    for cut in ("NVIDIA GeForce ...", "NVIDIA A100-SXM4-80...", "NVIDIA RTX PRO ..."):
        assert card_of(cut) is None
    row = card_of("NVIDIA GeForce ...", "10de:2684")
    assert row is not None
    assert row.model == "GeForce RTX 4090"
    assert models("NVIDIA Voodoo ...") == []


def test_an_id_of_several_cards_gives_all_and_the_board_or_the_name_tells_which() -> None:
    both = ["Quadro RTX 6000", "Quadro RTX 8000"]
    assert sorted(models(None, "10de:1e30")) == both
    assert card_of(None, "10de:1e30") is None
    assert models(None, "10DE:1E30", "1028:129E") == ["Quadro RTX 8000"]
    assert models("Quadro RTX 6000", "10de:1e30") == ["Quadro RTX 6000"]
    assert models(None, "10de:1e30", "ffff:ffff") == ["Quadro RTX 6000"]  # of boards not listed
    assert len(models(None, "1002:744c")) == 3


def test_an_id_that_may_be_a_card_of_no_table_decides_nothing() -> None:
    unlisted = next(
        i for i, rows in names().items() if {bool(r.model) for r in rows} == {True, False}
    )
    assert cards_of(None, unlisted)
    assert card_of(None, unlisted) is None


def test_every_name_of_a_board_is_of_a_card_of_the_table_or_of_none() -> None:
    known = {(row.vendor, row.model) for row in cards()}
    for rows in names().values():
        assert all(not row.model or (row.vendor, row.model) in known for row in rows)
        assert not any(row.model and row.mobile for row in rows)


@pytest.mark.parametrize("code", sorted(xid_rows()))
def test_each_xid_has_what_nvidia_and_the_tools_say(code: int) -> None:
    row = xid_tools()[code]
    assert xid_rows()[code].name in row.mnemonic
    assert set(row.says) <= set(TOOLS)
    assert not set(row.quiet) & set(row.loud)


def test_where_tools_disagree_both_sides_are_named() -> None:
    row = xid_tools()[109]
    assert row.immediate == "RESET_GPU"
    assert "k8s_device_plugin" in row.quiet
    assert "eks_agent" in row.loud
    assert row.applies == {"a100", "h100", "b100", "gb200"}
    assert "k8s_device_plugin" in xid_tools()[94].loud
    assert xid_tools()[45].investigatory == "RESTART_FM_IF_SOLO"
    assert xid_tools()[109].recovery_driver == 570


def test_reasons_are_taken_from_a_mask() -> None:
    assert [r.bit for r in clock_reasons()] == [1 << n for n in range(9)]
    assert [r.words for r in reasons_in(0x44)] == ["SW Power Cap", "HW Thermal Slowdown"]
    assert [r.slows for r in reasons_in(1)] == [False]
    assert reasons_in(0) == ()


def test_codes_and_fields_of_nvml() -> None:
    assert nvml_codes()[15].words == "GPU is lost"
    assert set(nvml_codes()) == {*range(31), 999}
    assert "kernel" in nvml_fields()["utilization.gpu"].meaning
