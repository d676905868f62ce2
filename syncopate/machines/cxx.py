"""`syncopate c++` and `syncopate cc`: the compiler, for programs on machines one does not have."""

from __future__ import annotations

import os
import shutil
import sys

from syncopate.base import scratch
from syncopate.base.errors import BAD_USE, NOT_FOUND, Failure, near
from syncopate.machines import compilerline, instrumented
from syncopate.machines.compilerline import CompilerLine, Source

HELP = """\
usage: syncopate {command} --machine=MACHINE [--compiler=NAME] COMPILER-ARGUMENTS...

Runs the compiler so that the program shows the chosen machine every access to memory:

  simulated  runs on a deterministic model of a machine you name (SYNCOPATE_MACHINE,
             or `syncopate simulate --machine NAME PROGRAM`)
  explored   runs under every interleaving of its threads (`syncopate check PROGRAM`)
  emulated   runs natively, with hardware transactions in software (just run PROGRAM)

The other arguments are the compiler's own, and mean what they always mean. Objects of the program
that are compiled by another command run too; the machine does not see what they do.

  --machine=NAME    which machine; must be the same for all objects and the link
  --compiler=NAME   {compilers} (default: ${variable}, else {default})
  --libgomp=FOLDER  for -fopenmp on the simulated machine: the libgomp.a in it, GCC's own, compiled
                    for that machine (integrations/libgomp/build.sh)
  --show            print the commands, run nothing
  --help            this page

Sanitizers, link-time optimization and static linking are not possible here, nor is OpenMP on the
explored machine.

Exit status: the compiler's own; 2 bad use, 127 compiler not found.
"""
_LANGUAGES = {
    "c++": ("CXX", "g++", "g++ or clang++, or a path"),
    "cc": ("CC", "gcc", "gcc or clang, or a path"),
}
_OPTIONS = ("--machine", "--compiler", "--libgomp", "--show", "--help")


def main_cxx(arguments: list[str]) -> int:
    return main("c++", arguments)


def main_cc(arguments: list[str]) -> int:
    return main("cc", arguments)


def main(command: str, arguments: list[str]) -> int:
    variable, default, compilers = _LANGUAGES[command]
    options, words = _own_options(arguments)
    if "--help" in options:
        sys.stdout.write(
            HELP.format(command=command, variable=variable, default=default, compilers=compilers)
        )
        return 0
    if "--machine" not in options:
        known = "|".join(instrumented.MACHINES)
        raise Failure(f"{command}: for which machine? --machine={known}; see --help", BAD_USE)
    machine = instrumented.check_machine(options["--machine"])
    instrumented.library(machine)  # before a compiler is asked for
    compiler = options.get("--compiler") or _compiler_of(variable) or default
    # A compiler that is a script around this command finds the default one, not itself once more.
    os.environ.pop(variable, None)
    steps = Steps(command, machine, compiler, words, options.get("--libgomp"))
    if "--show" in options:
        return steps.show()
    return steps.run()


def _compiler_of(variable: str) -> str:
    """What the variable names; nothing where it names this very command, as under a make whose CC
    is `syncopate cc ...`, and would start it again and again."""
    named = os.environ.get(variable, "")
    first = named.split(maxsplit=1)[:1]
    return "" if first and os.path.basename(first[0]) == "syncopate" else named


