"""Sentences in place of data."""

from pathlib import Path

import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.smi_message import read_smi_message

SHARED = Path(__file__).parents[2].parent / "shared"
HANDLE = "Unable to determine the device handle for "
FAILED = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that"
)


@pytest.mark.parametrize(
    ("text", "meaning", "used"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", "library_mismatch", 1),
        ("Failed to initialize NVML: Unknown Error", "unknown_error", 1),
        ("Failed to initialize NVML: Driver Not Loaded", "driver_not_loaded", 1),
        ("Failed to initialize NVML: Insufficient Permissions", "not_permitted", 1),
        ("Failed to initialize NVML: Insufficient Resources", "insufficient_resources", 1),
        ("Failed to initialize NVML: could not load NVML library.", "other", 1),
        (
            FAILED + "\nthe latest NVIDIA driver is installed and running.\nfoo",
            "driver_not_loaded",
            2,
        ),
        ("No devices were found\n", "no_devices", 1),
        ("GPU is lost.  Reboot the system to recover this GPU", "gpu_lost", 1),
        ("bash: nvidia-smi: command not found", "command_missing", 1),
        ("-bash: line 1: nvidia-smi: command not found", "command_missing", 1),
        ("zsh: command not found: nvidia-smi", "command_missing", 1),
        (
            "Command 'nvidia-smi' not found, but can be installed with:\n\n"
            "sudo apt install nvidia-utils-999\nsudo apt install nvidia-utils-998\n\n\nx",
            "command_missing",
            4,
        ),
        ("Insufficient Permissions", "not_permitted", 1),
        ("No supported devices in vGPU mode", "other", 1),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please", "other", 1),
        (HANDLE + "GPU 0000:0A:00.0: Unknown Error", "handle_lost", 1),
        (HANDLE + "GPU0000:0A:00.0: Unknown Error", "handle_lost", 1),
        (HANDLE + "GPU3: 0000:0A:00.0: Unknown Error", "handle_lost", 1),
        (HANDLE + "GPU 0000:0A:00.0: GPU is lost.  Reboot the system", "gpu_lost", 1),
        (HANDLE + "GPU 0000:0A:00.0: GPU requires reset", "reset_required", 1),
    ],
)
def test_meanings(text, meaning, used):
    got = read_smi_message(lines_of("a.txt", text))
    (message,) = got.facts
    assert (message.meaning, got.read_to, message.container) == (meaning, used, False)
    if "0A:00.0" in text:
        assert message.device.bdf == "0000:0a:00.0"
        assert message.device.kind == "card"
    else:
        assert message.device.kind == "host"


def test_library_version_and_several_messages():
    text = (
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 575.10\n"
        "\nNo devices were found\nother\n"
    )
    got = read_smi_message(lines_of("container.txt", text))
    one, two = got.facts
    assert (one.library_version, two.library_version, got.read_to) == ("575.10", None, 4)
    assert one.sources[1].first == 2
    assert one.container
    alone = read_smi_message(lines_of("a.txt", "NVML library version: 575.10")).facts[0]
    assert (alone.meaning, alone.library_version) == ("library_mismatch", "575.10")
    assert read_smi_message(lines_of("a.txt", HANDLE + "gpu ???")).facts[0].device.kind == "host"


@pytest.mark.parametrize("text", ["", "hello", "No devices were found in the garage", "x" * 2000])
def test_other_texts(text):
    assert not read_smi_message(lines_of("a.txt", text)).facts


def test_recorded_messages():
    folder = SHARED / "evidence" / "composed" / "files"
    if not folder.is_dir():
        pytest.skip("the recorded texts are not beside this checkout")
    for path in folder.glob("nvidia-smi-error--*.txt"):
        lines = lines_of(path.name, path.read_text())
        assert read_smi_message(lines).read_to == len(lines)
