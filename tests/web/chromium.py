"""A headless Chromium, where there is one: Debian's package, driven by Playwright."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

if os.environ.get("CI") is None:
    pytest.importorskip("playwright.async_api", reason="playwright is not installed (pip install playwright)")

from playwright.async_api import Browser, Error, Page, async_playwright

_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Then the terminal draws with elements of the page, which can be read, and which foreign text could harm if anything could.
    "--disable-3d-apis",
)


def chromium_path() -> str:
    """Where Chromium is. Skips the test where there is none; with CI set it must be there."""
    found = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), "")
    if not found:
        if os.environ.get("CI"):
            pytest.fail("no Chromium here: apt-get install chromium")
        pytest.skip("no Chromium here (apt-get install chromium), so the page is not opened in one")
    return found


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """One browser with an empty profile of its own."""
    path = chromium_path()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, headless=True, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


async def screen_text(page: Page) -> str:
    """What stands on the terminal in the page, a line for each of its rows."""
    rows = await page.evaluate("[...document.querySelectorAll('.xterm-rows > div')].map((row) => row.textContent)")
    return "\n".join(row.replace("\u00a0", " ").rstrip() for row in rows)


async def shows(page: Page, *texts: str) -> str:
    """Wait until the terminal shows all of these; the page's own time limit is the end of patience. Gives what it shows."""
    try:
        await _all_shown(page, texts)
    except Error as error:
        pytest.fail(f"{texts} are not shown ({error.message}), but:\n{await screen_text(page)}\n{await page.inner_text('body')}")
    return await screen_text(page)


async def _all_shown(page: Page, texts: tuple[str, ...]) -> None:
    await page.wait_for_function(
        """(texts) => {
            const rows = [...document.querySelectorAll('.xterm-rows > div')].map((row) => row.textContent);
            const text = rows.join('\\n').replaceAll('\\u00a0', ' ');
            return texts.every((each) => text.includes(each));
        }""",
        arg=list(texts),
    )
