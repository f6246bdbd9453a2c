from itertools import permutations

import pytest

from pipeline import evidence
from steadygpu.assemble.hosts import HostPile, piles
from steadygpu.evidence.device import DeviceRef, host_ref
from steadygpu.evidence.driver import ModuleListing
from steadygpu.evidence.gpu import GpuLoad
from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap, Source
from steadygpu.evidence.text import Body, Text

Given = tuple[Text, Reading]


def fact(host: str | None = None, quote: str = "a line", count: int = 1) -> Fact:
    return ModuleListing(
        device=host_ref(host), count=count, sources=(Source(name="t", quote=quote),)
    )


def given(
    name: str, *facts: Fact, host: str | None = None, kind: str = "lsmod", gaps: tuple[Gap, ...] = ()
) -> Given:  # fmt: skip
    return Text(name=name, body=Body(data=b""), host=host, kind=kind), Reading(
        facts=facts, gaps=gaps
    )


def gap(name: str) -> Gap:
    return Gap(where=Source(name=name), why="cut", ask="lsmod")


def homes(*read: Given) -> dict[str | None, int]:
    """How many facts each host has; the order in which texts come changes nothing."""
    out = {p.host: sum(map(len, p.outputs.values())) for p in piles(read)}
    for order in permutations(read):
        assert {p.host: sum(map(len, p.outputs.values())) for p in piles(order)} == out
    return out


def test_the_words_of_a_fact_come_before_all_else() -> None:
    assert homes(given("a", fact("gpu-02"), fact(), host="gpu-01")) == {"gpu-01": 1, "gpu-02": 1}


def test_the_prompt_comes_before_the_rest_of_the_file() -> None:
    assert homes(given("a", fact("gpu-01")), given("a", fact(), host="gpu-02")) == {
        "gpu-01": 1,
        "gpu-02": 1,
    }


def test_a_text_without_a_host_joins_the_only_host_of_its_file() -> None:
    assert homes(given("a", fact(), host="gpu-01"), given("a", fact()), given("b", fact(), host="gpu-02")) == {
        "gpu-01": 2, "gpu-02": 1,
    }  # fmt: skip


def test_a_text_without_a_host_joins_the_only_host_there_is() -> None:
    assert homes(given("a", fact(), host="gpu-01"), given("b", fact())) == {"gpu-01": 2}


def test_where_there_are_several_hosts_what_names_none_is_a_host_of_its_own() -> None:
    read = [
        given("a", fact(), host="gpu-01"),
        given("b", fact(), host="gpu-02"),
        given("c", fact()),
    ]
    assert homes(*read) == {"gpu-01": 1, "gpu-02": 1, None: 1}


def test_no_name_at_all_is_one_host_without_a_name() -> None:
    assert homes(given("a", fact()), given("b", fact())) == {None: 2}


def test_folders_side_by_side_name_hosts() -> None:
    read = [given("gpu-01/a", fact()), given("gpu-01/b", fact()), given("gpu-02/a", fact())]
    assert homes(*read) == {"gpu-01": 2, "gpu-02": 1}


def test_one_folder_alone_names_no_host() -> None:
    assert homes(given("logs/a", fact()), given("logs/b", fact())) == {None: 2}


def test_the_words_of_a_text_come_before_its_folder() -> None:
    read = [given("x/a", fact(), host="gpu-01"), given("x/b", fact()), given("gpu-02/a", fact())]
    assert homes(*read) == {"gpu-01": 2, "gpu-02": 1}


def test_a_file_name_is_only_a_label() -> None:
    assert homes(given("gpu-01.txt", fact()), given("gpu-02.txt", fact())) == {None: 2}


@pytest.mark.parametrize(
    ("printed", "host"),
    [
        ("gpu-01", "gpu-01"),
        ("GPU-01", "gpu-01"),
        ("gpu-01.lab.example", "gpu-01"),
        ("10.1.2.3", "10.1.2.3"),
        ("10.1.2.4", "10.1.2.4"),
    ],
)
def test_one_host_has_one_name_with_and_without_its_domain(printed: str, host: str) -> None:
    assert homes(given("a", fact(), host=printed), given("b", fact(printed))) == {host: 2}


