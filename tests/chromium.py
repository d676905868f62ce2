"""The system's Chromium, for tests of pages."""

import os
import shutil

import pytest

PATIENCE = 120_000  # milliseconds: a browser on a busy machine


@pytest.fixture(scope="module")
def browser():
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            chromium_sandbox=os.geteuid() != 0,
            timeout=PATIENCE,
        )
        yield browser
        browser.close()
