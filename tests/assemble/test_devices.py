from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadygpu.assemble.devices import ONE_CAPTURE_S, join
from steadygpu.evidence.device import DeviceKind, DeviceRef, host_ref
from steadygpu.evidence.gpu import GpuIdentity, GpuLoad
from steadygpu.evidence.kernel_log import XidEvent
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.source import Source
from steadygpu.evidence.topology import PeerPath

A, B, C = "GPU-aa", "GPU-bb", "GPU-cc"
FIRST, SECOND = "0000:17:00.0", "0000:31:00.0"


def ref(kind: DeviceKind = "card", **names: Any) -> DeviceRef:
    return DeviceRef(kind=kind, **names)


def said(*refs: DeviceRef, at: Moment = UNKNOWN, quote: str = "a line") -> list[Fact]:
    """An output that lists these devices."""
    return [GpuIdentity(device=r, at=at, sources=(Source(name="t", quote=quote),)) for r in refs]


def at(wall: float) -> Moment:
    return Moment(wall=wall)


def joined(*outputs: list[Fact]) -> list[DeviceRef]:
    """The devices in the order in which the outputs name them; swapping outputs changes none."""
    names, _ = join(dict(enumerate(outputs)), "gpu-01")
    out = [names[(number, f.device)] for number, facts in enumerate(outputs) for f in facts]
    for order in permutations(range(len(outputs))):
        again, _ = join({number: outputs[old] for number, old in enumerate(order)}, "gpu-01")
        moved = {old: number for number, old in enumerate(order)}
        assert [
            again[(moved[old], f.device)] for old, facts in enumerate(outputs) for f in facts
        ] == out
    return out


def test_a_uuid_is_one_card_everywhere() -> None:
    one, two = joined(said(ref(uuid=A, index=0)), said(ref(uuid=A, bdf=FIRST)))
    assert one == two
    assert (one.uuid, one.bdf, one.index, one.host) == (A, FIRST, 0, "gpu-01")


def test_a_serial_is_one_card_everywhere() -> None:
    one, two = joined(said(ref(serial="16522", uuid=A)), said(ref(serial="16522", bdf=FIRST)))
    assert one == two
    assert (one.serial, one.uuid, one.bdf) == ("16522", A, FIRST)


def test_an_address_joins_what_has_no_stronger_name() -> None:
    one, two, three = joined(
        said(ref(uuid=A, bdf=FIRST)), said(ref(bdf=FIRST)), said(ref("pci", bdf=FIRST))
    )
    assert one == two == three
    assert one.kind == "card"
    assert one.uuid == A


def test_names_join_in_a_chain() -> None:
    one, two, three = joined(
        said(ref(uuid=A, serial="16522")), said(ref(serial="16522", bdf=FIRST)),
        said(ref(bdf=FIRST, index=4)),
    )  # fmt: skip
    assert one == two == three
    assert (one.uuid, one.bdf, one.index) == (A, FIRST, 4)


def test_different_cards_stay_apart() -> None:
    out = joined(said(ref(uuid=A, bdf=FIRST), ref(uuid=B, bdf=SECOND)))
    assert [r.bdf for r in out] == [FIRST, SECOND]


def test_two_cards_at_one_address_are_a_card_and_its_replacement() -> None:
    old, new = joined(said(ref(uuid=A, bdf=FIRST)), said(ref(uuid=B, bdf=FIRST)))
    assert (old.uuid, new.uuid) == (A, B)
    old, new = joined(said(ref(serial="1", bdf=FIRST)), said(ref(serial="2", bdf=FIRST)))
    assert (old.serial, new.serial) == ("1", "2")


def test_what_only_names_the_address_of_two_cards_is_neither_and_a_gap_says_so() -> None:
    outputs = {
        0: said(ref(uuid=A, bdf=FIRST)),
        1: said(ref(uuid=B, bdf=FIRST)),
        2: said(ref(bdf=FIRST), quote="NVRM: Xid 79"),
    }
    names, gaps = join(outputs, None)
    lost = names[(2, ref(bdf=FIRST))]
    assert (lost.uuid, lost.bdf) == (None, FIRST)
    (gap,) = gaps
    assert gap.where.quote == "NVRM: Xid 79"
    assert FIRST in gap.why
    assert gap.ask


