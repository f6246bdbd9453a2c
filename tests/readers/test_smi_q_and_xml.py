"""The plain and the XML form of one tree give the same records."""

import csv

import pytest

from shared import SHARED, needs_shared
from steadygpu.evidence.text import Lines, decode, lines_of
from steadygpu.readers.smi_q import read_smi_q
from steadygpu.readers.smi_xml import read_smi_xml

Q = """
==============NVSMI LOG==============

Timestamp                                 : Wed Nov 18 14:02:31 2026
Driver Version                            : 570.133.20
CUDA Version                              : 12.8

Attached GPUs                             : 1
GPU 00000000:17:00.0
    Product Name                          : NVIDIA A100 80GB PCIe
    GPU UUID                              : GPU-5d0c1e7a-0000-4f19-9c33-0a61e4d27b95
    MIG Mode
        Current                           : N/A
        Pending                           : N/A
    PCI
        Bus Id                            : 00000000:17:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 4
                Current                   : 1
            Link Width
                Max                       : 16x
                Current                   : 8x
    Performance State                     : P8
    Clocks Event Reasons
        Idle                              : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
    FB Memory Usage
        Total                             : 81920 MiB
        Used                              : Unknown Error
    Utilization
        GPU                               : 12 %
    ECC Errors
        Volatile
            DRAM Uncorrectable            : 2
    Remapped Rows
        Pending                           : Yes
    Temperature
        GPU Current Temp                  : 38 C
    GPU Power Readings
        Average Power Draw                : N/A
        Power Draw                        : 81.42 W
    Processes
        Process ID                        : 48213
            Type                          : C
            Name                          : python
            Used GPU Memory               : 400 MiB
"""
XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Wed Nov 18 14:02:31 2026</timestamp>
	<driver_version>570.133.20</driver_version>
	<cuda_version>12.8</cuda_version>
	<attached_gpus>1</attached_gpus>
	<gpu id="00000000:17:00.0">
		<product_name>NVIDIA A100 80GB PCIe</product_name>
		<uuid>GPU-5d0c1e7a-0000-4f19-9c33-0a61e4d27b95</uuid>
		<mig_mode><current_mig>N/A</current_mig><pending_mig>N/A</pending_mig></mig_mode>
		<pci><pci_bus_id>00000000:17:00.0</pci_bus_id><pci_gpu_link_info>
			<pcie_gen><max_link_gen>4</max_link_gen><current_link_gen>1</current_link_gen></pcie_gen>
			<link_widths><max_link_width>16x</max_link_width><current_link_width>8x</current_link_width></link_widths>
		</pci_gpu_link_info></pci>
		<performance_state>P8</performance_state>
		<clocks_event_reasons>
			<clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
			<clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
			<clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown>
		</clocks_event_reasons>
		<fb_memory_usage><total>81920 MiB</total><used>Unknown Error</used></fb_memory_usage>
		<utilization><gpu_util>12 %</gpu_util></utilization>
		<ecc_errors><volatile><dram_uncorrectable>2</dram_uncorrectable></volatile></ecc_errors>
		<remapped_rows><remapped_row_pending>Yes</remapped_row_pending></remapped_rows>
		<temperature><gpu_temp>38 C</gpu_temp></temperature>
		<gpu_power_readings><average_power_draw>N/A</average_power_draw><power_draw>81.42 W</power_draw></gpu_power_readings>
		<processes>
			<process_info><pid>48213</pid><type>C</type><process_name>python</process_name><used_memory>400 MiB</used_memory></process_info>
		</processes>
	</gpu>
</nvidia_smi_log>
"""


def values(text: str, name: str) -> dict:
    reader = read_smi_xml if "<" in text else read_smi_q
    out = {}
    for fact in reader(lines_of("t", text)).facts:
        if type(fact).__name__ == name:
            for field in fact.__dataclass_fields__:
                if field not in ("sources", "absent", "device", "tool"):
                    out[field] = getattr(fact, field)
            out["absent"] = {(a.field, a.reason) for a in fact.absent}
            out["bdf"] = fact.device.bdf
    return out


NAMES = sorted({type(f).__name__ for f in read_smi_q(lines_of("t", Q)).facts} - {"GpuErrorCells"})


@pytest.mark.parametrize("name", NAMES)
def test_both_forms_give_the_same_record(name: str) -> None:
    assert values(Q, name) == values(XML, name)


def test_values_are_in_core_units_and_absences_have_reasons() -> None:
    link, memory = values(Q, "PcieLink"), values(Q, "GpuMemory")
    assert (link["speed_gts"], link["max_speed_gts"]) == (2.5, 16.0)
    assert (link["width"], link["max_width"]) == (8, 16)
    assert (memory["total_bytes"], memory["used_bytes"]) == (81920 << 20, None)
    assert ("used_bytes", "error") in memory["absent"]
    assert ("mig_on", "not_supported") in values(Q, "GpuMode")["absent"]
    assert values(Q, "GpuPower")["draw_w"] == 81.42
    assert values(Q, "EccCounters")["dram_uncorrected"] == 2
    assert values(Q, "RowRemap")["pending"] is True
    assert values(Q, "GpuProcess")["pid"] == 48213
    assert values(Q, "GpuLoad")["has_process"] is True
    assert values(Q, "CardListing")["complete"] is True
    assert values(Q, "GpuErrorCells")["fields"] == ("fb_memory_usage/used",)


@pytest.mark.parametrize("text", [Q, XML], ids=["q", "xml"])
def test_a_cut_text_is_read_as_far_as_it_goes(text: str) -> None:
    reader = read_smi_q if text is Q else read_smi_xml
    for end in range(0, len(text), 7):
        for fact in reader(lines_of("t", text[:end])).facts:
            assert fact.sources
    half = text[: text.index("Remapped Rows" if text is Q else "<remapped_rows")]
    assert values(half, "RowRemap") == {}


def test_no_process_is_said_by_both_forms() -> None:
    q = "GPU 00000000:17:00.0\n    Processes                             : None\n"
    xml = '<gpu id="00000000:17:00.0">\n<processes>\n</processes>\n</gpu>\n'
    assert values(q, "GpuLoad")["has_process"] is False
    assert values(xml, "GpuLoad")["has_process"] is False


def test_a_section_alone_is_a_card_without_a_name() -> None:
    section = "    Remapped Rows\n        Pending                       : Yes\nnext text\n"
    reading = read_smi_q(lines_of("t", section))
    assert reading.read_to == 2
    assert values(section, "RowRemap")["pending"] is True


@pytest.mark.parametrize("reader", [read_smi_q, read_smi_xml])
def test_other_text_is_left_alone(reader) -> None:  # type: ignore[no-untyped-def]
    assert reader(lines_of("t", "hello world\n")).read_to == 0


@needs_shared
@pytest.mark.parametrize("kind", ["nvidia-smi-q", "nvidia-smi-xml"])
def test_real_files_name_their_cards(kind: str) -> None:
    reader = read_smi_q if kind == "nvidia-smi-q" else read_smi_xml
    with (SHARED / "evidence" / "manifest.csv").open() as file:
        names = [row["file"] for row in csv.DictReader(file) if row["kind"] == kind]
    assert names
    for name in names:
        lines: Lines = lines_of(name, decode((SHARED / "evidence/files" / name).read_bytes()))
        start = next(i for i, ln in enumerate(lines.clean) if ln.strip())
        facts = reader(lines.part(start, len(lines))).facts
        assert any(f.device.kind == "card" and (f.device.bdf or f.device.uuid) for f in facts), name
