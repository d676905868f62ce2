"""The papers' original programs: where their sources are, and how each is built, unmodified."""

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from syncopate.bench.provenance import ROOT

NATIVE, SIMULATED = "native", "simulated"


@dataclass(frozen=True)
class Build:
    """One program in one form for one machine, about to be built."""

    program: str
    form: str  # empty where the program has one form only
    machine: str
    cc: str  # the C compiler for the machine, as the words of a command
    cxx: str
    built: Path  # this project's build folder, with the programs' counterparts in it
    products: Path  # with lib/

    def file(self) -> str:
        """genome.tsx.simulated, as this project's own programs are called."""
        machine = "" if self.machine == NATIVE else f".{self.machine}"
        return self.program + (f".{self.form}" if self.form else "") + machine


@dataclass(frozen=True)
class Original:
    """A suite or a program of others. Its source: a public repository at a commit, a source package
    of Debian, or neither, where a user's own folder is the only way (`missing` says why).

    copy: patterns of what is copied to where it is built; {program} and {form} in them. The sources
    themselves are only read. steps: the commands of a build. result: what they leave. amended: what
    is changed in the copy, where today's compilers refuse the sources; empty: nothing.
    """

    what: str
    programs: tuple[str, ...]
    copy: tuple[str, ...]
    steps: Callable[[Build], list[list[str]]]
    result: str
    url: str = ""
    commit: str = ""
    debian: str = ""
    missing: str = ""
    forms: tuple[str, ...] = ("",)
    machines: tuple[str, ...] = (NATIVE, SIMULATED)
    native_only: str = ""  # why, where it is
    amended: str = ""
    openmp: bool = False  # for the simulated machine it needs a libgomp of that machine
    needs: tuple[str, ...] = ("make", "gcc", "g++")
    inputs: tuple[str, ...] = field(default=())  # what the programs read; *.gz is unpacked
    probe: str = "."  # a file or folder that every copy of the source has
    folder: str = ""  # where the source is looked for, if not by the original's name


def make(folder: str, *words: str) -> list[str]:
    return ["make", "-s", "-C", folder, *words]


def quoted(path: Path) -> str:
    """A path in a variable that a makefile hands to the shell."""
    return shlex.quote(str(path)).replace("$", "$$")


def stamp(build: Build) -> list[list[str]]:
    ours = quoted(ROOT / "papers/workloads/stamp/original")
    calls = " -DSTM_CALLS" if build.form == "stm" else ""
    libraries = "-lpthread -lm -ltl2"
    if build.machine == NATIVE:
        folders = [build.products / "lib"] + [build.products / "lib/tm"] * (build.form == "stm")
        libraries += "".join(f" -L{each} -Wl,-rpath,{each}" for each in map(quoted, folders))
        libraries += " -l:libitm.so.1" * (build.form == "stm") + " -lsyncopate"
    return [
        make(
            build.program, "-f", "Makefile.stm", f"CC={build.cc} -I{ours}{calls}",
            f"LD={build.cxx}", f"LIBS={libraries}",
            f"STM={quoted(build.built / 'stamp/original' / build.form / build.machine)}",
        )
    ]  # fmt: skip


def epcc(build: Build) -> list[list[str]]:
    """Version 3, which the paper has."""
    return [make("openmpbench_C_v31", f"CC={build.cc} -fopenmp", "LIBS=-lm", build.program)]


def npb(build: Build) -> list[list[str]]:
    """The template of its options, with OpenMP; class W."""
    return [
        ["cp", "config/make.def.template", "config/make.def"],
        ["mkdir", "-p", "bin"],
        make(
            build.program.upper(), f"CC={build.cc} -fopenmp", f"CLINK={build.cc} -fopenmp",
            f"UCC={build.cc}", "CLASS=W", "C_LIB=-lm",
        ),
    ]  # fmt: skip


def canneal(build: Build) -> list[list[str]]:
    return [make("pkgs/kernels/canneal/src", f"CXX={build.cxx}", "version=pthreads", "CXXFLAGS=-O3"
                 " -DENABLE_THREADS -pthread")]  # fmt: skip


def fluidanimate(build: Build) -> list[list[str]]:
    return [make("pkgs/apps/fluidanimate/src", "-f", "Makefile.pthreads", f"CXX={build.cxx} -O3",
                 "pthreads")]  # fmt: skip


