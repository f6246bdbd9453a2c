"""Golden files: `pytest --regold` writes them anew; look at the difference before you commit it."""

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regold", action="store_true", help="write the golden files anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with tests/golden/<name>."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--regold"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        assert path.exists(), f"no golden file {name}; write it with --regold"
        assert text == path.read_bytes().decode()

    return check
