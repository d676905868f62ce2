"""What this machine's processor offers, found out by trying it."""

import json
import subprocess

from syncopate.base import paths
from syncopate.machines.machine import Finding

PROBE_SECONDS = 20  # far more than it takes; a wedged tool must not wedge us


def features() -> list[Finding]:
    """What the native probe found usable; a feature counts only when a self-test worked."""
    tool = paths.find(paths.NATIVE_TOOL)
    if tool is None:
        return [Finding("probe", "not built", "bad", "build it with `make` to see CPU features")]
    try:
        done = subprocess.run(
            [tool, "probe"], capture_output=True, timeout=PROBE_SECONDS, check=True
        )
        probed = json.loads(done.stdout)["capabilities"]
        return [
            Finding(
                each["name"],
                "usable" if each["usable"] else f"not usable: {each['reason']}",
                "good" if each["usable"] else "info",
                each["meaning"],
            )
            for each in probed
        ]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        return [Finding("probe", f"failed: {error}", "bad", "CPU features are unknown")]
