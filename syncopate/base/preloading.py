"""LD_PRELOAD: how a library gets into a program's environment, and out of it again.

The loader splits LD_PRELOAD at blanks and colons, and knows no way to quote them. A library whose
path has a blank is named without its folder, and the folder put before LD_LIBRARY_PATH, which is
split at colons and semicolons only.
"""

import os

from syncopate.base.errors import FAILED, Failure

LIST, FOLDERS = "LD_PRELOAD", "LD_LIBRARY_PATH"


def put_first(environ: dict[str, str], library: str) -> None:
    """Puts a library before whatever else is preloaded. A Failure when no variable can name it."""
    take_out(environ, library)
    name, folder = _named(library)
    environ[LIST] = ":".join([name, *_entries(environ)])
    if folder:
        before = environ.get(FOLDERS)
        environ[FOLDERS] = f"{folder}:{before}" if before else folder


def take_out(environ: dict[str, str], library: str) -> None:
    """Undoes put_first(); without effect where the library is not preloaded."""
    name, folder = _named(library)
    others = [entry for entry in _entries(environ) if entry != name]
    if len(others) == len(_entries(environ)):
        return
    _set_or_drop(environ, LIST, ":".join(others))
    if folder:
        rest = environ.get(FOLDERS, "").split(":")
        _set_or_drop(environ, FOLDERS, ":".join(each for each in rest if each != folder))


def changed(environ: dict[str, str], variables: dict[str, str]) -> dict[str, str]:
    """An environment in which these variables are set; LD_PRELOAD, if it is one of them, to the
    path of one library."""
    result = {**environ, **variables}
    if LIST in variables:
        del result[LIST]
        put_first(result, variables[LIST])
    return result


def _entries(environ: dict[str, str]) -> list[str]:
    return [entry for entry in environ.get(LIST, "").replace(":", " ").split(" ") if entry]


def _named(library: str) -> tuple[str, str]:
    """The library's entry, and the folder that has to be looked in for it ("": none)."""
    if ":" in library or ";" in library:
        raise Failure(
            f"{library} has a colon or a semicolon in it, and LD_PRELOAD cannot name such a path;"
            " install Syncopate somewhere else, or set SYNCOPATE_NATIVE to a link without them",
            FAILED,
        )
    if " " not in library:
        return library, ""
    return os.path.basename(library), os.path.dirname(library)


def _set_or_drop(environ: dict[str, str], variable: str, text: str) -> None:
    environ.pop(variable, None)
    if text:
        environ[variable] = text
