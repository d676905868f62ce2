"""The sources under work: a copy of them, in a folder of its own, that spatch and gcc read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from syncopate.base import boundedfile
from syncopate.base.errors import BAD_USE, FAILED, NOT_FOUND, Failure
from syncopate.base.progress import Progress
from syncopate.base.since import zip_equal
from syncopate.base.workers import Workers
from syncopate.transactionalize import bitfields, owners, semantic, slices
from syncopate.transactionalize.callgraph import CallGraph
from syncopate.transactionalize.ctext import CText
from syncopate.transactionalize.definitions import MACRO, functions

_ERROR = re.compile(r"^(.*?):(\d+):(?:(\d+):)? (?:fatal |internal compiler )?error: (.*)$", re.M)

_IN_FUNCTION = re.compile(r": In function \W(\w+)\W:$", re.M)
_AGAIN = "read-again"  # a folder
_NO_UTF8 = re.compile("[\udc80-\udcff]")  # a byte of a name, as Python has it

# What a file says where a semantic patch may match, besides the names that the patch is given.
_MENTIONS = {
    "sections": ["pthread_mutex_trylock"],
    "conditions": ["pthread_cond_"],
    "words": ["__sync_", "__atomic_"],
}


def _written_out(byte: re.Match) -> str:
    return f"%{ord(byte[0]) - 0xDC00:x}"


@dataclass(frozen=True)
class CompilerError:
    file: str
    line: int
    column: int
    message: str
    function: str = ""  # that the compiler was in
    unit: str = ""  # the source that it compiled


class Program:
    """Files by their path relative to the folder that holds them all."""

    def __init__(self, files: list[str], flags: list[str], folder: str, headers: str | None):
        self.flags = flags
        self.headers = headers  # where syncopate/tm is
        absolute = [os.path.abspath(file) for file in files]
        self.base = os.path.commonpath([os.path.dirname(file) for file in absolute])
        self.names = [os.path.relpath(file, self.base) for file in absolute]
        # Headers may be named from a folder above: the copy stands as deep as the files do.
        above = [f for f in _given(flags) if self.base.startswith(os.path.join(f, ""))]
        self.top, self._top_of_copy = min(above, key=len, default=self.base), folder
        self.folder = os.path.normpath(os.path.join(folder, os.path.relpath(self.base, self.top)))
        self._by_copy = {_NO_UTF8.sub(_written_out, name): name for name in self.names}
        self.texts: dict[str, CText] = {}
        self._progress = Progress()
        self.broken: dict[str, CompilerError] = {}  # files that cannot be judged, and why
        self._macros: dict[str, str] | None = None
        self._facts: dict[tuple, list[semantic.Fact]] = {}
        self._graphs: dict[tuple, CallGraph] = {}  # of sources that were asked about before
        self._bit_fields: dict[tuple, dict] = {}
        self._known_owners: dict[tuple, dict] = {}
        if len(set(self.names)) != len(self.names):
            raise Failure("transactionalize: a file is given twice", BAD_USE)

    def read(self) -> dict[str, str]:
        """The files as they are; one byte is one character, as in compilers' columns."""
        found = {}
        for name in self.names:
            path = os.path.join(self.base, name)
            try:
                with boundedfile.open_plain(path) as file:
                    found[name] = file.read().decode("latin-1")
            except OSError as error:
                raise Failure(f"cannot read {path}: {error.strerror}", FAILED) from None
        self._link_what_stands_beside()
        return found

    def _link_what_stands_beside(self) -> None:
        """Headers include what stands beside them; beside the copies, too, that is found there
        before another folder's of the same name."""
        within = os.path.relpath(self.base, self.top)
        given = {os.path.normpath(os.path.join(within, name)) for name in (*self.names, _AGAIN)}
        folders = {""}
        for name in given:
            while name := os.path.dirname(name):
                folders.add(name)
        for folder in folders:
            os.makedirs(os.path.join(self._top_of_copy, folder), exist_ok=True)
            for entry in _entries(os.path.join(self.top, folder)):
                name = os.path.join(folder, entry.name)
                place = os.path.join(self._top_of_copy, name)
                ours = any(name.startswith(f"{one}.") for one in given)  # what we write there
                if name not in given | folders and not ours and not os.path.lexists(place):
                    os.symlink(os.path.abspath(entry.path), place)

    def put(self, texts: dict[str, str]) -> None:
        """Makes `texts` the sources under work."""
        self.texts = {name: CText(name, text) for name, text in texts.items()}
        self.write_copy(texts)

    def _copy(self, name: str, folder: str = "") -> str:
        """The path of a file's copy. spatch fails on names that are not UTF-8: they are written in
        another way there."""
        return os.path.join(self.folder, folder, _NO_UTF8.sub(_written_out, name))

    def write_copy(self, texts: dict[str, str]) -> None:
        for name, text in texts.items():
            path = self._copy(name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="latin-1", newline="") as file:
                file.write(text)

    def _sources_now(self) -> tuple:
        return tuple((name, text.text) for name, text in sorted(self.texts.items()))

    def compiled(self) -> list[str]:
        """The sources that the compiler can be asked about."""
        return [name for name in self.sources() if name not in self.broken]

    def sources(self) -> list[str]:
        return [name for name in self.names if not name.endswith((".h", ".hh", ".inc"))]

    def include(self) -> list[str]:
        """Where #include finds a header: as for the compiler, but in the copy first; last beside
        any of the files."""
        folders = list(dict.fromkeys(os.path.dirname(name) for name in self.names))
        return [*self._copied_folders(), *_given(self.flags), *map(self._copy, folders),
                *(os.path.join(self.base, folder) for folder in folders)]  # fmt: skip

    def _copied_folders(self) -> list[str]:
        """What the flags name for headers, where that is copied: the copies come first."""
        inside = [os.path.relpath(folder, self.top) for folder in _given(self.flags)]
        return [os.path.join(self._top_of_copy, at) for at in inside if at.split(os.sep)[0] != ".."]

    def facts(
        self, patch: str, groups: list[semantic.Group] = (), **names: list[str]
    ) -> list[semantic.Fact]:
        """What a semantic patch finds in all files."""
        folders = self.include()

        wanted = re.compile(
            "|".join(_MENTIONS.get(patch, []) + [w for n in names.values() for w in n])
        )

        def key(name: str) -> tuple:
            return patch, name, self.texts[name].text, str(groups), str(names)

        # Coccinelle is slow where there is nothing to find, too.
        asked = {n: slices.of(patch, t, wanted) for n, t in self.texts.items()
                 if wanted.search(t.code) and key(n) not in self._facts}  # fmt: skip

        def one(name: str) -> list[semantic.Fact]:
            if name in asked:
                found = self._find(patch, name, asked[name], folders, wanted, groups, names)
                self._facts[key(name)] = found
            return self._facts.get(key(name), [])

        found = []
        self.write_copy(asked)
        with Workers(os.cpu_count()) as pool:
            for number, facts in enumerate(pool.map(one, self.names), 1):
                self._progress(f"{patch}: {number} of {len(self.names)} files")
                found += [fact for fact in facts if self.relative(fact.file) in self.texts]
        self.write_copy({name: self.texts[name].text for name in asked})
        self._progress.done()
        for fact in found:
            fact.file = self.relative(fact.file)
        return self._with_owners(found)

    def _with_owners(self, facts: list[semantic.Fact]) -> list[semantic.Fact]:
        """The facts, in which the compiler says what structures mutexes are members of, where it
        does; Coccinelle knows these by the names in a function's text."""
        question = owners.Question(self.texts, facts)
        if not question.places:
            return facts
        known = self._owners(question)
        kept = [f for f in facts if f.kind != "member" or (f.file, f.line, f.column) not in known]
        return kept + [
            semantic.Fact("member", *place, "", {"type": name}) for place, name in known.items()
        ]

    def _owners(self, question: owners.Question) -> dict[owners.Place, str]:
        now = tuple(sorted(question.marked.items()))
        if now not in self._known_owners:
            in_headers = any(name not in self.sources() for name in question.marked)
            asked = [n for n in self.compiled() if in_headers or n in question.marked]
            self.write_copy(question.marked)
            with Workers(os.cpu_count()) as pool:
                said = pool.map(lambda name: self._gcc(name, *owners.OPTIONS, warn=True), asked)
                found: dict[owners.Place, str] = {}
                for number, run in enumerate(said, 1):
                    self._progress(f"structures: {number} of {len(asked)} files")
                    found |= question.answers(run.stderr)
            self.write_copy({name: self.texts[name].text for name in question.marked})
            self._progress.done()
            self._known_owners[now] = found
        return self._known_owners[now]

    def _find(self, patch: str, name: str, sliced: str, folders, wanted, groups, names) -> list:
        """The facts of one file, whose copy is `sliced`. Coccinelle reads a function wrongly where
        a variable has the name of a type, or a macro's name stands for statements or attributes:
        these functions are read again without headers, and without such names."""
        text, path = self.texts[name], self._copy(name)
        try:
            found = semantic.find(patch, [path], folders, groups, **names)
            read = {fact.function for fact in found if fact.kind == "understood"}
            blind = [
                function
                for function in functions(text)
                if function[0] not in read and wanted.search(text.code, *function[3:])
            ]
            if blind:
                path = self._copy(name, _AGAIN)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="latin-1", newline="") as file:
                    file.write(slices.plain(sliced, blind, self.active_macros()))
                missed = {function[0] for function in blind}
                second = semantic.find(patch, [path], None, groups, **names)
                found += [fact for fact in second if fact.function in missed]
        except semantic.NotUnderstood as why:
            self.broken.setdefault(name, CompilerError(name, 1, 1, str(why)))
            return []
        return [fact for fact in found if fact.kind != "understood"]

    def relative(self, path: str) -> str:
        """A path of the copy or of the files as we name it; others stay as they are."""
        for root in (os.path.join(self.folder, _AGAIN), self.folder, self.base):
            if path and os.path.abspath(path).startswith(root + os.sep):
                return self._by_copy.get(found := os.path.relpath(path, root), found)
        if path and os.path.abspath(path).startswith(self._top_of_copy + os.sep):  # a link
            return os.path.join(self.top, os.path.relpath(path, self._top_of_copy))
        return path

    def active_macros(self) -> dict[str, str]:
        """What is defined at the end of the sources, name -> the definition from the name on. Of
        one that the compiler cannot read, and of headers then, whatever they define."""
        if self._macros is None:
            self._macros, unread = {}, set()
            with Workers(os.cpu_count()) as pool:
                said = [*pool.map(lambda name: self._gcc(name, "-E", "-dM"), self.sources())]
            for name, done in zip_equal(self.sources(), said):
                unread |= {name} if done.returncode != 0 else set()
                for line in done.stdout.splitlines():
                    macro = re.match(r"#define (\w+)", line)
                    if macro:
                        self._macros.setdefault(macro.group(1), line.removeprefix("#define "))
            for name in unread and (unread | set(self.names) - set(self.sources())):
                for match in MACRO.finditer(self.texts[name].text):
                    line = match.group().strip().removeprefix("#").strip().removeprefix("define")
                    self._macros.setdefault(match.group(1), line.strip())
        return self._macros

    def _gcc(self, name: str, *options: str, warn: bool = False) -> subprocess.CompletedProcess:
        compiler = shutil.which("gcc")
        if not compiler:
            raise Failure("transactionalize needs gcc; install the package gcc", NOT_FOUND)
        own = os.path.dirname(name)
        near = [self._copy(own), os.path.join(self.base, own)]
        folders = [word for folder in near for word in ("-iquote", folder)]
        folders += [word for folder in self._copied_folders() for word in ("-I", folder)]
        # A header of theirs may have the name of one of the system's. What is named both ways GCC
        # would take for named in the later one.
        named = {*map(os.path.realpath, (*self._copied_folders(), *_given(self.flags)))}
        last = [folder for folder in self.include() if os.path.realpath(folder) not in named]
        behind = [word for folder in last for word in ("-idirafter", folder)]
        if self.headers:
            folders += ["-I", self.headers]
        place = self._copy(name)
        flags = [flag for flag in self.flags if not (warn and flag == "-w")]
        silent = [] if warn else ["-w"]
        return _run([compiler, *folders, *flags, *behind, *silent, "-O0", *options, place])

    def compile(self, name: str, *options: str) -> list[CompilerError]:
        """Compiles one source of the copy; returns what the compiler found wrong."""
        if not self._is_c(name):
            why = "no C source by its name (C is .c or .i; headers are .h, .hh or .inc)"
            return [CompilerError(name, 1, 1, why, unit=name)]
        run = self._gcc(name, *options)
        errors = []
        for said in _ERROR.finditer(run.stderr):
            file, line, column, message = said.groups()
            function = (_IN_FUNCTION.findall(run.stderr, 0, said.start()) or [""])[-1]
            place = self.relative(file), int(line), int(column or 1)
            errors.append(CompilerError(*place, message, function, name))
        if run.returncode != 0 and not errors:
            last = (run.stderr.strip().splitlines() or ["no message"])[-1]
            errors = [CompilerError(name, 1, 1, f"the compiler failed: {last}", unit=name)]
        return errors

    def _is_c(self, name: str) -> bool:
        """Whether gcc takes it for C. What it does not know by its name goes to the linker, and
        nothing is said; where a flag names the language, that holds."""
        return name.endswith((".c", ".i")) or any(flag.startswith("-x") for flag in self.flags)

    def assembler(self, name: str, *options: str) -> str:
        """What the compiler makes of one source of the copy, with line numbers, and not
        optimized, so that these are right. "" where it does not compile."""
        target = self._copy(name + ".assembler.s")
        if self._gcc(name, "-O0", "-g1", "-S", "-o", target, *options).returncode != 0:
            return ""
        with open(target, encoding="latin-1") as file:
            return file.read()

    def bit_fields(self) -> dict[str, list[bitfields.Access]]:
        """Function -> the bit-fields that it touches, in the sources as they are."""
        now = self._sources_now()
        if now not in self._bit_fields:
            self._bit_fields[now] = self._find_bit_fields()
        return self._bit_fields[now]

    def _find_bit_fields(self) -> dict[str, list[bitfields.Access]]:
        found: dict[str, list[bitfields.Access]] = {}
        with Workers(os.cpu_count()) as pool:
            said = pool.map(self._warned_of_bit_fields, self.compiled())
            for number, (name, run) in enumerate(zip_equal(self.compiled(), said), 1):
                self._progress(f"bit-fields: {number} of {len(self.sources())} files")
                if run and run.returncode != 0:
                    line = (_ERROR.search(run.stderr) or [run.stderr])[0]
                    self.broken.setdefault(name, CompilerError(name, 1, 1, f"bit-fields: {line}"))
                for function, all_of in bitfields.uses(
                    run.stderr if run else "", self.relative
                ).items():
                    found.setdefault(function, []).extend(all_of)
        self._progress.done()
        return found

    def _warned_of_bit_fields(self, name: str) -> subprocess.CompletedProcess | None:
        """What the compiler says of a source whose bit-fields are marked; None: it has none."""
        kept = [flag for flag in self.flags if re.match(r"-(std=|ansi|f|m)", flag)]
        source = self._gcc(name, "-E").stdout
        marked = bitfields.mark(source)
        if marked == source:
            return None
        place = self._copy(name + ".marked.i")
        with open(place, "w", encoding="utf-8", errors="replace") as file:
            file.write(marked)
        check = ["-fsyntax-only", "-fpreprocessed", "-fdiagnostics-plain-output"]
        return _run(["gcc", *kept, "-Wdeprecated-declarations", *check, place])

    def call_graph(self) -> CallGraph:
        """Who calls whom in the sources as they are; what does not compile is `broken` from then
        on. A Failure where nothing does."""
        now = self._sources_now()
        if now not in self._graphs:
            self._graphs[now] = self._find_call_graph()
        return self._graphs[now].fresh()

    def _find_call_graph(self) -> CallGraph:
        graph = CallGraph()

        def of(name: str) -> list[CompilerError]:
            target = self._copy(name + ".callgraph")
            return self.compile(name, "-fcallgraph-info", "-S", "-o", target + ".s")

        with Workers(os.cpu_count()) as pool:
            for number, errors in enumerate(pool.map(of, self.sources()), 1):
                self._progress(f"calls: {number} of {len(self.sources())} files")
                if errors:
                    self.broken.setdefault(self.sources()[number - 1], errors[0])
        for folder in {os.path.dirname(self._copy(name)) for name in self.sources()}:
            for written in sorted(os.listdir(folder or ".")):
                if written.endswith(".ci"):
                    path = os.path.join(folder, written)
                    graph.read(path, self.relative)
                    os.unlink(path)
        self._progress.done()
        if self.broken and not self.compiled():
            first = next(iter(self.broken.values()))
            raise Failure(
                f"{first.file}:{first.line}: {first.message} (give the compiler's options after"
                " --)",
                FAILED,
            )
        return graph


def _given(flags: list[str]) -> list[str]:
    """The folders for headers that a compiler's flags name, in their order."""
    kinds = ("-I", "-iquote", "-isystem", "-idirafter")
    after = dict(enumerate(flags[1:]))
    words = [
        word.removeprefix(kind) or after.get(number, "")
        for number, word in enumerate(flags)
        for kind in kinds
        if word.startswith(kind)
    ]
    return [os.path.abspath(word) for word in words if word]


def _entries(folder: str) -> list[os.DirEntry]:
    """What a folder holds that sources may include; of what compilers write, nothing."""
    try:
        with os.scandir(folder) as found:
            return [entry for entry in found if not entry.name.endswith((".ci", ".s", ".o"))]
    except OSError:  # it may be searched, but not read
        return []


def _run(command: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, capture_output=True, text=True, check=False,
        env={**os.environ, "LC_ALL": "C"}, errors="replace",
    )  # fmt: skip
