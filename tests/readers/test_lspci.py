import pytest

from shared import SHARED, needs_shared
from steadygpu.evidence.gpu import CardListing
from steadygpu.evidence.link import PciAcs, PciDevice, PcieLink, PciErrorStatus
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.text import Lines, lines_of
from steadygpu.readers.lspci import ASK, read_lspci

PORT = """0000:16:01.0 PCI bridge [0604]: Intel Corporation Device [8086:352a] (rev 04) (prog-if 00 [Normal decode])
	Subsystem: Intel Corporation Device [8086:0001]
	Flags: bus master, fast devsel, latency 0, IRQ 61, NUMA node 1, IOMMU group 9
	Bus: primary=16, secondary=17, subordinate=19, sec-latency=0
	Capabilities: [40] Express (v2) Root Port (Slot+), MSI 00
		DevSta:	CorrErr+ NonFatalErr- FatalErr- UnsupReq- AuxPwr- TransPend-
		LnkCap:	Port #3, Speed 32GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 16GT/s (downgraded), Width x16
	Capabilities: [148 v1] Access Control Services
		ACSCap:	SrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
		ACSCtl:	SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
	Kernel driver in use: pcieport

"""
CARD = """0000:17:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 40GB] [10de:20f1] (rev a1)
	Subsystem: NVIDIA Corporation Device [10de:145f]
	Physical Slot: 4
	Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+
	NUMA node: 1
	IOMMU group: 27
	Capabilities: [68] Power Management version 3
		Flags: PMEClk- DSI- D1- D2- AuxCurrent=0mA PME(D0+,D1-,D2-,D3hot+,D3cold-)
	Capabilities: [78] Express (v2) Endpoint, MSI 00
		DevSta:	CorrErr+ NonFatalErr- FatalErr- UnsupReq+ AuxPwr- TransPend-
		LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM not supported
			ClockPM- Surprise- LLActRep- BwNot- ASPMOptComp+
		LnkCtl:	ASPM Disabled; RCB 64 bytes, Disabled- CommClk+
		LnkSta:	Speed 16GT/s, Width x8 (downgraded)
			TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
		LnkCap2: Supported Link Speeds: 2.5-16GT/s, Crosslink- Retimer+ 2Retimers+ DRS-
		LnkCtl2: Target Link Speed: 8GT/s, EnterCompliance- SpeedDis+
		LnkSta2: Current De-emphasis Level: -6dB, EqualizationComplete+
	Capabilities: [420 v2] Advanced Error Reporting
		UESta:	DLP- SDES+ TLP- FCP- CmpltTO+ CmpltAbrt- UnxCmplt- RxOF- MalfTLP-
			ECRC- UnsupReq+ ACSViol-
		UEMsk:	DLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP-
			ECRC- UnsupReq- ACSViol-
		UESvrt:	DLP+ SDES+ TLP- FCP+ CmpltTO- CmpltAbrt- UnxCmplt- RxOF+ MalfTLP+
			ECRC- UnsupReq+ ACSViol-
		CESta:	RxErr+ BadTLP- BadDLLP+ Rollover- Timeout+ AdvNonFatalErr-
		CEMsk:	RxErr- BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr+
	Kernel driver in use: nvidia
	Kernel modules: nvidiafb, nouveau, nvidia_drm, nvidia

"""
HOST = """00:00.0 Host bridge: Intel Corporation Device 09a2 (rev 04)
00:1f.0 ISA bridge: Intel Corporation Device 1b81 (rev 11)
03:00.0 VGA compatible controller: ASPEED Technology, Inc. ASPEED Graphics Family (rev 52)
17:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev a1)
65:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev a1)
"""


def read(text: str, **kwargs: str) -> Reading:
    return read_lspci(lines_of("pci.txt", text, **kwargs))


def of(reading: Reading, record: type[Fact]) -> list[Fact]:
    return [fact for fact in reading.facts if isinstance(fact, record)]


def device(line: str) -> PciDevice:
    (found,) = of(read(line), PciDevice)
    return found


def link(*lines: str) -> PcieLink:
    (found,) = of(
        read("17:00.0 3D controller: NVIDIA Corporation X\n" + "\n".join(lines)), PcieLink
    )
    return found


def quoted(fact: Fact, field: str) -> list[tuple[int, int, str]]:
    return [(s.first, s.last, s.quote) for s in fact.sources if field in s.fields]


def test_a_card_with_all_that_root_sees() -> None:
    reading = read(PORT + CARD)
    port, card = of(reading, PciDevice)
    assert (card.device.kind, card.device.bdf, card.device.label) == (
        "card", "0000:17:00.0", "A100 PCIe 40GB",
    )  # fmt: skip
    assert card.device.text == "pci.txt"
    assert (card.class_code, card.class_name) == ("0302", "3D controller")
    assert (card.pci_id, card.subsystem_id) == ("10de:20f1", "10de:145f")
    assert (card.vendor, card.name, card.role) == ("nvidia", "GA100 [A100 PCIe 40GB]", "card")
    assert (card.driver, card.driver_listed) == ("nvidia", True)
    assert card.modules == ("nvidiafb", "nouveau", "nvidia_drm", "nvidia")
    assert card.revision_ff is False
    assert card.numa_node == 1
    assert (port.device.kind, port.role, port.driver) == ("port", "port", "pcieport")
    assert not reading.gaps
    assert reading.read_to == (PORT + CARD).count("\n") - 1


