"""Rules on driver and modes, branch by branch."""

from typing import Any

from rules.hand import one, says
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.driver import DriverVersion, KernelModule, ModuleListing, ToolMessage
from steadygpu.evidence.gpu import CardListing
from steadygpu.evidence.kernel_log import DriverBindEvent, NvrmEvent
from steadygpu.evidence.link import PciDevice
from steadygpu.evidence.moment import Moment
from steadygpu.evidence.source import Source
from steadygpu.rules import owner, stack
from steadygpu.verdict.rule import Fine, NotHere, Unclear

CARD = DeviceRef(kind="card", bdf="0000:41:00.0")
PROOF = (Source(name="a.txt", quote="a line"),)


def make(cls: type[Any], device: DeviceRef | None = None, **fields: Any) -> Any:
    return cls(device=device or host_ref(), sources=PROOF, **fields)


def message(meaning: str, **fields: Any) -> Any:
    text = "Failed to initialize NVML: Unknown Error"
    return make(ToolMessage, tool="nvidia-smi", meaning=meaning, says=text, **fields)


def module(name: str) -> Any:
    return make(KernelModule, name=name)


def gpu(**fields: Any) -> Any:
    return make(PciDevice, CARD, **{"role": "card", "pci_id": "10de:2330", **fields})


LISTING = make(CardListing, tool="nvidia-smi", listed=4)
WHOLE = make(ModuleListing, count=90)
CUT = make(ModuleListing, count=3, complete=False)


def test_library_mismatch_names_both_versions() -> None:
    rule = stack.driver_library_mismatch
    old = make(DriverVersion, part="module", version="535.1")
    new = make(DriverVersion, part="library", version="550.2")
    event = make(NvrmEvent, what="library_mismatch", version="535.1", library_version="550.2")
    told = message("library_mismatch", library_version="550.2")
    for records in (((told,), (), (old,), ()), ((), (event,), (), ()), ((), (), (old, new), ())):
        text = says(one(rule, *records))
        assert "535.1" in text
        assert "550.2" in text
    assert "not shown" in says(one(rule, (told,), (), (), (LISTING,)))
    assert isinstance(one(rule, (), (), (old,), (LISTING,)), Fine)
    assert isinstance(one(rule, (), (), (make(DriverVersion, part="module"),), (LISTING,)), Unclear)
    assert isinstance(one(rule, (message("no_devices"),), (), (), ()), Unclear)


def test_driver_not_loaded_by_sentence_or_by_a_whole_list() -> None:
    rule = stack.driver_not_loaded
    assert says(one(rule, (message("driver_not_loaded"),), (), (), (), ()))
    assert "no module nvidia" in says(one(rule, (), (module("ext4"),), (WHOLE,), (gpu(),), ()))
    by_name = gpu(pci_id=None, vendor="NVIDIA Corporation")
    assert says(one(rule, (), (module("ext4"),), (WHOLE,), (by_name,), ()))
    assert isinstance(one(rule, (), (module("ext4"),), (CUT,), (gpu(),), ()), Unclear)
    assert isinstance(one(rule, (), (module("ext4"),), (WHOLE,), (), ()), Unclear)
    assert isinstance(one(rule, (), (module("nvidia"),), (WHOLE,), (gpu(),), ()), Fine)
    assert isinstance(one(rule, (), (), (), (), (LISTING,)), Fine)


def test_no_devices_by_sentence() -> None:
    rule = stack.no_devices
    assert says(one(rule, (message("no_devices"),), ()))
    assert isinstance(one(rule, (), (LISTING,)), Fine)
    assert isinstance(one(rule, (message("other"),), ()), Unclear)


def test_nouveau_by_binding_device_or_module() -> None:
    rule = owner.nouveau_owns_gpu
    bind = make(DriverBindEvent, CARD, driver="nouveau")
    assert "41:00.0" in says(one(rule, (bind,), (), (), ()))
    assert "41:00.0" in says(one(rule, (), (gpu(driver="nouveau", driver_listed=True),), (), ()))
    assert "not" in says(one(rule, (), (), (module("nouveau"),), (WHOLE,)))
    later = make(DriverBindEvent, CARD, driver="nvidia")
    assert isinstance(one(rule, (bind, later), (), (), ()), Unclear)
    assert isinstance(one(rule, (), (gpu(driver="nvidia"),), (), ()), Fine)
    assert isinstance(one(rule, (), (), (module("nvidia"),), (WHOLE,)), Fine)
    assert isinstance(one(rule, (), (gpu(driver_listed=True),), (), (WHOLE,)), Unclear)
    assert isinstance(one(rule, (), (), (module("nouveau"),), (CUT,)), Unclear)


def test_other_driver_owns_gpu() -> None:
    rule = owner.other_driver_owns_gpu
    assert "vfio-pci" in says(one(rule, (gpu(driver="vfio-pci"),)))
    assert isinstance(one(rule, (gpu(driver="nvidia"),)), Fine)
    assert isinstance(one(rule, (gpu(driver=None),)), Unclear)
    assert isinstance(one(rule, (gpu(role="nic", driver="vfio-pci"),)), Unclear)


def test_uvm_missing_only_in_a_whole_list() -> None:
    rule = stack.uvm_not_loaded
    assert "nvidia_uvm" in says(one(rule, (module("nvidia"),), (WHOLE,)))
    assert isinstance(one(rule, (module("nvidia"), module("nvidia_uvm")), (WHOLE,)), Fine)
    assert isinstance(one(rule, (module("nvidia"),), (CUT,)), Unclear)
    assert isinstance(one(rule, (module("ext4"),), (WHOLE,)), NotHere)


def test_module_reloads_counts_within_one_boot() -> None:
    rule = stack.module_reloads

    def load(boot: str | None, count: int = 1) -> Any:
        return make(NvrmEvent, what="loading", at=Moment(boot_id=boot), count=count)

    assert "3 times" in says(one(rule, (load("a"), load("a", 2)), False))
    assert isinstance(one(rule, (load("a"), load("b"), load("c")), False), Unclear)
    assert isinstance(one(rule, (load("a"),), True), Fine)
    assert isinstance(one(rule, (load("a"),), False), Unclear)
    assert isinstance(one(rule, (load(None, 5),), True), Unclear)
    assert isinstance(one(rule, (), True), NotHere)


def test_container_lost_its_cards() -> None:
    rule = stack.container_lost_gpu_cgroup
    assert "container" in says(one(rule, (message("unknown_error", container=True),), ()))
    assert "4 cards" in says(one(rule, (message("unknown_error"),), (LISTING,)))
    assert isinstance(one(rule, (message("unknown_error"),), ()), Unclear)
    assert isinstance(one(rule, (message("no_devices"),), ()), Fine)
    assert isinstance(one(rule, (), (LISTING,)), Fine)
