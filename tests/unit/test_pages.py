"""The pages for users: how many there are, and how many words each has. Pages for maintainers are
in docs/internals/."""

from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = 22
WORDS = 1500
# Pages that are still longer, each with a bound that only falls.
LONGER = {
    "architecture": 3200,
    "papers": 2150,
    "report": 1900,
    "transactionalize": 2100,
}


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def test_pages_are_few_and_short() -> None:
    pages = sorted(DOCS.glob("*.md"))
    assert 0 < len(pages) <= PAGES
    long = {page.stem: words(page) for page in pages if words(page) > WORDS}
    assert not {name for name, count in long.items() if count > LONGER.get(name, WORDS)}, long
    assert LONGER.keys() <= long.keys(), "a page that is short now needs no bound"
