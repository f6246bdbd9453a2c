import io
import os
import sys
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

from steadygpu.archives.given import texts_of
from steadygpu.evidence.text import BLOCK, BODY_LIMIT, Text


def body(text: Text) -> bytes:
    return b"".join(text.body.blocks())


def give(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    pipe = io.BufferedReader(io.BytesIO(data))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=pipe))


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_is_one_text_with_its_bytes_as_they_came(inside: Path) -> None:
    data = b"a\r\n\xff\0b"
    (inside / "x.txt").write_bytes(data)
    (text,) = texts_of(["x.txt"])
    assert (text.name, body(text)) == ("x.txt", data)
    assert (text.kind, text.host, text.filtered) == (None, None, None)


def test_a_relative_path_stays_in_the_name_and_an_absolute_one_does_not(inside: Path) -> None:
    (inside / "gpu-01").mkdir()
    (inside / "gpu-01" / "q.txt").write_text("x")
    assert [t.name for t in texts_of(["gpu-01/q.txt"])] == ["gpu-01/q.txt"]
    assert [t.name for t in texts_of([str(inside / "gpu-01" / "q.txt")])] == ["q.txt"]


def test_files_keep_the_order_in_which_they_were_given(inside: Path) -> None:
    for name in "abc":
        (inside / name).write_text(name)
    assert [t.name for t in texts_of(["c", "a", "b"])] == ["c", "a", "b"]


def test_a_folder_is_every_file_below_it_in_order_of_name(inside: Path) -> None:
    for name in ("in/b.txt", "in/a/z.txt", "in/a/y/x.txt", "in/.hidden", "out.txt"):
        (inside / name).parent.mkdir(parents=True, exist_ok=True)
        (inside / name).write_text(name)
    texts = list(texts_of(["in"]))
    assert [t.name for t in texts] == [".hidden", "a/y/x.txt", "a/z.txt", "b.txt"]
    assert [body(t) for t in texts] == [f"in/{t.name}".encode() for t in texts]


def test_an_empty_folder_is_a_text_that_could_not_be_had(inside: Path) -> None:
    (inside / "empty" / "deeper").mkdir(parents=True)
    (text,) = texts_of(["empty"])
    assert (text.name, text.unread) == ("empty/", "the folder holds no files")


def test_several_folders_and_absolute_files_keep_what_tells_them_apart(inside: Path) -> None:
    for host in ("gpu-07", "gpu-08"):
        (inside / host).mkdir()
        (inside / host / "q.txt").write_text(host)
    wanted = ["gpu-07/q.txt", "gpu-08/q.txt"]
    assert [t.name for t in texts_of(["gpu-07", "gpu-08"])] == wanted
    assert [t.name for t in texts_of([str(inside / "gpu-07"), str(inside / "gpu-08")])] == wanted
    files = [str(inside / name) for name in wanted]
    assert [t.name for t in texts_of(files)] == wanted


def test_an_empty_name_is_no_folder(inside: Path) -> None:
    (inside / "a.txt").write_text("a")
    with pytest.raises(FileNotFoundError):
        list(texts_of([""]))


def test_a_pipe_that_is_named_is_read_once(inside: Path) -> None:
    os.mkfifo(inside / "pipe")
    writer = Thread(target=(inside / "pipe").write_bytes, args=(b"x" * 3_000_000,))
    writer.start()
    sizes = [len(body(text)) for text in texts_of(["pipe"])]
    writer.join()
    assert sizes == [3_000_000]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_below_a_folder_is_a_text_that_says_so(inside: Path) -> None:
    for name in ("in/a.txt", "in/closed/b.txt", "in/c.txt"):
        (inside / name).parent.mkdir(parents=True, exist_ok=True)
        (inside / name).write_text("a")
    (inside / "in/closed").chmod(0)
    (inside / "in/c.txt").chmod(0)
    texts = {t.name: t.unread for t in texts_of(["in"])}
    (inside / "in/closed").chmod(0o755)
    assert texts["a.txt"] is None
    assert "Permission denied" in (texts["closed"] or "")
    assert "Permission denied" in (texts["c.txt"] or "")


def test_what_is_no_file_is_not_opened(inside: Path) -> None:
    (inside / "in").mkdir()
    (inside / "in" / "a.txt").write_text("a")
    os.mkfifo(inside / "in" / "pipe")
    assert [t.name for t in texts_of(["in"])] == ["a.txt"]


def test_what_does_not_exist_is_named(inside: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^gone\.txt$"):
        list(texts_of(["gone.txt"]))
    (inside / "dangling").symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match="dangling"):
        list(texts_of(["dangling"]))


def test_nothing_is_opened_before_its_turn(inside: Path) -> None:
    (inside / "a.txt").write_text("a")
    texts = texts_of(["a.txt", "gone.txt"])
    assert next(texts).name == "a.txt"
    with pytest.raises(FileNotFoundError):
        next(texts)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_an_error(inside: Path) -> None:
    (inside / "closed.txt").write_text("a")
    (inside / "closed.txt").chmod(0)
    with pytest.raises(PermissionError):
        list(texts_of(["closed.txt"]))


def test_a_large_file_is_a_handle_that_is_read_anew_each_time(inside: Path) -> None:
    with (inside / "large").open("wb") as file:
        file.truncate(BODY_LIMIT + 1)
    (text,) = texts_of(["large"])
    assert text.body.data is None
    for _ in range(2):
        assert sum(map(len, text.body.blocks())) == BODY_LIMIT + 1
    with (inside / "large").open("r+b") as file:
        file.truncate(BODY_LIMIT)
    (text,) = texts_of(["large"])
    assert text.body.data == bytes(BODY_LIMIT)


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_standard_input_is_read_whole_whatever_its_size(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (b"0123456789abcdef\n" * (size // 17 + 1))[:size]
    give(monkeypatch, data)
    (text,) = texts_of(["-"])
    assert text.name == "stdin"
    assert (text.body.data is not None) == (size <= BLOCK)
    assert body(text) == data


def test_standard_input_given_twice_is_empty_the_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    give(monkeypatch, b"once")
    assert [body(t) for t in texts_of(["-", "-"])] == [b"once", b""]


def test_standard_input_stands_beside_files(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (inside / "a.txt").write_text("a")
    give(monkeypatch, b"piped")
    assert [t.name for t in texts_of(["-", "a.txt"])] == ["stdin", "a.txt"]


def test_a_file_called_dash_is_read_by_its_path(inside: Path) -> None:
    (inside / "-").write_text("a")
    (text,) = texts_of(["./-"])
    assert body(text) == b"a"