def test_each_field_of_a_device_has_its_line() -> None:
    text = PORT + CARD
    _, card = of(read(text), PciDevice)
    lines = text.split("\n")
    assert quoted(card, "pci_id") == [(14, 14, lines[13])]
    assert quoted(card, "numa_node") == [(18, 18, "\tNUMA node: 1")]
    assert quoted(card, "driver") == [(41, 41, "\tKernel driver in use: nvidia")]
    assert (
        quoted(card, "subsystem_id")[0][2] == "\tSubsystem: NVIDIA Corporation Device [10de:145f]"
    )
    assert [(first, last) for first, last, _ in quoted(card, "driver_listed")] == [(14, 42)]


def test_the_port_above_is_found_by_its_secondary_bus() -> None:
    port, card = of(read(PORT + CARD), PciDevice)
    assert card.parent == "0000:16:01.0"
    assert quoted(card, "parent")[0][2].startswith("\tBus: primary=16, secondary=17")
    assert port.parent is None


def test_a_port_counts_in_its_own_domain_only() -> None:
    text = PORT + "0001:17:00.0 3D controller: NVIDIA Corporation GA100\n"
    assert of(read(text), PciDevice)[1].parent is None
    both = PORT.replace("0000:16", "0001:16") + "0001:17:00.0 3D controller: NVIDIA Corporation X\n"
    assert of(read(both), PciDevice)[1].parent == "0001:16:01.0"


def test_a_bridge_that_was_never_set_up_is_no_parent() -> None:
    text = (
        "00:05.0 PCI bridge: Intel Corporation X\n\tBus: primary=00, secondary=00, subordinate=00\n"
    )
    assert of(read(text), PciDevice)[0].parent is None
    assert of(read("00:05.0 PCI bridge: X\n\tBus: none\n"), PciDevice)[0].parent is None


def test_a_numa_node_ends_the_flags_line_with_one_v() -> None:
    port, _ = of(read(PORT + CARD), PciDevice)
    assert port.numa_node == 1
    assert quoted(port, "numa_node")[0][2].startswith("\tFlags: bus master")


@pytest.mark.parametrize("line", ["\tNUMA node: -1", "\tNUMA node: many", "\tFlags: fast devsel"])
def test_no_numa_node_is_no_number(line: str) -> None:
    assert device(f"17:00.0 3D controller: NVIDIA Corporation X\n{line}\n").numa_node is None


def test_link_of_both_ends() -> None:
    port, card = of(read(PORT + CARD), PcieLink)
    assert (port.device.bdf, card.device.bdf) == ("0000:16:01.0", "0000:17:00.0")
    assert (card.speed_gts, card.max_speed_gts) == (16.0, 16.0)
    assert (card.width, card.max_width) == (8, 16)
    assert card.downgraded is True
    assert (port.speed_gts, port.max_speed_gts) == (16.0, 32.0)
    assert port.downgraded is True
    assert not card.absent


def test_each_register_of_a_link_is_cited_for_its_fields() -> None:
    card = of(read(PORT + CARD), PcieLink)[1]
    assert [(s.first, set(s.fields)) for s in card.sources] == [
        (24, {"max_speed_gts", "max_width"}),
        (27, {"speed_gts", "width", "downgraded"}),
        (30, {"target_speed_gts", "speed_frozen"}),
    ]
    assert card.sources[1].quote == "\t\tLnkSta:\tSpeed 16GT/s, Width x8 (downgraded)"


def test_the_target_speed_stands_in_link_control_2() -> None:
    card = of(read(PORT + CARD), PcieLink)[1]
    assert (card.target_speed_gts, card.speed_frozen) == (8.0, True)
    old = link(
        "\t\tLnkCtl2: Target Link Speed: 2.5GT/s, EnterCompliance- SpeedDis-, Selectable: -6dB"
    )
    assert (old.target_speed_gts, old.speed_frozen) == (2.5, False)
    only = link("\t\tLnkCtl2: Target Link Speed: Unknown, EnterCompliance- SpeedDis-")
    assert (only.target_speed_gts, only.speed_frozen) == (None, False)
    assert link("\t\tLnkCtl2: Target Link Speed: 64GT/s").speed_frozen is None


@pytest.mark.parametrize(
    ("register", "speed", "width", "downgraded"),
    [
        ("Speed 16GT/s, Width x16, TrErr- Train- SlotClk+", 16.0, 16, None),
        ("Speed 2.5GT/s (downgraded), Width x16 (ok)", 2.5, 16, True),
        ("Speed 8GT/s (ok), Width x16 (ok)", 8.0, 16, False),
        ("Speed 32GT/s, Width x16", 32.0, 16, None),
        ("Speed 64GT/s, Width x2", 64.0, 2, None),
        ("Speed 16GT/s (overdriven), Width x4 (downgraded)", 16.0, 4, True),
    ],
)
def test_link_status_in_the_words_of_each_version(
    register: str, speed: float, width: int, downgraded: bool | None
) -> None:
    found = link(f"\t\tLnkSta:\t{register}")
    assert (found.speed_gts, found.width, found.downgraded) == (speed, width, downgraded)