@pytest.mark.parametrize("printed", ["localhost", "localhost.localdomain", "(none)", "LOCALHOST"])
def test_an_image_that_nobody_named_is_no_host(printed: str) -> None:
    assert homes(given("a", fact(), host=printed), given("b", fact(printed))) == {None: 2}
    assert homes(given("a", fact(printed)), given("b", fact("gpu-01"))) == {"gpu-01": 2}


def test_hosts_come_in_order_of_name_and_the_nameless_one_last() -> None:
    read = [
        given("c", fact()),
        given("b", fact(), host="gpu-02"),
        given("a", fact(), host="gpu-01"),
    ]
    assert [p.host for p in piles(read)] == ["gpu-01", "gpu-02", None]


def test_outputs_are_kept_apart_and_kinds_are_listed_once() -> None:
    (pile,) = piles([given("a", fact(), fact()), given("a", fact()), given("b", fact(), kind="lspci")])  # fmt: skip
    assert [len(facts) for facts in pile.outputs.values()] == [2, 1, 1]
    assert pile.kinds == ["lsmod", "lspci"]


def test_a_text_that_gave_no_fact_still_says_its_kind_and_its_gap() -> None:
    (pile,) = piles([given("a", gaps=(gap("a"),))])
    assert (pile.host, pile.kinds, pile.outputs) == (None, ["lsmod"], {})
    assert pile.gaps == [gap("a")]


def test_a_gap_stands_with_the_host_of_its_text() -> None:
    def gaps_of(found: list[HostPile]) -> dict[str | None, list[Gap]]:
        return {p.host: p.gaps for p in found}

    read = [
        given("a", fact(), host="gpu-01"), given("b", fact(), host="gpu-02", gaps=(gap("b"),)),
        given("b", gaps=(gap("b2"),)),
    ]  # fmt: skip
    assert gaps_of(piles(read)) == {"gpu-01": [], "gpu-02": [gap("b"), gap("b2")]}


def test_a_gap_of_no_host_makes_no_host_of_nothing() -> None:
    read = [given("a", fact(), host="gpu-01"), given("b", fact(), host="gpu-02"), given("c", gaps=(gap("c"),))]  # fmt: skip
    found = piles(read)
    assert [p.host for p in found] == ["gpu-01", "gpu-02"]
    assert [g for p in found for g in p.gaps] == [gap("c")]


def test_a_host_is_named_from_a_place_that_can_be_looked_up() -> None:
    prompt = Source(name="a", first=4, last=4, quote="ops@gpu-01:~$ lsmod")
    text = Text(name="a", body=Body(data=b""), host="gpu-01", host_from=prompt, kind="lsmod")
    (pile,) = piles([(text, Reading(facts=(fact(),)))])
    assert pile.host_from == prompt
    (pile,) = piles([given("a", fact("gpu-01", quote="gpu-01 kernel: x"))])
    assert pile.host_from
    assert pile.host_from.quote == "gpu-01 kernel: x"
    one, two = piles([given("gpu-01/a", fact()), given("gpu-02/a", fact())])
    assert [p.host_from.name for p in (one, two) if p.host_from] == ["gpu-01/a", "gpu-02/a"]
    (pile,) = piles([given("a", fact())])
    assert pile.host_from is None


def test_nothing_given_is_one_unknown_host_with_a_gap() -> None:
    (pile,) = piles([])
    assert pile.host is None
    assert not pile.outputs
    assert pile.gaps[0].ask


# As texts

LIST = "GPU 0: NVIDIA L40S (UUID: GPU-77aa000{n}-1c2d-4e5f-8a9b-0c1d2e3f4a5b)\n"
SYSLOG = (
    "Nov 16 09:30:05 gpu-01 kernel: NVRM: Xid (PCI:0000:17:00): 31, pid=7, name=a\n"
    "Nov 16 09:30:06 gpu-02 kernel: NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.\n"
)


