"""Temporary files where none can be made: each command that wants one says so in one line."""

import ast
import tempfile
import zipfile
from pathlib import Path

import pytest

from syncopate.__main__ import main
from syncopate.base import scratch
from syncopate.base.errors import Failure
from syncopate.launch import kernelview
from syncopate.tuning.metric import Metric
from syncopate.tuning.runner import Runner

ROOT = Path(__file__).resolve().parents[2]
MAKERS = {"mkdtemp", "mkstemp", "TemporaryFile", "NamedTemporaryFile", "TemporaryDirectory"}
WHAT_TO_DO = "no temporary file can be made in /tmp, .*; set TMPDIR to a folder where one can"


@pytest.fixture
def no_place(tmp_path, capsys, monkeypatch):  # pytest has made its own by now
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/no/such/folder"])


def test_a_folder(no_place):
    with pytest.raises(Failure, match=WHAT_TO_DO), scratch.folder():
        pass


def test_a_file_of_a_recorder(no_place, monkeypatch, tmp_path):
    monkeypatch.setattr(kernelview.paths, "find", lambda part: "/bin/false")
    with pytest.raises(Failure, match=WHAT_TO_DO):
        kernelview.KernelRecorder(1, str(tmp_path / "record"))


def test_a_run_of_tune(no_place):
    with pytest.raises(Failure, match=WHAT_TO_DO):
        Runner(Metric("wall", "", True), ["true"]).run({}, 1)


def test_a_bundle_is_read(no_place, capsys, tmp_path):
    bundle = tmp_path / "some.bundle"
    with zipfile.ZipFile(bundle, "w") as file:
        file.writestr("bundle.json", "{}")
    assert main(["report", str(bundle)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("syncopate: no temporary file can be made"), said
    assert said.count("\n") == 1


def test_every_maker_is_told_where():
    """One that looks for a folder by itself ends in a traceback where there is none."""
    loose = []
    for path in sorted((ROOT / "syncopate").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            told = len(node.args) > 2 or any(each.arg == "dir" for each in node.keywords)
            if name in MAKERS and not told:
                loose.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert loose == []
