"""The rule on network filesystems, branch by branch."""

from typing import Any

from rules.hand import cited, found, one, weight
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.gpu import GpuLoad
from steadygpu.evidence.mount import MappedFile, Mount, NfsOp
from steadygpu.evidence.source import Absent, Source
from steadygpu.rules.network_fs import mmap_on_network_fs
from steadygpu.rules.network_fs import network_fs_latency as rule
from steadygpu.verdict.rule import Fine, NotHere, Unclear

MOUNT = DeviceRef(kind="mount", label="/data")


def call(op: str = "READ", **fields: Any) -> NfsOp:
    usual: dict[str, Any] = {
        "ops_per_s": 90.0, "rtt_ms": 41.0, "exe_ms": 43.0, "retransmits": 0, "retransmit_ratio": 0.0,
    }  # fmt: skip
    return NfsOp(device=MOUNT, op=op, sources=(Source(name=op, quote="x"),), **{**usual, **fields})


def card(busy: float | None) -> GpuLoad:
    return GpuLoad(
        device=DeviceRef(kind="card", index=0), busy_ratio=busy,
        sources=(Source(name="card", quote="x"),),
    )  # fmt: skip


def test_slow_calls_that_somebody_waits_for_are_a_warning() -> None:
    seen = found(one(rule, (call("GETATTR", exe_ms=1.0, rtt_ms=1.0), call()), (card(0.1),)))
    assert weight(rule, seen) == ("warning", "fix-feed")
    assert "NFS READ 43 ms each" in seen.says
    assert "41 ms to the server" in seen.says
    assert "10% busy" in seen.says
    assert cited(seen) == {"READ", "card"}
    assert found(one(rule, (call("LOOKUP"),), ())).says.startswith("NFS LOOKUP")


def test_a_card_at_work_or_unread_makes_it_information() -> None:
    for busy in (0.95, None):
        assert weight(rule, found(one(rule, (call(),), (card(busy),)))) == ("info", "none")


def test_fast_rare_and_written_calls_are_fine() -> None:
    for calls in (
        (call(exe_ms=2.0, rtt_ms=1.0),),
        (call(ops_per_s=2.0),),
        (call(ops_per_s=0.0, rtt_ms=None, exe_ms=None),),
        (call(exe_ms=2.0), call("WRITE")),
    ):
        seen = one(rule, calls, ())
        assert isinstance(seen, Fine)
        assert seen.sources


def test_the_queue_of_the_client_is_told_from_the_server() -> None:
    for fields in ({"queue_ms": 80.0}, {}):
        seen = found(one(rule, (call(rtt_ms=6.0, exe_ms=90.0, **fields),), ()))
        assert "in the queue of the client" in seen.says
        assert "nconnect" in (seen.decision or "")
    assert "queue" not in found(one(rule, (call(queue_ms=1.0),), ())).says


def test_retransmits_are_named_and_count_alone() -> None:
    lossy = {"retransmits": 40, "retransmit_ratio": 0.02}
    seen = found(one(rule, (call(exe_ms=3.0, rtt_ms=2.0, **lossy),), ()))
    assert "40 retransmits" in seen.says
    assert "again" in (seen.meaning or "")
    few = call(exe_ms=3.0, rtt_ms=2.0, retransmits=3, retransmit_ratio=0.02)
    assert isinstance(one(rule, (few,), ()), Fine)


def test_means_since_the_mount_inform_and_acquit_nobody() -> None:
    life: dict[str, Any] = {"since_mount": True, "ops_per_s": None}
    many = call(ops=50_000, timeouts=3, **life)
    names = call("GETATTR", ops=200_000, share_ratio=0.68, exe_ms=1.0, rtt_ms=0.9, **life)
    seen = found(one(rule, (many, names), (card(0.0),)))
    assert weight(rule, seen) == ("info", "none")
    assert "3 timeouts" in seen.says
    assert "GETATTR 68% of calls" in seen.says
    assert cited(seen) == {"READ", "GETATTR"}
    assert isinstance(one(rule, (names,), ()), Unclear)
    assert isinstance(one(rule, (call(ops=50, **life),), ()), Unclear)
    fast = call(exe_ms=1.0, rtt_ms=1.0)
    assert isinstance(one(rule, (many, fast), ()), Fine)


def reading(age: float | None, ops: int, exe: float, **fields: Any) -> NfsOp:
    usual = {"age_s": age, "ops": ops, "exe_ms": exe, "rtt_ms": exe, "since_mount": True}
    return call(**{**usual, **fields})


