"""Language runtimes: small threaded programs in languages/, all of which print the same line.

Python comes with the project's setup and is always run; Node, Java, Ruby and Go are run where the
machine has them.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from preloaded import installed, run, under_every_lock

SOURCES = Path(__file__).parent / "languages"
EXPECTED = "counter=20000 sum=499500 waits=right\n"

INTERPRETED = {
    "node": ["node", "threads.js"],
    "java": ["java", "-Xmx64m", "Threads.java"],
    "ruby": ["ruby", "threads.rb"],
}
PRESENT = [name for name, command in INTERPRETED.items() if shutil.which(command[0])]
HAS_CGO = bool(shutil.which("go") and shutil.which("gcc"))


@under_every_lock()
def test_python(lock):
    python = installed("/usr/bin/python3", "python3")
    assert run(lock, [python, SOURCES / "threads.py"]).decode() == EXPECTED


@pytest.fixture(scope="session")
def go_program(tmp_path_factory):
    """The Go program, built without any network."""
    program = tmp_path_factory.mktemp("go") / "threads"
    offline = {**os.environ, "CGO_ENABLED": "1", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    command = ["go", "build", "-o", str(program), str(SOURCES / "threads.go")]
    done = subprocess.run(command, env=offline, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return program


if PRESENT:

    @under_every_lock()
    @pytest.mark.parametrize("language", PRESENT)
    def test_interpreted_language(lock, language):
        program, *options, source = INTERPRETED[language]
        output = run(lock, [shutil.which(program), *options, SOURCES / source])
        assert output.decode() == EXPECTED


if HAS_CGO:

    @under_every_lock()
    def test_go_program_that_calls_c(lock, go_program):
        assert run(lock, [go_program]).decode() == EXPECTED
