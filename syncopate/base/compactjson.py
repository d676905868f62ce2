"""JSON for result files: readable at its top, one line for each point below."""

import json
from typing import Any

from syncopate.base.since import zip_equal


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
    if isinstance(value, list) and value and isinstance(value[0], (list, dict)):
        return _of_list(value, " ")
    if isinstance(value, dict) and any(isinstance(each, (list, dict)) for each in value.values()):
        parts = [f"  {_key(key)}: {_one(each)}" for key, each in value.items()]
        return "{\n" + ",\n".join(parts) + "\n }"
    return _one(value)


def _of_list(values: list, indent: str) -> str:
    if not values:
        return "[]"
    return "[\n" + ",\n".join(f"{indent * 2}{_one(each)}" for each in values) + f"\n{indent}]"


def _key(key: Any) -> str:
    """As json.dumps() writes it: a number as a text."""
    return json.dumps({key: 0})[1:].removesuffix(": 0}")


def _one(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


# ---- Tables: for lists of points that have the same fields -----------------------------------

ABSENT = "~"  # a point without that field
ABOVE = ""  # the value of the line above
DIGITS = 6  # of what was measured or computed, none of which is known better


def tables(document: dict) -> str:
    """As lines(), with each list of points as a table: what all points have in common once, the
    fields' names once, and for each point a line of its values of the other fields. Fields of
    objects in points have names with dots. Numbers have DIGITS digits. In "changes", which stands
    for "points" where no value is "", that is a value as in the line above. read() gives the points
    again."""
    packed = _packed(rounded(document))
    parts = [f" {_key(key)}: {_table_text(value)}" for key, value in packed.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n" if parts else "{}\n"


def read(text: str) -> Any:
    """What lines() or tables() wrote."""
    return _unpacked(json.loads(text))


def _packed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _packed(each) for key, each in value.items()}
    if isinstance(value, list):
        inner = [_packed(each) for each in value]
        return _table(inner) if _are_points(inner) else inner
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _is_table(value):
        return _unpacked(_points(value))
    return {key: _unpacked(each) for key, each in value.items()}


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """The value, its numbers with so many digits."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {key: rounded(each, digits) for key, each in value.items()}
    return [rounded(each, digits) for each in value] if isinstance(value, list) else value


def _are_points(value: Any) -> bool:
    if not isinstance(value, list) or len(value) < 4:
        return False
    return all(isinstance(each, dict) and _may_be_flat(each) for each in value)


def _may_be_flat(point: dict) -> bool:
    return all(
        isinstance(key, str)
        and key
        and "." not in key
        and value != ABSENT
        and (not isinstance(value, dict) or _may_be_flat(value))
        for key, value in point.items()
    )


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and (
        value.keys() == {"same", "fields", "points"}
        or value.keys() == {"same", "fields", "changes"}
    )


def _flat(point: dict) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in point.items():
        if isinstance(value, dict) and value and not _is_table(value):
            found |= {f"{key}.{name}": each for name, each in _flat(value).items()}
        else:
            found[key] = value
    return found


def _deep(flat: dict[str, Any]) -> dict:
    point: dict = {}
    for name, value in flat.items():
        *path, last = name.split(".")
        place = point
        for key in path:
            place = place.setdefault(key, {})
        place[last] = value
    return point


def _table(values: list[dict]) -> dict:
    points = [_flat(each) for each in values]
    names = list(dict.fromkeys(name for each in points for name in each))
    first = {name: _one(value) for name, value in points[0].items()}
    same = {
        name: points[0][name]
        for name in first
        if all(name in p and _one(p[name]) == first[name] for p in points)
    }
    own = [name for name in names if name not in same]
    rows = [[p.get(n, ABSENT) for n in own] for p in points]
    if any(value == ABOVE for row in rows for value in row):
        return {"same": same, "fields": names, "points": rows}
    return {"same": same, "fields": names, "changes": _changes(rows)}


def _changes(rows: list[list]) -> list[list]:
    """The rows; what is as in the row before, and not shorter than ABOVE, is ABOVE."""
    found, before = [], [""] * len(rows[0])
    for row in rows:
        texts = [_one(value) for value in row]
        found.append(
            [
                ABOVE if text == last and len(text) > len(_one(ABOVE)) else value
                for value, text, last in zip_equal(row, texts, before)
            ]
        )
        before = texts
    return found


def _rows(table: dict) -> list[list]:
    """What _changes() was made of."""
    if "points" in table:
        return table["points"]
    rows: list[list] = []
    for changes in table["changes"]:
        before = rows[-1] if rows else changes
        rows.append([old if new == ABOVE else new for new, old in zip_equal(changes, before)])
    return rows


def _table_text(value: Any) -> str:
    if not _is_table(value):
        return _value(value)  # with tables inside of it in one line
    parts = [f"  {_key(key)}: {_one(value[key])}" for key in ("same", "fields")]
    lines = "changes" if "changes" in value else "points"
    return "{\n" + ",\n".join([*parts, f'  "{lines}": {_of_list(value[lines], "  ")}']) + "\n }"


def _points(table: dict) -> list[dict]:
    same, found = table["same"], []
    own = [name for name in table["fields"] if name not in same]
    for values in _rows(table):
        point = same | dict(zip_equal(own, values))
        found.append(_deep({n: point[n] for n in table["fields"] if point[n] != ABSENT}))
    return found