def test_two_readings_of_one_mount_give_an_interval() -> None:
    first = reading(1000.0, 10_000, 2.0)
    slow = reading(1060.0, 16_000, 17.0)  # 6000 calls of 42 ms in a minute
    seen = found(one(rule, (slow, first), ()))
    assert weight(rule, seen) == ("warning", "fix-feed")
    assert "NFS READ 42 ms each: 42 ms to the server and back, 100 a second" in seen.says
    fast = one(rule, (first, reading(1060.0, 16_000, 2.0)), ())
    assert isinstance(fast, Fine)
    bad_life = reading(1000.0, 10_000, 90.0)
    assert isinstance(one(rule, (bad_life, reading(1060.0, 10_000, 90.0)), ()), Fine)
    lossy = reading(1060.0, 16_000, 2.0, retransmits=300)
    assert "300 retransmits" in found(one(rule, (first, lossy), ())).says
    lustre = [reading(1000.0 + 60 * i, 10_000 + 6000 * i, 2.0, protocol="Lustre", rtt_ms=None,
                      retransmits=None) for i in (0, 1)]  # fmt: skip
    assert isinstance(one(rule, lustre, ()), Fine)


def test_two_readings_without_age_or_after_a_remount_are_unclear() -> None:
    first = reading(1000.0, 10_000, 90.0)
    assert isinstance(one(rule, (first, reading(None, 16_000, 90.0)), ()), Unclear)
    assert isinstance(one(rule, (first, reading(1060.0, 20, 90.0)), ()), Unclear)
    assert "since the mount" in found(one(rule, (first, first), ())).says
    far = reading(900_000.0, 16_000, 90.0)
    assert weight(rule, found(one(rule, (first, far), ()))) == ("info", "none")


def test_the_host_as_a_whole_has_counts_and_no_times() -> None:
    rpc = NfsOp(
        device=host_ref(), op="RPC", ops=900_000, retransmits=18_000, retransmit_ratio=0.02,
        since_mount=True, sources=(Source(name="x", quote="x"),),
    )  # fmt: skip
    seen = found(one(rule, (rpc,), ()))
    assert weight(rule, seen) == ("info", "none")
    assert "NFS RPC: 900000 calls, 18000 retransmits, counted since the boot" in seen.says


def test_what_was_not_printed_is_unclear() -> None:
    for field in ("ops_per_s", "exe_ms", "rtt_ms", "retransmits"):
        gone = call(**{"exe_ms": 2.0, field: None}, absent=(Absent(field=field, reason="cut"),))
        assert isinstance(one(rule, (gone,), ()), Unclear)
    assert isinstance(one(rule, (call("WRITE"),), ()), Unclear)


def mapped(path: str, size: int | None = 5 << 30) -> MappedFile:
    return MappedFile(
        device=host_ref(), path=path, mapped_bytes=size, sources=(Source(name="maps", quote="x"),)
    )


def mounted(place: str, fstype: str | None, network: bool | None) -> Mount:
    return Mount(
        device=DeviceRef(kind="mount", label=place), fstype=fstype, network=network,
        sources=(Source(name=place, quote="x"),),
    )  # fmt: skip


ROOT = mounted("/", "ext4", network=False)
NFS = mounted("/m", "nfs4", network=True)


def test_weights_mapped_from_a_server_are_a_warning() -> None:
    files = (mapped("/m/a.safetensors"), mapped("/m/b.safetensors"), mapped("/m/x.json"))
    seen = found(one(mmap_on_network_fs, files, (ROOT, NFS)))
    assert weight(mmap_on_network_fs, seen) == ("warning", "fix-feed")
    assert "2 files of weights, 10 GiB, mapped from nfs4" in seen.says
    assert cited(seen) == {"maps", "/m"}


def test_weights_on_a_local_disk_are_fine_and_the_longest_place_counts() -> None:
    local = (mapped("/mm/a.gguf"),)
    assert isinstance(one(mmap_on_network_fs, local, (ROOT, NFS)), Fine)
    nested = mounted("/m/fast", "xfs", network=False)
    assert isinstance(one(mmap_on_network_fs, (mapped("/m/fast/a.pt"),), (NFS, nested)), Fine)


def test_without_mounts_types_or_sizes_it_is_unclear() -> None:
    file = mapped("/m/a.gguf")
    assert isinstance(one(mmap_on_network_fs, (file,), ()), Unclear)
    assert isinstance(one(mmap_on_network_fs, (file,), (mounted("/m", "fuse", None),)), Unclear)
    assert isinstance(one(mmap_on_network_fs, (file,), (mounted("/m", None, None),)), Unclear)
    assert isinstance(one(mmap_on_network_fs, (mapped("/m/a.gguf", None),), (NFS,)), Unclear)
    assert isinstance(one(mmap_on_network_fs, (mapped("/m/x.json"),), (NFS,)), NotHere)
    assert isinstance(one(mmap_on_network_fs, (mapped("/m/a.pt", 1 << 20),), (NFS,)), NotHere)
