"""`bench originals` on planted sources: what is built, that sources stay as they are, and what is
said in one line where something is missing. The real sources: papers/workloads/stamp."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from syncopate.base.errors import BAD_USE, Failure
from syncopate.bench import originals, originaltable
from syncopate.bench.originaltable import NATIVE, ORIGINALS, SIMULATED, Build, Original, make

MAKEFILE = "planted: planted.c\n\t$(CC) -O2 -pthread planted.c -o planted\n"
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void* work(void* unused) {
  for (int i = 0; i < 100; ++i) {
    pthread_mutex_lock(&lock);
    ++sum;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}
int main() {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", sum);
  return 0;
}
"""
PLANTED = Original(
    "a planted program",
    ("planted",),
    ("Makefile", "*.c"),
    lambda build: [make(".", f"CC={build.cc}", "planted")],
    "planted",
    missing="it was made up",
    needs=("make", "gcc"),
    probe="planted.c",
)


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A folder of sources with the planted program, which is all that there is."""
    monkeypatch.setattr(originals, "ORIGINALS", {"planted": PLANTED})
    folder = tmp_path / "sources" / "planted"
    folder.mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "planted.c").write_text(PROGRAM)
    return tmp_path / "sources"


def plant(monkeypatch, **changes) -> None:
    monkeypatch.setattr(originals, "ORIGINALS", {"planted": replace(PLANTED, **changes)})


def build(sources, *words: str) -> int:
    out = sources.parent / "out"
    return originals.main(["--sources", str(sources), "--out", str(out), *words])


def one_line(said: str) -> str:
    (line,) = said.splitlines()
    assert line.startswith("syncopate: bench originals: ")
    return line


def contents(folder) -> dict:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_builds_for_both_machines_and_leaves_the_source_as_it_is(sources, capsys):
    before = contents(sources)
    assert build(sources) == 0
    assert contents(sources) == before
    out = sources.parent / "out" / "planted"
    assert sorted(os.listdir(out)) == ["built.json", "planted", "planted.simulated"]
    assert "planted: a folder without history; 2 programs" in capsys.readouterr().out
    note = json.loads((out / "built.json").read_text())
    assert note["programs"] == ["planted", "planted.simulated"]
    machine = os.environ | {"SYNCOPATE_MACHINE": "test-4c", "SYNCOPATE_QUIET": "1"}
    for program in note["programs"]:
        done = subprocess.run(
            [out / program], capture_output=True, text=True, check=False, env=machine, timeout=60
        )
        assert (done.returncode, done.stdout) == (0, "400\n"), done.stderr


def test_python_may_lie_in_a_folder_with_a_space(sources, tmp_path, monkeypatch):
    python = tmp_path / "my folder" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(python))
    assert build(sources, "--machine", SIMULATED) == 0


def test_folders_with_spaces_are_one_word_of_a_makefile(tmp_path):
    built, products = tmp_path / "my build", tmp_path / "my products $1"
    spaced = Build("genome", "stm", NATIVE, "gcc", "g++", built, products)
    (step,) = originaltable.stamp(spaced)
    values = [word for word in step if "=" in word]
    makefile = tmp_path / "Makefile"
    makefile.write_text("all:\n\t@printf '%s\\n' $(STM) $(LIBS)\n")
    done = subprocess.run(
        ["make", "-s", "-f", makefile, *values], capture_output=True, text=True, check=True
    )
    words = done.stdout.splitlines()
    assert str(built / "stamp/original/stm/native") in words
    assert {f"-L{products}/lib", f"-Wl,-rpath,{products}/lib/tm"} <= set(words)


def test_one_machine_alone(sources):
    assert build(sources, "--machine", NATIVE) == 0
    assert not (sources.parent / "out" / "planted" / "planted.simulated").exists()


def test_one_program_alone(sources, monkeypatch):
    plant(monkeypatch, programs=("planted", "other"))
    assert build(sources, "--machine", NATIVE, "--program", "planted/planted") == 0
    assert (sources.parent / "out" / "planted" / "planted").exists()


def test_a_machine_that_it_cannot_have(sources, monkeypatch, capsys):
    plant(monkeypatch, machines=(NATIVE,), native_only="it needs what is not there")
    assert build(sources, "--machine", SIMULATED, "--program", "planted") == 1
    assert "planted: it needs what is not there" in one_line(capsys.readouterr().err)


def test_openmp_for_the_simulated_machine_is_named(sources, monkeypatch, capsys, tmp_path):
    """Its program is built with the runtime in the folder; without one, natively alone."""
    plant(monkeypatch, openmp=True)
    assert build(sources) == 0
    assert "1 programs in" in (said := capsys.readouterr().out)
    assert "OpenMP has to be named with --libgomp FOLDER" in said
    assert build(sources, "--machine", SIMULATED, "--program", "planted") == 1
    assert "has to be named with --libgomp FOLDER" in one_line(capsys.readouterr().err)
    with pytest.raises(Failure, match=r"has no libgomp\.a"):
        build(sources, "--libgomp", str(tmp_path))
    folder = tmp_path / "my gomp"
    folder.mkdir()
    (folder / "libgomp.a").write_text("")
    seen = []
    monkeypatch.setattr(
        originals, "build_one", lambda original, build, *_: seen.append(build.cc) or "not tried"
    )
    assert build(sources, "--libgomp", str(folder)) == 1
    native, simulated = seen
    assert native == "gcc"
    assert simulated.endswith(f" --libgomp='{folder}'")


def test_a_folder_that_is_another_program(sources, capsys):
    (sources / "planted" / "planted.c").rename(sources / "planted" / "other.c")
    assert build(sources) == 1
    assert "has no planted.c: that is not a planted program" in one_line(capsys.readouterr().err)


def test_no_source_and_nowhere_to_fetch_it(sources, capsys):
    shutil.rmtree(sources / "planted")
    assert build(sources) == 1
    assert "no source in" in one_line(capsys.readouterr().err)
    assert not (sources / "planted").exists()


def test_a_compiler_that_is_missing(sources, monkeypatch, capsys):
    plant(monkeypatch, needs=("make", "no-such-compiler"))
    assert build(sources) == 1
    said = one_line(capsys.readouterr().err)
    assert "planted: cannot be built without no-such-compiler" in said


def test_a_source_that_does_not_compile(sources, capsys):
    (sources / "planted" / "planted.c").write_text("int main() { return missing; }\n")
    assert build(sources, "--machine", NATIVE) == 1
    said = one_line(capsys.readouterr().err)
    assert "planted/planted: planted.c:1:" in said
    assert "missing" in said
    assert not (sources.parent / "out" / "planted" / "planted").exists()


def test_a_makefile_that_makes_nothing(sources, capsys):
    (sources / "planted" / "Makefile").write_text("planted:\n\ttrue\n")
    assert build(sources, "--machine", NATIVE) == 1
    assert "its makefile left no planted" in one_line(capsys.readouterr().err)


def test_inputs_are_unpacked_and_missing_ones_are_said(sources, monkeypatch, capsys):
    plant(monkeypatch, inputs=("small.gz", "large.txt"))
    packed = subprocess.run(["gzip", "-c"], input=b"1 2 3\n", capture_output=True, check=True)
    (sources / "planted" / "small.gz").write_bytes(packed.stdout)
    assert build(sources, "--machine", NATIVE) == 1
    assert "has no large.txt" in one_line(capsys.readouterr().err)
    assert (sources.parent / "out/planted/inputs/small").read_text() == "1 2 3\n"


@pytest.fixture
def repository(sources):
    """The planted source as a repository, in place of the folder. Returns its URL and commit."""
    where = sources.parent / "repository"
    (sources / "planted").rename(where)
    git = ["git", "-C", str(where), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "planted"]):
        subprocess.run([*git, *words], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return f"file://{where}", commit.stdout.strip()


def test_a_repository_is_fetched_at_its_commit(sources, repository, monkeypatch, capsys):
    url, commit = repository
    plant(monkeypatch, url=url, commit=commit, missing="")
    assert build(sources, "--machine", NATIVE) == 0
    assert f"commit {commit[:12]}, the pinned commit; 1 programs" in capsys.readouterr().out
    with (sources / "planted" / "planted.c").open("a") as file:
        file.write("// changed\n")
    assert build(sources, "--machine", NATIVE) == 0
    assert "the pinned commit, changed: planted.c" in capsys.readouterr().out
    (sources / "planted" / "added.c").write_text("")
    assert build(sources, "--machine", NATIVE) == 0
    assert "the pinned commit, changed: planted.c, added.c" in capsys.readouterr().out
    shutil.rmtree(sources / "planted/.git/objects")
    assert build(sources, "--machine", NATIVE) == 0
    assert "a folder whose history git cannot read" in capsys.readouterr().out


def test_flags_of_the_user_are_not_its_makefiles(sources, monkeypatch, capsys):
    for name in ("CC", "CXX", "CFLAGS", "LDFLAGS", "LIBS", "MAKEFLAGS", "MAKEFILES"):
        monkeypatch.setenv(name, "-nonsense")
    assert build(sources, "--machine", NATIVE) == 0, capsys.readouterr().err


@pytest.mark.parametrize("what", ["url", "commit"])
def test_a_repository_that_cannot_be_fetched(sources, repository, monkeypatch, capsys, what):
    url, commit = repository
    wrong = {"url": f"{url}-elsewhere", "commit": "0" * 40}
    plant(monkeypatch, **({"url": url, "commit": commit, "missing": ""} | {what: wrong[what]}))
    assert build(sources) == 1
    said = one_line(capsys.readouterr().err)
    assert "planted: cannot be fetched (fatal:" in said
    assert str(sources / "planted") in said
    assert os.listdir(sources) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--sources DIR"),
        (["--sources", __file__], "is not a folder"),
        (["--sources", ".", "--program", "stomp"], "did you mean stamp?"),
        (["--sources", ".", "--program", "stamp/yadda"], "did you mean yada?"),
        (["--sources", ".", "--program", "stamp/"], "there are bayes, genome"),
    ],
)
def test_bad_use(words, said):
    with pytest.raises(Failure, match="bench") as failure:
        originals.main(words)
    assert said.strip("?") in str(failure.value)
    assert failure.value.status == BAD_USE


def test_the_table(capsys):
    for name, each in ORIGINALS.items():
        assert [bool(each.url), bool(each.debian), bool(each.missing)].count(True) == 1, name
        assert len(each.commit) == (40 if each.url else 0), name
        assert bool(each.native_only) == (SIMULATED not in each.machines), name
    assert originals.main(["--list"]) == 0
    said = capsys.readouterr().out
    assert [name for name in ORIGINALS if f"{name}: " not in said] == []
