"""Tools that read files which nobody vouches for: with bounds on time and memory."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Sequence


def output(
    command: Sequence[str], seconds: float, memory: int, given: str = "", **others
) -> str | None:
    """What the command prints; None where it cannot be started. subprocess.TimeoutExpired says that
    it took longer. What goes beyond `memory` bytes of address space fails in the tool."""

    def limited() -> None:
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        least = memory if most == resource.RLIM_INFINITY else min(memory, most)
        resource.setrlimit(resource.RLIMIT_AS, (least, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    try:
        done = subprocess.run(
            command,
            input=given,
            stdout=subprocess.PIPE,
            stderr=others.pop("stderr", subprocess.DEVNULL),
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=seconds,
            preexec_fn=limited,
            env=os.environ | others,
        )
    except OSError:
        return None
    return done.stdout
