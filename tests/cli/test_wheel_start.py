"""bin/syncopate of a wheel starts Python beside variables that are meant for the program."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, SECONDS

BUILT = Path(os.environ.get("SYNCOPATE_NATIVE") or ROOT / "build").absolute()
SCRIPT = "import sys\nfrom syncopate.__main__ import main\nsys.exit(main())\n"
# As pip names Python, and as it does where the path is too long for a first line or has spaces.
FIRST_LINES = {
    "plain": "#!{}\n",
    "by a shell": "#!/bin/sh\n'''exec' \"{}\" \"$0\" \"$@\"\n' '''\n",
}
if " " in sys.executable:
    del FIRST_LINES["plain"]  # no first line can have it


@pytest.fixture(params=["lib/python3.9/site-packages", "."])
def packages(request, tmp_path) -> Path:
    """Where pip has put the packages: in an environment, and by --target."""
    folder = tmp_path / "wheel" / request.param
    shutil.copytree(ROOT / "syncopate", folder / "syncopate")
    (folder / "syncopate/_native").symlink_to(BUILT)
    return folder


@pytest.fixture(params=FIRST_LINES)
def command(request, tmp_path, packages) -> Path:
    program = tmp_path / "wheel/bin/syncopate"
    program.parent.mkdir()
    shutil.copy(BUILT / "bin/syncopate", program)
    script = program.with_name("syncopate-command")
    script.write_text(FIRST_LINES[request.param].format(sys.executable) + SCRIPT)
    script.chmod(0o755)
    return program


def start(*words, **variables: str) -> subprocess.CompletedProcess:
    kept = {k: v for k, v in os.environ.items() if k not in ("SYNCOPATE_NATIVE", "PYTHONPATH")}
    return subprocess.run(words, env=kept | variables, capture_output=True, timeout=SECONDS)


@pytest.mark.sampled(2)
def test_the_programs_variables_are_the_programs(command, tmp_path):
    """The command's packages are found beside its native parts, wherever these are."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for module in ("json", "syncopate"):
        (elsewhere / f"{module}.py").write_text(f"raise SystemExit('another {module}')\n")
    variables = {"PYTHONHOME": str(elsewhere), "PYTHONPATH": str(elsewhere)}
    done = start(command, "list", "--json", **variables)
    assert done.stderr == b"" and any(lock["name"] == "mcs" for lock in json.loads(done.stdout))
    for options in ([], ["--force"]):  # by the launcher; by Python
        done = start(command, "run", *options, "env", **variables)
        for name, value in variables.items():
            assert f"{name}={value}\n".encode() in done.stdout, options
    done = start(command, "record", "-o", tmp_path / "rec", "sleep", "0.3", **variables)
    assert done.returncode == 0 and b"recorded in" in done.stderr
    done = start(command, "report", tmp_path / "rec", **variables)
    assert done.returncode == 0 and done.stdout.startswith(b"sleep 0.3\n")


def test_nothing_is_left_among_the_packages(command, packages):
    """No compiled modules: pip, which has not written them, would not remove them."""
    shutil.rmtree(packages / "syncopate/__pycache__", ignore_errors=True)
    assert start(command, "list").returncode == 0
    assert not (packages / "syncopate/__pycache__").exists()


def test_what_is_no_python_is_started_as_it_is(command):
    """As where a package manager has put a program of its own into the script's place."""
    command.with_name("syncopate-command").write_text('#!/bin/sh\necho its own "$@"\n')
    assert start(command, "list").stdout == b"its own list\n"
