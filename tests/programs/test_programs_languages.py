"""Language runtimes: small threaded programs in languages/, all of which print the same line."""

import os
import subprocess
from pathlib import Path

import pytest
from preloaded import installed, run, under_every_lock

SOURCES = Path(__file__).parent / "languages"
EXPECTED = "counter=20000 sum=499500 waits=right\n"

# Each with its Debian package.
INTERPRETED = {
    "python3": ("python3", ["threads.py"]),
    "node": ("nodejs", ["threads.js"]),
    "java": ("default-jdk-headless", ["-Xmx64m", "Threads.java"]),
    "ruby": ("ruby", ["threads.rb"]),
}


@pytest.mark.sampled(2)
@under_every_lock()
@pytest.mark.parametrize("language", INTERPRETED)
def test_interpreted_language(lock, language):
    package, (*options, source) = INTERPRETED[language]
    output = run(lock, [installed(language, package), *options, SOURCES / source])
    assert output.decode() == EXPECTED


@pytest.fixture(scope="session")
def go_program(tmp_path_factory):
    """The Go program, built without any network."""
    program = tmp_path_factory.mktemp("go") / "threads"
    offline = {**os.environ, "CGO_ENABLED": "1", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    # The home may be read-only. What is kept saves compiling Go's own library for 20 s.
    offline["GOCACHE"] = str(Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "go-cache")
    command = [
        installed("go", "golang-go"),
        "build",
        "-o",
        str(program),
        str(SOURCES / "threads.go"),
    ]
    done = subprocess.run(command, env=offline, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return program


@under_every_lock()
def test_go_program_that_calls_c(lock, go_program):
    assert run(lock, [go_program]).decode() == EXPECTED
