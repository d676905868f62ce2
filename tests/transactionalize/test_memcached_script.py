"""What integrations/memcached makes of the results of memcached's tests."""

import importlib.util

import pytest
from rewriting import ROOT


def part(name: str):
    path = ROOT / "integrations/memcached" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"memcached_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def suite():
    return part("suite")


def tree(folder, scripts: dict[str, str], app: str) -> str:
    (folder / "t").mkdir()
    for name, text in scripts.items():
        (folder / "t" / name).write_text(text)
    (folder / "testapp").write_text(f"#!/bin/sh\n{app}\n")
    (folder / "testapp").chmod(0o755)
    return str(folder)


def test_each_kind_of_failure_has_a_name(suite, tmp_path):
    scripts = {
        "good.t": 'print "1..2\\nok 1\\nok 2 - well\\n";',
        "skipped.t": 'print "1..0 # skip no git\\n";',
        "wrong.t": 'print "1..2\\nok 1\\nnot ok 2 - badly\\n"; exit 1;',
        "short.t": 'print "1..3\\nok 1\\n"; exit 255;',
        "crashed.t": "kill 11, $$;",
        "late.t": 'print "1..1\\nok 1\\n"; exit 3;',
    }
    made = tree(tmp_path, scripts, "echo 1..1; echo ok 1; exit 0")
    passed, failed = suite.run(made, {})
    assert passed == 6
    assert failed == {
        "t/wrong.t: 2",
        "t/short.t: 1 of 3 tests were run",
        "t/crashed.t: exit status -11",
        "t/crashed.t: says of no test how it went",
        "t/late.t: exit status 3",
    }
    assert suite.run(made, {}, "good") == (2, set())


def test_what_hangs_is_ended_with_what_it_started(suite, tmp_path, monkeypatch):
    monkeypatch.setattr(suite, "SECONDS", 1)
    made = tree(tmp_path, {}, "echo 1..1; sleep 1000")
    assert suite.run(made, {"SOME": "setting"}) == (0, {"testapp: not over after 1 s"})


def test_the_library_s_settings_reach_the_tests(suite, tmp_path):
    made = tree(tmp_path, {}, 'echo 1..1; test "$SYNCOPATE_TM" = norec && echo ok 1')
    assert suite.run(made, {"SYNCOPATE_TM": "norec"}) == (1, set())


def test_a_server_s_number_read_too_early_is_read_again(suite, tmp_path):
    app = (
        "echo 1..1\n[ -e again ] && echo ok 1 && exit\ntouch again\n"
        "echo 'testapp.c:405: start_server: Assertion failed' >&2; exit 134"
    )
    assert suite.run(tree(tmp_path, {}, app), {}) == (1, set())
    (tmp_path / "again").unlink()
    other = app.replace("start_server", "safe_recv")
    (tmp_path / "testapp").write_text(f"#!/bin/sh\n{other}\n")
    assert suite.run(str(tmp_path), {}) == (0, {"testapp: 0 of 1 tests were run"})


def test_a_load_whose_operations_fail_is_no_load(tmp_path, monkeypatch):
    """memslap's exit status is 0 then: the counts would be of fewer operations."""
    load = part("load")
    program = tmp_path / "memcslap"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    program.write_text("#!/bin/sh\necho took 1 s\n")
    program.chmod(0o755)
    assert 0 < load.memslap(1, 10, "get") < 60
    program.write_text("#!/bin/sh\necho 'Fatal error for key x: A TIMEOUT OCCURRED' >&2\n")
    with pytest.raises(RuntimeError, match="A TIMEOUT OCCURRED"):
        load.memslap(1, 10, "get")