@pytest.mark.parametrize("word", ["unknown", "Unknown", "<unknown>"])
def test_an_unknown_speed_and_an_impossible_width_are_errors(word: str) -> None:
    found = link(f"\t\tLnkCap:\tPort #0, Speed {word}, Width x63, ASPM not supported")
    assert (found.max_speed_gts, found.max_width) == (None, None)
    assert {(a.field, a.reason) for a in found.absent} == {
        ("max_speed_gts", "error"), ("max_width", "error"),
    }  # fmt: skip
    assert found.absent[0].source.first == 2


def test_an_empty_slot_has_no_width() -> None:
    found = link("\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x0 (downgraded)")
    assert (found.speed_gts, found.width) == (2.5, None)
    assert [(a.field, a.reason) for a in found.absent] == [("width", "error")]


def test_a_register_printed_twice_counts_once() -> None:
    found = link("\t\tLnkSta:\tSpeed 16GT/s, Width x16", "\t\tLnkSta:\tSpeed 2.5GT/s, Width x1")
    assert (found.speed_gts, found.width) == (16.0, 16)
    assert len(found.sources) == 1


def test_a_register_without_values_gives_no_link() -> None:
    reading = read("17:00.0 3D controller: NVIDIA Corporation X\n\t\tLnkSta:\tSpeed\n\t\tLnkCap:\n")
    assert not of(reading, PcieLink)


def test_registers_of_advanced_error_reporting() -> None:
    (errors,) = of(read(CARD), PciErrorStatus)
    assert errors.device.bdf == "0000:17:00.0"
    assert errors.corrected == ("RxErr", "BadDLLP", "Timeout")
    assert errors.uncorrected == ("SDES", "CmpltTO", "UnsupReq")
    assert errors.uncorrected_fatal == ("SDES", "UnsupReq")


def test_error_bits_over_two_lines_are_cited_whole() -> None:
    (errors,) = of(read(CARD), PciErrorStatus)
    (uncorrected,) = quoted(errors, "uncorrected")
    assert uncorrected[:2] == (20, 21)
    assert uncorrected[2].endswith("\n\t\t\tECRC- UnsupReq+ ACSViol-")
    assert [(a, b) for a, b, _ in quoted(errors, "uncorrected_fatal")] == [(20, 21), (24, 25)]
    assert [(a, b) for a, b, _ in quoted(errors, "corrected")] == [(26, 26)]


def test_clear_registers_are_read_and_clear() -> None:
    text = (
        "17:00.0 3D controller: NVIDIA Corporation X\n"
        "\t\tUESta:\tDLP- SDES- TLP- FCP- CmpltTO-\n"
        "\t\tUESvrt:\tDLP+ SDES+ TLP- FCP+ CmpltTO-\n"
        "\t\tCESta:\tRxErr- BadTLP- BadDLLP- Rollover- Timeout- NonFatalErr-\n"
    )
    (errors,) = of(read(text), PciErrorStatus)
    assert (errors.corrected, errors.uncorrected, errors.uncorrected_fatal) == ((), (), ())


def test_without_severities_nobody_knows_what_is_fatal() -> None:
    text = "17:00.0 3D controller: NVIDIA Corporation X\n\t\tUESta:\tDLP+ SDES-\n"
    (errors,) = of(read(text), PciErrorStatus)
    assert (errors.uncorrected, errors.uncorrected_fatal, errors.corrected) == (
        ("DLP",), None, None,
    )  # fmt: skip


def test_corrected_bits_alone_leave_the_others_unknown() -> None:
    text = (
        "17:00.0 3D controller: NVIDIA Corporation X\n"
        "\t\tUESvrt:\tDLP+ SDES+\n\t\tCESta:\tRxErr- BadTLP+ CorrIntErr- HeaderOF+\n"
    )
    (errors,) = of(read(text), PciErrorStatus)
    assert errors.corrected == ("BadTLP", "HeaderOF")
    assert (errors.uncorrected, errors.uncorrected_fatal) == (None, None)


def test_severities_alone_are_no_errors() -> None:
    text = (
        "17:00.0 3D controller: NVIDIA Corporation X\n\t\tUESvrt:\tDLP+ SDES+\n\t\tCESta:\tnone\n"
    )
    assert not of(read(text), PciErrorStatus)


def test_access_control_of_a_port() -> None:
    (acs,) = of(read(PORT + CARD), PciAcs)
    assert acs.device.bdf == "0000:16:01.0"
    assert acs.redirects == ("ReqRedir", "CmpltRedir", "UpstreamFwd")
    assert acs.sources[0].quote.startswith("\t\tACSCtl:")
    off = PORT.replace("ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl-", "ReqRedir- CmpltRedir-")
    assert of(read(off), PciAcs)[0].redirects == ()