def kyoto(build: Build) -> list[list[str]]:
    return [
        ["./configure", "--disable-lzo", "--disable-lzma", f"CC={build.cc}", f"CXX={build.cxx}"],
        make(".", "kccachetest"),
    ]


AUTOTOOLS = """[ -x configure ] ||
{ echo 'm4_define([VERSION_NUMBER], [1.4.15])' > version.m4 && aclocal && autoheader &&
automake --foreign --add-missing && autoconf; }"""  # its own script looks for automakes of 2012


def memcached(build: Build) -> list[list[str]]:
    return [
        ["sh", "-c", AUTOTOOLS],
        ["./configure", f"CC={build.cc}"],
        make(".", "memcached", "CFLAGS=-O2 -fcommon -w"),
    ]


def stamp_transmem(build: Build) -> list[list[str]]:
    folder = f"benchmarks/stamp_c/{build.program}"
    return [attributed(folder, make(folder, "-k", "BITS=64", f"CC={build.cc} -w"))]


def memcached_transmem(build: Build) -> list[list[str]]:
    """What its authors generated by autotools of their day is newer than what it was made of."""
    folder = f"apps/memcached_1.4.15_{build.form}"
    made = [f"{folder}/{each}" for each in ("configure", "config.h.in", "Makefile.in")]
    steps = [
        ["touch", f"{folder}/aclocal.m4"],
        ["touch", *made, f"{folder}/doc/Makefile.in"],
        ["sh", "-c", f"cd {folder} && ./configure CC={build.cc}"],
    ]
    if build.form == "condvar":
        steps.append(make("libs/libtmcondvar", f"CXX={build.cxx} -w", "obj64/libtmcondvar.a"))
    flags = "CFLAGS=-std=gnu99 -O2 -fgnu-tm -pthread -fcommon -w"
    return [*steps, attributed(folder, make(folder, "-k", flags, "memcached"))]


def attributed(folder: str, command: list[str]) -> list[str]:
    return [sys.executable, "-m", "syncopate.bench.safedeclarations", folder, *command]


TRANSMEM = "https://github.com/mfs409/transmem"
TRANSMEM_COMMIT = "23b5d7ec7941758bd61ff627d73f4e8a7381696a"
LANGUAGE = "its transactions are GCC's, and the simulated machine has no runtime for those"
ATTRIBUTES = (
    "functions are transaction_safe where they are declared, too, and where they are defined"
)
SOCKETS = "its library, libevent, would have to be compiled for the simulated machine, too"
ASSEMBLER = "its atomic operations are assembler, which the simulated machine does not see"
PARSEC = "https://github.com/cirosantilli/parsec-benchmark"
PARSEC_COMMIT = "d4d9afdd27bbe39ca0ce88132b2d9f359b7868af"

