"""The tests of glibc's own threads: nptl/ and sysdeps/pthread/ of its source."""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from standard import Test, compiled

PACKAGE = "glibc"
LEAST = 280  # Tests that pass without us; far fewer means that the build of them broke.
FOLDERS = ["nptl", "sysdeps/pthread"]
# Parts of other programs, programs that a preloaded library does not reach, and tests of the same
# code with the time type of 32-bit machines.
OTHERS = re.compile(r"(mod\w?|aux|-common|-static|-time64|-gdb-attach\S*)$")
OWN_FLAGS = re.compile(r"^(?:C|LD)FLAGS-(tst-[\w-]+)(?:\.c)? \+?= (.*)$", re.MULTILINE)
# What glibc's build gives to its tests: headers of its own (most others are the system's), and
# what its configuration defines.
HEADERS = [
    *["include/libc-diag.h", "include/array_length.h", "include/intprops.h"],
    *["include/scratch_buffer.h", "include/allocate_once.h", "include/libc-pointer-arith.h"],
    *["sysdeps/x86_64/stackinfo.h", "test-skeleton.c"],
]
EMPTY_HEADERS = ["config.h", "shlib-compat.h", "libc-internal.h"]
PREAMBLE = """
#include <features.h>
#include <limits.h>
#define libc_hidden_proto(name)
#define attribute_hidden
#define IS_IN(module) 0
#define TIMEOUTFACTOR 1
"""
PATHS = ["SRCDIR", "OBJDIR", "OBJDIR_ELF_LDSO", "INSTDIR", "LIBDIR", "BINDIR", "SBINDIR"]
PATHS += ["SLIBDIR", "ROOTSBINDIR", "COMPLOCALEDIR", "SYSCONFDIR"]


def _flags(source, stage):
    """Returns the compiler flags of the tests and makes the folder of headers that they name."""
    stage.mkdir(parents=True, exist_ok=True)
    links = {name.rsplit("/", 1)[-1]: source / name for name in HEADERS}
    for name, target in {**links, "support": source / "support"}.items():
        if not (stage / name).is_symlink():
            (stage / name).symlink_to(target)
    for name in EMPTY_HEADERS:
        (stage / name).touch()
    preamble = stage / "preamble.h"
    if not preamble.exists():
        preamble.write_text(PREAMBLE, encoding="utf-8")
    return (
        *["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-include", str(preamble)],
        *["-I", str(stage), "-I", str(source / "support")],
        # Parts of tests; behind the system's own headers, of which there are copies, too.
        *[f"-idirafter{source / folder}" for folder in (*FOLDERS, "sysdeps/unix/sysv/linux")],
        *[f'-D{name}_PATH="{stage}"' for name in PATHS],
    )


def _support_library(source, folder, flags, jobs):
    """Builds what of support/ builds outside glibc; returns the object files."""
    makefile = (source / "support" / "Makefile").read_text(encoding="utf-8")
    names = re.search(r"^libsupport-routines = (.*?)\n\n", makefile, re.MULTILINE | re.DOTALL)
    parts = sorted({source / "support" / f"{name}.c" for name in names[1].split() if name != "\\"})

    def one(part):
        made = folder / f"{part.stem}.o"
        return made if part.is_file() and compiled(made, [part], (*flags, "-c")) else None

    with ThreadPoolExecutor(jobs) as pool:
        return [made for made in pool.map(one, parts) if made]


def _own_flags(source):
    """Returns {test: the flags that glibc's Makefiles give to it alone}."""
    found = {}
    for folder in FOLDERS:
        text = (source / folder / "Makefile").read_text(encoding="utf-8")
        for name, flags in re.findall(
            r"^(?:C|LD)FLAGS-(tst-[\w-]+)(?:\.c)? \+?= (.*)$", text, re.M
        ):
            found.setdefault(name, []).extend(flag for flag in flags.split() if "$" not in flag)
    return found


def tests(source, work, jobs):
    """Returns the tests of the unpacked source."""
    flags = _flags(source, work / "stage")
    support = _support_library(source, work / "support", flags, jobs)
    archive = work / "libsupport.a"
    archive.unlink(missing_ok=True)
    subprocess.run(["ar", "rcs", archive, *support], check=True)
    own = _own_flags(source)
    libraries = (str(archive), "-lpthread", "-lrt", "-ldl", "-lm")
    return [
        Test(
            path.stem,
            (path,),
            (*flags, *own.get(path.stem, [])),
            libraries,
            {"TIMEOUTFACTOR": "2"},
        )
        for folder in FOLDERS
        for path in sorted((source / folder).glob("tst-*.c"))
        if not OTHERS.search(path.stem)
    ]
