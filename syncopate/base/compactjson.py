"""JSON for result files: readable at its top, one line for each point below."""

import json
from typing import Any


def lines(document: Any) -> str:
    """`document` as JSON text with a line for each key of its top level, and one for each element
    of a list, or of an object, that stands there. It ends with a newline."""
    if not isinstance(document, dict):
        return (
            _of_list(document, "") + "\n" if isinstance(document, list) else _one(document) + "\n"
        )
    parts = [f" {_key(key)}: {_value(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n" if parts else "{}\n"


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return _of_list(value, " ")
    if isinstance(value, dict) and any(isinstance(each, list | dict) for each in value.values()):
        parts = [f"  {_key(key)}: {_one(each)}" for key, each in value.items()]
        return "{\n" + ",\n".join(parts) + "\n }"
    return _one(value)


def _of_list(values: list, indent: str) -> str:
    if not values:
        return "[]"
    return "[\n" + ",\n".join(f"{indent} {_one(each)}" for each in values) + f"\n{indent}]"


def _key(key: Any) -> str:
    """As json.dumps() writes it: a number as a text."""
    return json.dumps({key: 0})[1:].removesuffix(": 0}")


def _one(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
