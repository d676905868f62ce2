"""Files of any name, in any locale: what is written for others has the name byte for byte."""

import os
import subprocess

import pytest
from conftest import SOURCE, run

LOCALES = [{"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
NAMES = [b"a b.c", b"q'uo\"te.c", b"new\nline.c", "größe λ.c".encode(), b"latin\xf6.c"]


@pytest.mark.sampled(2)
@pytest.mark.crossed("name", "environ")
@pytest.mark.parametrize("environ", LOCALES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_sources_that_are_rewritten(tmp_path, name, environ):
    source = os.fsencode(tmp_path) + b"/" + name
    with open(source, "w") as file:
        file.write(SOURCE)
    done = run(["transactionalize", "--json", b"told.json", name], tmp_path, environ=environ)
    assert done.returncode == 0, done.stderr
    patched = subprocess.run(
        ["patch", "-p1"], input=done.stdout, cwd=tmp_path, capture_output=True, check=False
    )
    assert patched.returncode == 0, patched
    with open(source) as file:
        assert "__transaction_relaxed" in file.read()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", ["simulate --machines", "bench compare {files}/r.bench.json"])
def test_our_own_signs_are_ascii_where_the_locale_is(files, tmp_path, words):
    """Names of others stay as they are."""
    told = [word.format(files=files) for word in words.split()]
    environ = {"LC_ALL": "C", "COLUMNS": "80"}
    assert run(told, tmp_path, environ=environ).stdout.isascii()
    wide = run(told, tmp_path, environ={**environ, "LC_ALL": "C.UTF-8"})
    assert wide.returncode == 0 and (words.startswith("bench") or not wide.stdout.isascii())
