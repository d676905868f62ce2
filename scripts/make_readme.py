#!/usr/bin/env python3
"""Writes README.md and papers/results/measured.md: templates, the list of locks, what was measured.

Inputs: README.md.in, papers/results/measured.md.in, docs/demo.txt (what `make demo` printed last),
docs/verdicts.json (written by scripts/papers.py),
papers/results/*.json (written by `bench/compare.py --json` and `bench/programs.py --json`), and the
build's locks.json. A section whose input is missing is left out, and standard error says so; no
figure is typed by hand. The README has the programs and a line for each benchmark of locks;
papers/results/measured.md has everything.

Usage: make_readme.py [--check] [--demo FILE] [--page FILE] LOCKS_JSON [ROOT]
  --check      writes nothing; exit status 1 when a page is not what would be written
  --demo FILE  takes FILE over as docs/demo.txt first, if it is there
  --page FILE  takes a picture of this page as docs/report.png first, if it and chromium are there

The template's own lines begin with %%:
  %% insert NAME     the generated text NAME: locks, demo, statements, programs, summary or figures
  %% section NAME    from here to `%% end`: only when there is a text NAME
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).resolve().parent),
    str(Path(__file__).resolve().parent.parent / "bench"),
]

import readme_figures  # noqa: E402
import readme_locks  # noqa: E402
from readme_figures import ReadmeError  # noqa: E402

OTHERS_SHOWN = 1  # locks whose two stacks the README shows
LINES_SHOWN = 14  # of one block of the demo's text
PICTURE_SIZE = "1200,800"  # of the report's page


# ---- the demo ----


def shortened(demo: str) -> str:
    """The demo's text without what a first reader can do without."""
    kept, stacks = [], None
    for block in demo.rstrip().split("\n\n"):
        lines = block.splitlines()
        if not lines or "not lost to locks" in lines[0]:
            continue
        if lines[0].startswith("Who waited"):
            stacks = 0
        elif lines[0].startswith(("Who blocks", "kccachetest")):
            stacks = None
        elif stacks is not None:
            stacks += 1
            if stacks > OTHERS_SHOWN:
                continue
        if len(lines) > LINES_SHOWN:
            lines = [*lines[:LINES_SHOWN], "  ..."]
        kept.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(kept)


def demo_text(path: Path) -> str | None:
    if not path.is_file():
        return None
    return f"```text\n{shortened(path.read_text(encoding='utf-8'))}\n```\n"


def photograph(page: Path, picture: Path) -> None:
    """Takes a picture of the upper part of an HTML page."""
    browser = shutil.which("chromium")
    if browser is None:
        print("make_readme: no chromium: the report's picture stays as it is", file=sys.stderr)
        return
    words = ["--headless", "--hide-scrollbars", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    words += [f"--window-size={PICTURE_SIZE}", f"--screenshot={picture}", page.resolve().as_uri()]
    done = subprocess.run([browser, *words], capture_output=True, text=True, timeout=120)
    if done.returncode != 0 or not picture.is_file():
        raise ReadmeError(f"{page}: chromium took no picture (exit status {done.returncode})")
    try:
        from PIL import Image
    except ImportError:  # matplotlib brings it; without it the file is three times as large
        return
    Image.open(picture).convert("RGB").quantize(16, dither=0).save(picture, optimize=True)


# ---- the whole ----


def locks_text(path: Path) -> str:
    try:
        locks = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReadmeError(f"{path}: no list of locks; run `make` first ({error})") from error
    return readme_locks.BEGIN + readme_locks.table(locks) + readme_locks.END


def statements_text(path: Path) -> str | None:
    """How many of the papers' statements are reproduced."""
    if not path.is_file():
        return None
    rows = json.loads(path.read_text(encoding="utf-8"))
    found = Counter(row["verdict"] for row in rows if "beyond" not in row)
    return (
        f"Of {found.total()} statements in the papers' figures {found['reproduced']} are"
        f" reproduced, {found['direction only']} in direction only, and"
        f" {found['not reproduced']} are not.\n"
    )


def fill(name: str, template: str, texts: dict[str, str | None]) -> str:
    """The template with its %% lines carried out."""
    lines, leaving_out = [], False
    for line in template.splitlines(keepends=True):
        word, _, text = line[2:].strip().partition(" ")
        if not line.startswith("%%"):
            if not leaving_out:
                lines.append(line)
        elif word == "end":
            leaving_out = False
        elif word not in ("insert", "section") or text not in texts:
            raise ReadmeError(f"{name}: what is '{line.strip()}'?")
        elif word == "section":
            leaving_out = texts[text] is None
            if leaving_out:
                print(f"make_readme: nothing for the section '{text}': left out", file=sys.stderr)
        elif not leaving_out:
            lines.append(texts[text] or "")
    return re.sub(r"\n{3,}", "\n\n", "".join(lines))


def dead_links(text: str, folder: Path) -> list[str]:
    """Relative links of a page that lead nowhere."""
    targets = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", text)
    return sorted({target for target in targets if not (folder / target).exists()})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--demo", type=Path, help="becomes docs/demo.txt, if it is there")
    parser.add_argument("--page", type=Path, help="is photographed, if it is there")
    parser.add_argument("locks", type=Path)
    parser.add_argument("root", type=Path, nargs="?", default=Path(__file__).parent.parent)
    options = parser.parse_args()
    docs, results, stale = options.root / "docs", options.root / "papers/results", []
    try:
        if options.demo and options.demo.is_file() and not options.check:
            (docs / "demo.txt").write_bytes(options.demo.read_bytes())
        if options.page and options.page.is_file() and not options.check:
            photograph(options.page, docs / "report.png")
        texts = {
            "locks": locks_text(options.locks),
            "demo": demo_text(docs / "demo.txt"),
            "statements": statements_text(docs / "verdicts.json"),
            **readme_figures.texts(results),
        }
        for page in (
            results / "measured.md",
            options.root / "README.md",
        ):  # which links to the first
            template = page.with_name(page.name + ".in")
            new = fill(template.name, template.read_text(encoding="utf-8"), texts)
            if dead := dead_links(new, page.parent):
                raise ReadmeError(f"{template.name}: links lead nowhere: {', '.join(dead)}")
            if not page.is_file() or page.read_text(encoding="utf-8") != new:
                stale.append(page.name)
                if not options.check:
                    page.write_text(new, encoding="utf-8")
    except (ReadmeError, OSError) as error:
        print(f"make_readme: {error}", file=sys.stderr)
        return 1
    if options.check and stale:
        print(f"not what their inputs say: {', '.join(stale)}; run `make readme`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
