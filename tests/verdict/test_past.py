from pipeline import report

BOOT = "[    0.000000] Linux version 6.1.0\n"
LOST = "[  900.000000] NVRM: Xid (PCI:0000:10:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
HANG = "[  900.000000] NVRM: Xid (PCI:0000:10:00): 119, pid=1, name=x, Timeout after 6s of waiting for RPC response from GPU0 GSP!\n"
CURED = "[ 1000.000000] NVRM: Xid (PCI:0000:10:00): 154, pid=1, name=x, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)\n"
QUIET = "[   99.000000] eth0: link is up\n"


def weights(**texts: str) -> dict[str, tuple[str, str]]:
    (host,) = report(dict(texts)).hosts
    return {f.rule.id: (f.severity, f.action) for f in host.findings}


def test_a_fault_of_an_earlier_boot_is_watched_and_takes_no_host_away() -> None:
    now = weights(d=BOOT + QUIET + LOST)
    assert now["silent.xid79-fallen-off-bus"] == ("critical", "drain")
    past = weights(d=BOOT + QUIET + LOST + BOOT + QUIET)
    assert past["silent.xid79-fallen-off-bus"] == ("warning", "watch")
    both = weights(d=BOOT + QUIET + LOST + BOOT + QUIET + LOST)
    assert both["silent.xid79-fallen-off-bus"] == ("critical", "drain")


def test_an_earlier_boot_is_told_by_times_of_two_texts_too() -> None:
    old = "2026-01-21T10:00:00+00:00 h kernel: NVRM: Xid (PCI:0000:10:00): 79, pid=1, GPU has fallen off the bus.\n"
    new = "2026-02-21T10:00:00+00:00 h kernel: Linux version 6.1.0\n2026-02-21T10:00:09+00:00 h kernel: eth0: up\n"
    assert weights(a=old, b=new)["silent.xid79-fallen-off-bus"] == ("warning", "watch")
    assert weights(a=old)["silent.xid79-fallen-off-bus"] == ("critical", "drain")


def test_what_the_driver_took_back_is_over() -> None:
    assert weights(d=BOOT + HANG)["silent.xid119-gsp-timeout"] == ("critical", "reset-gpu")
    assert weights(d=BOOT + HANG + CURED)["silent.xid119-gsp-timeout"] == ("warning", "watch")


def test_a_finding_that_is_over_says_so_and_brings_its_own_decision() -> None:
    (host,) = report({"d": BOOT + QUIET + LOST + BOOT + QUIET}).hosts
    (one,) = [f for f in host.findings if f.rule.id == "silent.xid79-fallen-off-bus"]
    assert "started anew" in one.finding.says
    assert one.decision != one.rule.decision
    assert host.answer.health == "degraded"
