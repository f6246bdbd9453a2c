"""Rules on DCGM's own words, branch by branch."""

from rules.hand import found, one, weight
from steadygpu.evidence.dcgm import DiagResult, HealthResult
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.source import Source
from steadygpu.rules.dcgm import dcgm_diag_failed, dcgm_health
from steadygpu.verdict.rule import Fine, Unclear

CARD = DeviceRef(kind="card", index=1)


def diag(test: str, result: str | None, says: str | None = None, **more: str) -> DiagResult:
    return DiagResult(
        device=CARD, test=test, result=result, says=says,
        sources=(Source(name="d.txt", quote=test, fields=("result",)),), **more,
    )  # fmt: skip


def health(
    system: str, status: str | None, says: str | None = None, device: DeviceRef = CARD
) -> HealthResult:
    return HealthResult(
        device=device,
        system=system,
        status=status,
        says=says,
        sources=(Source(name="h.txt", quote=system),),
    )


def test_how_much_a_failed_test_weighs() -> None:
    rule = dcgm_diag_failed
    cases = {
        (diag("gpu_memory", "fail", "7 ECC errors"),): ("critical", "drain"),
        (diag("gpu_memory", "fail"), diag("persistence_mode", "fail")): ("critical", "drain"),
        (diag("persistence_mode", "fail", category="deployment"),): ("warning", "fix-config"),
        (diag("inforom", "fail", category="deployment"),): ("critical", "drain"),
        (diag("diagnostic", "fail", "Thermal violations"),): ("warning", "fix-config"),
        (diag("targeted_power", "warn"), diag("pcie", "pass")): ("warning", "watch"),
    }
    for results, wanted in cases.items():
        assert weight(rule, found(one(rule, results))) == wanted


def test_what_did_not_run_proves_nothing() -> None:
    rule = dcgm_diag_failed
    assert isinstance(one(rule, (diag("pcie", "skip"), diag("memory", "not_run"))), Unclear)
    assert isinstance(one(rule, (diag("pcie", None),)), Unclear)
    assert isinstance(one(rule, (diag("pcie", "pass"), diag("memory", "skip"))), Fine)


def test_a_watch_weighs_a_warning_and_links_without_a_bridge_nothing() -> None:
    rule = dcgm_health
    assert weight(rule, found(one(rule, (health("memory", "failure", "2 errors"),)))) == (
        "warning",
        "watch",
    )
    down = health("nvlink", "failure", "GPU 0's NvLink link 1 is currently down")
    assert weight(rule, found(one(rule, (down,)))) == ("info", "none")


def test_the_overall_status_is_told_where_no_card_is() -> None:
    rule, host = dcgm_health, host_ref()
    assert isinstance(one(rule, (health("overall", "healthy", device=host),)), Fine)
    assert found(one(rule, (health("overall", "failure", device=host),)))
    both = (health("overall", "failure", device=host), health("sm", "failure", "x"))
    assert [type(s).__name__ for s in rule.check(both)] == ["NotHere", "Finding"]
    assert isinstance(one(rule, (health("memory", None),)), Unclear)
