"""OpenMP programs: the options that take over their runtime, and what they put in place."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from syncopate.base import locktable, optiontable, paths, preloading
from syncopate.base.errors import BAD_USE, Failure, near
from syncopate.base.options import FLAG, VALUE

OPTIONS = {
    "--omp": FLAG,
    "--omp-barrier": VALUE,
    "--omp-lock": VALUE,
    "--omp-regions": VALUE,
    "--omp-tasks": VALUE,
    "--wait": VALUE,
}

OURS_OR_RUNTIMES = {
    "--omp-regions": "SYNCOPATE_OMP_REGIONS",
    "--omp-tasks": "SYNCOPATE_OMP_TASKS",
}

HELP = """\
      --omp               take over the OpenMP runtime (libgomp, libomp) as well, with the defaults
      --omp-barrier NAME[:WAIT]
                          which barrier its teams meet at: auto, central, combining_tree,
                          dissemination, futex, poll_then_futex, two_level, speculating (who is
                          early runs ahead in transactions); runtime: its own
      --omp-lock NAME[:WAIT]
                          which lock stands behind its locks and critical sections: asymmetric (the
                          default), auto, futex, tatas, ticket, mcs, clh, one_spinner, combined;
                          runtime: its own
      --omp-regions kept  libgomp's teams stay from one parallel region to the next, where regions
                          alike follow each other (experimental); runtime (the default): it starts
                          each anew
      --omp-tasks ours    tasks of libgomp's programs have a deque for each thread (experimental);
                          runtime (the default): one queue of its own
      --wait NAME         how both wait where they leave a choice: adaptive, spin, monitor (the
                          processor sleeps, where it has such an instruction; else it polls),
                          yield, park, spin_then_park
"""

RUNTIME = "runtime"
LIBOMP_LEVEL = 4  # threads; KMP_FORKJOIN_BARRIER's default, 2, is its logarithm
OWN_LOCK = "asymmetric"  # the default; not one of `syncopate list`
RUNS_AHEAD = "speculating"  # the barrier that has to be named: nothing chooses it


def barriers() -> tuple[str, ...]:
    """Those that teams can meet at, beside the runtime's own."""
    known = optiontable.choices("SYNCOPATE_OMP_BARRIER")
    return tuple(name for name in known if name != RUNTIME)


def barriers_that_wait() -> tuple[str, ...]:
    """Those of them that leave the choice how they wait."""
    return optiontable.choices_that_wait("SYNCOPATE_OMP_BARRIER")


def runs_ahead(barrier: str) -> bool:
    """Whether who waits at that barrier (NAME[:WAIT]) goes on in transactions."""
    return barrier.partition(":")[0] == RUNS_AHEAD


def chosen_barrier(environ: Mapping[str, str]) -> str | None:
    """NAME[:WAIT] of the barrier that a program with this environment gets; None: the default, or
    the library is not preloaded."""
    library = os.path.basename(paths.PRELOAD_OPENMP)
    preloaded = library in environ.get(preloading.LIST, "")
    return environ.get("SYNCOPATE_OMP_BARRIER") if preloaded else None


def waits() -> tuple[str, ...]:
    return optiontable.choices("SYNCOPATE_WAIT")


def wanted(options: dict) -> bool:
    """Whether an option asks for the OpenMP library."""
    return any(option in options for option in OPTIONS)