def test_inside_one_output_the_address_means_the_card_that_it_names() -> None:
    old, again, new = joined(
        said(ref(uuid=A, bdf=FIRST), ref(bdf=FIRST)), said(ref(uuid=B, bdf=FIRST))
    )
    assert old == again
    assert (old.uuid, new.uuid) == (A, B)


def test_two_addresses_of_one_uuid_are_a_card_that_moved() -> None:
    one, two = joined(said(ref(uuid=A, bdf=FIRST)), said(ref(uuid=A, bdf=SECOND)))
    assert one == two


# Indices


def test_an_index_joins_outputs_of_one_capture_that_list_as_many_cards() -> None:
    one, two, three, four = joined(
        said(ref(uuid=A, index=0), ref(uuid=B, index=1), at=at(1000)),
        said(ref(index=0, text="dmon"), ref(index=1, text="dmon"), at=at(1000 + ONE_CAPTURE_S)),
    )
    assert (one, two) == (three, four)
    assert (one.uuid, two.uuid) == (A, B)


def test_an_index_without_a_time_may_be_of_the_capture() -> None:
    one, two = joined(said(ref(uuid=A, index=0), at=at(1000)), said(ref(index=0, text="dmon")))
    assert one == two


@pytest.mark.parametrize(
    "other",
    [
        said(ref(index=0, text="dmon"), at=at(1000)),
        said(ref(index=0, text="dmon"), ref(index=1, text="dmon"), at=at(1001 + ONE_CAPTURE_S)),
        said(*(ref(index=n, text="dmon") for n in range(3)), at=at(1000)),
    ],
    ids=["fewer", "later", "more"],
)
def test_an_index_joins_nothing_else(other: list[Fact]) -> None:
    out = joined(said(ref(uuid=A, index=0), ref(uuid=B, index=1), at=at(1000)), other)
    assert out[2] not in out[:2]
    assert (out[2].index, out[2].uuid, out[2].text) == (0, None, "dmon")


def test_an_index_that_two_captures_give_to_two_cards_joins_neither() -> None:
    out = joined(
        said(ref(uuid=A, index=0), ref(uuid=B, index=1)),
        said(ref(uuid=A, index=0), ref(uuid=C, index=1)),
        said(ref(index=0, text="dmon"), ref(index=1, text="dmon")),
    )
    assert out[4] == out[0] == out[2]
    assert (out[5].uuid, out[5].index) == (None, 1)


def test_outputs_that_know_indices_alone_join_among_themselves() -> None:
    one, two, three, four = joined(
        said(ref(index=0, text="dmon"), ref(index=1, text="dmon")),
        said(ref(index=0, text="pmon"), ref(index=1, text="pmon")),
    )
    assert (one, two) == (three, four)
    assert one != two


def test_other_indices_are_other_cards() -> None:
    one, two = joined(said(ref(index=0, text="dmon")), said(ref(index=1, text="pmon")))
    assert one != two


def test_outputs_of_indices_alone_and_of_two_captures_stay_apart() -> None:
    one, two = joined(
        said(ref(index=0, text="a"), at=at(1000)), said(ref(index=0, text="b"), at=at(90_000))
    )
    assert one != two


def test_an_index_alone_keeps_the_name_of_its_text() -> None:
    (one,) = joined(said(ref(index=2, text="dmon.txt")))
    assert (one.index, one.text) == (2, "dmon.txt")


def test_a_known_card_loses_the_name_of_its_text() -> None:
    one, two = joined(said(ref(uuid=A, index=0)), said(ref(index=0, text="dmon.txt")))
    assert one == two
    assert one.text is None


def test_of_two_indices_the_one_of_the_longer_list_counts() -> None:
    out = joined(
        said(ref(uuid=A, index=0), ref(uuid=B, index=1), ref(uuid=C, index=2)),
        said(ref(uuid=C, index=0)),
    )
    assert out[2] == out[3]
    assert out[2].index == 2


