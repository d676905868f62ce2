"""libgomp's own tests: GCC's, of C, C++ and Fortran, from Debian's package or a folder of GCC's."""

import re
import subprocess

from standard import Test, UnfetchedError

LEAST = 900  # Tests that pass without us; far fewer means that the build of them broke.
LANGUAGES = {  # folder: (what it takes, compiler, which files are tests, files of these too)
    "libgomp.c": ("gcc", "*.c"),
    "libgomp.c++": ("g++", "*.C"),
    "libgomp.c-c++-common": ("gcc", "*.c"),
    "libgomp.fortran": ("gfortran", "*.[fF]*"),
}
DIRECTIVE = re.compile(r"\{\s*dg-([a-z-]+)\s+(.*?)\s*\}[ \t]*(?:\*/)?[ \t]*$", re.MULTILINE)
QUOTED = re.compile(r'"([^"]*)"')


def _run(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        last = ["no reason given", *done.stderr.strip().splitlines()][-1]
        raise UnfetchedError(f"{' '.join(command[:3])}: {last}")
    return done.stdout


def source(named, work):
    """The folder libgomp/testsuite of the folder named, else of the compiler's version's source."""
    if named is None:
        named = work / "source"
        if not (named / "unpacked").exists():
            named.mkdir(parents=True, exist_ok=True)
            version = _run("gcc", "-dumpversion").strip().partition(".")[0]
            _run("apt-get", "download", f"gcc-{version}-source", cwd=named)
            package = next(named.glob("*.deb"))
            _run("dpkg", "-x", str(package), "package", cwd=named)
            package.unlink()
            archive = next((named / "package").rglob("gcc-*-dfsg.tar.xz"))
            _run("tar", "-xf", str(archive), "--wildcards", "*/libgomp/*", cwd=named)
            (named / "unpacked").touch()
    for folder in (named, *named.glob("*/")):
        if (folder / "libgomp" / "testsuite").is_dir():
            return folder / "libgomp" / "testsuite"
    raise UnfetchedError(f"{named} has no libgomp/testsuite")


def _test(path, compiler, folder, optimize):
    """The test of that file; None: it is not one to be run."""
    text = path.read_text(encoding="utf-8", errors="replace")
    sources, flags, variables = [path], ["-fopenmp", optimize, f"-I{folder.parent}"], {}
    for name, rest in DIRECTIVE.findall(text):
        quoted = QUOTED.findall(rest)
        if name == "do" and not rest.startswith("run"):
            return None
        if name in ("options", "additional-options") and "{" not in rest and quoted:
            flags += quoted[0].split()
        if name == "additional-sources" and quoted:
            sources += [path.parent / word for word in quoted[0].split()]
        if name == "set-target-env-var":
            words = rest.split(None, 1)
            variables[words[0].strip('"')] = QUOTED.findall(words[1])[0]
    where = path.parent.name.removeprefix("libgomp.")
    name = f"{where}-{path.name.replace('.', '_')}"
    return Test(name, tuple(sources), tuple(flags), ("-lm",), variables, compiler)


def tests(folder, optimize):
    """Returns all programs of the suite that are to be run."""
    found = []
    for name, (compiler, pattern) in LANGUAGES.items():
        for path in sorted((folder / name).glob(pattern)):
            test = _test(path, compiler, folder, optimize)
            if test is not None:
                found.append(test)
    return found
