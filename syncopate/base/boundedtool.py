"""Tools that read files which nobody vouches for: with bounds on time and memory."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Sequence


def output(
    command: Sequence[str],
    seconds: float,
    memory: int,
    given: str = "",
    pass_fds: Sequence[int] = (),
    **others,
) -> str | None:
    """What the command prints; None where it cannot be started. subprocess.TimeoutExpired says that
    it took longer. What goes beyond `memory` bytes of address space fails in the tool. `others` are
    its environment's, beside `stderr`."""
    try:
        running = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=others.pop("stderr", subprocess.DEVNULL),
            env=os.environ | others,
            pass_fds=pass_fds,
        )
    except OSError:
        return None
    with running:
        try:
            _limit(running.pid, memory)
            told, _ = running.communicate(given.encode(), timeout=seconds)
        except BaseException:
            running.kill()
            raise
    return told.decode("utf-8", "replace")


def _limit(process: int, memory: int) -> None:
    """From outside: what is to be done in the child between fork() and exec() makes Python copy
    this process for it, whose memory may be large."""
    try:
        _, most = resource.prlimit(process, resource.RLIMIT_AS)
        least = memory if most == resource.RLIM_INFINITY else min(memory, most)
        resource.prlimit(process, resource.RLIMIT_AS, (least, most))
        resource.prlimit(process, resource.RLIMIT_CORE, (0, 0))
    except (OSError, ValueError):
        pass  # it has ended
