"""Elision of unmodified programs: its settings, and the switch of a running one."""

import subprocess
import time
from pathlib import Path

import pytest
from conftest import COMMAND, SECONDS, compile_c, one_line, run_cli

from syncopate.base import paths, preloading
from syncopate.symbols.names import MISSING


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"SYNCOPATE_ELIDE": "yes"}, "no such mode"),
        ({"SYNCOPATE_ELIDE_POLICY": "htm_2"}, "no elision policy is called 'htm_2'"),
        ({"SYNCOPATE_ELIDE": "always", "SYNCOPATE": "off"}, "nothing is elided"),
        ({"SYNCOPATE_ELIDE": "off", "SYNCOPATE_ELIDE_POLICY": "htm_1"}, "nothing is elided"),
    ],
)
def test_bad_elision_in_the_environment_is_one_line(environ, said):
    done = run_cli("run", "true", environ=environ)
    assert done.returncode == 0
    assert said in one_line(done)


GLIBC = {"SYNCOPATE_LOCK": "glibc"}


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"SYNCOPATE_ELIDE": "always", "SYNCOPATE_GUARD": "misuse"}, "--guard has to see every"),
        (GLIBC | {"SYNCOPATE_ELIDE": "always"}, "the locks stay with the C library"),
        (GLIBC | {"SYNCOPATE_GUARD": "misuse"}, "the locks stay with the C library"),
        (GLIBC | {"SYNCOPATE_SITES": "m,x;v,1,lock=mcs"}, "the locks stay with the C library"),
        (GLIBC | {"SYNCOPATE_VERBOSE": "1"}, "locks of this program: the C library's"),
        (
            {"SYNCOPATE_LOCK": "speculative_tatas", "SYNCOPATE_GUARD": "slices"},
            "nothing runs ahead",
        ),
        ({"SYNCOPATE_GUARD": "epochs", "SYNCOPATE_RECORD": "r"}, "no choice is compared"),
    ],
)
def test_the_library_says_what_does_nothing(tmp_path, environ, said):
    """Also where nobody asked the command, which refuses most of it."""
    everything = {"PATH": "/usr/bin:/bin", **environ}
    preloading.put_first(everything, paths.require(paths.PRELOAD))
    done = subprocess.run(
        ["true"], env=everything, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0
    assert said in one_line(done)


@pytest.mark.parametrize(
    ("environ", "said"),
    [({}, "was started without elision"), ({"SYNCOPATE_NATIVE": "/nowhere"}, MISSING)],
)
def test_switch_of_a_process_without_elision_is_one_line(environ, said):
    """Where transactions commit, the switch works; the emulated machine's tests show that."""
    with subprocess.Popen(
        [*COMMAND, "run", "--elide", "off", "sleep", "60"],
    ) as process:
        try:
            wait_for_program(process.pid, "sleep")
            done = run_cli("elide", str(process.pid), "off", environ=environ)
        finally:
            process.kill()
    assert done.returncode == 1
    assert said in one_line(done)


def wait_for_program(pid: int, name: str) -> None:
    for _ in range(1000):
        if Path(f"/proc/{pid}/comm").read_text().strip() == name:
            return
        time.sleep(0.01)
    raise AssertionError(f"{name} did not start")


def test_nothing_is_written_where_no_mode_lies(tmp_path):
    library = tmp_path / "libsyncopate-pthread.so.0"
    source = "unsigned char mode = 9; void *syncopate_elision_mode = &mode;\n"
    compile_c(source, library, "-shared", "-fPIC")
    environ = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": str(library)}
    with subprocess.Popen(["sleep", "60"], env=environ) as process:
        try:
            wait_for_program(process.pid, "sleep")
            for words in ([], ["off"], ["off"]):  # the second time it would be there
                done = run_cli("elide", str(process.pid), *words)
                assert (done.returncode, done.stdout) == (1, "")
                assert "has another version of the library" in one_line(done)
        finally:
            process.kill()


def test_the_switch_of_a_process_whose_library_is_another_build_at_our_path(tmp_path):
    """As in a container: the variable lies elsewhere there, and what lies here is none of ours."""
    if subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("mounts of one's own are not allowed here")
    mode = "unsigned char mode = {}; void *syncopate_elision_mode = &mode;\n"
    theirs, ours = tmp_path / "theirs.so", tmp_path / "libsyncopate-pthread.so.0"
    compile_c(mode.format(2), theirs, "-shared", "-fPIC")
    compile_c("int before[5000] = {1};\n" + mode.format(3), ours, "-shared", "-fPIC")
    enter = 'mount --bind "$1" "$2" && LD_PRELOAD="$2" exec sleep 60'
    with subprocess.Popen(["unshare", "-rm", "sh", "-c", enter, "sh", theirs, ours]) as process:
        try:
            wait_for_program(process.pid, "sleep")
            shown = run_cli("elide", str(process.pid))
            changed = run_cli("elide", str(process.pid), "off")
        finally:
            process.kill()
    assert (shown.stdout, changed.stdout) == ("auto\n", "off\n"), shown.stderr + changed.stderr