def test_a_moment_of_an_event_says_nothing_about_the_capture() -> None:
    event = XidEvent(
        device=ref(index=0, text="log"), at=at(5), code=31, sources=(Source(name="log"),)
    )
    load = GpuLoad(device=ref(index=0, text="log"), sources=(Source(name="log"),))
    names, _ = join({0: said(ref(uuid=A, index=0), at=at(90_000)), 1: [event, load]}, None)
    assert names[(1, event.device)].uuid == A


# Devices without an address


def test_a_label_is_one_disk_of_the_host() -> None:
    one, two, other = joined(
        said(ref("disk", label="nvme0n1")), said(ref("disk", label="nvme0n1")),
        said(ref("disk", label="sda")),
    )  # fmt: skip
    assert one == two
    assert one.label == "nvme0n1"
    assert other != one


def test_a_label_is_no_name_of_a_card_that_has_a_better_one() -> None:
    one, two = joined(said(ref(uuid=A, label="L40S")), said(ref(uuid=B, label="L40S")))
    assert one != two


def test_a_cut_label_gives_way_to_the_whole_one() -> None:
    one, two = joined(
        said(ref(uuid=A, label="NVIDIA RTX 6000 Ada Gene...")),
        said(ref(uuid=A, label="NVIDIA RTX 6000 Ada Generation")),
    )
    assert one == two
    assert one.label == "NVIDIA RTX 6000 Ada Generation"


def test_the_host_is_one_whatever_the_texts_call_it() -> None:
    one, two = joined(said(host_ref()), said(host_ref("GPU-01.lab")))
    assert one == two == host_ref("gpu-01")


def test_a_process_joins_by_its_number_and_name() -> None:
    one, two, other = joined(
        said(ref("process", index=4711, label="python")),
        said(ref("process", index=4711, label="python")),
        said(ref("process", index=4712, label="python")),
    )
    assert one == two
    assert one.host == "gpu-01"
    assert other != one


def test_a_slice_of_a_card_keeps_its_own_name() -> None:
    (one,) = joined(said(ref("mig", index=0, mig="7/0", uuid="MIG-1")))
    assert (one.kind, one.mig, one.uuid) == ("mig", "7/0", "MIG-1")


def test_the_other_end_of_a_path_is_joined_too() -> None:
    path = PeerPath(
        device=ref(index=0, text="topo"), peer=ref(index=1, text="topo"), path="PHB",
        sources=(Source(name="topo"),),
    )  # fmt: skip
    names, _ = join({0: said(ref(uuid=A, index=0), ref(uuid=B, index=1)), 1: [path]}, None)
    assert names[(1, path.peer)].uuid == B


def test_nothing_joins_nothing() -> None:
    assert join({}, None) == ({}, [])


SLOT = {A: FIRST, B: SECOND, C: "0000:4b:00.0", "GPU-dd": "0000:4b:00.0"}
FORMS = {
    "q": lambda n, uuid: ref(uuid=uuid, bdf=SLOT[uuid], index=n),
    "list": lambda n, uuid: ref(uuid=uuid, index=n),
    "table": lambda n, uuid: ref(bdf=SLOT[uuid], index=n),
    "lspci": lambda n, uuid: ref("pci", bdf=SLOT[uuid]),
    "dmon": lambda n, uuid: ref(index=n, text="dmon"),
}
CAPTURES = st.lists(
    st.tuples(
        st.sampled_from([(A,), (B,), (A, B), (A, C), (A, B, C), (A, B, "GPU-dd"), ("GPU-dd",)]),
        st.lists(st.sampled_from(sorted(FORMS)), min_size=1, max_size=2),
        st.booleans(),
    ),
    min_size=1,
    max_size=2,
)


@settings(max_examples=150, deadline=None)
@given(CAPTURES)
def test_lost_and_replaced_cards_never_lend_their_names_whatever_the_order(
    captures: list[tuple[tuple[str, ...], list[str], bool]],
) -> None:
    outputs = [
        said(
            *(FORMS[form](n, c) for n, c in enumerate(cards)), at=at(1e5 * k) if known else UNKNOWN
        )
        for k, (cards, forms, known) in enumerate(captures)
        for form in forms
    ]
    refs = [fact.device for facts in outputs for fact in facts]
    for given_ref, one in zip(refs, joined(*outputs), strict=True):
        if given_ref.uuid:
            assert one.uuid == given_ref.uuid
