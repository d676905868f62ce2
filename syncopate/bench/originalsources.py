"""The original programs' sources: a folder that the user has, or one that is fetched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from syncopate.base.errors import Failure
from syncopate.bench.originaltable import Original
from syncopate.bench.provenance import ROOT

SECONDS = 900  # for one command that fetches


def source(name: str, original: Original, sources: Path) -> tuple[Path, str]:
    """The folder with the source, fetched unless it is there; and what it is, in words. Raises a
    Failure of one line."""
    folder = sources / (original.folder or name)
    if not folder.is_dir() or not any(folder.iterdir()):
        fetch(name, original, folder)
    if not (folder / original.probe).exists():
        raise Failure(f"{name}: {folder} has no {original.probe}: that is not {original.what}")
    return folder, described(original, folder)


def fetch(name: str, original: Original, folder: Path) -> None:
    """Raises a Failure, and leaves no folder, where it cannot."""
    if original.missing:
        raise Failure(f"{name}: no source in {folder}: {original.missing}")
    tool = "git" if original.url else "sh"
    if shutil.which(tool) is None:
        raise Failure(f"{name}: no source in {folder}, and no {tool} to fetch it")
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        if original.url:
            from_repository(name, original, part, folder)
        else:
            from_debian(name, original, part, folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)  # an empty one
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def from_repository(name: str, original: Original, part: Path, folder: Path) -> None:
    where = f"put a checkout of {original.url} at {original.commit[:12]} there"
    git = ["git", "-C", str(part)]
    for step in (
        [*git, "init", "-q"],
        [*git, "fetch", "-q", "--depth", "1", original.url, original.commit],
        [*git, "checkout", "-q", original.commit],
    ):
        if why := failure(step):
            raise Failure(f"{name}: cannot be fetched ({why}); {where}: {folder}")


def from_debian(name: str, original: Original, part: Path, folder: Path) -> None:
    """apt leaves the package's folder beside what it fetched: its contents become `part`'s."""
    script = ["sh", str(ROOT / "integrations/debian_source.sh"), str(part), original.debian]
    if why := failure(script):
        raise Failure(
            f"{name}: Debian's source package {original.debian} cannot be fetched ({why}); unpack"
            f" it yourself: {folder}"
        )
    for unpacked in part.glob(f"apt/{original.debian}-*/"):
        for each in unpacked.iterdir():
            each.rename(part / each.name)
    shutil.rmtree(part / "apt")


def failure(
    command: list[str],
    environ: dict[str, str] | None = None,
    folder: Path | None = None,
    errors: re.Pattern = re.compile("(fatal|error|E): "),
    seconds: int = SECONDS,
) -> str:
    """The line that says why a command failed: the first with one of the `errors`, else the last;
    empty where it did not fail."""
    environ = {**(os.environ if environ is None else environ), "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False,
            timeout=seconds, stdin=subprocess.DEVNULL, env=environ, cwd=folder,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"{command[0]}: not done after {seconds} s"
    except OSError as error:
        return f"{error.filename or command[0]}: {error.strerror}"  # the folder may be missing
    if done.returncode == 0:
        return ""
    lines = (done.stderr or done.stdout).strip().splitlines() or [f"status {done.returncode}"]
    return next((line for line in lines if errors.match(line)), lines[-1]).strip()


def described(original: Original, folder: Path) -> str:
    """Of which commit the files are, and which of them differ, are missing or are not of it; a
    folder without history is just that."""
    if not (folder / ".git").exists():
        return f"Debian's {original.debian}" if original.debian else "a folder without history"
    git = ["git", "--no-optional-locks", "-C", str(folder)]

    def said(*words: str) -> str:
        try:
            done = subprocess.run([*git, *words], capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return done.stdout.rstrip()

    commit = said("rev-parse", "HEAD")
    if not commit:
        return "a folder whose history git cannot read"
    pinned = "the pinned commit" if commit == original.commit else "another commit than is pinned"
    changed = [line[3:] for line in said("status", "--porcelain").splitlines()]
    files = f", changed: {', '.join(changed[:3])}" if changed else ""
    return f"commit {commit[:12]}, {pinned}{files}"