def test_without_root_the_capabilities_are_denied() -> None:
    text = (
        "16:01.0 PCI bridge: Intel Corporation Device 352a (prog-if 00 [Normal decode])\n"
        "\tCapabilities: <access denied>\n\n"
        "17:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev a1)\n"
        "\tFlags: bus master, fast devsel, latency 0, IRQ 120, NUMA node 0\n"
        "\tCapabilities: <access denied>\n"
        "\tKernel driver in use: nvidia\n"
    )
    reading = read(text)
    (found,) = of(reading, PcieLink)
    assert found.device.bdf == "0000:17:00.0"
    assert {(a.field, a.reason, a.ask) for a in found.absent} == {
        (name, "not_permitted", ASK)
        for name in ("speed_gts", "width", "max_speed_gts", "max_width")
    }
    assert [(s.first, s.quote) for s in found.sources] == [(6, "\tCapabilities: <access denied>")]
    (gap,) = reading.gaps
    assert (gap.where.first, gap.ask) == (2, ASK)
    assert of(reading, PciDevice)[1].driver == "nvidia"


@pytest.mark.parametrize(
    "line",
    [
        "17:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev ff)",
        "17:00.0 3D controller [0302]: NVIDIA Corporation GA100 [10de:20f1] (rev ff) (prog-if ff)",
        "17:00.0 0302: 10de:20f1 (rev ff)",
        '17:00.0 "3D controller" "NVIDIA Corporation" "GA100" -rff -pff "" ""',
        "17:00.0 3D controller: NVIDIA Corporation GA100 (rev a1)\n\t!!! Unknown header type 7f",
    ],
)
def test_a_device_that_answers_with_ones_is_off_the_bus(line: str) -> None:
    found = device(line + "\n")
    assert found.revision_ff is True
    assert found.role == "card"
    assert "ff" in quoted(found, "revision_ff")[0][2] or "7f" in quoted(found, "revision_ff")[1][2]


def test_a_device_off_the_bus_has_no_driver_and_says_so() -> None:
    found = device(
        "17:00.0 3D controller: NVIDIA Corporation GA100 (rev ff) (prog-if ff)\n"
        "\t!!! Unknown header type 7f\n\tKernel modules: nvidia\n"
    )
    assert (found.driver, found.driver_listed, found.modules) == (None, True, ("nvidia",))
    assert found.name == "GA100"


def test_another_unknown_header_is_not_off_the_bus() -> None:
    text = (
        "00:1f.5 Non-VGA unclassified device: Intel Corporation X\n\t!!! Unknown header type 3e\n"
    )
    assert device(text).revision_ff is False


@pytest.mark.parametrize(
    ("printed", "bdf"),
    [
        ("17:00.0", "0000:17:00.0"),
        ("0000:17:00.0", "0000:17:00.0"),
        ("0009:01:00.0", "0009:01:00.0"),
        ("00000000:17:00.0", "0000:17:00.0"),
        ("00000005:0a:1f.7", "0005:0a:1f.7"),
        ("10000:e1:00.0", "10000:e1:00.0"),
    ],
)
def test_domains_of_any_width(printed: str, bdf: str) -> None:
    assert device(f"{printed} 3D controller: NVIDIA Corporation GH100\n").device.bdf == bdf


@pytest.mark.parametrize(
    ("line", "code", "pci_id", "vendor", "name"),
    [
        ("3D controller: NVIDIA Corporation GA100 [A100] (rev a1)", None, None, "nvidia", "GA100 [A100]"),
        ("3D controller [0302]: NVIDIA Corporation GA100 [A100] [10de:20f1] (rev a1)", "0302", "10de:20f1", "nvidia", "GA100 [A100]"),
        ("VGA compatible controller [0300]: nVidia Corporation GF100 [Tesla C2050] [10de:06d1] (rev a3) (prog-if 00 [VGA controller])", "0300", "10de:06d1", "nvidia", "GF100 [Tesla C2050]"),
        ("0302: 10de:20f1 (rev a1)", "0302", "10de:20f1", "nvidia", None),
        ("0302: 10de:20f1", "0302", "10de:20f1", "nvidia", None),
        ('"3D controller" "NVIDIA Corporation" "GA100 [A100]" -ra1 "NVIDIA Corporation" "Device 145f"', None, None, "nvidia", "GA100 [A100]"),
        ('"3D controller [0302]" "NVIDIA Corporation [10de]" "GA100 [A100] [20f1]" -ra1 -p00 "" ""', "0302", "10de:20f1", "nvidia", "GA100 [A100]"),
        ("Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Arcturus [Instinct MI100] [1002:738c] (rev 01)", "1200", "1002:738c", "amd", "Arcturus [Instinct MI100]"),
        ("Display controller: Advanced Micro Devices, Inc. [AMD/ATI] Vega 20 (rev 02)", None, None, "amd", "Vega 20"),
        ("Processing accelerators: Habana Labs Ltd. Gaudi2 (rev 01)", None, None, "habana", "Gaudi2"),
    ],
)  # fmt: skip
def test_forms_of_a_card(
    line: str, code: str | None, pci_id: str | None, vendor: str, name: str | None
) -> None:
    found = device(f"17:00.0 {line}\n")
    assert (found.class_code, found.pci_id) == (code, pci_id)
    assert (found.vendor, found.name) == (vendor, name)
    assert (found.role, found.device.kind) == ("card", "card")


