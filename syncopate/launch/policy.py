"""Policy files: what is wanted of a program and of single locks in it (docs/tune.md).

schema = "syncopate-policy"
version = 1

[default]                     # all locks that no entry names; each key may be left out
lock = "auto"
elide = "off"
omp_barrier = "combining_tree"   # omp_lock, omp_wait, omp_regions = "kept"
reason = "..."                # `reason` and `gain` are for readers, here and in every entry
gain = "8.1 % (5.0 to 11.2)"

[[lock]]
variable = "cache_lock"       # the variable that the lock is, or lies in
lock = "ticket:spin_then_park"
elide = "off"                 # or "always"
reason = "conflicts on cache.count"

[[lock]]
created = "make_table"        # the function that calls pthread_mutex_init
module = "/usr/lib/libtable.so.1"   # where it is; else the program
lock = "mcs"

[[lock]]
used = "Map::get"             # for a lock that nothing initializes: the function that uses it first
lock = "tatas"

[[lock]]
created = "Cache::Cache"      # "Cache::Cache > Mutex::Mutex" in a report: the function that has
through = "Mutex::Mutex"      # another one of its module make its locks
lock = "mcs"

[[lock]]
variable = "index_lock"       # a reader-writer lock
prefer = "writers"            # or "readers", whatever its attributes say

[[lock]]
created = "start_team"        # a barrier of pthread
barrier = "spin_then_park"    # how its threads wait

Where a program has no symbols, module+0xoffset stands for a name; `build_id` says of which build.
"""

from syncopate.base import boundedfile, locktable, optiontable
from syncopate.base.errors import BAD_USE, Failure, near
from syncopate.launch import openmp, preload
from syncopate.launch.policykeys import KINDS, SETTINGS, SITES

SCHEMA, VERSION = "syncopate-policy", 1
FOR_READERS = ("reason", "gain")
LOCK_KEYS = (*SITES, "through", "module", "build_id", *SETTINGS, *FOR_READERS)
OMP_OPTIONS = {
    "omp_barrier": "--omp-barrier",
    "omp_lock": "--omp-lock",
    "omp_wait": "--wait",
    "omp_regions": "--omp-regions",
}
DEFAULT_KEYS = ("lock", "elide", *OMP_OPTIONS, *FOR_READERS)
CHOICES = {
    "omp_wait": lambda: optiontable.choices("SYNCOPATE_WAIT"),
    "prefer": lambda: optiontable.names("prefer"),
    "barrier": lambda: optiontable.names("barrier"),
    "omp_regions": lambda: optiontable.choices("SYNCOPATE_OMP_REGIONS"),
}
MOST_LOCKS = 7  # different ones for single locks: as many as a mutex has room to name


class Policy:
    """A policy file's contents, checked."""

    def __init__(self, default: dict[str, str], entries: list[dict[str, str]]):
        self.default = default
        self.entries = entries


def read(path: str) -> Policy:
    """Reads a policy file. Raises Failure with the entry that is wrong."""
    return check(path, boundedfile.read_toml(path, BAD_USE))


def check(path: str, policy: dict) -> Policy:
    """A policy from what TOML or a program gives; `path` is what mistakes are said of."""
    if policy.get("schema") != SCHEMA or policy.get("version") != VERSION:
        raise Failure(
            f'{path}: no policy: one has the lines schema = "{SCHEMA}" and version = {VERSION}',
            BAD_USE,
        )
    for name in policy:
        if name not in ("schema", "version", "default", "lock"):
            raise Failure(f"{path}: unknown key {name}{near(name, ['lock', 'default'])}", BAD_USE)
    default, entries = policy.get("default", {}), policy.get("lock", [])
    if not isinstance(default, dict):
        raise Failure(f"{path}: write [default], a table", BAD_USE)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Failure(f"{path}: write [[lock]], one for each lock", BAD_USE)
    _check_texts(f"{path}: default", default, DEFAULT_KEYS, preload.elision_modes())
    for number, entry in enumerate(entries, 1):
        _check_entry(f"{path}: lock {number}", entry)
    if len({entry["lock"] for entry in entries if "lock" in entry}) > MOST_LOCKS:
        raise Failure(f"{path}: single locks may have {MOST_LOCKS} different ones", BAD_USE)
    return Policy(default, entries)


def _check_texts(where: str, table: dict, keys: tuple[str, ...], modes: tuple[str, ...]) -> None:
    for key, value in table.items():
        if key not in keys:
            raise Failure(f"{where}: unknown key {key}{near(key, list(keys))}", BAD_USE)
        if not isinstance(value, str) or not value:
            raise Failure(f"{where}: {key} must be a text", BAD_USE)
    mode = table.get("elide")
    if mode is not None and mode not in modes:
        hint = near(mode, list(modes))
        raise Failure(f'{where}: elide = "{mode}"{hint}; there are {", ".join(modes)}', BAD_USE)
    for key, known in CHOICES.items():
        values = known() if key in table else ()
        if key in table and table[key] not in values:
            hint = near(table[key], list(values))
            raise Failure(
                f'{where}: {key} = "{table[key]}"{hint}; there are {", ".join(values)}', BAD_USE
            )
    if "lock" in table:
        try:
            locktable.check_choice(table["lock"])
        except Failure as failure:
            raise Failure(f"{where}: {failure}", BAD_USE) from None


def _check_entry(where: str, entry: dict) -> None:
    modes = tuple(mode for mode in preload.elision_modes() if mode != "auto")
    _check_texts(where, entry, LOCK_KEYS, modes)
    if sum(key in entry for key in SITES) != 1:
        raise Failure(f"{where}: give either variable or created or used", BAD_USE)
    if "through" in entry and "variable" in entry:
        raise Failure(f"{where}: through goes with created or used, not with variable", BAD_USE)
    if not any(key in entry for key in SETTINGS):
        raise Failure(f"{where}: says nothing; give {' or '.join(SETTINGS)}", BAD_USE)
    if sum(key in entry for key in KINDS) > 1:
        raise Failure(
            f"{where}: lock is for mutexes, prefer for reader-writer locks, barrier for barriers",
            BAD_USE,
        )
    if "barrier" in entry and "used" in entry:
        raise Failure(f"{where}: barriers are always created; say where", BAD_USE)
    if entry.get("lock") == "glibc":
        raise Failure(f"{where}: glibc is for all locks or none; futex does the same", BAD_USE)


def environment(policy: Policy, clean: dict[str, str], program: str) -> dict[str, str]:
    """`clean` with the preload library and all that the policy says."""
    lock = policy.default.get("lock", "auto")
    environ = preload.environment(preload.library(), lock, "auto", False, clean)
    if "elide" in policy.default:
        preload.choose_elision(environ, policy.default["elide"])
    apply(policy, environ, program)
    return environ


def apply(policy: Policy, environ: dict[str, str], program: str) -> None:
    """Puts what the policy says of `program`'s single locks and its OpenMP into an environment.

    `default`'s lock and elision are the caller's, who may have been told otherwise.
    """
    if policy.entries:
        from syncopate.launch import policysites  # reads symbol tables: slow to load

        environ["SYNCOPATE_SITES"] = policysites.sites(policy.entries, program)
    said = {
        option: policy.default[key] for key, option in OMP_OPTIONS.items() if key in policy.default
    }
    if said:
        try:
            openmp.choose(environ, said)
        except Failure as failure:  # in which options of `run` are named, that nobody gave
            raise Failure(f"the policy's default: {failure}", failure.status) from None
