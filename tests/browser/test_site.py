"""The documentation site, in a browser; `docs/build` makes it."""

from __future__ import annotations

import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from page_checks import PICTURES, TARGET, axe, browser, keyboard, overflow, picture

SITE = TARGET / "site"
TYPICAL = ("tutorial.html", "reference/http-api.html", "python.html", "notebooks/your_own_problem.html")
"""Pages with every kind of content: for views in which only the style differs."""


class Site(unittest.TestCase):
    """Every page of the book; the pages of rustdoc and pdoc are theirs."""

    browser: Browser
    pages: list[Path]

    @classmethod
    def setUpClass(cls) -> None:
        """Find the pages."""
        resources = ExitStack()
        cls.addClassCleanup(resources.close)
        cls.browser = resources.enter_context(browser())
        pages = [*SITE.glob("*.html"), *(SITE / "reference").glob("*.html"), *(SITE / "notebooks").glob("*.html")]
        cls.pages = sorted(page for page in pages if page.name != "toc.html")
        assert len(cls.pages) > 40, "docs/build makes the site"

    def open(self, faults: list[str], width: int, scheme: Any = "light", **options: Any) -> Page:
        """Open a browser of this width, which notes what a page says and requests from elsewhere."""
        context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        self.addCleanup(context.close)
        page = context.new_page()
        page.on("console", lambda message: faults.append(f"{page.url}: console: {message.text}"))
        page.on("pageerror", lambda error: faults.append(f"{page.url}: error: {error}"))
        foreign = "request: {}".format
        page.on("request", lambda it: it.url.startswith(("file:", "data:")) or faults.append(foreign(it.url)))
        return page

    def test_every_page_is_accessible(self) -> None:
        """All pages on a desktop."""
        faults: list[str] = []
        page = self.open(faults, 1280)
        for path in self.pages:
            page.goto(path.as_uri())
            faults += [f"{path.name}: {fault}" for fault in axe(page) + overflow(page, 1280)]
        assert not faults, "\n".join(faults)

    def test_every_page_fits_a_phone(self) -> None:
        """All pages on a phone; axe-core for the typical ones."""
        faults: list[str] = []
        page = self.open(faults, 360)
        for path in self.pages:
            page.goto(path.as_uri())
            faults += [f"{path.name}: {fault}" for fault in overflow(page, 360)]
        for name in TYPICAL:
            page.goto((SITE / name).as_uri())
            faults += [f"{name}: {fault}" for fault in axe(page)]
        picture(page, PICTURES / "site-phone.png")
        assert not faults, "\n".join(faults)

    def test_dark_pages_are_readable(self) -> None:
        """The typical pages in the dark."""
        faults: list[str] = []
        page = self.open(faults, 1280, "dark")
        for name in TYPICAL:
            page.goto((SITE / name).as_uri())
            faults += [f"{name}: {fault}" for fault in axe(page)]
        picture(page, PICTURES / "site-dark.png")
        assert not faults, "\n".join(faults)

    def test_keyboard_and_search_without_a_network(self) -> None:
        """The sidebar opens and a page is found by the keyboard alone."""
        faults: list[str] = []
        page = self.open(faults, 800, offline=True)
        page.goto((SITE / "install.html").as_uri())
        button = page.get_by_role("button", name="Toggle Table of Contents")
        assert button.get_attribute("aria-expanded") == "false"
        button.focus()
        page.keyboard.press("Enter")
        assert button.get_attribute("aria-expanded") == "true"
        page.get_by_role("link", name="Tutorial: a problem of your own").first.wait_for()
        page.keyboard.press("Enter")
        page.keyboard.press("s")
        page.keyboard.type("hash chain audit")
        page.locator("#mdbook-searchresults a").first.wait_for()
        page = self.open(faults, 1280, offline=True)
        page.goto((SITE / "install.html").as_uri())
        faults += keyboard(page)
        assert not faults, "\n".join(faults)

    def test_without_a_script(self) -> None:
        """The text and the table of contents are there."""
        page = self.open([], 1280, java_script_enabled=False)
        page.goto((SITE / "tutorial.html").as_uri())
        page.get_by_role("heading", name="1. State the problem").wait_for()
        contents = page.frame_locator("iframe").get_by_role("link", name="Installation")
        assert contents.get_attribute("href") == "install.html"