@pytest.mark.parametrize(
    ("line", "role", "kind"),
    [
        ("Ethernet controller: Intel Corporation Ethernet Controller X710", "nic", "nic"),
        ("Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]", "nic", "nic"),
        ("0207: 15b3:1021", "nic", "nic"),
        ("Bridge: NVIDIA Corporation GH100 [H100 NVSwitch] (rev a1)", "nvswitch", "pci"),
        ("Bridge [0680]: NVIDIA Corporation GA100 [A100 NVSwitch] [10de:1af1] (rev a1)", "nvswitch", "pci"),
        ("Bridge [0680]: Intel Corporation X [8086:1234]", "other", "pci"),
        ("PCI bridge: NVIDIA Corporation Device 22b2", "port", "port"),
        ("Non-Volatile memory controller: Samsung Electronics Co Ltd Device a824", "nvme", "pci"),
        ("Audio device: NVIDIA Corporation AD102 High Definition Audio Controller (rev a1)", "audio", "pci"),
        ("VGA compatible controller: ASPEED Technology, Inc. ASPEED Graphics Family (rev 52)", "other", "pci"),
        ("Serial bus controller [0c80]: NVIDIA Corporation Device 1ad9 (rev a1)", "other", "pci"),
        ("Processing accelerators: NVIDIA Corporation Device 9999", "other", "pci"),
    ],
)  # fmt: skip
def test_roles(line: str, role: str, kind: str) -> None:
    found = device(f"17:00.0 {line}\n")
    assert (found.role, found.device.kind) == (role, kind)
    assert found.device.label is None


def test_a_processor_of_the_same_maker_is_not_a_card() -> None:
    found = device(
        "00:00.0 Host bridge [0600]: Advanced Micro Devices, Inc. [AMD] Genoa Root Complex [1022:14a4]\n"
    )
    assert (found.vendor, found.role, found.pci_id) == ("amd", "other", "1022:14a4")


def test_a_maker_that_nobody_knows_has_no_vendor() -> None:
    found = device("00:05.0 System peripheral: Contoso Device 0001\n")
    assert (found.vendor, found.name) == (None, "Contoso Device 0001")


def test_the_label_is_the_name_where_no_brackets_end_it() -> None:
    assert device("17:00.0 3D controller: NVIDIA Corporation GV100\n").device.label == "GV100"
    assert device("17:00.0 0302: 10de:20f1\n").device.label is None


def test_a_subsystem_without_numbers_has_no_id() -> None:
    head = "17:00.0 3D controller: NVIDIA Corporation GA100\n"
    assert device(head + "\tSubsystem: Dell Device 145f\n").subsystem_id is None
    assert device(head + "\tSubsystem: 10de:145f\n").subsystem_id == "10de:145f"
    assert device(head + "\tSubsystem: Dell A100 [1028:0a02]\n").subsystem_id == "1028:0a02"


def test_drivers_with_k_only() -> None:
    text = (
        "17:00.0 3D controller: NVIDIA Corporation GA100 (rev a1)\n"
        "\tSubsystem: NVIDIA Corporation Device 145f\n\tKernel driver in use: vfio-pci\n"
        "65:00.0 3D controller: NVIDIA Corporation GA100 (rev a1)\n"
        "\tSubsystem: NVIDIA Corporation Device 145f\n\tKernel modules: nvidia, nouveau\n"
        "66:00.0 3D controller: NVIDIA Corporation GA100 (rev a1)\n"
    )
    bound, free, bare = of(read(text), PciDevice)
    assert (bound.driver, bound.driver_listed) == ("vfio-pci", True)
    assert (free.driver, free.driver_listed, free.modules) == (None, True, ("nvidia", "nouveau"))
    assert (bare.driver, bare.driver_listed) == (None, False)


def test_an_empty_driver_is_no_driver() -> None:
    text = "17:00.0 3D controller: NVIDIA Corporation GA100\n\tKernel driver in use:\n\tKernel modules: \n"
    assert (device(text).driver, device(text).modules) == (None, ())


def test_a_whole_host_is_a_complete_listing() -> None:
    (listing,) = of(read(HOST), CardListing)
    assert (listing.tool, listing.listed, listing.complete) == ("lspci", 2, True)
    assert [(s.first, s.fields) for s in listing.sources] == [(4, ("listed",)), (5, ("listed",))]
    assert listing.device.kind == "host"
    assert listing.device.host is None


def test_the_host_of_the_lines_is_the_host_of_the_listing() -> None:
    lines = Lines(name="x", raw=HOST.split("\n"), clean=HOST.split("\n"), numbers=range(1, 9))
    lines.host = "node3"
    assert of(read_lspci(lines), CardListing)[0].device.host == "node3"


