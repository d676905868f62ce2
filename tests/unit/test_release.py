"""scripts/release.py: what a release's folder has, and what it refuses."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import release  # noqa: E402


def git(tree: Path, *words: str) -> None:
    me = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *me, *words], cwd=tree, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path) -> Path:
    """A repository with what names the version, as it is in ours."""
    tree = tmp_path / "tree"
    for name in release.PLACES:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "all")
    return tree


def packages(folder: Path, version: str) -> list[Path]:
    names = [f"syncopate-{version}-py3-none-any.whl", f"syncopate-native_{version}_arm64.deb"]
    files = [folder / name for name in names]
    for file in files:
        file.write_text(file.name)
    return files


def test_a_release(tree, tmp_path):
    version = release.version_of(tree)
    folder = release.release(tree, tmp_path / "out", packages(tmp_path, version))
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True)
    summed = [line.split()[1] for line in (folder / "SHA256SUMS").read_text().splitlines()]
    assert sorted([*summed, "SHA256SUMS"]) == sorted(path.name for path in folder.iterdir())
    assert len(summed) == 5
    with tarfile.open(folder / f"syncopate-{version}.tar.gz") as sources:
        assert f"syncopate-{version}/CHANGELOG.md" in sources.getnames()
    notes = (folder / "NOTES.md").read_text()
    assert notes.startswith(f"# Syncopate {version}\n\n") and "## " not in notes.replace("# S", "")
    assert (folder / "VERSION").read_text().startswith(f"{version}\n")


# Stand-ins for scripts/package: each makes one file, and says which.
DEB = "file=build/syncopate_{version}_amd64.deb"
WHEEL = "file=$1/syncopate-{version}-py3-none-manylinux_2_28_$2.whl"
PORTABLE = (
    "case $1 in *x86_64*) of=amd64 ;; *) of=arm64 ;; esac; "
    "file=$2/syncopate-native_{version}_$of.deb"
)


def test_a_release_has_every_package(tree, tmp_path):
    """What the README says can be installed: for both processors, with and without a compiler."""
    version = release.version_of(tree)
    folder = tree / "scripts/package"
    folder.mkdir(parents=True)
    for name, words in (("deb", DEB), ("wheel", WHEEL), ("portable_deb", PORTABLE)):
        script = folder / f"{name}.sh"
        words = words.replace("{version}", version)
        script.write_text(f"#!/bin/sh\n{words}\nmkdir -p ${{file%/*}}; : >$file; echo $file\n")
        script.chmod(0o755)
    (tree / ".gitignore").write_text("build\n")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "packages")
    packages = sorted(
        path.name
        for path in release.release(tree, tmp_path / "out", []).iterdir()
        if path.suffix in (".deb", ".whl")
    )
    assert packages == [
        f"syncopate-{version}-py3-none-manylinux_2_28_aarch64.whl",
        f"syncopate-{version}-py3-none-manylinux_2_28_x86_64.whl",
        f"syncopate-native_{version}_amd64.deb",
        f"syncopate-native_{version}_arm64.deb",
        f"syncopate_{version}_amd64.deb",
    ]


@pytest.mark.parametrize("name", release.PLACES)
def test_versions_that_differ(tree, tmp_path, name):
    version = release.version_of(tree)
    text = (tree / name).read_text()
    (tree / name).write_text(text.replace(version, "9.9.9", 1))
    with pytest.raises(release.ReleaseError, match=f"{name} says 9.9.9"):
        release.release(tree, tmp_path / "out", [])


def test_what_else_is_refused(tree, tmp_path):
    version = release.version_of(tree)
    mine = packages(tmp_path, version)
    other = packages(tmp_path, "0.0.9")
    with pytest.raises(release.ReleaseError, match=r"0\.0\.9.* is no package of"):
        release.release(tree, tmp_path / "out", other)
    (tree / "more").touch()
    with pytest.raises(release.ReleaseError, match="not committed: more"):
        release.release(tree, tmp_path / "out", mine)
    git(tree, "tag", f"v{version}")
    git(tree, "add", "more")
    git(tree, "commit", "-qm", "more")
    with pytest.raises(release.ReleaseError, match="is another commit"):
        release.release(tree, tmp_path / "out", mine)
    (tree / "CHANGELOG.md").write_text(f"# Changes\n\n## {version}\n\n## 0.0.1\n\nThis.\n")
    with pytest.raises(release.ReleaseError, match="says nothing of"):
        release.release(tree, tmp_path / "out", mine)
    assert not (tmp_path / "out").exists()
