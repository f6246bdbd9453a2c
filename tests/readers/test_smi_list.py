"""nvidia-smi -L."""

from pathlib import Path

import pytest

from steadygpu.evidence.gpu import CardListing, GpuErrorCells, GpuIdentity, MigInstance
from steadygpu.evidence.text import lines_of
from steadygpu.readers.smi_list import read_smi_list

SHARED = Path(__file__).parents[2].parent / "shared"
ONE = "GPU 0: NVIDIA Card X (UUID: GPU-11111111-2222-3333-4444-555555555555)\n"
TWO = "GPU 1: NVIDIA Card X (Rev 2) (UUID: GPU-61111111-2222-3333-4444-555555555555)\n"


def read(text, name="list.txt", **kwargs):
    return read_smi_list(lines_of(name, text, **kwargs))


def of(reading, kind):
    return [fact for fact in reading.facts if isinstance(fact, kind)]


def test_cards_and_mig_devices():
    mig = "  MIG 2g.20gb     Device  0: (UUID: MIG-aaaaaaaa-2222-3333-4444-555555555555)\n"
    got = read(ONE + mig + TWO + "prose\n")
    assert got.read_to == 3
    assert [i.device.index for i in of(got, GpuIdentity)] == [0, 1]
    assert of(got, GpuIdentity)[1].name == "NVIDIA Card X (Rev 2)"
    (instance,) = of(got, MigInstance)
    assert (instance.profile, instance.device.index) == ("2g.20gb", 0)
    assert of(got, CardListing)[0].complete


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        (ONE, True),
        (TWO, False),
        (
            ONE + "Unable to determine the device handle for GPU 0000:0A:00.0: Unknown Error\n",
            False,
        ),
    ],
)
def test_complete(text, complete):
    assert of(read(text), CardListing)[0].complete is complete
    assert not of(read(text, filtered="| head"), CardListing)[0].complete


def test_old_and_damaged_forms():
    serial = of(read("GPU 0: Tesla Z9 (S/N: 0123400000)\n"), GpuIdentity)[0]
    assert serial.device.serial == "0123400000"
    bad = of(read("GPU 0: ERR! (UUID: Unknown Error)\n"), GpuErrorCells)[0]
    assert (bad.fields, bad.readable, bad.device.uuid) == (("name", "uuid"), 0, None)
    old = "  MIG 1g.5gb Device 0: (UUID: MIG-GPU-1111-22/7/0)\n"
    instance = read(old).facts[0]
    assert (instance.gi, instance.ci, instance.device.uuid) == (7, 0, "GPU-1111-22")
    plain = "  MIG 1g.5gb Device 0: (UUID: MIG-1111-22)\n"
    assert read(plain).facts[0].device.uuid is None
    assert read("x" * 500).read_to == 0


def test_recorded_lists():
    folder = SHARED / "evidence" / "files"
    if not folder.is_dir():
        pytest.skip("the recorded texts are not beside this checkout")
    for path in folder.glob("smi-L_*.txt"):
        lines = lines_of(path.name, path.read_text())
        assert read_smi_list(lines).read_to == len(lines)
