"""The scorers of ../shared over its cases, specimens and real files, for the kinds that are read."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import report
from shared import SHARED, needs_shared

pytestmark = needs_shared
COMMAND = f"{sys.executable} -m steadygpu diagnose --format json"
# Cases of ../shared/cases/scorable.txt of which every text is of a kind that is read.
CASES = (
    "busy-mig-util-na", "busy-oom-not-fragmentation", "silent-aer-to-surprise-down-to-xid79",
    "silent-fallen-off-without-xid", "feed-amd-internal-switch-wrong-bdf",
    "silent-nvidia-smi-rc0-with-err", "silent-row-remap-pending", "silent-xid43-app-killed-channel",
    "silent-xid94-vs-109-policy", "stack-roce-hw-counters", "stack-exclusive-process-busy",
    "stack-nouveau-loads-after-initrd", "stack-nvml-unknown-after-daemon-reload",
    "throttle-ollama-p2-power-capped", "throttle-amd-gfxclk-stuck-idle",
    "throttle-vgpu-unlicensed-crawl", "silent-amdgpu-compute-ring-timeout-by-scanner",
)  # fmt: skip
KINDS = {
    "nvidia-smi-q", "nvidia-smi-table", "nvidia-smi-xml", "nvidia-smi-error", "nvidia-smi-remapped-rows-csv",
    "pdsh-nvidia-smi", "rocm-smi-text", "rocm-smi-json", "amd-smi-metric-json", "amd-smi-metric-text",
    "amd-smi-static-json", "amd-smi-static-text", "amd-smi-bad-pages-json", "amd-smi-bad-pages-text",
    "amd-smi-topology-json", "amd-smi-topology-text", "amd-smi-table", "kernel-log", "lspci-vvv", "numactl-H", "iostat-json",
    "dcgmi-diag-json", "dcgmi-diag-text",
    "dcgmi-health", "nvidia-smi-mig-lgi", "nvidia-smi-nvlink-e", "nvidia-smi-vgpu",
}  # fmt: skip
REAL = {
    "nvidia-smi-q", "nvidia-smi-table", "nvidia-smi-xml", "nvidia-smi-L", "nvidia-smi-dmon", "nvidia-smi-pmon",
    "nvidia-smi-topo", "nvidia-smi-query-csv", "kernel-log", "lspci", "iostat", "iostat-json", "lsmod",
    "proc-modules", "lscpu", "numactl-H", "ibstat", "ibv-devinfo", "rdma-link", "ip-link", "ethtool", "ethtool-S",
    "ifconfig", "mpstat", "vmstat", "rocm-smi-text", "rocm-smi-json", "bench-gpu-burn", "bench-nccl-tests",
    "bench-cuda-bandwidth", "hwloc-xml", "nvidia-smi-nvlink",
}  # fmt: skip


def run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_recorded_cases_score(tmp_path: Path) -> None:
    only = tmp_path / "only.txt"
    only.write_text(" ".join(CASES))
    run(
        sys.executable, str(SHARED / "tools/score_cases.py"), "--cases", str(SHARED / "cases"),
        "--only", str(only), "--cmd", COMMAND, "--at-least", "0.95", "--alarms", "0",
    )  # fmt: skip


def test_composed_specimens_score(tmp_path: Path) -> None:
    source = SHARED / "evidence/composed"
    with (source / "composed.csv").open() as file:
        reader = csv.DictReader(file)
        rows = [r for r in reader if r["kind"] in KINDS]
        with (tmp_path / "composed.csv").open("w") as out:
            writer = csv.DictWriter(out, reader.fieldnames or [])
            writer.writeheader()
            writer.writerows(rows)
    (tmp_path / "files").mkdir()
    for row in rows:
        shutil.copy(source / "files" / row["file"], tmp_path / "files")
    assert sum(row["form_seen"] == "yes" for row in rows) >= 23
    run(
        sys.executable, str(SHARED / "tools/score_composed.py"), str(tmp_path), "--seen-only",
        "--cmd", COMMAND, "--at-least", "0.9",
    )  # fmt: skip


def manifest() -> list[dict[str, str]]:
    if not SHARED.is_dir():
        return []
    with (SHARED / "evidence/manifest.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["kind"] in REAL]


@pytest.mark.parametrize("row", manifest(), ids=lambda row: row["file"])
def test_a_real_file_is_read_and_judged(row: dict[str, str]) -> None:
    body = (SHARED / "evidence/files" / row["file"]).read_bytes()
    result = report({row["file"]: body})
    assert not any(host.broken for host in result.hosts)
    assert {kind for host in result.hosts for kind in host.coverage.kinds_read}
    loud = [
        f"{f.rule.id} {f.severity}"
        for h in result.hosts
        for f in h.findings
        if f.severity != "info"
    ]
    if "healthy" in row["truth"] or "no fault" in row["truth"] or not row["truth"]:
        assert not loud or "reduced" in row["truth"], row["truth"]


# What a truth of the manifest names, by file: ids that must be among the findings.
TRUTHS = {
    "dmesg_xid119_gsp_h100.log": {"silent.xid119-gsp-timeout"},
    "lspci_rtx4090_bifurcation.txt": {"feed.pcie-width-low"},
    "smi-q_8gpu_retired-pages_535_bad.txt": {
        "silent.retired-pages-pending",
        "silent.retired-pages-many",
    },
    "smi-x_quadro-p2000-v12.xml": {
        "feed.pcie-width-low",
        "feed.pcie-speed-idle",
        "silent.ecc-unsupported",
    },
    "smi-q_8xh100_power_brake_535.161.txt": {"throttle.hw-power-brake"},
    "smi-q_8xh100_mixed_throttle_535.183.txt": {"throttle.hw-power-brake"},
    "smi-q_a10_535.129.txt": {"silent.row-remap-pending"},
    "smi_table_525.125.txt": {"silent.gpu-err-fields", "stack.compute-mode-exclusive"},
    "dmesg_iso_0_xid13_43.log": {"silent.xid43-app-fault"},
    "dmesg_iso_container_churn.log": {"silent.xid94-contained", "silent.xid-other"},
    "smi-x_gtx-1660-ti.xml": {
        "feed.pcie-speed-idle",
        "stack.persistence-off",
        "silent.ecc-unsupported",
    },
    "smi-x_nd_rtx-4090-driver-535.xml": {"feed.pcie-speed-idle", "silent.ecc-off"},
    "ibstat_some_down_0.txt": {"feed.rdma-port-down"},
    "ibstat_h100_down_polling.txt": {"feed.rdma-port-down"},
    "rdma_link_one_init.txt": {"feed.rdma-port-down"},
    "ip_link_one_down.txt": {"feed.rdma-port-down"},
}


@pytest.mark.parametrize("name", TRUTHS)
def test_a_truth_of_the_manifest_is_met(name: str) -> None:
    result = report({name: (SHARED / "evidence/files" / name).read_bytes()})
    assert TRUTHS[name] <= {f.rule.id for host in result.hosts for f in host.findings}


def test_only_the_braked_card_is_named() -> None:
    name = "smi-q_8xh100_mixed_throttle_535.183.txt"
    result = report({name: (SHARED / "evidence/files" / name).read_bytes()})
    loud = [f for host in result.hosts for f in host.findings if f.severity != "info"]
    assert [(f.rule.id, f.finding.subject.bdf) for f in loud] == [
        ("throttle.hw-power-brake", "0000:75:00.0")
    ]
