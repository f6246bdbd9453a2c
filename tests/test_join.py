"""The tests of the join: which host, which card, which moment."""

from pipeline import evidence, found, report

Q = """Timestamp                                 : {when}
Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : {count}
"""
CARD = """GPU {bdf}
    Product Name                          : NVIDIA A100-SXM4-80GB
    Serial Number                         : {serial}
    GPU UUID                              : {uuid}
    Minor Number                          : {index}
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 0
            DRAM Correctable              : 0
            DRAM Uncorrectable            : {volatile}
        Aggregate
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 0
            DRAM Correctable              : {aggregate}
            DRAM Uncorrectable            : 0
    Utilization
        Gpu                               : {busy} %
        Memory                            : 3 %
"""


def uuid(n: int) -> str:
    return f"GPU-{n:08x}-1111-2222-3333-444444444444"


def card(n: int, bus: int | None = None, **kw: object) -> str:
    values = {"busy": 0, "volatile": 0, "aggregate": 0, "index": n, **kw}
    return CARD.format(
        bdf=f"00000000:{(bus if bus is not None else 0x10 + n):02X}:00.0",
        serial=f"1320021000{n:03d}",
        uuid=uuid(n),
        **values,
    )


def q(*cards: str, when: str = "Wed Jan 21 10:12:44 2026", count: int | None = None) -> str:
    return Q.format(when=when, count=count or len(cards)) + "".join(cards)


IDLE_SMI = "ops@gpu-01:~$ nvidia-smi -q\n" + q(card(0))
BUSY_DISK = """ops@gpu-02:~$ iostat -x 1 2
Linux 5.15.0-91-generic (gpu-02) \t01/21/2026 \t_x86_64_\t(16 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           5.00    0.00    2.00    1.00    0.00   92.00

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util
sda              1.00     40.00     0.00   0.00    1.00    40.00    1.00     40.00     0.00   0.00    1.00    40.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00    0.00    0.01   1.00

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           5.00    0.00    2.00    1.00    0.00   92.00

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util
sda            350.00 179200.00     0.00   0.00    2.00   512.00    1.00     40.00     0.00   0.00    1.00    40.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00    0.00    0.80  70.00
"""


def loud(texts: dict[str, str | bytes]) -> set[tuple[str, str, str]]:
    return {f for f in found(report(texts)) if f[2] != "info"}


def test_two_healthy_hosts_with_prompts_stay_two_and_raise_nothing() -> None:
    texts: dict[str, str | bytes] = {"a.txt": IDLE_SMI, "b.txt": BUSY_DISK}
    assert [h.host for h in evidence(texts)] == ["gpu-01", "gpu-02"]
    assert not loud(texts)


def test_the_order_of_two_texts_of_one_host_changes_nothing() -> None:
    table = (
        "+-----------------------------------------------------------------------------------------+\n"
        "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"
        "|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:10:00.0 Off |                    2 |\n"
        "| N/A   34C    P0             65W /  400W |     512MiB /  81920MiB |      0%      Default |\n"
    )
    full = q(card(0, volatile=2))
    one = found(report({"a.txt": table, "b.txt": full}))
    two = found(report({"a.txt": full, "b.txt": table}))
    assert one == two
    assert any(f[0] == "silent.ecc-uncorrectable-volatile" for f in one)


def counters(texts: dict[str, str | bytes], field: str) -> dict[str | None, set[object]]:
    out: dict[str | None, set[object]] = {}
    for host in evidence(texts):
        for fact in host.facts:
            if type(fact).__name__ == "EccCounters" and (v := getattr(fact, field)) is not None:
                out.setdefault(fact.device.uuid, set()).add(v)
    return out


def test_a_replaced_card_keeps_its_own_counters() -> None:
    before = q(card(0, bus=0x10, aggregate=57), when="Wed Jan 21 10:00:00 2026")
    after = q(card(9, bus=0x10, aggregate=1, index=0), when="Thu Jan 22 10:00:00 2026")
    seen = counters({"a": before, "b": after}, "dram_corrected")
    assert 57 in seen[uuid(0)]
    assert 57 not in seen[uuid(9)]
    assert 1 in seen[uuid(9)]


def test_no_counter_moves_when_one_of_eight_cards_is_lost() -> None:
    full = [card(n, aggregate=10 + n) for n in range(8)]
    later = [
        card(n, aggregate=10 + n, index=i) for i, n in enumerate(m for m in range(8) if m != 3)
    ]
    texts: dict[str, str | bytes] = {
        "a": q(*full), "b": q(*later, when="Wed Jan 21 11:00:00 2026"),
    }  # fmt: skip
    seen = counters(texts, "dram_corrected")
    for n in range(8):
        assert seen[uuid(n)] - {0} == {10 + n}