def test_a_host_without_cards_lists_none_and_cites_the_whole() -> None:
    text = "".join(line for line in HOST.splitlines(keepends=True) if "NVIDIA" not in line)
    (listing,) = of(read(text), CardListing)
    assert (listing.listed, listing.complete) == (0, True)
    assert [(s.first, s.last) for s in listing.sources] == [(1, 3)]


@pytest.mark.parametrize(
    "text",
    [
        "".join(line for line in HOST.splitlines(keepends=True) if "NVIDIA" in line),
        HOST.replace("Intel Corporation", "NVIDIA Corporation").replace("ASPEED Tech", "NVIDIA Tech"),
        HOST.replace("65:00.0", "--\n65:00.0"),
        "\n".join(HOST.split("\n")[2:]),
    ],
    ids=["one maker", "renamed", "a separator of grep", "tail"],
)  # fmt: skip
def test_a_part_of_a_listing_proves_no_absence(text: str) -> None:
    (listing,) = of(read(text), CardListing)
    assert (listing.complete, listing.listed >= 2) == (False, True)


def test_a_filter_in_the_prompt_makes_a_part() -> None:
    reading = read(HOST + "\tKernel modules: nvidia\n", filtered="grep")
    assert not of(reading, CardListing)[0].complete
    assert not of(reading, PciDevice)[-1].driver_listed


def test_many_devices_of_three_makers_are_a_host_without_its_bridge() -> None:
    makers = ("Intel Corporation", "Broadcom Inc.", "Contoso")
    text = "".join(f"0{i}:00.0 System peripheral: {makers[i % 3]} Device {i}\n" for i in range(9))
    assert of(read(text), CardListing)[0].complete
    assert not of(read("\n".join(text.split("\n")[:6])), CardListing)[0].complete


def test_separators_of_grep_tear_the_block_before_them() -> None:
    text = (
        "17:00.0 3D controller: NVIDIA Corporation GA100 (rev a1)\n"
        "\tSubsystem: NVIDIA Corporation Device 145f\n--\n"
        "65:00.0 3D controller: NVIDIA Corporation GA100 (rev a1)\n"
        "\tSubsystem: NVIDIA Corporation Device 145f\n\tKernel driver in use: nvidia\n"
    )
    torn, whole = of(read(text), PciDevice)
    assert (torn.driver_listed, whole.driver_listed) == (False, True)
    assert not of(read(text), CardListing)[0].complete


def test_a_tail_of_a_block_after_a_separator_belongs_to_nobody() -> None:
    text = (
        "17:00.0 3D controller: NVIDIA Corporation GA100 (rev a1)\n--\n"
        "\tCapabilities: <access denied>\n\tKernel driver in use: xhci_hcd\n\n"
        "65:00.0 3D controller: NVIDIA Corporation GA100 (rev a1)\n"
    )
    reading = read(text)
    first, nobody, last = of(reading, PciDevice)
    assert (first.driver, nobody.driver, last.driver) == (None, "xhci_hcd", None)
    assert (nobody.device.bdf, nobody.device.kind, nobody.driver_listed) == (None, "pci", False)
    assert [g.where.first for g in reading.gaps] == [3]
    assert not of(reading, PcieLink)
    assert of(reading, CardListing)[0].listed == 2


def test_link_lines_without_their_head() -> None:
    text = (
        "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
        "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes\n"
        "\t\tLnkSta:\tSpeed 32GT/s, Width x16\n"
    )
    reading = read(text)
    (found,) = of(reading, PcieLink)
    assert (found.device.kind, found.device.bdf, found.device.text) == ("pci", None, "pci.txt")
    assert (found.speed_gts, found.max_speed_gts, found.width) == (32.0, 32.0, 16)
    assert not of(reading, PciDevice)
    assert not of(reading, CardListing)
    assert reading.read_to == 3


def test_grepped_lines_that_lost_their_indent() -> None:
    text = "LnkCap: Port #0, Speed 32GT/s, Width x16\nLnkSta: Speed 5GT/s (downgraded), Width x16\n"
    (found,) = of(read(text), PcieLink)
    assert (found.max_speed_gts, found.speed_gts, found.downgraded) == (32.0, 5.0, True)


def test_details_after_a_blank_line_are_not_of_the_block_above() -> None:
    text = "17:00.0 3D controller: NVIDIA Corporation GA100\n\n\t\tLnkSta:\tSpeed 8GT/s, Width x4\n"
    (found,) = of(read(text), PcieLink)
    assert (found.device.bdf, found.width) == (None, 4)
    loose = "\t\tLnkCap:\tPort #1, Speed 8GT/s, Width x4\n\n\t\tLnkSta:\tSpeed 8GT/s, Width x4\n"
    assert len(of(read(loose), PcieLink)) == 1


def test_spaces_in_place_of_tabs() -> None:
    reading = read((PORT + CARD).expandtabs(8))
    card = of(reading, PcieLink)[1]
    assert (card.speed_gts, card.width, card.target_speed_gts) == (16.0, 8, 8.0)
    assert of(reading, PciErrorStatus)[0].uncorrected == ("SDES", "CmpltTO", "UnsupReq")
    assert reading.read_to == (PORT + CARD).count("\n") - 1


