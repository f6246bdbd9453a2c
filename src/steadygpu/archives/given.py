"""Files, folders and standard input, as texts. Opens nothing but what was named."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from steadygpu.evidence.text import BLOCK, BODY_LIMIT, Body, Text

STDIN = "-"


def texts_of(paths: Sequence[str]) -> Iterator[Text]:
    """Yield a text for each file, those of folders in order of name; "-" is standard input.

    The name of a text is its path below the input. Raises FileNotFoundError for a path that does
    not exist and OSError for one that cannot be read.
    """
    for given in paths:
        if given == STDIN:
            yield _stdin()
            continue
        path = Path(given)
        if not path.exists():
            raise FileNotFoundError(given)
        if path.is_dir():
            for file in sorted(p for p in path.rglob("*") if p.is_file()):
                yield _text(file, file.relative_to(path).as_posix())
        else:
            yield _text(path, path.name if path.is_absolute() else path.as_posix())


def _text(path: Path, name: str) -> Text:
    if path.is_file() and path.stat().st_size <= BODY_LIMIT:
        return Text(name=name, body=Body(data=path.read_bytes()))
    return Text(name=name, body=Body(path=path))


def _stdin() -> Text:
    stream = sys.stdin.buffer
    head = stream.read(BLOCK)
    more = stream.peek(1) if len(head) == BLOCK and hasattr(stream, "peek") else b""
    if not more:
        return Text(name="stdin", body=Body(data=head))
    return Text(name="stdin", body=Body(stream=stream, head=head))
