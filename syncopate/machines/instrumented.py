"""What the compiler and the linker are told to make a program for one of our machines."""

from __future__ import annotations

import os
import subprocess

from syncopate.base import paths
from syncopate.base.errors import BAD_USE, FAILED, Failure, near
from syncopate.machines import machinefiles

MACHINES = ("simulated", "explored", "emulated")
# OpenMP's runtime waits in ways that fibers cannot see, unless it is compiled for the machine; the
# emulated machine has real threads.
WITHOUT_OPENMP = ("simulated", "explored")

OLDEST_GCC, OLDEST_CLANG = 11, 12

# Copies and comparisons as calls, which the machine's library announces.
_FUNCTIONS = (
    *("memcpy", "memmove", "memset", "memcmp"),
    *("bcmp", "bcopy", "bzero", "mempcpy"),
    *("strlen", "strcpy", "strcmp", "strncmp"),
    *("stpcpy", "strcat", "strncat", "strncpy"),
    *("sprintf", "snprintf"),
)
# The headers stand before the user's; this one is included into every file.
_BUILTINS = os.path.join("syncopate", "instrument", "builtins.h")


def check_machine(name: str) -> str:
    if name not in MACHINES:
        raise Failure(
            f"no machine to compile for is named '{name}'{near(name, list(MACHINES))};"
            f" there are: {', '.join(MACHINES)}",
            BAD_USE,
        )
    return name


def library(machine: str) -> str:
    """The path of a machine's runtime library."""
    path = paths.find(f"lib/libsyncopate-{machine}.so")
    if path is None:
        raise Failure(f"{machinefiles.NO_MACHINES}; {machinefiles.WHO_HAS_THEM}", FAILED)
    return path


def include_folders() -> list[str]:
    """The folders with our headers, the one whose current.h asks the modeled machine first."""
    for prefix in paths.prefixes():
        first = os.path.join(prefix, "include", "syncopate-instrumented")
        if os.path.isdir(first):
            return [first, os.path.join(prefix, "include")]
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    first = os.path.join(root, "src", "model", "front", "include")
    if os.path.isdir(first):
        return [first, os.path.join(root, "include")]
    looked = " or ".join(paths.prefixes())
    raise Failure(f"the headers for modeled machines are not in {looked}; reinstall", FAILED)


def compile_flags(machine: str, is_clang: bool, given: list[str]) -> tuple[list[str], list[str]]:
    """The options to put before and behind the user's `given` ones.

    Those of cmake/SyncopateMachines.cmake, where each has its reason.
    """
    folders = include_folders()
    before = [word for folder in folders for word in ("-I", folder)]
    before += ["-include", os.path.join(folders[0], _BUILTINS)]
    before += ["-D_GLIBCXX_EXTERN_TEMPLATE=0", "-fno-pie"]
    if machine == "emulated":
        before.append("-fno-plt")  # nearly every access is a call
    if machine == "explored":
        # Fewer executions where the C++ library waits; CMake's targets go without.
        before = ["-I", os.path.join(folders[0], "explored"), *before]
        before.append("-fno-finite-loops")  # a loop that waits for a plain flag stays a loop
        # The variables of an inlined function are there until its caller returns: who uses them
        # later would not be found.
        before.append("-fno-inline")
    if not any(word.startswith("-g") for word in given):
        before.append("-g")
    if not any(word.endswith("omit-frame-pointer") for word in given):
        before.append("-fno-omit-frame-pointer")
    after = ["-fsanitize=thread", "-U_FORTIFY_SOURCE", "-fno-optimize-sibling-calls"]
    if machine == "simulated":
        # Each block tells, so that loops without an access take time.
        after.append(f"-fsanitize-coverage={'bb,no-prune,' * is_clang}trace-pc")
    after += [f"-fno-builtin-{function}" for function in _FUNCTIONS]
    tells_returns = int(machine == "explored")
    choices = [f"instrument-func-entry-exit={tells_returns}", "distinguish-volatile=1"]
    if is_clang:
        for choice in (*choices, "instrument-read-before-write=1"):
            after += ["-mllvm", f"-tsan-{choice}"]
        after += ["-mcx16", "-mprefer-vector-width=128"]
        if not any(word.startswith("-gdwarf") for word in given):
            before.append("-gdwarf-4")  # elfutils 0.188 misreads clang's DWARF 5 range lists
    else:
        for choice in choices:
            after += ["--param", f"tsan-{choice}"]
        after.append("-Wno-tsan")
    return before, after


def _major_version(compiler: list[str]) -> str:
    """As "12"; empty where the compiler does not say."""
    try:
        said = subprocess.run(
            [*compiler, "-dumpversion"], capture_output=True, text=True, check=False, timeout=60
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.strip().partition(".")[0]


def plugin_flags(compiler: list[str], is_clang: bool, machine: str) -> list[str]:
    """What makes this compiler show what its sanitizer leaves out (a plugin of ours); [] without.

    gcc's changes how many accesses structs are; what the simulated machine says stays comparable.
    """
    if not is_clang and machine == "simulated":
        return []
    kind = "clang" if is_clang else "gcc"
    path = paths.find(f"lib/libsyncopate-{kind}{_major_version(compiler)}.so")
    if path is None:
        return []
    option = "-fpass-plugin=" if is_clang else "-fplugin="
    return [option + path, "-DSYNCOPATE_STRUCTS_SEEN"]


def too_old(compiler: list[str], is_clang: bool) -> str | None:
    """That the compiler lacks options that machines need (compile_flags), or None."""
    major = _major_version(compiler)
    if not major.isdecimal() or int(major) >= (OLDEST_CLANG if is_clang else OLDEST_GCC):
        return None
    return (
        f"{os.path.basename(compiler[-1])} is of version {major}; machines need GCC {OLDEST_GCC},"
        f" clang {OLDEST_CLANG} or newer: name one with --compiler=PATH"
    )


def options_for_wide_vectors(given: list[str]) -> list[str]:
    """Those of the user's options that let a program have vectors of 32 bytes and more."""
    narrow = ("-march=x86-64", "-march=x86-64-v2")
    return [
        word
        for word in given
        if word.startswith(("-mavx", "-march=", "-mfma")) and word not in narrow
    ]


def check_libgomp(folder: str) -> None:
    """A Failure unless the folder's libgomp.a was compiled for a machine, and sleeps where the
    machine sees it: by the function syscall(), not by an instruction of its own."""
    path = os.path.join(folder, "libgomp.a")
    try:
        with open(path, "rb") as file:
            contents = file.read()
    except OSError as error:
        raise Failure(f"--libgomp={folder}: {path}: {error.strerror}", BAD_USE) from error
    if b"__tsan_read4" not in contents or b"\0syscall\0" not in contents:
        raise Failure(
            f"--libgomp={folder}: {path} was not made for a modeled machine;"
            " integrations/libgomp/build.sh makes one",
            BAD_USE,
        )


def link_flags(machine: str, shared: bool) -> list[str]:
    """The options to put before the user's objects: our library comes first in look-ups."""
    path = library(machine)
    flags = ["-Wl,--push-state,--no-as-needed", path, "-Wl,--pop-state"]
    flags.append(f"-Wl,-rpath,{os.path.dirname(path)}")
    # Emulated: it redirects calls before main. Explored: what is bound at its first call is put
    # back with the program's memory, before each execution.
    if machine in ("emulated", "explored"):
        flags.append("-Wl,-z,now")
    # At a fixed address: where its variables lie decides cache sets, and so results.
    return flags if shared else [*flags, "-no-pie"]
