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


def pcie_bytes_per_s(speed_gts: float, lanes: int) -> float:
    """Return what a PCIe link carries in one direction before packet headers, by its line code.

    PCI Express Base 6.0: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, above that 236 of 256 bytes of a flit.
    """
    code = 8 / 10 if speed_gts <= 5 else 128 / 130 if speed_gts <= 32 else 236 / 256
    return speed_gts * 1e9 / 8 * code * lanes