ORIGINALS = {
    "stamp": Original(
        "STAMP 0.9.10 (Cao Minh et al., IISWC 2008)",
        ("bayes", "genome", "intruder", "kmeans", "labyrinth", "ssca2", "vacation", "yada"),
        ("common/*.mk", "common/Makefile.*", "lib/*.[ch]", "{program}/*"),
        stamp,
        "{program}/{program}",
        url="https://github.com/kozyraki/stamp",
        commit="9222e2707e598448d90112991a3a90544469d4b4",
        forms=("sgl", "tsx", "stm"),
        inputs=(
            "kmeans/inputs/random-n2048-d16-c16.txt.gz",
            "kmeans/inputs/random-n65536-d32-c16.txt.gz",
            "labyrinth/inputs/random-*.txt",
            "yada/inputs/633.2.*",
            "yada/inputs/ttimeu*.2.*",
        ),
        probe="lib/tm.h",
    ),
    "stamp-transmem": Original(
        "STAMP in GCC's transactions, as the authors of gcc-tm-memcached.txt published it",
        ("bayes", "genome", "intruder", "kmeans", "labyrinth", "ssca2", "vacation", "yada"),
        (
            "benchmarks/stamp_c/*.h",
            "benchmarks/stamp_c/Makefile*",
            "benchmarks/stamp_c/lib",
            "benchmarks/stamp_c/{program}",
        ),
        stamp_transmem,
        "benchmarks/stamp_c/obj64/{program}/{program}",
        url=TRANSMEM,
        commit=TRANSMEM_COMMIT,
        machines=(NATIVE,),
        native_only=LANGUAGE,
        amended=ATTRIBUTES,
        needs=("make", "gcc"),
        probe="benchmarks/stamp_c/tm.h",
        folder="transmem",
    ),
    "epcc": Original(
        "EPCC OpenMP micro-benchmarks, version 3.1",
        ("syncbench", "taskbench"),
        ("openmpbench_C_v31/*",),
        epcc,
        "openmpbench_C_v31/{program}",
        url="https://github.com/EPCCed/epcc-openmp-microbenchmarks",
        commit="d4a904cbfc95c104bf052b097a07d256548866f7",
        openmp=True,
        needs=("make", "gcc"),
        probe="openmpbench_C_v31",
    ),
    "npb": Original(
        "NAS Parallel Benchmarks 3.0 in C with OpenMP, class W",
        ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp"),
        ("common/*", "config/*", "sys/*", "{PROGRAM}/*", "Makefile"),
        npb,
        "bin/{program}.W",
        url="https://github.com/benchmark-subsetting/NPB3.0-omp-C",
        commit="5d565d916cad47bf09a2fa7432bf8e5fa95446ec",
        openmp=True,
        needs=("make", "gcc"),
        probe="common",
    ),
    "canneal": Original(
        "PARSEC 3.0's canneal",
        ("canneal",),
        ("pkgs/kernels/canneal/src",),
        canneal,
        "pkgs/kernels/canneal/src/canneal",
        url=PARSEC,
        commit=PARSEC_COMMIT,
        machines=(NATIVE,),
        native_only=ASSEMBLER,
        needs=("make", "g++"),
        probe="pkgs/kernels/canneal/src",
        folder="parsec",
    ),
    "fluidanimate": Original(
        "PARSEC 3.0's fluidanimate",
        ("fluidanimate",),
        ("pkgs/apps/fluidanimate/src",),
        fluidanimate,
        "pkgs/apps/fluidanimate/src/fluidanimate",
        url=PARSEC,
        commit=PARSEC_COMMIT,
        needs=("make", "g++"),
        probe="pkgs/apps/fluidanimate/src",
        folder="parsec",
    ),
    "kyotocabinet": Original(
        "Kyoto Cabinet's own benchmark of its cache database",
        ("kccachetest",),
        ("*",),
        kyoto,
        "kccachetest",
        debian="kyotocabinet",
        probe="kccachetest.cc",
    ),
    "memcached": Original(
        "memcached 1.4.15",
        ("memcached",),
        ("*",),
        memcached,
        "memcached",
        url="https://github.com/memcached/memcached",
        commit="fa24ccfb9ff097a86915f34523fdba944fe5474a",
        machines=(NATIVE,),
        native_only=SOCKETS,
        needs=("make", "gcc", "g++", "autoconf", "automake"),
        probe="memcached.c",
    ),
    "memcached-debian": Original(
        "memcached as Debian has it",
        ("memcached",),
        ("*",),
        memcached,
        "memcached",
        debian="memcached",
        machines=(NATIVE,),
        native_only=SOCKETS,
        probe="memcached.c",
    ),
    "memcached-transmem": Original(
        "memcached 1.4.15 in GCC's transactions, the last stage of gcc-tm-memcached.txt",
        ("memcached",),
        ("apps/memcached_1.4.15_{form}", "libs/libtmcondvar"),
        memcached_transmem,
        "apps/memcached_1.4.15_{form}/memcached",
        url=TRANSMEM,
        commit=TRANSMEM_COMMIT,
        forms=("semaphore", "condvar"),
        machines=(NATIVE,),
        native_only=LANGUAGE,
        amended=ATTRIBUTES,
        probe="apps/memcached_1.4.15_semaphore/configure",
        folder="transmem",
    ),
    "clomp-tm": Original(
        "CLOMP-TM (Schindewolf et al., 2012)",
        ("clomp-tm",),
        ("*",),
        lambda build: [make(".", f"CC={build.cc} -fopenmp", f"CXX={build.cxx} -fopenmp")],
        "clomp-tm",
        missing="no public repository of it is known",
        openmp=True,
        probe="Makefile",
    ),
}
