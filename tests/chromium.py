"""The system's Chromium, for tests of pages."""

import shutil

import pytest

PATIENCE = 120_000  # milliseconds: a browser on a busy machine


@pytest.fixture(scope="module")
def new_page():
    """Opens a page of a Chromium without a window, with the options of its Browser.new_page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            chromium_sandbox=False,  # it needs rights that not every user has; the pages are ours
            timeout=PATIENCE,
        )

        def opened(**options):
            page = browser.new_page(**options)
            page.set_default_timeout(PATIENCE)
            return page

        yield opened
        browser.close()
