from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadygpu.assemble.merge import merge
from steadygpu.evidence.device import DeviceRef
from steadygpu.evidence.ecc import EccCounters
from steadygpu.evidence.gpu import CardListing, GpuIdentity, GpuLoad, GpuMode, GpuTemperature
from steadygpu.evidence.kernel_log import XidEvent
from steadygpu.evidence.link import PciDevice, PciErrorStatus
from steadygpu.evidence.moment import UNKNOWN, Moment
from steadygpu.evidence.reading import Fact
from steadygpu.evidence.source import Absent, Source

CARD = DeviceRef(kind="card", uuid="GPU-aa", host="gpu-01")
OTHER = DeviceRef(kind="card", uuid="GPU-bb", host="gpu-01")


def line(name: str, first: int = 1, *fields: str, quote: str = "a line") -> Source:
    return Source(name=name, first=first, last=first, quote=quote, fields=fields)


def record(cls: type[Any], text: str, /, wall: float | None = None, **fields: Any) -> Any:
    at = Moment(wall=wall) if wall is not None else UNKNOWN
    return cls(**{"device": CARD, "at": at, "sources": (line(text),), **fields})


def merged(*facts: Fact) -> list[Any]:
    """The merged facts, each of an output of its own; the order in which they come changes none."""
    numbered = list(enumerate(facts))
    out = merge(numbered)
    for order in permutations(numbered):
        assert sorted(map(told, merge(order))) == sorted(map(told, out))
    return out


def told(fact: Any) -> str:
    return repr([(n, getattr(fact, n)) for n in fact.__slots__ if n != "sources"])


# States


def test_a_state_has_the_latest_value_of_each_field() -> None:
    (mode,) = merged(
        record(GpuMode, "a", 100, persistence_on=False, ecc_on=True),
        record(GpuMode, "b", 200, persistence_on=True),
    )
    assert (mode.persistence_on, mode.ecc_on) == (True, True)
    assert mode.at.wall == 200
    assert not mode.absent


def test_a_state_cites_what_proves_its_values_and_not_what_is_outdated() -> None:
    old = record(GpuMode, "a", 100, persistence_on=False, sources=(line("a", 3, "persistence_on"),))
    kept = record(GpuMode, "b", 100, ecc_on=True, sources=(line("b", 4, "ecc_on"),))
    new = record(GpuMode, "c", 200, persistence_on=True, sources=(line("c", 3, "persistence_on"),))
    (mode,) = merged(old, kept, new)
    assert {s.name for s in mode.sources} == {"b", "c"}


def test_a_state_that_did_not_change_cites_both_texts() -> None:
    one = record(GpuMode, "a", 100, ecc_on=True, sources=(line("a", 3, "ecc_on"),))
    two = record(GpuMode, "b", 200, ecc_on=True, sources=(line("b", 3, "ecc_on"),))
    (mode,) = merged(one, two)
    assert [s.name for s in mode.sources] == ["a", "b"]


def test_states_of_unknown_order_fill_each_other_in() -> None:
    (mode,) = merged(record(GpuMode, "a", ecc_on=True), record(GpuMode, "b", mig_on=False))
    assert (mode.ecc_on, mode.mig_on) == (True, False)
    assert {s.name for s in mode.sources} == {"a", "b"}
    assert mode.at == UNKNOWN


@pytest.mark.parametrize("wall", [None, 100.0])
def test_states_of_unknown_order_that_contradict_are_absent(wall: float | None) -> None:
    (mode,) = merged(
        record(GpuMode, "a", wall, ecc_on=True, mig_on=True),
        record(GpuMode, "b", ecc_on=False, mig_on=True),
    )
    assert (mode.ecc_on, mode.mig_on) == (None, True)
    (absent,) = mode.absent
    assert (absent.field, absent.reason) == ("ecc_on", "disagree")
    assert absent.ask
    assert {s.name for s in mode.sources} == {"a", "b"}


def test_a_field_that_has_no_none_falls_back_to_its_default() -> None:
    (device,) = merged(
        record(PciDevice, "a", role="card", driver="nvidia"),
        record(PciDevice, "b", role="port", driver="nvidia"),
    )
    assert device.role == "other"
    assert device.driver == "nvidia"
    assert [a.field for a in device.absent] == ["role"]


def test_a_value_that_one_text_lacks_is_no_contradiction() -> None:
    gone = Absent(field="ecc_on", reason="not_printed")
    (mode,) = merged(record(GpuMode, "a", ecc_on=True), record(GpuMode, "b", absent=(gone,)))
    assert mode.ecc_on is True
    assert not mode.absent


def test_why_a_field_is_absent_is_kept_where_nobody_gave_it() -> None:
    gone = Absent(field="ecc_on", reason="not_supported", source=line("a"))
    (mode,) = merged(record(GpuMode, "a", absent=(gone,)), record(GpuMode, "b", mig_on=True))
    assert mode.absent == (gone,)


