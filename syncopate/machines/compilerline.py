"""Takes a compiler's command line apart, as far as splitting it into steps needs.

gcc and clang are told apart nowhere here: both read the options below alike.
"""

from __future__ import annotations

import os
import shlex

from syncopate.base.errors import BAD_USE, Failure

# Options whose value is the next word. (-o, -x and the options of make rules are handled apart.)
_SEPARATE = {
    "-I", "-D", "-U", "-L", "-A", "-B", "-F", "-T", "-u", "-z", "-e", "-G", "-include", "-imacros",
    "-isystem", "-iquote", "-idirafter", "-iprefix", "-iwithprefix", "-iwithprefixbefore",
    "-isysroot", "--sysroot", "-Xlinker", "-Xpreprocessor", "-Xassembler", "-Xclang", "-mllvm",
    "--param", "-target", "-arch", "-wrapper", "-aux-info", "-dumpbase", "-dumpdir", "-l", "-h",
    "-framework", "-specs", "-gcc-toolchain", "-soname",
}  # fmt: skip
_LINK_SEPARATE = {"-L", "-l", "-T", "-u", "-z", "-e", "-h", "-Xlinker", "-framework", "-soname"}
_LINK_EXACT = {
    "-shared", "-static", "-static-pie", "-static-libgcc", "-static-libstdc++", "-rdynamic", "-s",
    "-pie", "-no-pie", "-nopie", "-nostdlib", "-nostdlib++", "-nostartfiles", "-nodefaultlibs",
    "-nolibc", "-r", "-N", "-n", "-symbolic", "-shared-libgcc",
}  # fmt: skip
_LINK_PREFIX = ("-L", "-l", "-Wl,", "-fuse-ld=", "-T", "-u", "-z")
_RULES_VALUE = {"-MF", "-MT", "-MQ"}
_RULES = {"-MD", "-MMD", "-MP", "-MG"}
_WITHOUT_LINK = {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-emit-ast"}
# Words that make the compiler answer a question and compile nothing.
_QUESTIONS = ("-print-", "--print-", "-dump", "--version", "--help", "--target-help", "-###")
_SOURCES = {
    ".c", ".i", ".ii", ".cc", ".cp", ".cxx", ".cpp", ".CPP", ".c++", ".C", ".s", ".S", ".sx",
    ".m", ".mm", ".M", ".mi", ".mii",
}  # fmt: skip
_DEEPEST_RESPONSE_FILE = 10


class Source:
    """A file to be compiled; `language` is what -x said of it, or None."""

    __slots__ = ("language", "path")

    def __init__(self, path: str, language: str | None):
        self.path = path
        self.language = language

    def is_assembly(self) -> bool:
        if self.language:
            return self.language.startswith("assembler")
        return os.path.splitext(self.path)[1] in (".s", ".S", ".sx")


class CompilerLine:
    """A command line, taken apart."""

    def __init__(self):
        self.compile: list[str] = []  # options that matter to compiling (and most to linking too)
        self.rules: list[str] = []  # -MD and the like: for compiling only
        self.link: list[
            str | Source
        ] = []  # libraries, linker options, objects and sources in order
        self.sources: list[Source] = []
        self.output: str | None = None
        self.links = True  # False with -c, -S, -E, ...
        self.question = False
        self.sanitizers: list[str] = []  # options that were left out
        self.left_out: list[str] = []  # others that were left out

    def has(self, *options: str) -> bool:
        return any(word in options for word in [*self.compile, *self.link, *self.rules])

    def inputs(self) -> bool:
        return any(isinstance(word, Source) or not word.startswith("-") for word in self.link)


def expand_response_files(words: list[str], depth: int = 0) -> list[str]:
    """Replaces @FILE by the words in FILE, quoted as gcc has it. A missing file stays as it is."""
    if depth > _DEEPEST_RESPONSE_FILE:
        raise Failure("response files name each other without end", BAD_USE)
    expanded: list[str] = []
    for word in words:
        if word.startswith("@") and os.path.isfile(word[1:]):
            with open(word[1:], encoding="utf-8", errors="surrogateescape") as file:
                try:
                    inner = shlex.split(file.read())
                except ValueError as error:
                    raise Failure(f"{word[1:]}: {error}", BAD_USE) from None
            expanded += expand_response_files(inner, depth + 1)
        else:
            expanded.append(word)
    return expanded


def parse(words: list[str]) -> CompilerLine:
    """Takes the words apart. Raises a Failure when a value is missing at the end."""
    line = CompilerLine()
    language: str | None = None
    rest = iter(expand_response_files(words))

    def value_of(option: str) -> str:
        value = next(rest, None)
        if value is None:
            raise Failure(f"{option} needs a value after it", BAD_USE)
        return value

    for word in rest:
        if word == "-o":
            line.output = value_of(word)
        elif word.startswith("-o") and word != "-openmp":
            line.output = word[2:]
        elif word == "-x":
            language = value_of(word)
        elif word.startswith("-x"):
            language = word[2:]
        elif word in _RULES_VALUE:
            line.rules += [word, value_of(word)]
        elif word in _RULES or word.startswith(("-MF", "-MT", "-MQ")):
            line.rules.append(word)
        elif word in _WITHOUT_LINK:
            line.links = False
            line.compile.append(word)
        elif word.startswith(_QUESTIONS):
            line.question = True
            line.compile.append(word)
        elif word.startswith(("-fsanitize", "-fno-sanitize", "-static-lib")) and "san" in word:
            line.sanitizers.append(word)
        elif word.startswith("-flto") or word == "-fwhole-program":
            line.left_out.append(word)
        elif word in _LINK_SEPARATE:
            line.link += [word, value_of(word)]
        elif word in _SEPARATE:
            line.compile += [word, value_of(word)]
        elif word in _LINK_EXACT or word.startswith(_LINK_PREFIX):
            line.link.append(word)
        elif word.startswith("-") and word != "-":
            line.compile.append(word)
        else:
            _add_file(line, word, None if language == "none" else language)
    return line


def _add_file(line: CompilerLine, path: str, language: str | None) -> None:
    if language or os.path.splitext(path)[1] in _SOURCES:
        source = Source(path, language)
        line.sources.append(source)
        line.link.append(source)
    else:
        line.link.append(path)