def test_line_ends_of_windows() -> None:
    reading = read((PORT + CARD).replace("\n", "\r\n"))
    assert of(reading, PciDevice)[1].driver == "nvidia"
    assert of(reading, PcieLink)[1].width == 8


def test_noise_of_the_library_is_passed_over() -> None:
    text = (
        "pcilib: sysfs_read_vpd: read failed: No such device\n"
        "17:00.0 3D controller: NVIDIA Corporation GA100\n"
        "lspci: Unable to load libkmod resources: error -2\n"
        "\tKernel driver in use: nvidia\n"
    )
    reading = read(text)
    assert of(reading, PciDevice)[0].driver == "nvidia"
    assert reading.read_to == 4


def test_it_stops_at_the_next_text() -> None:
    reading = read(
        HOST + "\nLinux node3 6.8.0 #1 SMP\n17:00.0 3D controller: NVIDIA Corporation X\n"
    )
    assert reading.read_to == 5
    assert len(of(reading, PciDevice)) == 5
    spaced = read("17:00.0 3D controller: NVIDIA Corporation X\n\n    an indented remark\n")
    assert spaced.read_to == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "--\n",
        "-[0000:16]-+-00.0\n           \\-01.0-[17]----00.0\n",
        "-+-[0000:16]-+-00.0  Intel Corporation X\n |           \\-01.0-[17]----00.0  NVIDIA Corporation X\n",
        "Slot:\t17:00.0\nClass:\t3D controller\nVendor:\tNVIDIA Corporation\n",
        "17:00.8 3D controller: NVIDIA Corporation X\n",
        "17:00.0\n",
        "17:00.0 3D contr",
        "    LnkFoo: x\n",
    ],
)
def test_other_texts_and_trees_are_not_read(text: str) -> None:
    assert read(text) == Reading()


def test_after_a_cut_at_any_line_no_value_is_invented() -> None:
    lines = (PORT + CARD).splitlines(keepends=True)
    for end in range(len(lines)):
        reading = read("".join(lines[:end]))
        assert {f.width for f in of(reading, PcieLink)} <= {None, 8, 16}
        assert {f.speed_gts for f in of(reading, PcieLink)} <= {None, 16.0}
        assert {f.driver for f in of(reading, PciDevice)} <= {None, "pcieport", "nvidia"}
        assert {f.uncorrected for f in of(reading, PciErrorStatus)} <= {
            None, ("SDES", "CmpltTO"), ("SDES", "CmpltTO", "UnsupReq"),
        }  # fmt: skip


def test_a_cut_head_is_no_device() -> None:
    for end in range(1, len("17:00.0 3D controller:") + 1):
        assert read("17:00.0 3D controller:"[:end]) == Reading()


def test_damage_in_one_line_loses_that_line() -> None:
    text = (
        CARD.replace("LnkCap:\tPort #0, Speed 16GT/s", "LnkCap:\tPort \ufffd, Speed \ufffd6GT/s")
        .replace("NUMA node: 1", "NUMA\ufffdnode: 1")
        .replace("CESta:\tRxErr+", "CES\ufffda:\tRxErr+")
    )
    reading = read(text)
    (found,) = of(reading, PcieLink)
    assert (found.max_speed_gts, found.max_width) == (None, 16)
    assert (found.speed_gts, found.width) == (16.0, 8)
    assert of(reading, PciDevice)[0].numa_node is None
    (errors,) = of(reading, PciErrorStatus)
    assert (errors.corrected, errors.uncorrected) == (None, ("SDES", "CmpltTO", "UnsupReq"))


def test_colours_are_dropped_and_quotes_keep_them() -> None:
    text = "\x1b[32m17:00.0\x1b[0m 3D controller: \x1b[1;31mNVIDIA\x1b[0m Corporation GA100\n"
    found = device(text)
    assert (found.device.bdf, found.vendor) == ("0000:17:00.0", "nvidia")
    assert found.sources[0].quote == text.rstrip("\n")


def files(name: str) -> Reading:
    content = (SHARED / "evidence/files" / name).read_text()
    return read_lspci(lines_of(name, content))


@needs_shared
def test_eight_cards_of_a_real_host() -> None:
    reading = files("lspci-vvv_8xh100.txt")
    cards = {f.device.bdf for f in of(reading, PciDevice) if f.role == "card"}
    links = [f for f in of(reading, PcieLink) if f.device.bdf in cards]
    assert len(cards) == 8
    assert {(f.speed_gts, f.width, f.max_speed_gts, f.max_width) for f in links} == {
        (32.0, 16, 32.0, 16)
    }
    (listing,) = of(reading, CardListing)
    assert (listing.listed, listing.complete) == (8, True)
    assert all(f.parent for f in of(reading, PciDevice) if f.role == "card")
    assert not reading.gaps


