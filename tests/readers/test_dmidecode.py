import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.dmidecode import read_dmidecode

SUPPLY = """Handle 0x0041, DMI type 39, 22 bytes
System Power Supply
\tLocation: {where}
\tMax Power Capacity: {watts}
\tStatus: {status}
\tPlugged: {plugged}

"""


def supply(
    watts: str, where: str = "Bay 1", status: str = "Present, OK", plugged: str = "Yes"
) -> str:
    return SUPPLY.format(watts=watts, where=where, status=status, plugged=plugged)


@pytest.mark.parametrize(
    ("text", "fitted", "total"),
    [
        (supply("1600 W"), 1, 1600.0),
        (supply("1600 W") + supply("1600 W", "Bay 2"), 2, 3200.0),
        (supply("1600 W") + supply("1600 W", status="Not Present"), 1, 1600.0),
        (supply("1600 W") + supply("1600 W", plugged="No"), 1, 1600.0),
        (supply("1600 W") + supply("Unknown"), 2, None),
        (supply("0 W"), 1, None),
        (supply("9" * 5000 + " W"), 1, None),
        ("Handle 0x0041, DMI type 39, 22 bytes\nSystem Power Supply\n", 1, None),
    ],
)
def test_supplies_add_up_where_each_is_told(text: str, fitted: int, total: float | None) -> None:
    (found,) = read_dmidecode(lines_of("d", text)).facts
    assert (found.fitted, found.total_w) == (fitted, total)
    assert bool(found.absent) == (total is None)


def test_other_structures_are_passed_over_and_other_texts_left() -> None:
    text = "Handle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\tManufacturer: X\n\nand so on...\n"
    reading = read_dmidecode(lines_of("d", text))
    assert not reading.facts
    assert reading.read_to == 3
