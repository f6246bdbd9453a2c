"""The JSON schemas that the package carries."""

from importlib.resources import files


def schema_names() -> tuple[str, ...]:
    """Return the names of all schemas: `report` for the newest version, `report-1` for one."""
    return tuple(sorted(_names()))


def schema_text(name: str) -> str:
    """Return a schema as text. Raises ValueError, naming those there are, for one that is not."""
    file = _names().get(name)
    if file is None:
        raise ValueError(f"no schema is called {name!r}; there are {', '.join(schema_names())}")
    return (files("steadygpu.wire") / "schemas" / file).read_text(encoding="utf-8")


def _names() -> dict[str, str]:
    folder = files("steadygpu.wire") / "schemas"
    found = [e.name for e in folder.iterdir() if e.name.endswith(".json")]
    names: dict[str, str] = {}
    for file in sorted(found, key=lambda f: int(f.removesuffix(".json").rpartition("-")[2])):
        whole = file.removesuffix(".json")
        names[whole] = file
        names[whole.rpartition("-")[0]] = file
    return names
