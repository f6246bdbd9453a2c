"""Words by which a product, a hypervisor or a kernel's release tells what a host is.

Covers: products that QEMU, VMware, Xen, Hyper-V, VirtualBox, Parallels and the clouds put into SMBIOS; releases of the
kernels of WSL ("-microsoft-standard-WSL2", "-Microsoft") and of Jetson ("-tegra"). A product of another maker than
those below tells nothing.
"""

import re

from steadygpu.evidence.setting import SettingKind

Told = tuple[SettingKind, str | None]

_METAL = re.compile(r"Amazon EC2\b.{0,40}\.metal\b")
_VIRTUAL = re.compile(
    r"\b(?:QEMU|Bochs|KVM|KubeVirt|RHEV|oVirt|OpenStack|VMware|VirtualBox|Xen HVM domU|Xen|Parallels|Amazon EC2"
    r"|Google Compute Engine|Microsoft Corporation Virtual Machine|Alibaba Cloud ECS|Tencent Cloud CVM|Droplet|vServer"
    r"|Nutanix AHV|BHYVE|Virtual Machine|Apple Virtualization)\b"
)
_JETSON = re.compile(r"\bJetson\b")
_PHYSICAL = re.compile(
    r"(?:Dell|Super ?micro|HPE?\b|Hewlett|Lenovo|ASUS|Gigabyte|Giga ?Computing|Micro-Star|MSI\b|ASRock|Intel\b|NVIDIA\b"
    r"|Quanta|QCT|Inspur|IEIT|Tyan|MiTAC|Fujitsu|Cisco|Acer|Wiwynn|Foxconn|Inventec|ZT Systems|Hyve|Penguin|xFusion)",
    re.IGNORECASE,
)
_WSL = re.compile(r"\d-(?:microsoft-standard|Microsoft\b)|-WSL2\b")
_TEGRA = re.compile(r"-tegra(?:-?\w{1,20})?$")


def told_by_product(product: str) -> Told | None:
    """Return what "MANUFACTURER PRODUCT" says of the host, or None where it is neither known."""
    if _METAL.search(product):
        return "bare-metal", None
    if found := _VIRTUAL.search(product):
        return "vm", found[0]
    if _JETSON.search(product):
        return "jetson", None
    return ("bare-metal", None) if _PHYSICAL.match(product) else None


def told_by_release(release: str) -> Told | None:
    """Return what the release of a kernel says of the host, or None."""
    if _WSL.search(release):
        return "wsl", None
    return ("jetson", None) if _TEGRA.search(release) else None
