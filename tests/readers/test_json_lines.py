import json
import time

import pytest

from steadygpu.evidence.text import lines_of
from steadygpu.readers.json_lines import parse

TEXT = '{\n "a": {"b": [1, {"c": "x\\u0041\\n"}, [true, null]],\n "d": -2.5e3},\n "f" : []\n}\n'


def values(text: str) -> list[tuple[tuple[str | int, ...], object, int]]:
    return [(v.path, v.value, v.at) for v in parse(lines_of("j", text)).values]


def test_each_value_has_its_path_and_line() -> None:
    assert values(TEXT) == [
        (("a", "b", 0), 1.0, 1),
        (("a", "b", 1, "c"), "xA\n", 1),
        (("a", "b", 2, 0), True, 1),
        (("a", "b", 2, 1), None, 1),
        (("a", "d"), -2500.0, 2),
    ]
    assert parse(lines_of("j", TEXT + "more\n")).read_to == 5
    assert parse(lines_of("j", TEXT)).whole


def test_it_agrees_with_json_however_the_lines_break() -> None:
    def flat(value: object, path: tuple[str | int, ...] = ()) -> list[object]:
        if isinstance(value, dict):
            return [leaf for k, v in value.items() for leaf in flat(v, (*path, k))]
        if isinstance(value, list):
            return [leaf for i, v in enumerate(value) for leaf in flat(v, (*path, i))]
        return [(path, value)]

    data = json.loads(TEXT)
    for indent in (None, 0, 3):
        assert [(p, v) for p, v, _ in values(json.dumps(data, indent=indent))] == flat(data)


@pytest.mark.parametrize(
    "text", ["", "no json", "]", "{]", '{"a" 1}}', '{"a": 1e999}', '{"a": ' + "9" * 5000 + "}", "[" * 500, '{"a": "']
)  # fmt: skip
def test_damage_never_raises(text: str) -> None:
    parsed = parse(lines_of("j", text))
    assert parsed.read_to <= 1
    assert all(v.value is None or v.value == 1.0 for v in parsed.values)


def test_cut_json_gives_what_stands_before_the_cut() -> None:
    parsed = parse(lines_of("j", TEXT[:30]))
    assert not parsed.whole
    assert parsed.values[0].path == ("a", "b", 0)


def test_it_takes_linear_time() -> None:
    start = time.process_time()
    parse(lines_of("j", '{"a": [' + '"' + "\\\\" * 200_000 + '", ' * 50_000))
    parse(lines_of("j", "[" + "1, " * 200_000))
    assert time.process_time() - start < 5
