"""The real programs of bench/programs.py, as a suite: that file measures, this one finds them.

bench/ is a folder of the source tree: an installed package has no such suite, and says so.
"""

import importlib
import sys
from functools import cache
from pathlib import Path

from syncopate.base import scratch
from syncopate.bench.configuration import Configuration, ConfigurationError
from syncopate.bench.onerun import RunError
from syncopate.bench.provenance import ROOT
from syncopate.bench.suites import Program, slug

SCRIPT = ROOT / "bench" / "programs.py"


@cache
def module():
    """bench/programs.py. Requires: it is there."""
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        return importlib.import_module("programs")
    finally:
        sys.path.remove(str(SCRIPT.parent))


def real_programs() -> dict[str, Program]:
    """Its workloads by a short name; none where the file is not there."""
    if not SCRIPT.is_file():
        return {}
    return {slug(each.name): Program(each.name) for each in module().workloads()}


def measure_real(name: str, variables: dict, quick: bool) -> dict:
    """Runs one workload once. Returns its speed; raises RunError."""
    programs = module()
    workload = next(each for each in programs.workloads() if each.name == name)
    configuration = Configuration("", variables)
    with scratch.folder("syncopate-bench-") as folder:
        context = programs.Context(quick, Path(folder), None)
        try:
            return {"speed": workload.measure(configuration, context)}
        except (
            programs.ServerError,
            programs.WorkloadError,
            ConfigurationError,
            OSError,
        ) as error:
            raise RunError(str(error)) from error