def test_a_card_that_moved_is_one_card_at_its_new_slot() -> None:
    texts: dict[str, str | bytes] = {
        "a": q(card(0, bus=0x10)), "b": q(card(0, bus=0x20), when="Thu Jan 22 10:00:00 2026"),
    }  # fmt: skip
    (host,) = evidence(texts)
    assert len({f.device for f in host.facts if f.device.kind == "card"}) == 1


def test_index_0_of_a_container_is_not_index_0_of_the_host() -> None:
    listing = "".join(f"GPU {n}: NVIDIA A100-SXM4-80GB (UUID: {uuid(n)})\n" for n in range(4))
    inside = f"GPU 0: NVIDIA A100-SXM4-80GB (UUID: {uuid(3)})\n"
    dmon = "# gpu    pwr  gtemp  mtemp     sm    mem\n# Idx      W      C      C      %      %\n    0    301     64     60     99     40\n"
    (host,) = evidence({"host.txt": listing, "container.txt": inside, "container-dmon.txt": dmon})
    cards = {f.device.uuid for f in host.facts if f.device.kind == "card" and f.device.uuid}
    assert cards == {uuid(n) for n in range(4)}
    busy = [f.device.uuid for f in host.facts if type(f).__name__ == "GpuLoad"]
    assert uuid(0) not in busy


def test_two_texts_of_one_moment_that_disagree_are_unclear() -> None:
    texts: dict[str, str | bytes] = {"a": q(card(0, volatile=2)), "b": q(card(0, volatile=0))}
    assert not any(f[0] == "silent.ecc-uncorrectable-volatile" for f in found(report(texts)))
    open_ = {o.rule.id for h in report(texts).hosts for o in h.unclear}
    assert "silent.ecc-uncorrectable-volatile" in open_


def test_the_folder_names_the_host_where_folders_lie_side_by_side() -> None:
    texts: dict[str, str | bytes] = {"gpu-07/q.txt": q(card(0)), "gpu-08/q.txt": q(card(1))}
    assert [h.host for h in evidence(texts)] == ["gpu-07", "gpu-08"]


AER = """[  100.000000] pcieport 0000:00:02.0: AER: Corrected error received: id=0010
[  100.000013] pcieport 0000:00:02.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, id=0010(Transmitter ID)
[  100.000100] pcieport 0000:00:02.0:   device [8086:2030] error status/mask=00001000/00002000
[  100.000200] pcieport 0000:00:02.0:    [12] Replay Timer Timeout
"""
XID = "Jan 21 10:01:44 gpu-07 kernel: NVRM: Xid (PCI:0000:10:00): 79, GPU has fallen off the bus.\n"
ANCHOR = (
    "[    2.500000] rtc_cmos 00:01: setting system clock to 2026-01-21T10:00:00 UTC (1768989600)\n"
)


def test_an_anchor_gives_raw_seconds_a_wall_time_and_without_one_there_is_none() -> None:
    (with_anchor,) = evidence({"dmesg": ANCHOR + AER})
    walls = [f.at.wall for f in with_anchor.facts if type(f).__name__ == "AerEvent"]
    assert walls == [1768989600 - 2.5 + 100.0] or walls == [1768989600 + 97.5]
    (without,) = evidence({"dmesg": AER})
    assert [f.at.wall for f in without.facts if type(f).__name__ == "AerEvent"] == [None]


def test_events_of_two_texts_without_a_common_clock_are_not_ordered() -> None:
    (host,) = report({"dmesg": AER, "syslog": XID}).hosts
    assert {o.rule.id for o in host.findings} >= {"silent.xid79-fallen-off-bus"}
    assert all(not i.order_known for i in host.answer.incidents)


def test_two_boots_in_one_log_are_two_boots() -> None:
    log = (
        "[    0.000000] Linux version 6.8.0-45-generic (buildd@host) #45 SMP\n" + AER
        + "[    0.000000] Linux version 6.8.0-45-generic (buildd@host) #45 SMP\n"
        + "[   50.000000] NVRM: Xid (PCI:0000:10:00): 79, GPU has fallen off the bus.\n"
    )  # fmt: skip
    (host,) = evidence({"dmesg": log})
    boots = {f.at.boot_id for f in host.facts if type(f).__name__ in ("AerEvent", "XidEvent")}
    assert len(boots) == 2


