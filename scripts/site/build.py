#!/usr/bin/env python3
"""Makes the documentation site: the pages of docs/, README.md, what they link to, and a page for
each command with its help and what it really prints. Sphinx makes pages and search of them.

Usage: build.py OUTPUT_FOLDER [SYNCOPATE]    (SYNCOPATE: the command; default: build/bin/syncopate)

OUTPUT_FOLDER can be opened as a file: it needs no server, and no other one.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```)", re.M | re.S)
FIRST = ("record", "report", "tune", "elision", "openmp", "tm", "machines", "check", "advise")
SECONDS = 900  # for one line of an example
LINES = 60  # shown of what it prints


class SiteError(Exception):
    """One line for the user."""


def run(command: list, **options) -> subprocess.CompletedProcess:
    words = [str(word) for word in command]
    return subprocess.run(words, stdin=subprocess.DEVNULL, text=True, **options)


# ---- Pages of the source tree --------------------------------------------------------------------


def copy_pages(source: Path) -> list[str]:
    """Pages, and what they link to, each where it is in the tree; the names of the pages."""
    waiting = [
        "README.md",
        *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md")),
    ]
    done: list[str] = []
    while waiting:
        name = waiting.pop(0)
        if name in done:
            continue
        done.append(name)
        folder = (ROOT / name).parent

        def linked(match: re.Match, folder: Path = folder) -> str:
            image, text, target = match.groups()
            path, _, heading = target.partition("#")
            if not path or "://" in path:
                return match[0]
            file = (folder / path).resolve()
            if not file.is_file():  # a folder, which is no page
                return text
            name = str(file.relative_to(ROOT))
            if file.suffix == ".md":
                waiting.append(name)
                if name == "README.md":
                    path = os.path.relpath(ROOT / "index.md", folder)
                return f"[{text}]({path}{'#' if heading else ''}{heading})"
            kept = source / name
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, kept)
            return f"{image}[{text}]({path})"

        parts = FENCE.split((ROOT / name).read_text(encoding="utf-8"))
        parts[::2] = [LINK.sub(linked, part) for part in parts[::2]]
        page = source / ("index.md" if name == "README.md" else name)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("".join(parts), encoding="utf-8")
    return done


# ---- A page for each command ---------------------------------------------------------------------


def commands_of(help_text: str) -> dict[str, str]:
    """The commands by name, with what each does, as `syncopate --help` has them."""
    return dict(re.findall(r"^  ([a-z+]+) +(.+)$", help_text, re.M))


def shown(text: str, folder: Path) -> str:
    lines = text.replace(str(folder), "~").rstrip().split("\n")
    if len(lines) > LINES:
        lines[LINES:] = [f"... and {len(lines) - LINES} more lines"]
    return "\n".join(line.rstrip() for line in lines)


def write_commands(source: Path, syncopate: Path) -> None:
    """Each command's help, and its examples, which are run here, in the order of their table."""
    environment = {**os.environ, "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
    environment["PATH"] = f"{syncopate.parent}:{environment['PATH']}"
    commands = commands_of(run([syncopate, "--help"], capture_output=True).stdout)
    examples = tomllib.loads((HERE / "examples.toml").read_text(encoding="utf-8"))["example"]
    without = set(commands) - {each["command"] for each in examples}
    if without:
        raise SiteError(f"no example of {', '.join(sorted(without))} in scripts/site/examples.toml")
    printed: dict[str, list[str]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in (*HERE.glob("*.cpp"), *HERE.glob("*.c")):
            shutil.copy(file, folder)
        run(
            ["g++", "-g", "-O2", "-pthread", "program.cpp", "-o", "program"], cwd=folder, check=True
        )
        for each in examples:
            done = run(
                ["timeout", SECONDS, "sh", "-c", each["line"]], cwd=folder, env=environment,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            if done.returncode != each.get("status", 0):
                raise SiteError(f"{each['line']}: status {done.returncode}: {done.stdout}")
            printed[each["command"]].append(f"$ {each['line']}\n{shown(done.stdout, folder)}")
    pages = source / "commands"
    pages.mkdir()
    for name, what in commands.items():
        help_text = run([syncopate, name, "--help"], capture_output=True, env=environment).stdout
        lines = [f"# syncopate {name}", "", what[:1].upper() + what[1:] + ".", ""]
        lines += ["```text", help_text.replace(str(Path.home()), "~").rstrip(), "```", ""]
        lines += ["## What it prints", ""]
        for text in printed[name]:
            lines += ["```console", text, "```", ""]
        (pages / f"{name}.md").write_text("\n".join(lines), encoding="utf-8")


# ---- The whole -----------------------------------------------------------------------------------


def contents(pages: list[str], commands: list[str]) -> str:
    """The tables of contents, which stand beside every page."""
    of = {"Guide": [], "Reference": [], "Internals": [], "Decisions": [], "Results": []}
    for page in sorted(pages):
        folder, _, name = page.removesuffix(".md").rpartition("/")
        if page == "CHANGELOG.md":
            of["Reference"].append((name, name))
        elif folder:
            kind = {"docs": "Guide"}.get(folder, folder.removeprefix("docs/").capitalize())
            of[kind if kind in of else "Results"].append((name, f"{folder}/{name}"))
    rank = {name: place for place, name in enumerate(FIRST)}
    of["Guide"].sort(key=lambda each: rank.get(each[0], len(rank)))
    trees = {"Guide": of["Guide"], "Commands": [(name, f"commands/{name}") for name in commands]}
    text = ""
    for caption, entries in (trees | {key: of[key] for key in list(of)[1:]}).items():
        lines = ["", "```{toctree}", ":hidden:", f":caption: {caption}", ":maxdepth: 1", ""]
        text += "\n".join([*lines, *(path for _, path in entries), "```", ""])
    return text


def build(output: Path, syncopate: Path) -> None:
    version = run([syncopate, "--version"], capture_output=True).stdout.split()[-1]
    with tempfile.TemporaryDirectory() as name:
        source = Path(name)
        pages = copy_pages(source)
        write_commands(source, syncopate)
        commands = sorted(page.stem for page in (source / "commands").glob("*.md"))
        with (source / "index.md").open("a", encoding="utf-8") as index:
            index.write(contents(pages, commands))
        shutil.rmtree(output, ignore_errors=True)
        done = run(
            [
                sys.executable,
                "-m",
                "sphinx",
                "-q",
                "-W",
                "--keep-going",
                "-c",
                HERE,
                source,
                output,
            ],
            env={**os.environ, "SITE_RELEASE": version},
        )
        if done.returncode:
            raise SiteError("Sphinx does not agree")
    shutil.rmtree(output / ".doctrees", ignore_errors=True)
    print(output / "index.html")


def main() -> int:
    if not 2 <= len(sys.argv) <= 3 or sys.argv[1].startswith("-"):
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    syncopate = Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "build/bin/syncopate")
    try:
        build(Path(sys.argv[1]).absolute(), syncopate.absolute())
    except SiteError as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