def test_a_name_that_one_tool_cut_is_no_contradiction() -> None:
    (identity,) = merged(
        record(GpuIdentity, "a", name="NVIDIA RTX 6000 Ada Gene..."),
        record(GpuIdentity, "b", name="NVIDIA RTX 6000 Ada Generation"),
    )
    assert identity.name == "NVIDIA RTX 6000 Ada Generation"
    assert not identity.absent


def test_a_driver_that_one_listing_did_not_show_is_no_contradiction() -> None:
    (device,) = merged(
        record(PciDevice, "a", driver_listed=False),
        record(PciDevice, "b", driver_listed=True, driver="nvidia"),
    )
    assert (device.driver_listed, device.driver) == (True, "nvidia")
    assert not device.absent


def test_records_of_two_devices_or_two_keys_stay_apart() -> None:
    other = record(GpuMode, "b", ecc_on=False, device=OTHER)
    assert len(merged(record(GpuMode, "a", ecc_on=True), other)) == 2
    counters = [record(EccCounters, "a", scope=s, corrected=n) for n, s in enumerate("va")]
    assert {c.corrected for c in merged(*counters)} == {0, 1}


# Gauges


def test_gauges_of_one_moment_are_one_record() -> None:
    (load,) = merged(
        record(GpuLoad, "a", 100, busy_ratio=0.4), record(GpuLoad, "b", 100, memory_busy_ratio=0.1)
    )
    assert (load.busy_ratio, load.memory_busy_ratio) == (0.4, 0.1)
    assert {s.name for s in load.sources} == {"a", "b"}


def test_gauges_of_two_moments_stay_two_in_order_of_time() -> None:
    loads = merged(
        record(GpuLoad, "b", 200, busy_ratio=0.9), record(GpuLoad, "a", 100, busy_ratio=0.4)
    )
    assert [load.busy_ratio for load in loads] == [0.4, 0.9]


def test_gauges_of_one_moment_that_contradict_are_absent() -> None:
    (heat,) = merged(
        record(GpuTemperature, "a", 100, gpu_c=50.0), record(GpuTemperature, "b", 100, gpu_c=90.0)
    )
    assert heat.gpu_c is None
    assert [(a.field, a.reason) for a in heat.absent] == [("gpu_c", "disagree")]


def test_gauges_without_a_moment_merge_inside_one_output_only() -> None:
    one, two = record(GpuLoad, "a", busy_ratio=0.4), record(GpuLoad, "b", memory_busy_ratio=0.1)
    assert len(merge([(1, one), (1, two)])) == 1
    assert len(merge([(1, one), (2, two)])) == 2


def test_a_clock_of_whole_seconds_is_one_moment_and_one_of_fractions_is_not() -> None:
    def load(wall: float, error_s: float) -> Any:
        return record(GpuLoad, "a", at=Moment(wall=wall, error_s=error_s), busy_ratio=0.4)

    assert len(merged(load(100.0, 0.5), load(100.2, 0.5))) == 1
    assert len(merged(load(100.0, 0.0005), load(100.2, 0.0005))) == 2


def test_seconds_of_two_boots_are_two_moments() -> None:
    loads = [
        record(GpuLoad, "a", at=Moment(boot_id=boot, boot_s=5.0), busy_ratio=0.4)
        for boot in ("b1", "b2", "b2")
    ]
    assert len(merged(*loads)) == 2


# Counters


def test_counters_of_known_moments_stay_apart() -> None:
    counters = merged(
        record(EccCounters, "a", 100, scope="aggregate", corrected=2),
        record(EccCounters, "b", 200, scope="aggregate", corrected=57),
    )
    assert [c.corrected for c in counters] == [2, 57]


def test_counters_of_unknown_order_that_contradict_are_absent() -> None:
    (counter,) = merged(
        record(EccCounters, "a", scope="aggregate", corrected=2, uncorrected=0),
        record(EccCounters, "b", scope="aggregate", corrected=57, uncorrected=0),
    )
    assert (counter.corrected, counter.uncorrected) == (None, 0)
    assert [a.reason for a in counter.absent] == ["disagree"]


# Events


def xid(name: str, first: int = 1, quote: str = "a line", **fields: Any) -> Any:
    return record(XidEvent, name, code=31, sources=(line(name, first, quote=quote),), **fields)


def test_one_event_in_two_texts_is_one_event_with_both_sources() -> None:
    moment = Moment(boot_id="b1", boot_s=911.020304)
    (event,) = merged(xid("dmesg", 7, at=moment), xid("journal", 93, at=moment))
    assert {(s.name, s.first) for s in event.sources} == {("dmesg", 7), ("journal", 93)}


