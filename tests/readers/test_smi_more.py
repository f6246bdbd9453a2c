from typing import Any

import pytest

from pipeline import read
from steadygpu.evidence.text import lines_of
from steadygpu.readers.smi_mig import read_smi_mig
from steadygpu.readers.smi_set import read_smi_set
from steadygpu.readers.smi_vgpu import read_smi_vgpu


def facts(reader: Any, text: str) -> list[Any]:
    return list(reader(lines_of("m", text)).facts)


def test_rows_of_instances_name_card_instance_and_profile() -> None:
    gi, mode = facts(read_smi_mig, "|   1  MIG 1g.12gb+me     20        8          1:1     |\n")
    assert (gi.device.index, gi.gi, gi.ci, gi.profile) == (1, 8, None, "1g.12gb+me")
    assert (mode.mig_on, mode.device) == (True, gi.device)
    ci, _ = facts(read_smi_mig, "|   0      7       MIG 1g.5gb           0         2     |\n")
    assert (ci.device.index, ci.gi, ci.ci) == (0, 7, 2)


def test_profiles_are_no_instances_and_none_is_said() -> None:
    row = "|   0  MIG 1g.12gb       19     6/7        10.75      No     16     1     0   |\n"
    assert [type(f).__name__ for f in facts(read_smi_mig, row)] == ["GpuMode"]
    (mode,) = facts(read_smi_mig, "No GPU instances found: Not Found\n")
    assert (mode.mig_on, mode.mig_devices) == (True, 0)
    none = read_smi_mig(lines_of("m", "No MIG-enabled devices found.\n"))
    assert (none.read_to, none.facts) == (1, ())


@pytest.mark.parametrize(
    ("line", "record", "field", "value"),
    [
        ("Enabled persistence mode for GPU 00000000:01:00.0.", "GpuMode", "persistence_on", True),
        ("Persistence mode is already Disabled for GPU 00000000:01:00.0.", "GpuMode", "persistence_on", False),
        ("Disabled ECC support for GPU 00000000:01:00.0.", "GpuMode", "ecc_pending_on", False),
        ("Enabled MIG Mode for GPU 00000000:01:00.0", "GpuMode", "mig_on", True),
        ("Compute mode is already set to DEFAULT for GPU 00000000:01:00.0.", "GpuMode", "compute_mode", "default"),
        ("Power limit for GPU 00000000:01:00.0 was set to 250.00 W from 300.00 W.", "GpuPower", "requested_limit_w", 250.0),
        ("Unable to set persistence mode for GPU 00000000:01:00.0: Insufficient Permissions", "ToolMessage", "meaning", "not_permitted"),
        ("Unable to reset GPU for GPU 00000000:01:00.0: GPU is lost", "ToolMessage", "meaning", "gpu_lost"),
    ],
)  # fmt: skip
def test_an_answer_says_what_is_set(line: str, record: str, field: str, value: object) -> None:
    (fact,) = facts(read_smi_set, line + "\n")
    assert type(fact).__name__ == record
    assert getattr(fact, field) == value
    assert fact.device.bdf == "0000:01:00.0"


def test_answers_end_where_another_text_begins() -> None:
    text = "Enabled persistence mode for GPU 00000000:01:00.0.\nAll done.\nUnable to think.\n"
    assert read_smi_set(lines_of("m", text)).read_to == 2
    assert read_smi_set(lines_of("m", "Set compute mode to FAST for GPU 0\n")).read_to == 0


def test_virtual_cards_of_table_and_query() -> None:
    table = (
        "|   0  NVIDIA A40                 | 00000000:3B:00.0             |  43%       |\n"
        "|      3251634301  NVIDIA A40-12Q | 77c0...  cad-05              |     N/A    |\n"
    )
    identity, load, vgpu = facts(read_smi_vgpu, table)
    assert (identity.device.bdf, load.busy_ratio) == ("0000:3b:00.0", 0.43)
    assert (vgpu.vgpu, vgpu.type_name, vgpu.vm_name, vgpu.busy_ratio) == (
        3251634301,
        "NVIDIA A40-12Q",
        "cad-05",
        None,
    )
    query = (
        "GPU 00000000:3B:00.0\n    Active vGPUs   : 1\n    vGPU ID    : 12\n        VM Name    : a b\n"
        "        License Status   : Unlicensed\n        FB Memory Usage\n            Used   : 7 MiB\n"
        "        Utilization\n            GPU    : 5 %\nGPU 00000000:3C:00.0\n    Product Name  : x\n"
    )
    reading = read_smi_vgpu(lines_of("m", query))
    one: Any = reading.facts[0]
    assert (one.vm_name, one.license, one.busy_ratio, one.memory_used_bytes) == (
        "a b",
        "Unlicensed",
        0.05,
        7 << 20,
    )
    assert reading.read_to == 9


def test_tables_that_begin_alike_are_told_apart_by_their_titles() -> None:
    top = "+-----------------------------------------------------------------------------+\n"
    mig = (
        top
        + "| GPU instances:                                        |\n|   1  MIG 1g.12gb     20        8          1:1     |\n"
        + top
    )
    kinds = [text.kind for text, _ in read({"a": mig + "\nops@gpu-01:~$ nvidia-smi\n" + top})]
    assert kinds[0] == "nvidia-smi-mig"
