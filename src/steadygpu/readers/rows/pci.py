"""What tells of PCI devices and their links."""

from steadygpu.readers.kind import READERS, Kind

ROWS: tuple[Kind, ...] = (
    Kind(
        name="lspci",
        title="PCI devices; with -vv as root, links and error bits",
        command="lspci -vvnn",
        reader=READERS + "lspci:read_lspci",
        heads=(
            r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] (?:\"|[A-Z3][\w /().&,-]+(?: \[[0-9a-f]{4}\])?: )",
            r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] [0-9a-f]{4}: [0-9a-f]{4}:[0-9a-f]{4}",
            r"[ \t]*(?:LnkCap|LnkSta|LnkCtl2?|DevSta|UESta|CESta|ACSCtl):",
        ),
        gives=("PciDevice", "PcieLink", "PciErrorStatus", "PciAcs", "CardListing"),
        files=("*lspci*",),
    ),
    Kind(
        name="sysfs-pci-link",
        title="link files of PCI devices",
        command="grep -H . /sys/bus/pci/devices/*/{current,max}_link_{speed,width}",
        reader=READERS + "sysfs_link:read_sysfs_link",
        heads=(r"(?:==> )?(?:/\S*/|\.{0,2}/?\S*/)?[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]/(?:current|max)_link_(?:speed|width)[: ]",),
        gives=("PcieLink",),
    ),
)  # fmt: skip
