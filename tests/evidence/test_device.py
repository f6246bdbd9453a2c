import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadygpu.evidence.device import DeviceRef, bdf_assumed, host_ref, normal_bdf, short_bdf


@pytest.mark.parametrize(
    ("printed", "bdf", "assumed"),
    [
        ("00000000:3B:00.0", "0000:3b:00.0", ()),
        ("0000:3b:00.0", "0000:3b:00.0", ()),
        ("0001:3B:1F.7", "0001:3b:1f.7", ()),
        ("3b:00.0", "0000:3b:00.0", ("domain",)),
        ("3b:00", "0000:3b:00.0", ("domain", "function")),
        ("0000:3b:00", "0000:3b:00.0", ("function",)),
        ("PCI:0000:3b:00", "0000:3b:00.0", ("function",)),
        ("PCI:3B:00.1", "0000:3b:00.1", ("domain",)),
        (" 0000:3b:00.0\n", "0000:3b:00.0", ()),
        ("00010000:E1:00.0", "10000:e1:00.0", ()),
        ("ABCDEF01:E1:00.0", "abcdef01:e1:00.0", ()),
    ],
)
def test_an_address_has_one_form_however_it_is_printed(
    printed: str, bdf: str, assumed: tuple[str, ...]
) -> None:
    assert normal_bdf(printed) == bdf
    assert bdf_assumed(printed) == assumed


@pytest.mark.parametrize(
    "printed",
    [
        "", "3b", "3b:00.8", "3b:00.", "3b:0.0", "gg:00.0", "123:3b:00.0", "123456789:3b:00.0",
        "0000:3b:00.0 3D controller", "N/A", "0000:3b:00.00", "0000:3b:00.0/driver", "٣b:00.0",
    ],
)  # fmt: skip
def test_what_is_no_address_has_none(printed: str) -> None:
    assert normal_bdf(printed) is None
    assert bdf_assumed(printed) == ()


@given(
    st.integers(0, 0xFFFFFFFF), st.integers(0, 255), st.integers(0, 255), st.integers(0, 7),
    st.sampled_from(["{:04x}", "{:04X}", "{:08x}", "{:08X}"]),
)  # fmt: skip
def test_the_normal_form_is_its_own_normal_form(
    domain: int, bus: int, slot: int, function: int, form: str
) -> None:
    printed = f"{form.format(domain)}:{bus:02X}:{slot:02x}.{function}"
    bdf = normal_bdf(printed)
    assert bdf == f"{domain:04x}:{bus:02x}:{slot:02x}.{function}"
    assert normal_bdf(bdf) == bdf


@given(st.text(max_size=30))
def test_no_text_raises(printed: str) -> None:
    bdf = normal_bdf(printed)
    assert bdf is None or normal_bdf(bdf) == bdf


def test_people_leave_out_domain_0_only() -> None:
    assert short_bdf("0000:3b:00.0") == "3b:00.0"
    assert short_bdf("0001:3b:00.0") == "0001:3b:00.0"
    assert short_bdf("10000:00:00.0") == "10000:00:00.0"


def test_the_host_itself_is_a_device_of_its_own_kind() -> None:
    assert host_ref("gpu-01") == DeviceRef(kind="host", host="gpu-01")
    assert host_ref().host is None
