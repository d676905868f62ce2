"""Where the native parts are: libraries, syncopate-native, the tables of locks and options."""

from __future__ import annotations

import os

from syncopate.base.errors import FAILED, Failure

PRELOAD = "lib/libsyncopate-pthread.so.0"
PRELOAD_OPENMP = "lib/libsyncopate-openmp.so.0"
LOCKS = "share/syncopate/locks.json"
OPTIONS = "share/syncopate/options.json"
NATIVE_TOOL = "bin/syncopate-native"
KERNEL_RECORDER = "libexec/syncopate/kernel-recorder"
JVM_AGENT = "lib/libsyncopate-jvm.so"
NAMES_TOOL = "bin/syncopate-names"


built_in: str | None = None  # of a build tree: where its products are, as its launcher says


def prefixes() -> list[str]:
    """The places to look, best first: $SYNCOPATE_NATIVE, or the build's own place, alone where it
    is told; else wheel, else build."""
    chosen = os.environ.get("SYNCOPATE_NATIVE") or built_in
    if chosen:
        return [os.path.abspath(chosen)]
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [os.path.join(package, "_native"), os.path.join(os.path.dirname(package), "build")]


def find(part: str) -> str | None:
    """The absolute path of a native part (one of the names above), or None when it is not there."""
    for prefix in prefixes():
        path = os.path.join(prefix, part)
        if os.path.exists(path):
            return path
    return None


def require(part: str) -> str:
    """As find(), but a missing part is a Failure that says where it was looked for."""
    path = find(part)
    if path is None:
        looked = " or ".join(prefixes())
        raise Failure(
            f"{part} is not in {looked}; build it with `make`,"
            " or set SYNCOPATE_NATIVE to where it is installed",
            FAILED,
        )
    return path
