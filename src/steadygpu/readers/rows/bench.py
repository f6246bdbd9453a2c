"""What tests under load print."""

from steadygpu.readers.kind import READERS, Kind

ROWS: tuple[Kind, ...] = (
    Kind(
        name="gpu-burn",
        title="errors, rates and temperatures of a burn test",
        command="gpu_burn 300",
        reader=READERS + "gpu_burn:read_gpu_burn",
        heads=(
            r"\s{0,4}\d{1,3}\.\d%\s+proc'd: ", r"Tested \d{1,4} GPUs:\s*$",
            r"Burning for \d{1,9} seconds\.?\s*$", r"\t?GPU \d{1,4}: (?:OK|FAULTY)\s*$",
        ),
        gives=("BurnResult",),
        files=("gpu_burn*", "gpu-burn*"),
    ),
    Kind(
        name="nccl-tests",
        title="bandwidths and wrong values of collectives",
        command="all_reduce_perf -b 8 -e 8G -f 2 -g 8",
        reader=READERS + "nccl_tests:read_nccl_tests",
        heads=(
            r"# nThread \d{1,6} nGpus \d", r"# Collective test starting: ", r"# Out of bounds values : \d",
            r"# nccl-tests version \S", r"#\s{1,12}Rank\s{1,8}\d{1,6} (?:Group\s{1,8}\d{1,6} )?Pid\s",
        ),
        gives=("CollectiveRate", "CollectiveRun"),
        files=("nccl-tests*", "nccl_tests*", "all_reduce_perf*"),
    ),
    Kind(
        name="bandwidthTest",
        title="copy rates of the CUDA sample",
        command=None,
        reader=READERS + "bandwidth_test:read_bandwidth_test",
        heads=(
            r"\[CUDA Bandwidth Test\] - Starting", r"bandwidthTest-[HD]2[HD]-\w{1,20}, Bandwidth = ",
            r"\s(?:Host|Device) to (?:Host|Device) Bandwidth, \d{1,3} Device\(s\)",
        ),
        gives=("CopyRate",),
        files=("bandwidthTest*",),
    ),
    Kind(
        name="nvbandwidth",
        title="copy rates between hosts and cards",
        command="nvbandwidth -t host_to_device_memcpy_ce device_to_host_memcpy_ce",
        reader=READERS + "nvbandwidth:read_nvbandwidth",
        heads=(
            r"nvbandwidth Version: ", r"[Rr]unning [a-z]+_to_[a-z]+_\w{1,60}\.?\s*$",
        ),
        gives=("CopyRate",),
        files=("nvbandwidth*",),
    ),
    Kind(
        name="hwloc-xml",
        title="topology of a host: PCI devices, NUMA nodes and cores",
        command="lstopo --of xml",
        reader=READERS + "hwloc_xml:read_hwloc_xml",
        heads=(
            r"(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!DOCTYPE topology SYSTEM \"hwloc|<topology(?: version=\"\d\.\d\")?>)",
            r"\s{0,120}<object type=\"[A-Z]\w{1,20}\" ",
        ),
        gives=("PciDevice", "NumaNode", "CpuLayout"),
        files=("hwloc*.xml", "lstopo*.xml"),
    ),
)  # fmt: skip
