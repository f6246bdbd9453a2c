import pytest

from shared import SHARED, needs_shared
from steadygpu.evidence.nvlink import ALL_LINKS, NvlinkErrors, NvlinkLink
from steadygpu.evidence.text import lines_of
from steadygpu.readers.smi_nvlink import read_smi_nvlink, read_smi_nvlink_errors

HEAD = "GPU 3: NVIDIA H200 (UUID: GPU-11112222-0000-4444-8888-123456789abc)\n"


def states(text: str) -> list[NvlinkLink]:
    return [f for f in read_smi_nvlink(lines_of("n", text)).facts if isinstance(f, NvlinkLink)]


def errors(text: str) -> list[NvlinkErrors]:
    read = read_smi_nvlink_errors(lines_of("n", text))
    return [f for f in read.facts if isinstance(f, NvlinkErrors)]


def test_a_link_has_a_state_a_speed_and_its_line() -> None:
    up, down, unknown = states(
        HEAD + "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n\t Link 2: N/A\n"
    )
    assert (up.active, up.speed_bytes_s, up.link) == (True, 26.562e9, 0)
    assert (up.device.index, up.device.label) == (3, "NVIDIA H200")
    assert up.device == down.device
    assert down.active is False
    assert down.speed_bytes_s is None
    assert down.sources[0].first == 3
    assert unknown.active is None
    assert unknown.absent[0].reason == "not_supported"


def test_all_links_down_is_one_record_of_the_card() -> None:
    text = HEAD + "NVML: Unable to retrieve NVLink information as all links are inActive\n"
    (one,) = states(text)
    assert (one.link, one.active) == (ALL_LINKS, False)


def test_other_ends() -> None:
    one, two = states(
        HEAD + " Link 0: Remote Device 00000008:00:00.0: Link 29\n Link 4: 0000:8a:00.0\n"
    )
    assert (one.remote_bdf, one.remote_link, one.active) == ("0008:00:00.0", 29, None)
    assert two.remote_bdf == "0000:8a:00.0"


def test_counters_of_both_generations_and_what_is_no_error() -> None:
    (old,) = errors(
        HEAD + " Link 7: Replay Errors: 3\n Link 7: Recovery Errors: 0\n Link 7: CRC Errors: N/A\n"
    )
    assert (old.replay, old.recovery, old.crc, old.link) == (3, 0, None, 7)
    assert old.absent[0].field == "crc"
    (new,) = errors(
        HEAD + " Link 0: Tx packets: 99\n Link 0: Symbol Errors: 2\n Link 0: FEC Errors - 0: 123\n"
        " Link 0: Effective BER: 15e-255\n Link 0: Link recovery failed events: 1\n"
    )
    assert (new.symbol, new.recovery_failed, new.effective) == (2, 1, None)


@pytest.mark.parametrize("value", ["-1", "9" * 5000, "1.5", "", "1e3", "\u0661"])
def test_a_count_that_is_none_makes_none(value: str) -> None:
    assert not errors(HEAD + f" Link 0: CRC Errors: {value}\n")


def test_where_a_listing_ends() -> None:
    state, count = " Link 0: 25 GB/s\n", " Link 0: CRC Errors: 4\n"
    assert read_smi_nvlink(lines_of("n", HEAD + state + HEAD + count)).read_to == 2
    assert read_smi_nvlink_errors(lines_of("n", HEAD + count + HEAD + state)).read_to == 2
    assert read_smi_nvlink(lines_of("n", HEAD + state + HEAD + "\n")).read_to == 2
    assert read_smi_nvlink(lines_of("n", state + "Link to the manual\n")).read_to == 1
    assert read_smi_nvlink(lines_of("n", "x" * 9000)).read_to == 0
    assert not read_smi_nvlink(lines_of("n", HEAD)).facts


@needs_shared
@pytest.mark.parametrize("name", ["h100-sxm-590", "h200-590", "a100_gpud", "good_a100", "bad_a100"])
def test_real_files_are_read_to_the_end(name: str) -> None:
    lines = lines_of("n", (SHARED / f"evidence/files/nvlink_{name}.txt").read_text())
    read = read_smi_nvlink(lines)
    assert read.read_to == len(lines)
    assert all(f.active is not None for f in read.facts if isinstance(f, NvlinkLink))