def codes(texts: dict[str, str | bytes]) -> dict[str | None, list[int]]:
    return {
        h.host: [f.code for f in h.facts if type(f).__name__ == "XidEvent"]  # type: ignore[attr-defined]
        for h in evidence(texts)
    }


def test_a_syslog_of_two_hosts_is_two_hosts() -> None:
    assert codes({"syslog": SYSLOG}) == {"gpu-01": [31], "gpu-02": [79]}


def test_a_listing_beside_a_log_of_two_hosts_belongs_to_neither() -> None:
    hosts = evidence({"syslog": SYSLOG, "list": LIST.format(n=0)})
    assert [h.host for h in hosts] == ["gpu-01", "gpu-02", None]
    assert hosts[2].kinds == ("nvidia-smi-L",)


def test_the_card_of_each_host_is_a_card_of_its_own() -> None:
    dmon = "# gpu    pwr  gtemp  mtemp     sm    mem\n# Idx      W      C      C      %      %\n    0    120     52      -     41     10\n"
    texts: dict[str, str | bytes] = {
        f"gpu-0{n}/{name}": body
        for n in (1, 2)
        for name, body in (("list", LIST.format(n=n)), ("dmon", dmon))
    }
    for n, host in enumerate(evidence(texts), 1):
        (load,) = [f for f in host.facts if isinstance(f, GpuLoad)]
        assert load.device == DeviceRef(
            kind="card", host=f"gpu-0{n}", index=0, label=load.device.label,
            uuid=f"GPU-77aa000{n}-1c2d-4e5f-8a9b-0c1d2e3f4a5b",
        )  # fmt: skip


def test_what_was_given_is_what_its_kinds_can_hold() -> None:
    (host,) = evidence({"list": LIST.format(n=0)})
    assert "GpuIdentity" in host.given
    assert "GpuTemperature" not in host.given
    (nothing,) = evidence({"x": "hello\n"})
    assert (nothing.given, nothing.kinds, nothing.facts) == (frozenset(), (), ())
    assert nothing.gaps


def test_the_highest_folder_with_siblings_is_the_host() -> None:
    from pipeline import evidence

    log = "[    1.000000] NVRM: Xid (PCI:0000:17:00): 79, pid=1, GPU has fallen off the bus.\n"
    q = "GPU 0: NVIDIA A40 (UUID: GPU-11111111-0000-0000-0000-00000000000%d)\n"
    nested: dict[str, str | bytes] = {
        "gpu-07/l.txt": q % 1, "gpu-07/logs/d": log, "gpu-08/l.txt": q % 2, "gpu-08/logs/d": log,
    }  # fmt: skip
    assert [h.host for h in evidence(nested)] == ["gpu-07", "gpu-08"]
    one: dict[str, str | bytes] = {"d.txt": "root@gpu-07:~# dmesg\n" + log, "nvidia/l.txt": q % 1}
    assert [h.host for h in evidence(one)] == ["gpu-07"]
    below: dict[str, str | bytes] = {"case/a/l.txt": q % 1, "case/b/l.txt": q % 2}
    assert [h.host for h in evidence(below)] == ["a", "b"]
    runs: dict[str, str | bytes] = {"run.1/l.txt": q % 1, "run.2/l.txt": q % 2}
    assert [h.host for h in evidence(runs)] == ["run.1", "run.2"]


def test_folders_by_subject_are_one_host() -> None:
    from pipeline import evidence

    q = "GPU 0: NVIDIA A40 (UUID: GPU-11111111-0000-0000-0000-000000000001)\n"
    log = "[    1.000000] NVRM: Xid (PCI:0000:17:00): 79, pid=1, GPU has fallen off the bus.\n"
    texts: dict[str, str | bytes] = {"smi/l.txt": q, "logs/d.txt": log}
    assert [h.host for h in evidence(texts)] == [None]