def test_two_listings_of_one_moment_that_differ_both_stay_and_break_nothing() -> None:
    texts: dict[str, str | bytes] = {"a.txt": q(card(0), card(1)), "b.txt": q(card(0))}
    (host,) = evidence(texts)
    assert sorted(f.listed for f in host.facts if type(f).__name__ == "CardListing") == [1, 2]
    assert not report(texts).hosts[0].broken


def test_localhost_is_no_name() -> None:
    texts: dict[str, str | bytes] = {
        "gpu-01/q.txt": q(card(0)), "gpu-01/io.txt": BUSY_DISK.replace("gpu-02", "localhost"),
        "gpu-02/q.txt": q(card(1)), "gpu-02/io.txt": BUSY_DISK.replace("gpu-02", "localhost"),
    }  # fmt: skip
    assert [h.host for h in evidence(texts)] == ["gpu-01", "gpu-02"]
    alone: dict[str, str | bytes] = {"io.txt": BUSY_DISK.replace("gpu-02", "localhost.localdomain")}
    assert [h.host for h in evidence(alone)] == [None]


def test_cards_of_one_name_known_by_index_alone_keep_a_finding_each() -> None:
    text = (
        "index, name, temperature.gpu, ecc.errors.uncorrected.volatile.total\n"
        "0, NVIDIA L40S, 61, 3\n1, NVIDIA L40S, 62, 7\n"
    )
    (host,) = report({"q.csv": text}).hosts
    told = [
        f.finding.says for f in host.findings if f.rule.id == "silent.ecc-uncorrectable-volatile"
    ]
    assert len(told) == 2


def test_a_card_that_moved_is_named_where_it_is_now_and_its_old_place_keeps_nobody_else() -> None:
    first = q(card(0, 0x10, aggregate=3), card(1, 0x20, aggregate=5))
    later = q(card(0, 0x20, aggregate=3), when="Thu Jan 22 10:12:44 2026")
    log = "[    5.000000] NVRM: Xid (PCI:0000:10:00): 13, pid=1, name=x, Graphics Exception\n"
    for names in (("a", "b", "c"), ("c", "b", "a")):
        texts: dict[str, str | bytes] = dict(zip(names, (log, first, later), strict=True))
        (host,) = evidence(texts)
        cards = {
            f.device.uuid: f.device.bdf for f in host.facts if type(f).__name__ == "EccCounters"
        }
        assert cards == {uuid(0): "0000:20:00.0", uuid(1): "0000:20:00.0"}


def test_one_fault_at_the_same_second_of_two_boots_is_two() -> None:
    boot = "[    0.000000] Linux version 6.1.0\n[    9.500000] NVRM: Xid (PCI:0000:10:00): 79, pid=1, GPU has fallen off the bus.\n"
    (host,) = evidence({"d.txt": boot + boot})
    assert sum(type(f).__name__ == "XidEvent" for f in host.facts) == 2


def test_an_anchor_orders_raw_seconds_and_a_zoned_time_but_no_local_time() -> None:
    port = (
        "[    0.100000] Linux version 6.8.0\n"
        + ANCHOR
        + AER.replace("0000:00:02.0", "0000:10:00.0")
    )
    zoned = XID.replace("Jan 21 10:01:44", "2026-01-21T10:03:44+00:00")
    for anchored, xid, known in ((port, zoned, True), (port, XID, False),
                                 (port.replace(ANCHOR, ""), zoned, False)):  # fmt: skip
        (host,) = report({"dmesg": anchored, "syslog": xid}).hosts
        (incident,) = host.answer.incidents
        assert incident.order_known is known


def test_the_same_log_given_twice_or_in_two_forms_counts_once() -> None:
    raw = "[    9.500000] NVRM: Xid (PCI:0000:10:00): 31, pid=7, name=x, MMU Fault\n[   10.500000] NVRM: Xid (PCI:0000:10:00): 154, pid=7, name=x, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)\n"
    human = (
        "[Tue Feb  3 04:05:06 2026] NVRM: Xid (PCI:0000:10:00): 31, pid=7, name=x, MMU Fault\n" * 2
    )
    journal = "Feb 03 04:05:06 h kernel: NVRM: Xid (PCI:0000:10:00): 31, pid=7, name=x, MMU Fault\n"
    for texts in ({"a": raw, "b": raw}, {"a": human, "b": human}):
        (host,) = evidence(dict(texts))
        (alone,) = evidence({"a": texts["a"]})
        counts = [
            sum(f.count for f in h.facts if type(f).__name__ == "XidEvent") for h in (host, alone)
        ]
        assert counts[0] == counts[1]
    (two,) = evidence({"a": journal})
    assert sum(f.count for f in two.facts if type(f).__name__ == "XidEvent") == 1
