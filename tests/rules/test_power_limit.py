"""The power limit against the default or the neighbours, branch by branch."""

from typing import Any

from rules.hand import one, says, weight
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.gpu import GpuIdentity, GpuPower
from steadygpu.evidence.source import Source
from steadygpu.rules import power_limit
from steadygpu.verdict.rule import Finding, Fine, Unclear


def make(cls: type[Any], index: int = 0, **fields: Any) -> Any:
    proof = (Source(name="a.txt", quote=f"{cls.__name__} line"),)
    return cls(device=DeviceRef(kind="card", index=index), sources=proof, **fields)


def test_operating_limit_low_is_a_warning_only_while_it_holds_the_card() -> None:
    rule = power_limit.operating_limit_low
    idle = one(
        rule, make(GpuPower, draw_w=27, limit_w=200, default_limit_w=350), (), (), None, None
    )
    held = one(
        rule, make(GpuPower, draw_w=199, limit_w=200, default_limit_w=350), (), (), None, None
    )
    assert isinstance(idle, Finding)
    assert idle.severity == "info"
    assert isinstance(held, Finding)
    assert weight(rule, held) == ("warning", "fix-config")
    assert isinstance(
        one(rule, make(GpuPower, limit_w=350, default_limit_w=350), (), (), None, None), Fine
    )
    assert isinstance(one(rule, make(GpuPower, limit_w=200), (), (), None, None), Unclear)


def test_amd_cards_are_measured_by_their_neighbours_where_these_agree() -> None:
    rule = power_limit.operating_limit_low
    who = [make(GpuIdentity, n, vendor="amd", name="Instinct") for n in range(3)]
    caps = [make(GpuPower, n, draw_w=390, limit_w=w) for n, w in enumerate((400, 700, 700))]
    assert "700 W on the 2 other cards" in says(one(rule, caps[0], caps, who, None, None))
    assert isinstance(
        one(rule, caps[1], caps, who, None, None), Unclear
    )  # its neighbours do not agree
    assert isinstance(
        one(rule, caps[0], caps[:2], who, None, None), Unclear
    )  # one neighbour is no rule
    other = [who[0], make(GpuIdentity, 1, vendor="amd", name="Radeon"), who[2]]
    assert isinstance(one(rule, caps[0], caps, other, None, None), Unclear)
    assert isinstance(
        one(rule, caps[0], caps, [make(GpuIdentity, vendor="nvidia")], None, None), Unclear
    )
