"""A user's rows laid over ours."""

from pathlib import Path

import pytest

from steadygpu.catalog.lint import package_files, parse
from steadygpu.catalog.overlay import CatalogError, read_overlay
from steadygpu.catalog.table import package_text, table, using
from steadygpu.catalog.xid import xid_row, xid_rows

HEAD = "code,name,severity,action,scope,meaning,decision,depends_on_decode,source,date\n"
MINE = "63,MY_NAME,warning,reset-gpu,gpu,It is so.,Do it.,no,our runbook,2026-12-01\n"
NEW = "4711,NEW_ONE,critical,drain,host,It is new.,Do that.,no,our runbook,2026-12-01\n"


def folder(path: Path, **files: str) -> Path:
    for name, text in files.items():
        (path / f"{name}.csv").write_text(text, encoding="utf-8")
    return path


def test_rows_take_the_place_of_ours_by_key_and_others_are_added(tmp_path: Path) -> None:
    ours = xid_rows()
    overlay = read_overlay(folder(tmp_path, xids=HEAD + MINE + NEW), "mine")
    with using(overlay):
        assert len(xid_rows()) == len(ours) + 1
        row, new = xid_row(63), xid_row(4711)
        assert row is not None
        assert new is not None
        assert (row.name, row.action, row.source) == ("MY_NAME", "reset-gpu", "our runbook")
        assert new.severity == "critical"
        assert xid_row(64) == ours[64]
        assert xid_rows() is xid_rows()
        assert len(table("causes.csv")) > 60
    assert xid_rows() is ours
    assert xid_row(4711) is None


def test_nothing_laid_inside_something_laid_is_ours_again(tmp_path: Path) -> None:
    overlay = read_overlay(folder(tmp_path, xids=HEAD + NEW), "mine")
    with using(overlay), using(None):
        assert xid_row(4711) is None


@pytest.mark.parametrize("file", package_files())
def test_every_file_of_ours_may_be_laid_over_itself(tmp_path: Path, file: str) -> None:
    overlay = read_overlay(folder(tmp_path, **{file.removesuffix(".csv"): package_text(file)}), "x")
    assert list(overlay.tables[file]) == [row for _, row in parse(package_text(file))[1]]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "no .csv file is there"),
        ({"xid": HEAD + MINE}, "not one of the catalogue"),
        ({"xids": HEAD + MINE + MINE}, "stands already in line 2"),
        (
            {"xids": HEAD + MINE.replace("reset-gpu", "rma")},
            "line 2, column action: 'rma' does not fit",
        ),
        ({"xids": HEAD + MINE.replace("our runbook", "")}, "column source: the cell is empty"),
        ({"xids": HEAD + MINE.replace("2026-12-01", "today")}, "column date: 'today' does not fit"),
        ({"xids": "code\n63\n"}, "the column is missing"),
        ({"xids": ""}, "the column is missing"),
        ({"xids": HEAD + "\x00\n"}, "does not fit"),
        ({"xids": HEAD + "x" * 200_000}, "not CSV"),
    ],
)
def test_what_cannot_be_used_is_told(tmp_path: Path, files: dict[str, str], words: str) -> None:
    with pytest.raises(CatalogError) as caught:
        read_overlay(folder(tmp_path, **files), "mine")
    assert words in str(caught.value)
    assert caught.value.mistakes


def test_a_circle_that_only_our_rows_close_is_told(tmp_path: Path) -> None:
    row = "silent.gpu-missing,silent.xid79-fallen-off-bus,same-card,,our runbook,2026-12-01\n"
    head = "cause,consequence,relation,window_s,source,date\n"
    with pytest.raises(CatalogError, match="explains itself"):
        read_overlay(folder(tmp_path, causes=head + row), "mine")


def test_many_mistakes_are_cut_to_twenty(tmp_path: Path) -> None:
    rows = "".join(f"{n},X,bad,none,gpu,A.,B.,no,s,2026-12-01\n" for n in range(1, 41))
    with pytest.raises(CatalogError) as caught:
        read_overlay(folder(tmp_path, xids=HEAD + rows), "mine")
    assert str(caught.value).endswith("and 20 more")


def test_files_that_are_no_text_or_too_large_are_told(tmp_path: Path) -> None:
    (tmp_path / "xids.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CatalogError, match="not UTF-8"):
        read_overlay(tmp_path, "mine")
    with (tmp_path / "xids.csv").open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    with pytest.raises(CatalogError, match="larger than 8 MiB"):
        read_overlay(tmp_path, "mine")


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_overlay(tmp_path / "nowhere", "mine")