def _own_options(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """Picks our options out; what is left is the compiler's."""
    found: dict[str, str] = {}
    words: list[str] = []
    rest = iter(arguments)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in ("--machine", "--compiler", "--libgomp"):
            if not equals:
                value = next(rest, "")
            if not value:
                raise Failure(f"{name} needs a value; see --help", BAD_USE)
            found[name] = value
        elif word == "--show" or (word in ("--help", "-h") and len(arguments) == 1):
            found["--help" if word == "-h" else word] = "1"
        elif _is_misspelt(name):
            raise Failure(f"unknown option {name}{near(name, list(_OPTIONS))}; see --help", BAD_USE)
        else:
            words.append(word)
    return found, words


def _is_misspelt(name: str) -> bool:
    """Whether this can only be meant for us. Compilers have words like --coverage of their own."""
    return name.startswith(("--ma", "--mc", "--compi", "--comil"))


def _openmp_word(words: list) -> str | None:
    """The word that asks the compiler for OpenMP's runtime; the last one of its kind counts."""
    found = None
    for word in words:
        if not isinstance(word, str):
            continue
        if word == "-fopenmp" or word.startswith(("-fopenmp=", "-ftree-parallelize-loops=")):
            found = word
        elif word == "-fno-openmp":
            found = None
    return found


class Steps:
    """The compiler commands that a command line comes to."""

    def __init__(
        self, command: str, machine: str, compiler: str, words: list[str], libgomp: str | None
    ):
        self.command = command
        self.machine = machine
        self.compiler = _find_compiler(compiler)
        self.line = compilerline.parse(words)
        name = os.path.basename(os.path.realpath(self.compiler[-1]))
        self.is_clang = "clang" in name
        self.libgomp = libgomp
        self._refuse_impossible()
        self.before, self.after = instrumented.compile_flags(
            machine, self.is_clang, self.line.compile
        )
        self.plugin: list[str] = []
        if self.line.sources:
            self.plugin = instrumented.plugin_flags(self.compiler, self.is_clang, machine)
        self.after += self.plugin

    def _refuse_impossible(self) -> None:
        line = self.line
        if line.has("-static", "-static-pie"):
            raise Failure(
                f"{self.command}: a statically linked program cannot run on such a machine;"
                " leave -static out",
                BAD_USE,
            )
        parallel = _openmp_word([*line.compile, *line.link])
        if parallel and self.machine in instrumented.WITHOUT_OPENMP:
            self._refuse_openmp(parallel)
        elif not parallel:
            self.libgomp = None
        if not line.links and line.output and len(line.sources) > 1:
            raise Failure(f"{self.command}: -o with -c and several files; give one file", BAD_USE)

    def _refuse_openmp(self, word: str) -> None:
        """Unless it is GCC's, on the simulated machine, and its runtime is named."""
        said = f"{self.command}: {word}: "
        if self.machine != "simulated":
            raise Failure(
                f"{said}the {self.machine} machine has no OpenMP runtime yet;"
                " leave it out, or write the threads as std::thread or pthread",
                BAD_USE,
            )
        if not self.libgomp:
            raise Failure(
                f"{said}name a libgomp that was compiled for the machine, by --libgomp=FOLDER"
                " (integrations/libgomp/build.sh makes one)",
                BAD_USE,
            )
        if self.is_clang or word != "-fopenmp":
            raise Failure(f"{said}only GCC's -fopenmp has a runtime for this machine", BAD_USE)
        instrumented.check_libgomp(self.libgomp)

    def notices(self) -> list[str]:
        """What the user asked for and does not get."""
        said = []
        others = [word for word in self.line.sanitizers if word != "-fsanitize=thread"]
        if others:
            said.append(f"{' '.join(others)} left out: the machine takes the sanitizer's place")
        if self.line.left_out:
            said.append(
                f"{' '.join(self.line.left_out)} left out: it would link the sanitizer's library"
            )
        wide = instrumented.options_for_wide_vectors(self.line.compile)
        if self.is_clang and wide and self.line.sources and not self.plugin:
            said.append(
                f"{wide[0]}: without libsyncopate-clang, which is built where LLVM's headers are,"
                " clang shows the machine no access of more than 16 bytes;"
                " if the program has such vectors of its own, use --compiler=g++"
            )
        return [f"syncopate {self.command}: {text}" for text in said]

    def commands(self, folder: str) -> list[list[str]]:
        """All commands; objects in between go to `folder`."""
        line = self.line
        if line.question or not line.inputs():
            return [[*self.compiler, *_words_of(line)]]
        if not line.links:
            output = ["-o", line.output] if line.output else []
            others = [word for word in line.link if not isinstance(word, Source)]
            unused = [] if line.sources else others  # the compiler's own message says so
            step = [*self._compile(line.sources), *line.rules, *output]
            return [[*step, *_source_words(line.sources), *unused]]
        commands = []
        objects = {}
        for number, source in enumerate(line.sources):
            target = os.path.join(folder, f"{number}-{_stem(source)}.o")
            objects[id(source)] = target
            rules = self._rules(source)
            commands.append(
                [*self._compile([source]), *rules, "-c", "-o", target, *_source_words([source])]
            )
        commands.append(self._link(objects))
        return commands

    def _compile(self, sources: list[Source]) -> list[str]:
        if sources and all(source.is_assembly() for source in sources):
            return [*self.compiler, *self.line.compile]
        return [*self.compiler, *self.before, *self.line.compile, *self.after]

    def _rules(self, source: Source) -> list[str]:
        """-MD and the like for one of the compile steps: named after the source, not our object."""
        rules = self.line.rules
        if not rules:
            return []
        extra = []
        if not any(word.startswith("-MF") for word in rules):
            extra += ["-MF", f"{_stem(source)}.d"]
        if not any(word.startswith(("-MT", "-MQ")) for word in rules):
            extra += ["-MQ", self.line.output or "a.out"]
        return [*rules, *extra]

    def _link(self, objects: dict[int, str]) -> list[str]:
        line = self.line
        words = [objects[id(w)] if isinstance(w, Source) else w for w in line.link]
        output = ["-o", line.output] if line.output else []
        if line.has("-r"):  # objects into one object
            return [*self.compiler, *line.compile, *words, *output]
        ours = instrumented.link_flags(self.machine, line.has("-shared"))
        if self.libgomp:
            ours.append(f"-L{self.libgomp}")  # looked into before the compiler's own folders
        words = [word for word in words if word not in ("-pie", "-no-pie", "-nopie")]
        return [*self.compiler, *line.compile, *ours, *words, *output]

    def show(self) -> int:
        import shlex

        for command in self.commands("/tmp"):
            print(shlex.join(command))
        return 0

    def run(self) -> int:
        for notice in self.notices():
            print(notice, file=sys.stderr)
        line = self.line
        if line.links and line.sources and not line.question:
            with scratch.folder() as folder:
                status = _run_all(self.commands(folder), {"TMPDIR": folder})
        else:
            status = _run_all(self.commands(""), {})
        if status != 0 and (why := instrumented.too_old(self.compiler, self.is_clang)):
            print(f"syncopate {self.command}: {why}", file=sys.stderr)
        return status


def _run_all(commands: list[list[str]], environ: dict[str, str]) -> int:
    """Runs the commands until one fails; compiles all sources even so, as compilers do."""
    import subprocess

    def run(command: list[str]) -> int:
        return _status(subprocess.call(command, env={**os.environ, **environ}))

    status = 0
    for command in commands[:-1]:
        status = run(command) or status
    return status or run(commands[-1])


def _status(returned: int) -> int:
    return 128 - returned if returned < 0 else returned  # as the shells have it


def _find_compiler(name: str) -> list[str]:
    """$CXX may hold words: a launcher such as ccache, or options."""
    words = name.split()
    path = shutil.which(words[0]) if words else None
    if path is None:
        raise Failure(f"compiler {name!r} not found; name one with --compiler=PATH", NOT_FOUND)
    return [path, *words[1:]]


def _stem(source: Source) -> str:
    return os.path.splitext(os.path.basename(source.path))[0] or "stdin"


def _source_words(sources: list[Source]) -> list[str]:
    words: list[str] = []
    for source in sources:
        words += ["-x", source.language or "none", source.path]
    return words


def _words_of(line: CompilerLine) -> list[str]:
    """The line as it was, for questions to the compiler."""
    words = [word for word in line.link if isinstance(word, str)]
    return [*line.compile, *line.rules, *words, *_source_words(line.sources)]