@needs_shared
def test_two_real_cards_at_half_width() -> None:
    one, other = (
        next(f for f in of(files(name), PcieLink) if f.device.kind == "card")
        for name in ("lspci_rtx4090_bifurcation.txt", "lspci_card_bifurcation.txt")
    )
    assert (one.device.bdf, one.max_speed_gts, one.max_width) == ("0000:01:00.0", 8.0, 16)
    assert (one.speed_gts, one.width, one.downgraded) == (2.5, 8, True)
    assert (other.device.bdf, other.max_speed_gts, other.width) == ("0000:03:00.0", 16.0, 8)


@needs_shared
@pytest.mark.parametrize(
    ("name", "cards", "complete"),
    [
        ("lspci-nn_a10.txt", {"0000:06:00.0"}, True),
        ("lspci_2xgv102.txt", {"0000:03:00.0", "0000:04:00.0"}, False),
        ("lspci_aws_g2_grid.txt", {"0000:00:03.0"}, True),
    ],
)
def test_cards_of_real_listings(name: str, cards: set[str], complete: bool) -> None:
    reading = files(name)
    assert {f.device.bdf for f in of(reading, PciDevice) if f.role == "card"} == cards
    assert of(reading, CardListing)[0].complete is complete


@needs_shared
def test_a_real_host_of_several_domains() -> None:
    reading = files("lspci_gb200.txt")
    domains = {f.device.bdf[:4] for f in of(reading, PciDevice)}
    assert {"0000", "0002", "0005"} <= domains
    assert not any(f.role == "nvswitch" for f in of(reading, PciDevice))


def facts_of(text: str, record: type[Fact]) -> list[Fact]:
    return [f for f in read_lspci(lines_of("lspci.txt", text)).facts if isinstance(f, record)]


def test_error_bits_on_three_lines_with_an_underscore_among_them() -> None:
    text = CARD.replace(
        "\t\t\tECRC- UnsupReq+ ACSViol-\n\t\tUEMsk",
        "\t\t\tECRC- UnsupReq- ACSViol- UncorrIntErr+ BlockedTLP-\n"
        "\t\t\tPoisonTLPBlocked+ DMWrReqBlocked- IDECheck- PCRC_CHECK- TLPXlatBlocked-\n\t\tUEMsk",
    )
    (status,) = facts_of(text, PciErrorStatus)
    assert {"UncorrIntErr", "PoisonTLPBlocked"} <= set(status.uncorrected)


def test_numbers_only_are_a_card_in_each_form() -> None:
    for text in (
        '17:00.0 "0302" "10de" "2330" -ra1 "10de" "16c1"\n',
        "17:00.0 Class 0302: Device 10de:2330 (rev a1)\n",
        "17:00.0 0302: 10de:2330 (rev a1)\n",
    ):
        (device,) = facts_of(text, PciDevice)
        assert (device.role, device.class_code, device.pci_id) == ("card", "0302", "10de:2330"), (
            text
        )


def test_a_block_that_may_be_cut_does_not_say_that_no_driver_is_bound() -> None:
    cut = "".join(CARD.splitlines(keepends=True)[:4])
    (device,) = facts_of(cut, PciDevice)
    assert (device.driver, device.driver_listed) == (None, False)
    (device,) = facts_of(cut + "\n", PciDevice)
    assert device.driver_listed
    (device,) = facts_of(CARD.rstrip("\n"), PciDevice)
    assert (device.driver, device.driver_listed) == ("nvidia", True)


def test_lines_of_grep_without_indent_are_one_link() -> None:
    text = (
        "LnkCap: Port #0, Speed 16GT/s, Width x16, ASPM not supported\n"
        "LnkCtl: ASPM Disabled; RCB 64 bytes, Disabled- CommClk+\n"
        "LnkSta: Speed 16GT/s, Width x8 (downgraded)\n"
    )
    reading = read_lspci(lines_of("lspci.txt", text))
    (link,) = [f for f in reading.facts if isinstance(f, PcieLink)]
    assert (link.width, link.max_width, reading.read_to) == (8, 16, 3)


def test_a_listing_that_comes_again_is_another_text() -> None:
    reading = read_lspci(lines_of("lspci.txt", HOST + HOST))
    assert reading.read_to == len(HOST.splitlines())
    (listing,) = [f for f in reading.facts if isinstance(f, CardListing)]
    assert listing.listed == 2


def test_names_of_amd_and_ati_keep_the_chip() -> None:
    for text, name in (
        ("01:00.0 VGA compatible controller: ATI Technologies Inc RV770 [Radeon HD 4850]\n",
         "RV770 [Radeon HD 4850]"),
        ("c1:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Aqua [Instinct X]"
         " [1002:74a1]\n", "Aqua [Instinct X]"),
        ("00:01.1 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD] Root Port [1022:14ab]\n", "Root Port"),
    ):  # fmt: skip
        (device,) = facts_of(text, PciDevice)
        assert device.name == name


def test_a_speed_that_was_read_later_is_not_absent() -> None:
    text = CARD.replace(
        "\t\tLnkSta:\tSpeed 16GT/s",
        "\t\tLnkSta:\tSpeed unknown, Width x8\n\t\tLnkSta:\tSpeed 16GT/s",
    )
    (link,) = facts_of(text, PcieLink)
    assert link.speed_gts == 16.0
    assert not link.absent
