"""Conversions of the units that tools print. Every reader converts once, here."""

KIB = 1024
MIB = 1024**2
GIB = 1024**3
MB = 1_000_000
SECTOR_BYTES = 512  # the kernel's block layer counts in 512-byte sectors whatever the disk's own

PCIE_GTS = {
    1: 2.5,
    2: 5.0,
    3: 8.0,
    4: 16.0,
    5: 32.0,
    6: 64.0,
}  # PCI Express Base 6.0, by generation


def gts_of_generation(generation: int) -> float | None:
    """Return GT/s per lane of a PCIe generation, None for one that does not exist."""
    return PCIE_GTS.get(generation)


def generation_of_gts(speed_gts: float) -> int | None:
    """Return the PCIe generation of a speed in GT/s per lane, None for a speed that is none."""
    return next((g for g, speed in PCIE_GTS.items() if abs(speed - speed_gts) < 0.01), None)
