"""What scripts that write a page from a table share."""

import sys
from pathlib import Path


def write_or_check(page: Path, text: str, check: bool) -> int:
    """Writes the page; with `check`, compares only. Returns the exit status: 1 where it differs."""
    if not check:
        page.write_text(text, encoding="utf-8")
        return 0
    there = page.read_text(encoding="utf-8") if page.is_file() else ""
    if there == text:
        return 0
    print(f"{page} is not what the table says; run `make readme`", file=sys.stderr)
    return 1
