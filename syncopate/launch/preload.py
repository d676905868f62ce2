"""The environment that puts the preload library into a program."""

from __future__ import annotations

import os

from syncopate.base import inherited, locktable, optiontable, paths, preloading
from syncopate.base.errors import BAD_USE, Failure, near
from syncopate.launch import program

GUARD_OPTIONS = ("--guard", "--guard-log", "--preempted-holders")
SEES_ALL = "the guard has to see every lock being taken, and transactions take none"


def library() -> str:
    """The preload library's path. A Failure when it is missing."""
    return paths.require(paths.PRELOAD)


def environment(
    path: str, lock: str | None, default: str, verbose: bool, base: dict[str, str] | None = None
) -> dict[str, str]:
    """Our environment, or `base`, with the library first in LD_PRELOAD and the lock chosen.

    The lock is `lock`, else what the user's own SYNCOPATE_LOCK says, else `default`; it is checked.
    """
    environ = dict(os.environ if base is None else base)
    preloading.put_first(environ, path)
    environ["SYNCOPATE_LOCK"] = locktable.check_choice(
        lock if lock is not None else environ.get("SYNCOPATE_LOCK") or default
    )
    if verbose:
        environ["SYNCOPATE_VERBOSE"] = "1"
    return environ


def say_once(environ: dict[str, str]) -> None:
    """Lets one process alone say that nothing can be elided, where it is asked for."""
    if environ.get("SYNCOPATE_ELIDE") == "always" and not environ.get("SYNCOPATE_TOLD"):
        environ["SYNCOPATE_TOLD"] = "0"


def suit(environ: dict[str, str], program_path: str) -> None:
    """Changes the environment to what this program needs other than most do.

    One for the emulated machine has our locks in that machine's library, and not preloaded as well.
    The run-time library of a sanitizer has to be the first, and calls what comes behind it.
    """
    if program.machine_of(program_path) == "emulated":
        preloading.take_out(environ, library())
    runtime = program.sanitizer_runtime(program_path)
    if runtime is None or preloading.LIST not in environ:
        return
    loaded = environ["LD_PRELOAD"].split(":")
    others = [each for each in loaded if os.path.basename(each) != runtime]
    environ["LD_PRELOAD"] = ":".join([runtime, *others])


def without(path: str, environ: dict[str, str]) -> dict[str, str]:
    """A copy of the environment in which the library at `path` is not preloaded."""
    rest = dict(environ)
    preloading.take_out(rest, path)
    return rest


def guard(environ: dict[str, str], options: dict[str, str]) -> None:
    """Puts into an environment what `run`'s options say of the guard (guard/guard.h)."""
    wanted = ["epochs", "misuse"] if {"--guard", "--guard-log"} & options.keys() else []
    if "--preempted-holders" in options:
        wanted.append("slices")
    if not wanted:
        return
    environ["SYNCOPATE_GUARD"] = ",".join(dict.fromkeys([*wanted, *guards(environ)]))
    if "--guard-log" in options:
        environ["SYNCOPATE_GUARD_LOG"] = os.path.abspath(options["--guard-log"])


def guards(environ: dict[str, str]) -> list[str]:
    """What an environment says that the guard does."""
    return [word for word in environ.get("SYNCOPATE_GUARD", "").split(",") if word]


def check_agreement(environ: dict[str, str], options: dict[str, str]) -> None:
    """Raises a Failure where something that is wanted of the locks does nothing beside what else
    is. `environ`: as the program is going to get it; `options`: `run`'s, which it came from."""
    lock, sites = environ["SYNCOPATE_LOCK"], environ.get("SYNCOPATE_SITES")
    of_lock = f"--lock {lock}" if "--lock" in options else f"lock {lock}"
    guard = next((name for name in GUARD_OPTIONS if name in options), "SYNCOPATE_GUARD")
    single = "--policy" if "--policy" in options else "SYNCOPATE_SITES"
    mode = environ.get("SYNCOPATE_ELIDE")
    elides = mode == "always" or ("--elide" in options and mode != "off")
    elision = f"--elide {mode}" if "--elide" in options else "SYNCOPATE_ELIDE=always"
    if mode != os.environ.get("SYNCOPATE_ELIDE") and "--elide" not in options:
        elision = "the policy's elide = always"
    if lock == "glibc":
        if guards(environ):
            raise _idle(guard, of_lock, "the C library's locks are not watched")
        if elides:
            raise _idle(elision, of_lock, "the C library's locks do not elide")
        if sites:
            raise _idle(single, of_lock, "single locks are chosen beside another lock for all")
    if "misuse" in guards(environ):
        if elides:
            raise _idle(elision, guard, SEES_ALL)
        if sites and "elide=always" in sites:
            raise _idle(f"{single}, which elides single locks,", guard, SEES_ALL)
        if locktable.transacts(lock):
            raise _idle(of_lock, guard, SEES_ALL)


def _idle(what: str, beside: str, why: str) -> Failure:
    return Failure(f"run: {what} with {beside}: {why}", BAD_USE)


def elision_modes() -> tuple[str, ...]:
    return optiontable.choices("SYNCOPATE_ELIDE")


def choose_elision(environ: dict[str, str], choice: str) -> None:
    """Puts MODE[:POLICY] into a program's environment, checked."""
    mode, colon, policy = choice.partition(":")
    modes, policies = elision_modes(), optiontable.choices("SYNCOPATE_ELIDE_POLICY")
    if mode not in modes:
        hint = near(mode, list(modes))
        known = ", ".join(modes)
        raise Failure(f"--elide {choice}: no such mode{hint}; there are {known}", BAD_USE)
    if colon and mode == "off":
        raise Failure(f"--elide {choice}: off needs no policy", BAD_USE)
    if colon and policy not in policies:
        hint = near(policy, list(policies))
        known = ", ".join(policies)
        raise Failure(f"--elide {choice}: no such policy{hint}; there are {known}", BAD_USE)
    environ["SYNCOPATE_ELIDE"] = mode
    environ.pop("SYNCOPATE_ELIDE_POLICY", None)
    if colon:
        environ["SYNCOPATE_ELIDE_POLICY"] = policy


def restore_signals() -> None:
    """As they were when the command began, for the program: Python ignores both, and does not say
    what was before. Where nothing else did either, they are the defaults."""
    import _signal  # `signal` would build enumerations first, a third of this command's time

    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        if number not in inherited.ignored_signals:
            _signal.signal(number, _signal.SIG_DFL)
