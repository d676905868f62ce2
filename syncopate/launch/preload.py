"""The environment that puts the preload library into a program."""

import os

from syncopate.base import locktable, optiontable, paths, preloading
from syncopate.base.errors import BAD_USE, Failure, near
from syncopate.launch import program


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


def behind_sanitizer(environ: dict[str, str], program_path: str) -> None:
    """Puts the run-time library of a program built with a sanitizer before ours: it has to be the
    first, and calls what comes behind it."""
    runtime = program.sanitizer_runtime(program_path)
    if runtime is None:
        return
    loaded = environ["LD_PRELOAD"].split(":")
    others = [each for each in loaded if os.path.basename(each) != runtime]
    environ["LD_PRELOAD"] = ":".join([runtime, *others])


def without(path: str, environ: dict[str, str]) -> dict[str, str]:
    """The environment for a program that has our locks linked in: not preloaded as well."""
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
    if environ.get("SYNCOPATE_LOCK") == "glibc":
        named = next(
            each for each in ("--guard", "--guard-log", "--preempted-holders") if each in options
        )
        raise Failure(f"{named} with --lock glibc: the C library's locks are not watched", BAD_USE)
    already = [word for word in environ.get("SYNCOPATE_GUARD", "").split(",") if word]
    environ["SYNCOPATE_GUARD"] = ",".join(dict.fromkeys([*wanted, *already]))
    if "--guard-log" in options:
        environ["SYNCOPATE_GUARD_LOG"] = os.path.abspath(options["--guard-log"])


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
    if mode == "always" and environ.get("SYNCOPATE_LOCK") == "glibc":
        raise Failure(
            "--elide always with --lock glibc: the C library's locks do not elide", BAD_USE
        )
    environ["SYNCOPATE_ELIDE"] = mode
    environ.pop("SYNCOPATE_ELIDE_POLICY", None)
    if colon:
        environ["SYNCOPATE_ELIDE_POLICY"] = policy


def restore_signals() -> None:
    """Gives the program the dispositions it would have had: Python ignores SIGPIPE and SIGXFSZ."""
    import _signal  # `signal` would build enumerations first, a third of this command's time

    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
