"""The words of Xid 144 to 150 and the registers of Xid 74."""

import pytest

from steadygpu.catalog import nvlink5, nvlink_registers
from steadygpu.catalog.nvlink5 import decode


@pytest.mark.parametrize(
    "row", nvlink5.nvlink5_rows(), ids=lambda r: f"{r.code}-{r.units[0]}-{r.sub_code}-{r.status:x}"
)
def test_a_line_of_each_row_is_decoded_to_it(row: nvlink5.Nvlink5Row) -> None:
    word = "Fatal" if row.fatal else "Nonfatal"
    for unit in (*row.units, "/".join(row.units)):
        info = row.sub_code << 20 | 0x2C6
        says = f"{unit}  {word}   XC0 i0 Link 07 (0x{info:08x} 0x{row.status:08x} 0x00000000)"
        fault = decode(row.code, says)
        assert fault.row is not None
        assert (fault.row.severity, fault.row.meaning) == (row.severity, row.meaning)
        assert (fault.unit, fault.fatal, fault.link) == (unit, row.fatal, 7)
        assert (fault.sub_code, fault.status) == (row.sub_code, row.status)
    assert row.severity != "critical" or row.fatal
    assert row.action == "drain" or row.severity != "critical"


def test_of_several_bits_the_worst_counts() -> None:
    fault = decode(144, "SAW_MVB Fatal XC0 i0 Link 01 (0x00000021 0x00000016 0x00000000)")
    assert fault.row is not None
    assert fault.row.severity == "critical"


@pytest.mark.parametrize(
    ("says", "fatal", "unit", "link"),
    [
        ("NETIR_LINK_EVT Fatal XC0 i0 Link 05", True, "NETIR_LINK_EVT", 5),
        ("NETIR_LINK_DOWN Nonfatal XC1 i2 Link 17 (0x0000dead)", False, "NETIR_LINK_DOWN", 17),
        ("SOMETHING_NEW Fatal XC0 i0 Link 01 (0x00000001 0x00000001)", True, "SOMETHING_NEW", 1),
        ("MSE_WATCHDOG Fatal XC0 i0 Link -1 (0x00000000 0x00000007)", True, "MSE_WATCHDOG", None),
        ("RLW_CTRL Fatal XC0 i0 Link 00 (0x00000003 0x80000000)", True, "RLW_CTRL", 0),
        ("a Fatal thing", True, None, None),
        ("nothing of the kind", None, None, None),
        ("", None, None, None),
    ],
)
def test_what_fits_no_row_keeps_its_own_word(
    says: str, fatal: bool | None, unit: str | None, link: int | None
) -> None:
    fault = decode(149 if "NETIR" in says else 145, says)
    assert fault.row is None
    assert (fault.fatal, fault.unit, fault.link) == (fatal, unit, link)


def test_codes_whose_errors_end_programs_only_when_they_are_fatal() -> None:
    assert {c for c in nvlink5.CODES if nvlink5.ends_programs_only_when_fatal(c)} == {
        144,
        146,
        149,
        150,
    }
    assert not nvlink5.ends_programs_only_when_fatal(48)


def line(*words: int) -> str:
    return f"NVLink: fatal error detected on link 7({', '.join(hex(w) for w in words)})"


@pytest.mark.parametrize(
    ("words", "groups"),
    [
        ((1 << 0, 0, 0, 0, 0, 0, 0), ("harmless",)),
        ((1 << 21, 0, 0, 0, 0, 0, 0), ("signal",)),
        ((1 << 16 | 1 << 20, 0, 0, 0, 0, 0, 0), ("contact", "follows")),
        ((0, 0, 1 << 1, 1 << 16, 1 << 20, 0, 0), ("parity", "follows", "threshold")),
        ((0, 1, 0, 0, 0, 0, 0), ("unknown",)),
        ((0, 0, 0, 0, 0, 0, 0), ()),
    ],
)
def test_registers_are_grouped_by_what_to_do(
    words: tuple[int, ...], groups: tuple[str, ...]
) -> None:
    assert nvlink_registers.groups_of(line(*words)) == groups
    assert nvlink_registers.link_of(line(*words)) == 7


def test_lines_without_seven_words_have_no_groups() -> None:
    for says in ("", "NVLink: fatal error detected on link 7(0x1)", "NVLink: fatal error"):
        assert nvlink_registers.groups_of(says) == ()
        assert nvlink_registers.link_of(says) is None


def test_each_group_of_the_rows_has_words() -> None:
    assert {r.group for r in nvlink_registers.register_rows()} == set(nvlink_registers.GROUPS)
