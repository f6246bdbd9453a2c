"""Who made a PCI device, what people call it, and what it is for, from the words of lspci."""

import re
from typing import NamedTuple

VENDORS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("nvidia", "10de", re.compile(r"n[Vv]idia(?: Corporation)?\s*|NVIDIA(?: Corporation)?\s*")),
    (
        "amd",
        "1002",
        re.compile(
            r"(?:Advanced Micro Devices|ATI Technologies|AMD\b|ATI\b)(?:,? Inc\.?)?\s*"
            r"(?:\[AMD(?:/ATI)?\]\s*)?(?:nee ATI\s*)?"
        ),
    ),
    ("amd", "1022", re.compile(r"Advanced Micro Devices(?:,? Inc\.?)?\s*(?:\[AMD\]\s*)?")),
    ("habana", "1da3", re.compile(r"Habana Labs(?: Ltd\.?)?\s*")),
    ("intel", "8086", re.compile(r"Intel Corporation\s*")),
    ("mellanox", "15b3", re.compile(r"Mellanox Technologies\s*")),
)
CLASSES = (
    ("VGA compatible", "0300"), ("3D controller", "0302"), ("Display controller", "0380"),
    ("Processing accelerators", "1200"), ("PCI bridge", "0604"), ("Host bridge", "0600"),
    ("Ethernet", "0200"), ("Infiniband", "0207"), ("Network controller", "0280"),
    ("Non-Volatile memory", "0108"), ("Audio device", "0403"),
)  # fmt: skip


class Named(NamedTuple):
    """The maker in our words ("" for one we do not know) and the name without the maker's."""

    vendor: str
    name: str


def maker_and_name(vendor_id: str, printed: str) -> Named:
    """Return maker and name of a device. `vendor_id` is four hex digits, "" where none was printed."""
    for vendor, number, words in VENDORS:
        named = words.match(printed)
        if vendor_id == number or (named and not vendor_id):
            return Named(vendor, printed[named.end() :].strip() or printed if named else printed)
    return Named("", printed)


def label_of(name: str) -> str:
    """Return what people call the card: the name in brackets where there is one."""
    inner = re.search(r"\[([^\[\]]{1,100})\]$", name)
    return inner[1] if inner else name


def class_code(class_name: str) -> str:
    """Return the code of a class that lspci named in words, or ""."""
    return next((code for word, code in CLASSES if class_name.startswith(word)), "")


def role_of(code: str, vendor: str, class_name: str) -> str:
    """Return what a device is for: card, port, nvswitch, nic, nvme, audio or other."""
    if (code[:2] == "03" and vendor in ("nvidia", "amd")) or (
        code[:2] == "12" and vendor in ("amd", "habana")
    ):
        return "card"
    if code == "0604":
        return "port"
    if vendor == "nvidia" and (code == "0680" or class_name == "Bridge"):
        return "nvswitch"
    if code[:2] == "02":
        return "nic"
    return {"0108": "nvme", "0403": "audio"}.get(code, "other")
