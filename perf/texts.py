"""Texts to measure with: one host's worth, of any size, with our own values."""

import random

_CARD = """GPU 00000000:{bus:02X}:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    Serial Number                         : 16500{host:05}{n:03}
    GPU UUID                              : GPU-{host:08x}-{n:04x}-4000-8000-000000000000
    Minor Number                          : {n}
    VBIOS Version                         : 96.00.89.00.01
    PCI
        Bus Id                            : 00000000:{bus:02X}:00.0
        Device Id                         : 0x233010DE
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 5
            Link Width
                Max                       : 16x
                Current                   : 16x
        Replays Since Reset               : 0
    Fan Speed                             : N/A
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        Applications Clocks Setting       : Not Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        Sync Boost                        : Not Active
        SW Thermal Slowdown               : Not Active
    FB Memory Usage
        Total                             : 81559 MiB
        Reserved                          : 551 MiB
        Used                              : {used} MiB
        Free                              : 1000 MiB
    Compute Mode                          : Default
    Utilization
        Gpu                               : {busy} %
        Memory                            : 40 %
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 0
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 0
        Aggregate
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 0
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 0
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 0
        Pending                           : No
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 55 C
        GPU T.Limit Temp                  : 30 C
    GPU Power Readings
        Power Draw                        : 600.00 W
        Current Power Limit               : 700.00 W
    Clocks
        SM                                : 1980 MHz
        Memory                            : 2619 MHz
    Max Clocks
        SM                                : 1980 MHz
        Memory                            : 2619 MHz
    Processes                             : None

"""
_SAID = (
    "systemd[1]: Started Session {} of user root.", "veth{:x}: entered promiscuous mode",
    "docker0: port {}(veth) entered forwarding state", "IPv6: ADDRCONF(NETDEV_CHANGE): eth{}: link ready",
    "CPU{}: Package power limit notification", "EXT4-fs (dm-{}): mounted filesystem with ordered data",
)  # fmt: skip


def smi_q(host: int = 0, cards: int = 8) -> str:
    """Return `nvidia-smi -q` of a host."""
    dice = random.Random(host)
    out = "==============NVSMI LOG==============\n\nTimestamp                                 : Tue Feb  3 04:05:06 2026\n"
    out += "Driver Version                            : 550.54.15\nCUDA Version                              : 12.4\n\n"
    out += f"Attached GPUs                             : {cards}\n"
    return out + "".join(
        _CARD.format(
            host=host, n=n, bus=0x10 + 8 * n, used=dice.randrange(80000), busy=dice.randrange(101)
        )
        for n in range(cards)
    )


def kernel_log(size: int, host: int = 0) -> str:
    """Return a kernel log of about `size` bytes with a fault now and then."""
    dice = random.Random(host)
    out, total, n = ["[    0.000000] Linux version 6.8.0-60-generic\n"], 0, 0
    while total < size:
        n += 1
        said = _SAID[n % len(_SAID)].format(dice.getrandbits(20))
        if n % 2000 == 1000:
            said = f"NVRM: Xid (PCI:0000:10:00): 31, pid={n}, name=train, Ch {n:08x}, MMU Fault"
        out.append(f"[{n / 50:12.6f}] {said}\n")
        total += len(out[-1])
    return "".join(out)


def lspci(cards: int = 8) -> str:
    """Return `lspci -vvnn` as root."""
    out = ""
    for n in range(cards):
        port, bus = f"{0x0F + 8 * n:02x}:01.0", f"{0x10 + 8 * n:02x}"
        out += (
            f"{port} PCI bridge [0604]: Intel Corporation Device [8086:352a] (rev 04) (prog-if 00 [Normal decode])\n"
            f"\tBus: primary={0x0F + 8 * n:02x}, secondary={bus}, subordinate={bus}, sec-latency=0\n"
            "\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00\n"
            "\t\tLnkCap:\tPort #3, Speed 32GT/s, Width x16, ASPM not supported\n"
            "\t\tLnkSta:\tSpeed 32GT/s, Width x16\n\tKernel driver in use: pcieport\n\n"
            f"{bus}:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)\n"
            "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n"
            "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
            "\t\tLnkSta:\tSpeed 32GT/s, Width x16\n\tKernel driver in use: nvidia\n\n"
        )
    return out


def iostat(reports: int = 10, host: int = 0) -> str:
    """Return `iostat -x 1`."""
    out = f"Linux 6.8.0-60-generic (gpu-{host:04}) \t02/03/2026 \t_x86_64_\t(64 CPU)\n\n"
    for n in range(reports):
        out += "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
        out += "           5.00    0.00    2.00    1.00    0.00   92.00\n\n"
        out += "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util\n"
        for disk in range(8):
            out += f"nvme{disk}n1 {100 + n}.00 12800.00 0.00 0.00 0.20 128.00 2.00 16.00 0.00 0.00 0.10 8.00 0.20 12.00\n"
        out += "\n"
    return out


def lsmod() -> str:
    """Return `lsmod`."""
    rows = "".join(f"module_{n:<20} {4096 * n} {n % 3} \n" for n in range(1, 160))
    return (
        "Module                  Size  Used by\nnvidia_uvm 1536000 4\nnvidia 56745984 311 nvidia_uvm\n"
        + rows
    )


def a_host(log_bytes: int, cards: int = 8, host: int = 0) -> dict[str, str]:
    """Return the texts of one host by name."""
    return {
        "dmesg.txt": kernel_log(log_bytes, host), "nvidia-smi-q.txt": smi_q(host, cards),
        "lspci.txt": lspci(cards), "iostat.txt": iostat(10, host), "lsmod.txt": lsmod(),
    }  # fmt: skip
