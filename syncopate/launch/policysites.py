"""The sites of a policy, from names to addresses: as the preload library reads them.

The form is described in products/preload/choice/policy.h.
"""

from __future__ import annotations

import os
import re
import sys

from syncopate.base.shown import shown
from syncopate.launch.policykeys import KINDS, SETTINGS, SITES
from syncopate.records.naming import is_wrapper
from syncopate.symbols.names import Names
from syncopate.symbols.symboltable import SymbolTable

_OFFSET = re.compile(r"(.+)\+(0x[0-9a-f]+)")
MUTEX_BYTES = 40
LONGEST = 100_000  # of the text; the kernel takes 131,072 bytes


def sites(entries: list[dict[str, str]], program: str) -> str:
    """All entries as one text. Sites that the program does not have are named on standard error,
    in one line for each entry, and left out."""
    names = Names()
    tables: dict[str, SymbolTable] = {}
    items: dict[str, list[str]] = {}  # by module
    complaints: list[str] = []
    for entry in _by_site(entries):
        module = os.path.realpath(entry.get("module", program))
        if module not in tables:
            tables[module] = SymbolTable(module, names)
        table = tables[module]
        kind, name = next((key, entry[key]) for key in SITES if key in entry)
        ranges = _ranges(table, module, kind, name, entry.get("build_id"))
        if isinstance(ranges, str):
            complaints.append(shown(ranges))
            continue
        if "through" in entry:
            passed = table.functions(entry["through"])
            if not passed:
                complaints.append(shown(f"{module} has no function {entry['through']}"))
                continue
            items.setdefault(module, []).extend(
                f"w,{start:x},{start + size:x}" for start, size in passed
            )
        settings = "+".join(f"{key}={entry[key]}" for key in SETTINGS if key in entry)
        label = f"{kind} {name}".replace(";", " ")
        items.setdefault(module, []).extend(
            f"{SITES[kind]},{start:x},{end:x},{settings},{label}" for start, end in ranges
        )
    if complaints and (trouble := names.trouble()):
        complaints = [f"{trouble}: {len(complaints)} of its entries are left out"]
    for complaint in complaints:
        print(f"syncopate: policy: {complaint}", file=sys.stderr)
    return _joined(items, tables)


def _by_site(entries: list[dict[str, str]]) -> list[dict[str, str]]:
    """The entries, those of one place together: what one says of elision alone goes for the others
    there, too, and stands behind them. Of two that differ in the same the first counts."""
    places: dict[tuple, dict[str, dict[str, str]]] = {}
    for entry in entries:
        place = tuple(entry.get(key) for key in ("module", "build_id", "through", *SITES))
        kept = places.setdefault(place, {})
        about = next((key for key in KINDS if key in entry), "elide")
        if kept.setdefault(about, entry)[about] != entry[about]:
            kind, name = next((key, entry[key]) for key in SITES if key in entry)
            said = f"{kind} {name} stands there twice; {about} = {kept[about][about]} counts"
            print(f"syncopate: policy: {shown(said)}", file=sys.stderr)
    result = []
    for kept in places.values():
        elides = kept.pop("elide", None)
        for about, entry in kept.items():
            also = elides is not None and about != "barrier"
            result.append({**({"elide": elides["elide"]} if also else {}), **entry})
        result += [elides] if elides else []
    return result


def _ranges(table: SymbolTable, module: str, kind: str, name: str, build: str | None):
    """Link-time ranges of a site; a text that says why there are none."""
    if not os.path.isfile(module):
        return f"there is no file {module}, so {kind} {name} is left out"
    offset = _OFFSET.fullmatch(name)
    if offset and offset[1] == os.path.basename(module):
        if build and build != table.build_id:
            return f"{module} is another build than the policy's, so {kind} {name} is left out"
        start = int(offset[2], 16)
        return [(start, start + (MUTEX_BYTES if kind == "variable" else 1))]
    symbol, within = (offset[1], int(offset[2], 16)) if offset else (name, None)
    if kind != "variable":
        found = table.functions(name)
    else:
        found = table.variables(symbol)
        if within is not None:
            found = [(start + within, MUTEX_BYTES) for start, size in found if within < size]
    if not found:
        return f"{module} has no {'variable' if kind == 'variable' else 'function'} {name}"
    return [(start, start + size) for start, size in found]


def _joined(items: dict[str, list[str]], tables: dict[str, SymbolTable]) -> str:
    """The items of every module, then as many of their wrapper functions as there is room for."""
    parts = []
    for module, of_module in items.items():
        parts += [f"m,{module}", *of_module]
    room = LONGEST - sum(len(part) + 1 for part in parts)
    for module in items:
        wrappers = [f"m,{module}"]
        for start, size in tables[module].functions_where(is_wrapper):
            wrappers.append(f"w,{start:x},{start + size:x}")
        length = sum(len(part) + 1 for part in wrappers)
        if len(wrappers) > 1 and length <= room:
            parts += wrappers
            room -= length
    return ";".join(parts)
