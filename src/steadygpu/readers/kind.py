"""What is known of a kind of text before it is read."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from steadygpu.evidence.reading import Reading
    from steadygpu.evidence.text import Lines

READERS = "steadygpu.readers."


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of text.

    `reader` is "module:function", imported when a text of the kind was recognised. `command` prints
    it live (None where it has no command). `heads` are expressions for the first line. `gives` names
    the record classes the text can hold, `covers` says in words what. `files` are places in a
    support archive, `equals` kinds that say the same in another form. `logs` kinds are read as blocks of bytes and may be of any size.
    """

    name: str
    title: str
    command: str | None
    reader: str
    heads: tuple[str, ...]
    gives: tuple[str, ...]
    files: tuple[str, ...] = ()
    equals: tuple[str, ...] = ()
    logs: bool = False

    def read(self) -> "Callable[[Lines], Reading]":
        """Return the reader. Imports its module."""
        module, _, function = self.reader.partition(":")
        return cast("Callable[[Lines], Reading]", getattr(import_module(module), function))

    def read_blocks(self) -> "Callable[..., Reading]":
        """Return the reader of blocks of a log kind: `<function>_blocks(blocks, name, host)`."""
        module, _, function = self.reader.partition(":")
        found: Any = getattr(import_module(module), f"{function}_blocks")
        return cast("Callable[..., Reading]", found)
