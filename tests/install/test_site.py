"""The documentation as a site: its links, its search in a browser, and a page for each command."""

import os
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from syncopate.__main__ import COMMANDS

pytest_plugins = ("chromium",)  # the fixture `new_page`

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.long


class Page(HTMLParser):
    """What a page leads to, what it loads, and the names of its places."""

    def __init__(self, path: Path):
        super().__init__()
        self.links, self.loads, self.places = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        has = dict(attributes)
        self.places.add(has.get("id"))
        if tag == "a" and has.get("href"):
            self.links.append(has["href"])
        loaded = has.get("src") or (has.get("href") if tag == "link" else None)
        if loaded:
            self.loads.append(loaded)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    subprocess.run(["make", "-s", "build/venv-site/requirements.txt"], cwd=ROOT, check=True)
    folder = tmp_path_factory.mktemp("made") / "site"
    python = ROOT / "build/venv-site/bin/python"
    command = Path(os.environ["SYNCOPATE_NATIVE"]) / "bin/syncopate"
    subprocess.run([python, ROOT / "scripts/site/build.py", folder, command], check=True)
    return folder


def test_every_link_leads_somewhere(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 60
    dead = []
    for path, page in pages.items():
        assert not [each for each in page.loads if "://" in each or each.startswith("//")]
        for link in page.links:
            target, _, place = unquote(link).partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            there = (path.parent / target).resolve() if target else path
            if not there.is_file() or (
                place and there in pages and place not in pages[there].places
            ):
                dead.append(f"{path.relative_to(site)}: {link}")
    assert not dead


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page(site, command):
    text = (site / f"commands/{command}.html").read_text(encoding="utf-8")
    assert f"syncopate {command}" in text and "What it prints" in text
    assert "Traceback" not in text and str(ROOT) not in text


def test_it_is_searched_and_read(site, new_page):
    page = new_page()
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"file://{site}/index.html")
    assert page.locator("h1").inner_text().startswith("Syncopate")
    assert page.locator(".sidebar-tree .caption").all_text_contents()[:2] == ["Guide", "Commands"]
    page.fill("input[name=q]", "perfetto")
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").first
    title = found.inner_text()
    found.click()
    page.wait_for_selector("h1")
    assert page.locator("h1").inner_text().rstrip("#\N{PILCROW SIGN}") == title
    assert "perfetto" in page.locator("article").inner_text().lower()
    page.goto(f"file://{site}/commands/report.html")
    assert "Lost to locks" in page.locator("article").inner_text()
    assert errors == [] and not [url for url in asked if not url.startswith("file://")]
