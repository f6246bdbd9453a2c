"""What is read of listings of files."""

from typing import Any

import pytest

from pipeline import found, report
from steadygpu.evidence.text import lines_of
from steadygpu.readers.file_listing import read_file_listing, read_file_listing_blocks


def one(text: str, **kw: Any) -> Any:
    (fact,) = read_file_listing(lines_of("f", text, **kw)).facts
    return fact


def printf(count: int, size: int = 1000) -> str:
    return "".join(f"{size + i} /data/set/{i % 3}/x {i:06d}.jpg\n" for i in range(count))


def test_find_printf_gives_count_sum_median_and_root() -> None:
    fact = one(printf(101, 100) + "done\n")
    assert fact.files == 101
    assert fact.total_bytes == sum(range(100, 201))
    assert fact.median_bytes == 150
    assert fact.small_ratio == 1.0
    assert fact.root == "/data/set"
    assert (fact.sources[0].first, fact.sources[0].last) == (1, 101)
    half = one(printf(60) + printf(60, 70_000))
    assert half.small_ratio == 0.5
    assert half.median_bytes == pytest.approx(1059, rel=0.01)


def test_paths_alone_tell_how_many() -> None:
    fact = one("".join(f"./train/n{i}/a.JPEG\n" for i in range(150)))
    assert fact.files == 150
    assert fact.root == "./train"
    assert fact.total_bytes is None
    assert {a.field for a in fact.absent} == {"total_bytes", "median_bytes", "small_ratio"}


@pytest.mark.parametrize(
    ("row", "total"),
    [
        ("-rw-r--r--  1 a b 2000 Nov  3 10:02 f {n}.png\n", 2000),
        ("-rw-r--r--. 1 1000 1000 2000 Nov  3  2024 f\n", 2000),
        ("-rw-r--r-- 1 a b 2.0K Nov  3 10:02 f\n", 2048),
        ("-rw-r--r-- 1 a b 2000 2026-11-03 10:02:11.000000000 +0100 f\n", 2000),
        ("-rw-r--r-- 1 a b 2000 3 Nov 10:02 f\n", 2000),
        ("   131 8 -rw-r--r-- 1 a b 2000 Nov  3 10:02 /data/f{n}\n", 2000),
    ],
)
def test_ls_and_find_ls_in_all_their_dates(row: str, total: int) -> None:
    text = "total 12\ndrwxr-xr-x 2 a b 4096 Nov  3 10:02 dir\n"
    fact = one(text + "".join(row.format(n=n) for n in range(100)))
    assert fact.files == 100
    assert fact.total_bytes == total * 100


@pytest.mark.parametrize(
    "text",
    [
        "",
        printf(99),
        "4\t/data/x.jpg\n" * 200,
        "crw-rw-rw- 1 root root 195, 0 Nov  3 10:02 /dev/nvidia0\n" * 200,
        "".join(f"{n} /usr/bin/python3 train.py --lr 1\n" for n in range(200)),
        "/usr/bin/sh:\n",
        "see /data/x.jpg for it\n" * 200,
        "x" * 9000,
    ],
)
def test_short_listings_processes_and_other_text_give_nothing(text: str) -> None:
    assert not read_file_listing(lines_of("f", text)).facts


def test_a_filtered_listing_tells_nothing_of_the_whole() -> None:
    reading = read_file_listing(lines_of("f", printf(200), filtered="find | head"))
    assert not reading.facts
    assert reading.read_to == 200


def test_blocks_say_the_same_as_lines() -> None:
    text = printf(5000, 40_000)
    data = text.encode()
    for size in (7, 1000, 10**6):
        blocks = [data[i : i + size] for i in range(0, len(data), size)]
        reading = read_file_listing_blocks(blocks, "f", None)
        assert reading.read_to in (5000, 5001)
        assert reading.facts == read_file_listing(lines_of("f", text)).facts
    whole = read_file_listing_blocks([b"x" * 2_000_000], "f", None)
    assert not whole.facts


def test_a_large_listing_is_read_in_blocks_and_told() -> None:
    text = printf(40_000)
    assert len(text) > 1_000_000
    seen = found(report({"find.txt": text}))
    assert {(f[0], f[2]) for f in seen} == {("feed.small-files", "info")}
    assert "40000 files in /data/set" in str(
        [f.finding.says for h in report({"find.txt": text}).hosts for f in h.findings]
    )


def test_the_name_of_a_folder_alone_is_no_listing() -> None:
    assert read_file_listing(lines_of("f", "/usr/bin/sh:\n")).read_to == 0
    text = "/data/a:\ntotal 8\n" + "-rw-r--r-- 1 a b 9 Nov  3 10:02 f\n" * 100
    assert one(text).root == "/data/a"