def test_events_at_two_instants_are_two_in_order_of_time() -> None:
    events = merged(
        *(xid("dmesg", n, at=Moment(boot_id="b1", boot_s=s)) for n, s in ((9, 12.5), (7, 12.0)))
    )
    assert [e.at.boot_s for e in events] == [12.0, 12.5]


def test_events_in_one_second_of_a_log_are_two_and_in_two_logs_one() -> None:
    pair = (xid("syslog", 7, wall=100), xid("syslog", 8, wall=100))
    assert len(merge((0, event) for event in pair)) == 2
    assert len(merge(enumerate(pair))) == 1


def test_events_without_a_time_are_told_apart_by_place_and_words() -> None:
    assert len(merged(xid("a", 7, "NVRM: x"), xid("a", 8, "NVRM: x"))) == 2
    assert len(merged(xid("a", 7, "NVRM: x"), xid("b", 7, "NVRM: x"))) == 1


def test_what_an_event_says_is_part_of_it() -> None:
    moment = Moment(boot_id="b1", boot_s=12.0)
    assert len(merged(xid("a", at=moment, says="x"), xid("a", at=moment, says="y"))) == 2


# Fields that a record cannot do without


def test_two_listings_that_differ_stay_two() -> None:
    listings = merged(
        *(record(CardListing, n, 100, tool="lspci", listed=k) for n, k in (("a", 4), ("b", 3)))
    )
    assert {c.listed for c in listings} == {3, 4}
    assert len(merged(*(record(CardListing, n, 100, tool="lspci", listed=4) for n in "ab"))) == 1


def test_a_record_alone_is_left_as_it_is() -> None:
    one = record(GpuMode, "a", 100, ecc_on=True)
    assert merged(one) == [one]
    assert merge([]) == []


MODES = st.lists(
    st.builds(
        record,
        st.just(GpuMode),
        st.sampled_from("abc"),
        st.sampled_from([None, None, 100.0, 200.0, 300.0]),
        ecc_on=st.sampled_from([None, True, False]),
        compute_mode=st.sampled_from([None, "default", "prohibited"]),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda fact: (fact.sources[0].name, fact.at.wall),
)


@settings(deadline=None)
@given(MODES)
def test_a_state_claims_nothing_that_no_text_said(modes: list[Any]) -> None:
    known = {m.at.wall for m in modes if m.at.wall is not None}
    if len(known) < sum(m.at.wall is not None for m in modes):
        return  # two texts of one second: which is later cannot be told
    (one,) = merged(*modes)
    for field in ("ecc_on", "compute_mode"):
        value = getattr(one, field)
        assert value is None or any(getattr(m, field) == value for m in modes)
        said = {getattr(m, field) for m in modes} - {None}
        if value is None and said:
            assert field in {a.field for a in one.absent}


def test_an_empty_tuple_that_was_read_is_a_value() -> None:
    card = DeviceRef(kind="card", bdf="0000:17:00.0")

    def status(seconds: float | None, bits: tuple[str, ...] | None) -> PciErrorStatus:
        at = UNKNOWN if seconds is None else Moment(wall=seconds)
        proof = (Source(name=f"{seconds} {bits}", quote="a line", fields=("corrected",)),)
        return PciErrorStatus(device=card, at=at, corrected=bits, sources=proof)

    def merged(*facts: PciErrorStatus) -> PciErrorStatus:
        (one,) = merge(enumerate(facts))
        assert isinstance(one, PciErrorStatus)
        return one

    for order in (1, -1):
        assert merged(*(status(None, ()), status(None, None))[::order]).corrected == ()
        assert merged(*(status(1.0, ("RxErr",)), status(2.0, ()))[::order]).corrected == ()
        both = merged(*(status(None, ("RxErr",)), status(None, ()))[::order])
        assert both.corrected is None
        assert both.absent[0].reason == "disagree"


def test_a_cut_name_gives_way_to_the_whole_one_and_two_names_disagree() -> None:
    card = DeviceRef(kind="card", bdf="0000:17:00.0")

    def named(name: str) -> GpuIdentity:
        cut = name.endswith("...")
        proof = (Source(name=name, quote=name, fields=("name",)),)
        return GpuIdentity(device=card, name=name, name_cut=cut, sources=proof)

    for order in (1, -1):
        pair = [named("Tesla V100-SXM2..."), named("Tesla V100-SXM2-16GB")][::order]
        (one,) = merge(enumerate(pair))
        assert (one.name, one.name_cut) == ("Tesla V100-SXM2-16GB", False)
        (one,) = merge(enumerate([named("NVIDIA A40"), named("A40")][::order]))
        assert one.name == "NVIDIA A40"
        (one,) = merge(enumerate([named("NVIDIA A40"), named("NVIDIA L40S")][::order]))
        assert one.name is None
