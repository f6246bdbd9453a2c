"""Which host each fact belongs to."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from steadygpu.evidence.reading import Fact, Reading
from steadygpu.evidence.source import Gap, Source
from steadygpu.evidence.text import Text

# Names of folders that people sort one host's texts into.
TOPICS = frozenset(
    [
        "log",
        "logs",
        "var",
        "etc",
        "proc",
        "sys",
        "dmesg",
        "kernel",
        "journal",
        "journalctl",
        "smi",
        "nvidia",
        "nvidia-smi",
        "gpu",
        "gpus",
        "pci",
        "lspci",
        "pcie",
        "disk",
        "disks",
        "io",
        "iostat",
        "storage",
        "cpu",
        "cpus",
        "lscpu",
        "numa",
        "memory",
        "mem",
        "system",
        "sysinfo",
        "os",
        "host",
        "output",
        "outputs",
        "out",
        "data",
        "text",
        "texts",
        "info",
        "misc",
        "network",
        "net",
        "driver",
        "drivers",
        "modules",
        "commands",
        "cmd",
    ]
)
NO_NAME = ("localhost", "(none)", "")


@dataclass(slots=True)
class HostPile:
    """What was given about one host: facts by the number of their output, gaps, kinds."""

    host: str | None
    host_from: Source | None = None
    outputs: dict[int, list[Fact]] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)


def _host_folders(names: Iterable[str]) -> dict[str, str | None]:
    """Return the folder that stands for the host of each text: the highest one that has siblings.

    None for a text beside or above such folders, and for all where no folder has a sibling.
    """
    out: dict[str, str | None] = {}
    parts = {name: PurePosixPath(name).parts for name in names}
    depth, rest = 0, dict(parts)
    while rest:
        inner = {name: p for name, p in rest.items() if len(p) > depth + 1}
        folders = {p[depth] for p in inner.values()}
        if folders and {folder.lower() for folder in folders} <= TOPICS:
            break  # one host, its texts in folders by subject
        if len(folders) != 1:
            out.update({name: "/".join(p[: depth + 1]) for name, p in inner.items()})
            break
        rest, depth = inner, depth + 1
    return {name: out.get(name) for name in parts}


def _short(host: str) -> str:
    """Return the name without its domain, in lower case; an IP address and "run.2" stay whole."""
    name, _, domain = host.lower().partition(".")
    return name if domain[:1].isalpha() else host.lower()


def _name(host: str | None) -> str | None:
    """Return the short name, or None where there is none: an image that nobody named is no host."""
    short = _short(host) if host else None
    return None if short in NO_NAME else short


def _named(reading: Reading) -> set[str]:
    return {name for f in reading.facts if (name := _name(f.device.host))}


def piles(read: Sequence[tuple[Text, Reading]]) -> list[HostPile]:
    """Return a pile for each host, in order of name; facts without a host join where they must.

    A fact's own words come first, then the prompt or prefix before its output, then the only host
    of its file, then its folder where sibling folders hold texts too, then the only host there is.
    """
    own: list[str | None] = []
    for text, reading in read:
        said = _named(reading)
        own.append(_name(text.host) or (next(iter(said)) if len(said) == 1 else None))
    folders = _host_folders(text.name for text, _ in read)
    in_file: dict[str, set[str]] = defaultdict(set)
    in_folder: dict[str, set[str]] = defaultdict(set)
    for (text, reading), host in zip(read, own, strict=True):
        names = _named(reading) | ({host} if host else set())
        in_file[text.name] |= names
        if (folder := folders[text.name]) is not None:
            in_folder[folder] |= names
    everyone = set().union(*in_file.values()) if in_file else set()
    by_folder = any(folder is not None for folder in folders.values())
    out: dict[str | None, HostPile] = {}

    def home(name: str, host: str | None) -> str | None:
        if host:
            return host
        if len(in_file[name]) == 1:
            return next(iter(in_file[name]))
        folder = folders[name]
        if folder is not None and len(in_folder[folder]) == 1:
            return next(iter(in_folder[folder]))
        if folder is not None and not in_folder[folder]:
            return _short(PurePosixPath(folder).name)
        return next(iter(everyone)) if len(everyone) == 1 and not by_folder else None

    for number, ((text, reading), host) in enumerate(zip(read, own, strict=True)):
        default = home(text.name, host)
        for fact in reading.facts:
            name = _name(fact.device.host) or default
            pile = out.setdefault(name, HostPile(host=name))
            pile.outputs.setdefault(number, []).append(fact)
            if pile.host_from is None and name is not None:
                pile.host_from = _where(text, fact, name)
            _note(pile, number, text)
        if not reading.facts:
            pile = out.setdefault(default, HostPile(host=default))
            _note(pile, number, text)
        target = out.get(default) or out.setdefault(default, HostPile(host=default))
        target.gaps.extend(reading.gaps)
    if None in out and not out[None].outputs and len(out) > 1:
        # Only gaps without a host: they stand with the first host rather than as a host of nothing.
        empty = out.pop(None)
        next(iter(out.values())).gaps.extend(empty.gaps)
    if not out:
        nothing = Gap(where=Source(name=""), why="nothing was given", ask="steadygpu texts")
        out[None] = HostPile(host=None, gaps=[nothing])
    return [out[name] for name in sorted(out, key=lambda n: (n is None, n or ""))]


def _where(text: Text, fact: Fact, name: str) -> Source:
    if _name(fact.device.host) and fact.sources:
        return fact.sources[0]
    return text.host_from or Source(name=text.name, quote="" if _name(text.host) else name)


def _note(pile: HostPile, number: int, text: Text) -> None:
    pile.texts[number] = text.name
    if text.kind and text.kind not in pile.kinds:
        pile.kinds.append(text.kind)
