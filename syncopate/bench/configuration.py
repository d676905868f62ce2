"""The environment in which an unmodified program is run: which library, which lock.

A configuration is written NAME[@LIBRARY][+VARIABLE=VALUE]...:
    glibc              no preload library at all
    pass               the library is loaded, and passes every call through (SYNCOPATE_LOCK=glibc)
    off                the library is loaded, and switched off (SYNCOPATE=off)
    NAME or NAME:WAIT  that lock, e.g. auto, tatas:spin, mcs:park
@LIBRARY names another build of the library, +VARIABLE=VALUE sets one more environment variable.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from syncopate.base import locktable, ownsettings, paths, preloading
from syncopate.base.errors import Failure


def preload_library() -> Path:
    """Returns where the preload library is; where it would be when it is not built."""
    return Path(paths.find(paths.PRELOAD) or os.path.join(paths.prefixes()[-1], paths.PRELOAD))


class ConfigurationError(Exception):
    """A configuration that cannot be run; the text is one line for the user."""


def _check_lock(text, name):
    """The library itself takes a name that it does not know for `auto`, which would be compared."""
    if name == "pass":
        return
    try:
        locktable.check_choice(name)
    except Failure as failure:
        raise ConfigurationError(f"{text}: {failure}") from None


@dataclass(frozen=True)
class Configuration:
    """What stands before one column of a comparison: a name and the environment it means."""

    text: str
    variables: dict = field(default_factory=dict, hash=False)

    @classmethod
    def parse(cls, text, library=None):
        """Returns the Configuration that `text` means; raises ConfigurationError."""
        head, *settings = text.split("+")
        name, _, own_library = head.partition("@")
        variables = {}
        if name not in ("glibc", "none"):
            path = Path(own_library or library or preload_library()).resolve()
            if not path.is_file():
                raise ConfigurationError(f"{text}: no library {path}; run `make` first")
            variables["LD_PRELOAD"] = str(path)
            if name == "off":
                variables["SYNCOPATE"] = "off"
            else:
                variables["SYNCOPATE_LOCK"] = "glibc" if name == "pass" else name
                if path == preload_library().resolve():  # another build has other locks
                    _check_lock(text, name)
        for setting in settings:
            key, equals, value = setting.partition("=")
            if not equals:
                raise ConfigurationError(f"{text}: expected VARIABLE=VALUE after '+'")
            variables[key] = value
        return cls(text, variables)

    def environment(self):
        """Returns os.environ without our variables, plus those of this configuration."""
        clean = ownsettings.without(os.environ)
        clean.pop(preloading.LIST, None)
        return preloading.changed(clean, self.variables)
