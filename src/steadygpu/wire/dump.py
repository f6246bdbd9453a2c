"""Writes JSON."""

from typing import Any


def dump_json(value: dict[str, Any]) -> bytes:
    """Return `value` as UTF-8 JSON, indented by two, with a newline at its end.

    A lone surrogate (an undecodable byte of a foreign text) becomes the six characters of its
    escape, since no UTF-8 holds it. A number that is not finite becomes null.
    """
    import msgspec

    def clean(item: Any) -> Any:
        if isinstance(item, str):
            return item if item.isascii() else _encodable(item)
        if isinstance(item, dict):
            return {_encodable(str(k)): clean(v) for k, v in item.items()}
        if isinstance(item, list | tuple):
            return [clean(v) for v in item]
        if isinstance(item, int) and not isinstance(item, bool) and item.bit_length() > 63:
            return msgspec.Raw(str(item).encode())  # the serialiser refuses more than 64 bits
        return item

    return msgspec.json.format(msgspec.json.encode(clean(value)), indent=2) + b"\n"


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
