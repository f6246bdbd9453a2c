import re
from typing import get_args

import pytest

from steadygpu.catalog.card import CardRow, EccCapability, Segment, card_of, cards

ROWS = cards()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.model)
def test_a_row_is_whole_and_holds_figures_that_a_card_can_have(row: CardRow) -> None:
    assert row.vendor
    assert row.model
    assert row.architecture
    assert row.source.strip()
    assert row.segment in get_args(Segment)
    assert row.ecc in get_args(EccCapability)
    assert all(re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{4}", pci_id) for pci_id in row.pci_ids)
    assert row.compute_capability is None or re.fullmatch(
        r"\d{1,2}\.\d|gfx[0-9a-f]{3,4}", row.compute_capability
    )
    assert row.memory_gb is None or 1 <= row.memory_gb <= 512
    assert row.pcie_gen in (None, 3, 4, 5, 6)
    assert row.pcie_lanes in (None, 4, 8, 16)
    assert row.tdp_w is None or 20 <= row.tdp_w <= 1500


def test_models_stand_once_and_rows_are_read_once() -> None:
    assert len({(row.vendor, row.model) for row in ROWS}) == len(ROWS)
    assert cards() is ROWS


def test_a_pci_id_means_one_card() -> None:
    for row in ROWS:
        for pci_id in row.pci_ids:
            found = card_of(pci_id=pci_id)
            assert found is None or found is row
            assert card_of(pci_id=pci_id.upper()) is found


def test_a_name_means_one_card_or_none() -> None:
    for row in ROWS:
        for name in row.names:
            found = card_of(name)
            same = [r for r in ROWS if name in r.names]
            assert found is None or found is row or found in same


def named(name: str | None = None, pci_id: str | None = None) -> str | None:
    row = card_of(name, pci_id)
    return row.model if row else None


@pytest.mark.parametrize("name", ["NVIDIA L40S", "L40S", "nvidia  l40s", " NVIDIA L40S "])
def test_a_name_is_known_with_and_without_its_maker_in_any_spelling(name: str) -> None:
    assert named(name) == "L40S"


def test_an_id_decides_where_it_is_known() -> None:
    assert named(pci_id="10de:26b9") == "L40S"
    assert named("some other name", "10de:26b9") == "L40S"
    assert named("NVIDIA A40", "10de:26b9") == "L40S"


def test_a_name_decides_where_the_id_is_not_known() -> None:
    assert named("NVIDIA L40S", "10de:ffff") == "L40S"


def test_a_name_of_several_models_is_none_and_the_id_tells_them_apart() -> None:
    both = [r for r in ROWS if "NVIDIA GeForce RTX 2060" in r.names]
    assert len(both) > 1
    assert card_of("NVIDIA GeForce RTX 2060") is None
    for row in both:
        assert card_of("NVIDIA GeForce RTX 2060", row.pci_ids[0]) is row


def test_a_name_chooses_among_cards_that_share_an_id() -> None:
    ids: dict[str, list[CardRow]] = {}
    for row in ROWS:
        for pci_id in row.pci_ids:
            ids.setdefault(pci_id, []).append(row)
    for pci_id, rows in ids.items():
        if len(rows) > 1:
            assert card_of(pci_id=pci_id) is None
        for row in rows:
            for name in row.names:
                alone = sum(name in r.names for r in rows) == 1
                assert card_of(name, pci_id) is (row if alone else None)


def test_what_nobody_knows_is_none() -> None:
    assert card_of() is None
    assert card_of("") is None
    assert card_of("NVIDIA Voodoo 5") is None
    assert card_of(pci_id="ffff:0001") is None
    assert card_of("NVIDIA Voodoo 5", "ffff:0001") is None


@pytest.mark.parametrize(
    ("name", "segment", "ecc"),
    [
        ("NVIDIA H100 80GB HBM3", "data-centre", "yes"),
        ("NVIDIA GeForce RTX 4090", "consumer", None),
        ("NVIDIA A40", "data-centre", None),
    ],
)
def test_a_few_cards_that_everybody_knows(name: str, segment: str, ecc: str | None) -> None:
    row = card_of(name)
    assert row is not None
    assert row.segment == segment
    assert ecc is None or row.ecc == ecc
