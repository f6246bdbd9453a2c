import time

import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.prometheus_text import Sample, read_scrape, sample_of


@pytest.mark.parametrize(
    ("line", "name", "labels", "value", "stamp"),
    [
        ("up 1", "up", {}, 1.0, None),
        ("up{} 0", "up", {}, 0.0, None),
        ('a_b{x="1",y="two words",} 3.5', "a_b", {"x": "1", "y": "two words"}, 3.5, None),
        ('a{ x = "1" , y="}" } 2e9 1700000000123', "a", {"x": "1", "y": "}"}, 2e9, 1700000000.123),
        ("a_total 7 1700000000.5", "a_total", {}, 7.0, 1700000000.5),
        (r'a{x="q\"b\\c\nd"} 1', "a", {"x": 'q"b\\c\nd'}, 1.0, None),
        ('a{x="1"} NaN', "a", {"x": "1"}, None, None),
        ("a +Inf", "a", {}, None, None),
        ('b_bucket{le="+Inf"} 4 # {trace_id="7"} 0.5', "b_bucket", {"le": "+Inf"}, 4.0, None),
        ("a -0.5", "a", {}, -0.5, None),
        ("a 1e999", "a", {}, None, None),
    ],
)
def test_a_sample(
    line: str, name: str, labels: dict[str, str], value: float | None, stamp: float | None
) -> None:
    assert sample_of(line, 4) == Sample(name, labels, value, stamp, 4)


@pytest.mark.parametrize(
    "line",
    ["", "a", "a b", 'a{x="1" 5', 'a{x="1"', "a{x=1} 5", "1a 5", "a " + "9" * 5000, "a 1.2.3", "a=1 2", "a 1 2 3"],
)  # fmt: skip
def test_no_sample(line: str) -> None:
    assert sample_of(line) is None


def test_a_scrape_ends_where_another_text_begins_and_loses_single_lines_only() -> None:
    text = (
        "# HELP a_b What it is.\n# TYPE a_b gauge\n"
        'a_b{x="1"} 1\na_b{x="2"} broken\n\na_b{x="3"} 3\n# TYPE c_d counter\nc_d 4\nroot@host:~# date\nc_d 9\n'
    )
    scrape = read_scrape(lines_of("t", text))
    assert [(s.name, s.value, s.at) for s in scrape.samples] == [
        ("a_b", 1.0, 2), ("a_b", 3.0, 5), ("c_d", 4.0, 7),
    ]  # fmt: skip
    assert scrape.read_to == 8
    assert read_scrape(lines_of("t", "a_b 1\n# EOF\na_b 2\n")).read_to == 2
    again = 'a_b{x="1"} 1\na_b{x="1"} 2\n'
    assert read_scrape(lines_of("t", again)).read_to == 1
    assert read_scrape(lines_of("t", "# TYPE a_b gauge\na_b 1\n# TYPE a_b gauge\n")).read_to == 2
    assert read_scrape(lines_of("t", "a_b 1 1700000000\na_b 2 1700000060\n")).read_to == 2
    assert read_scrape(lines_of("t", "Sample text of a person\n")).read_to == 0
    assert read_scrape(lines_of("t", "# a comment in a script\n")).read_to == 0


def test_long_and_broken_lines_take_linear_time() -> None:
    body = "\n".join(
        ['a{x="' + "\\" * 9000, "a{" + 'x="1",' * 2000, "a " + " " * 15_000 + "x", "a_b{" * 4000] * 200
    )  # fmt: skip
    start = time.process_time()
    read_scrape(lines_of("t", body))
    assert time.process_time() - start < 5
