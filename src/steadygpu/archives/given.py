"""Files, folders and standard input, as texts. Opens nothing but what was named."""

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from steadygpu.evidence.text import BLOCK, BODY_LIMIT, Body, Text

STDIN = "-"


def texts_of(paths: Sequence[str]) -> Iterator[Text]:
    """Yield a text for each file, those of folders in order of name; "-" is standard input.

    The name of a text is its path below the input: below the folder where one was given, else the path as
    it was given, absolute ones from what they have in common. What cannot be read below a folder is a text
    with `unread`. Raises FileNotFoundError for a path that does not exist and OSError for one that was
    named and cannot be read.
    """
    absolute = [p for p in paths if p != STDIN and Path(p).is_absolute()]
    common = Path(os.path.commonpath([str(Path(p).parent) for p in absolute])) if absolute else None
    for given in paths:
        if given == STDIN:
            yield _stream(sys.stdin.buffer if sys.stdin else None, "stdin")
            continue
        path = Path(given)
        if not given or not path.exists():
            raise FileNotFoundError(given)
        name = path.relative_to(common) if common and path.is_absolute() else path
        if path.is_dir():
            yield from _folder(path, f"{name.as_posix()}/" if len(paths) > 1 else "")
        elif path.is_file():
            yield _text(path, name.as_posix())
        else:  # a pipe, as <(nvidia-smi -q) gives: it can be read once
            with path.open("rb") as stream:
                yield _stream(stream, name.as_posix())


def _folder(folder: Path, prefix: str) -> Iterator[Text]:
    errors: list[OSError] = []
    found = [
        Path(place) / name
        for place, _, names in os.walk(folder, onerror=errors.append)
        for name in names
    ]
    if errors and errors[0].filename == str(folder):
        raise errors[0]
    if not found and not errors:
        yield Text(
            name=prefix or f"{folder.name}/",
            body=Body(data=b""),
            unread="the folder holds no files",
        )
    for error in errors:
        below = Path(error.filename).relative_to(folder).as_posix()
        yield Text(name=prefix + below, body=Body(data=b""), unread=_why(error))
    for file in sorted(found):
        name = prefix + file.relative_to(folder).as_posix()
        if not file.is_file():
            continue  # a pipe, a socket, a link to nowhere
        try:
            yield _text(file, name)
        except OSError as error:
            yield Text(name=name, body=Body(data=b""), unread=_why(error))


def _why(error: OSError) -> str:
    return f"it could not be opened: {error.strerror}"


def _text(path: Path, name: str) -> Text:
    if path.stat().st_size <= BODY_LIMIT:
        return Text(name=name, body=Body(data=path.read_bytes()))
    with path.open("rb"):
        return Text(name=name, body=Body(path=path))


def _stream(stream: BinaryIO | None, name: str) -> Text:
    if stream is None:
        raise OSError(errno.EBADF, "it is closed", name)
    head = stream.read(BLOCK)
    more = stream.peek(1) if len(head) == BLOCK and hasattr(stream, "peek") else b""
    if not more:
        return Text(name=name, body=Body(data=head))
    return Text(name=name, body=Body(stream=stream, head=head))
