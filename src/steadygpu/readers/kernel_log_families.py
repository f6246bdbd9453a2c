"""All families of kernel messages, in the order in which they are tried, and the words that betray a line.

To add a family: a module with FAMILIES (word and reader) and WORDS (what a line of a large log must hold
to be decoded at all), and its place in the two tables.
"""

from steadygpu.readers import kernel_log_amdgpu as amdgpu
from steadygpu.readers import kernel_log_device as device
from steadygpu.readers import kernel_log_events as events
from steadygpu.readers import kernel_log_memory as memory
from steadygpu.readers import kernel_log_setting as setting
from steadygpu.readers import kernel_log_stall as stall
from steadygpu.readers import kernel_log_sxid as sxid

FAMILIES: tuple[events.Family, ...] = (
    *events.FAMILIES, *sxid.FAMILIES, *stall.FAMILIES, *memory.FAMILIES, *device.FAMILIES, *amdgpu.FAMILIES,
    *setting.FAMILIES,
)  # fmt: skip

WORDS: tuple[bytes, ...] = (
    b"NVRM", b"AER:", b"PCIe Bus Error", b"Hardware Error", b": Slot(", b"nouveau", b"vfio-pci", b"enabling device",
    b"vgaarb", b"Unloading", b"Linux version", b"ommand line:", b"setting system clock", b"audit(",
    b"ut of memory", b"oom-kill", b" swap ", b"Kernel panic", b"above threshold",
    b"-- Boot ", b"-- Reboot", b"NVSMI LOG", b"NVIDIA-SMI ",
    *sxid.WORDS, *stall.WORDS, *memory.WORDS, *device.WORDS, *amdgpu.WORDS, *setting.WORDS,
)  # fmt: skip
