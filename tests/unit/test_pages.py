"""The pages for users: how many there are, and how many words each has, and the limits. Pages for
maintainers are in docs/internals/."""

from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = 16
WORDS = 1500
TERMS = 60


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def test_pages_are_few_and_short() -> None:
    pages = sorted(DOCS.glob("*.md"))
    assert 0 < len(pages) <= PAGES
    assert not {page.stem: words(page) for page in pages if words(page) > WORDS}


def test_limits_are_short() -> None:
    pages = sorted(DOCS.glob("reference/*-limits.md"))
    assert pages
    assert not {page.stem: words(page) for page in pages if words(page) > WORDS}


def test_the_glossary_is_short() -> None:
    lines = (DOCS / "reference/glossary.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| term |")]
    assert 0 < len(rows) <= TERMS
