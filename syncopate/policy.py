"""Policy files: what is wanted of single locks, found again in every build by name.

schema = "syncopate-policy"
version = 1

[[lock]]
variable = "cache_lock"       # the variable that the lock is, or lies in
elide = "off"                 # or "always"
reason = "conflicts on cache.count"

[[lock]]
created = "make_table"        # the function that calls pthread_mutex_init
module = "/usr/lib/libtable.so.1"   # where it is; else the program
elide = "always"
"""

import os
import sys
import tomllib

from syncopate.elfsymbols import SymbolTable
from syncopate.errors import BAD_USE, Failure, near

SETTINGS = {"elide": ("always", "off")}
KEYS = ("variable", "created", "module", "reason", *SETTINGS)


def read(path: str) -> list[dict[str, str]]:
    """The entries of a policy file, checked. Raises Failure with the entry that is wrong."""
    try:
        with open(path, "rb") as file:
            policy = tomllib.load(file)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}", BAD_USE) from None
    except tomllib.TOMLDecodeError as error:
        raise Failure(f"{path}: {error}", BAD_USE) from None
    if policy.get("schema") != "syncopate-policy" or policy.get("version") != 1:
        raise Failure(f'{path}: no policy: schema = "syncopate-policy", version = 1 is', BAD_USE)
    for name in policy:
        if name not in ("schema", "version", "lock"):
            raise Failure(f"{path}: unknown key {name}{near(name, ['lock'])}", BAD_USE)
    entries = policy.get("lock", [])
    for number, entry in enumerate(entries, 1):
        _check(f"{path}: lock {number}", entry)
    return entries


def _check(where: str, entry: dict) -> None:
    for key, value in entry.items():
        if key not in KEYS:
            raise Failure(f"{where}: unknown key {key}{near(key, list(KEYS))}", BAD_USE)
        if not isinstance(value, str):
            raise Failure(f"{where}: {key} must be a text", BAD_USE)
        known = SETTINGS.get(key)
        if known and value not in known:
            hint = near(value, list(known))
            raise Failure(f'{where}: {key} = "{value}"{hint}; {", ".join(known)} are', BAD_USE)
    if ("variable" in entry) == ("created" in entry):
        raise Failure(f"{where}: give either variable or created", BAD_USE)
    if not any(key in entry for key in SETTINGS):
        raise Failure(f"{where}: says nothing; give {' or '.join(SETTINGS)}", BAD_USE)


def sites(entries: list[dict[str, str]], program: str) -> str:
    """The policy as the library reads it (shims/pthread/policy.h).

    Sites that the program does not have are named on standard error and left out.
    """
    tables: dict[str, SymbolTable] = {}
    found = []
    for entry in entries:
        module = os.path.realpath(entry.get("module", program))
        table = tables.setdefault(module, SymbolTable(module))
        kind, name = ("v", entry["variable"]) if "variable" in entry else ("c", entry["created"])
        symbols = table.variables(name) if kind == "v" else table.functions(name)
        if not symbols:
            what = "variable" if kind == "v" else "function"
            print(f"syncopate: policy: {module} has no {what} {name}", file=sys.stderr)
        for start, size in symbols:
            for setting in SETTINGS:
                if setting in entry:
                    end = start + size
                    found.append(f"{kind},{module},{start:x},{end:x},{setting}={entry[setting]}")
    return ";".join(found)