def choose(environ: dict[str, str], options: dict) -> None:
    """Puts the library and the choices into a program's environment; a Failure names a mistake."""
    wait = options.get("--wait") or environ.get("SYNCOPATE_WAIT")
    barrier = options.get("--omp-barrier") or environ.get("SYNCOPATE_OMP_BARRIER")
    lock = options.get("--omp-lock") or environ.get("SYNCOPATE_OMP_LOCK")
    if wait:
        _check_wait("--wait" if "--wait" in options else "SYNCOPATE_WAIT", wait)
        environ["SYNCOPATE_WAIT"] = wait
    if barrier:
        _check_barrier(barrier, wait)
        environ["SYNCOPATE_OMP_BARRIER"] = barrier
    if lock:
        if lock not in (RUNTIME, OWN_LOCK):
            locktable.check_choice(lock, (OWN_LOCK, RUNTIME), "openmp")
            _check_agreement("--omp-lock", lock, wait)
        environ["SYNCOPATE_OMP_LOCK"] = lock
    if wait and not (_barrier_waits(barrier) or _lock_waits(lock, wait)):
        neither = f"neither barrier {barrier or 'auto'} nor lock {lock or OWN_LOCK} leaves"
        if "--wait" in options:
            said = f"--wait {wait}: {neither} the choice; --omp-barrier central does"
            raise Failure(said, BAD_USE)
        if not optiontable.is_verbose(environ):  # else the library says it
            print(
                f"syncopate: SYNCOPATE_WAIT={wait}: {neither} the choice;"
                " SYNCOPATE_OMP_BARRIER=central does",
                file=sys.stderr,
            )
    for option, variable in OURS_OR_RUNTIMES.items():
        choice = options.get(option) or environ.get(variable)
        if choice:
            _check_ours(option if option in options else variable, variable, choice, barrier)
            environ[variable] = choice
    suit_crowd(environ)
    add_library(environ)


def suit_crowd(environ: dict[str, str]) -> None:
    """Settings of the runtimes' own where threads were asked to outnumber processors; what the user
    has set stays. More of libomp's threads than a level of its tree has start and end
    regions one after the other instead: each level would wait until the one above has had a
    processor."""
    threads = environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if not threads.isdecimal() or int(threads) <= len(os.sched_getaffinity(0)):
        return
    if int(threads) > LIBOMP_LEVEL and "KMP_FORKJOIN_BARRIER" not in environ:
        environ.setdefault("KMP_FORKJOIN_BARRIER_PATTERN", "linear,linear")


def add_library(environ: dict[str, str]) -> None:
    """Puts the OpenMP library before whatever else is preloaded."""
    preloading.put_first(environ, paths.require(paths.PRELOAD_OPENMP))


def _check_barrier(choice: str, wait: str | None) -> None:
    if choice == RUNTIME:
        return
    name, colon, own = choice.partition(":")
    if name not in barriers():
        known = [*barriers(), RUNTIME]
        hint = near(name, known)
        raise Failure(f"no barrier is named '{name}'{hint}; there are {', '.join(known)}", BAD_USE)
    if not colon:
        return
    if name not in barriers_that_wait():
        raise Failure(
            f"--omp-barrier {choice}: barrier {name} brings its own waiting; leave out ':{own}'",
            BAD_USE,
        )
    _check_wait("--omp-barrier", own)
    _check_agreement("--omp-barrier", choice, wait)


def _barrier_waits(choice: str | None) -> bool:
    """Whether a barrier, the default where none is chosen, waits as --wait says."""
    return choice in barriers_that_wait()


def _lock_waits(choice: str | None, wait: str) -> bool:
    """Whether a lock does; another keeps its own way."""
    found = (lock for lock in locktable.load() if lock["name"] == choice)
    return any(wait in lock.get("openmp_waits", lock["waits"]) for lock in found)


def _check_ours(named: str, variable: str, choice: str, barrier: str | None) -> None:
    """A setting that is the runtime's way or ours, which needs barriers of ours."""
    known = optiontable.choices(variable)
    if choice not in known:
        hint = near(choice, list(known))
        raise Failure(f"{named}: no '{choice}'{hint}; {known[0]} or {RUNTIME}", BAD_USE)
    if choice != RUNTIME and barrier == RUNTIME:
        raise Failure(f"{named} {choice} contradicts --omp-barrier {RUNTIME}", BAD_USE)


def _check_wait(option: str, wait: str) -> None:
    if wait not in waits():
        known = waits()
        hint = near(wait, list(known))
        raise Failure(
            f"{option}: no waiting is named '{wait}'{hint}; there are {', '.join(known)}", BAD_USE
        )


def _check_agreement(option: str, choice: str, wait: str | None) -> None:
    _, colon, own = choice.partition(":")
    if colon and wait and own != wait:
        raise Failure(
            f"{option} {choice} contradicts --wait {wait} (or SYNCOPATE_WAIT); leave one out",
            BAD_USE,
        )
