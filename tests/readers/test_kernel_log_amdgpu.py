"""The messages of the amdgpu driver, in both generations of texts."""

import pytest

from pipeline import read
from steadygpu.catalog.amdgpu import amdgpu_rows
from steadygpu.evidence.amd import AmdgpuEvent

NEW = "[  812.100000] amdgpu 0000:43:00.0: amdgpu: "


def events(text: str) -> list[AmdgpuEvent]:
    found = read({"dmesg.txt": text + "\n"})
    return [f for _, r in found for f in r.facts if isinstance(f, AmdgpuEvent)]


@pytest.mark.parametrize(
    ("says", "what", "fields"),
    [
        ("ring sdma0 timeout, signaled seq=3, emitted seq=5", "ring_timeout", {"ring": "sdma0"}),
        ("ring gfx_0.0.0 timeout, but soft recovered", "soft_recovered", {"ring": "gfx_0.0.0"}),
        (" Process a b pid 12 thread x pid 13", "process", {"process": "a b", "pid": 12}),
        ("Process information: process  pid 0 thread  pid 0", "process", {"process": None, "pid": None}),
        ("Ring comp_1.0.0 reset failed", "ring_reset_failed", {"ring": "comp_1.0.0"}),
        ("GPU reset begin!. Source:  1", "reset_begin", {}),
        ("GPU reset(2) succeeded!", "reset_succeeded", {}),
        ("GPU reset end with ret = -62", "reset_failed", {}),
        ("MES failed to respond to msg=ADD_QUEUE", "mes_hang", {}),
        ("4 deferred hardware errors detected in umc block", "ras_deferred", {"errors": 4, "block": "umc"}),
        ("Saved bad pages 130 reaches threshold value 128", "bad_page_threshold", {"errors": 130, "limit": 128}),
    ],
)  # fmt: skip
def test_a_message_gives_its_event(says: str, what: str, fields: dict[str, object]) -> None:
    (one,) = events(NEW + says)
    assert (one.what, one.device.bdf) == (what, "0000:43:00.0")
    assert {name: getattr(one, name) for name in fields} == fields
    assert what in amdgpu_rows()


@pytest.mark.parametrize(
    "says",
    [
        "0 uncorrectable hardware errors detected in umc block",
        "no uncorrectable hardware errors detected in gfx block",
        "GPU reset end with ret = 0",
        "GPU reset succeeded, trying to resume",
        "SMU is initialized successfully!",
    ],
)
def test_an_all_clear_is_no_event(says: str) -> None:
    assert events(NEW + says) == []


def test_a_message_without_an_address_is_one_of_the_host() -> None:
    text = "[  1.000000] [drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled seq=1, emitted seq=2"
    (one,) = events(text)
    assert (one.device.kind, one.ring) == ("host", "gfx")


def test_the_same_words_of_a_program_are_no_event() -> None:
    assert events("[  1.000000] systemd[1]: amdgpu: ring gfx timeout, signaled seq=1") == []
