"""Opens pages in Chromium and checks each in four views: desktop, phone, dark and print."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Error, Page, sync_playwright

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
AXE = TARGET / "node-browser" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = TARGET / "browser"
"""Every view of every page as a picture."""

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
"""The rules of axe-core: WCAG 2.2 AA, and what its authors recommend beyond it."""


@dataclass(frozen=True)
class View:
    """How a page is shown."""

    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"] = "light"
    media: Literal["screen", "print"] = "screen"


VIEWS = (
    View("desktop", 1280, 900),
    View("phone", 360, 740),
    View("dark", 1280, 900, scheme="dark"),
    # The width between the margins of an A4 page, in CSS pixels.
    View("print", 688, 1000, media="print"),
)


@dataclass
class Findings:
    """What is wrong with a page."""

    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    overflow: list[str] = field(default_factory=list)
    accessibility: list[str] = field(default_factory=list)
    keyboard: list[str] = field(default_factory=list)

    def all(self) -> list[str]:
        """Return all findings."""
        return self.console + self.requests + self.overflow + self.accessibility + self.keyboard


@contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium: the one of the system, because Playwright's own cannot be downloaded everywhere."""
    path = os.environ.get("EMAB_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise RuntimeError("Chromium is not found: install the package chromium, or set EMAB_CHROMIUM to its path")
    with sync_playwright() as playwright:
        # Without a sandbox, which root and containers lack: the pages are ours.
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield running
        finally:
            running.close()


def picture(page: Page, path: Path, *, full_page: bool = False) -> None:
    """Take a picture of a page."""
    for again in (True, True, False):
        try:
            page.screenshot(path=path, full_page=full_page)
            return
        except Error as error:
            # Chromium sometimes refuses the first picture after its start, and takes the same one when asked again
            # (https://github.com/MarketSquare/robotframework-browser/issues/5237).
            if not again or "Unable to capture screenshot" not in error.message:
                raise
        page.wait_for_timeout(500)


def check(running: Browser, url: str, name: str) -> Findings:
    """Open a page in every view and return what is wrong with it."""
    findings = Findings()
    for view in VIEWS:
        _check_view(running, url, name, view, findings)
    return findings


def _check_view(running: Browser, url: str, name: str, view: View, findings: Findings) -> None:
    size: Any = {"width": view.width, "height": view.height}
    context = running.new_context(viewport=size, color_scheme=view.scheme)
    page = context.new_page()
    page.emulate_media(media=view.media, color_scheme=view.scheme)

    def note(kind: list[str], text: str) -> None:
        kind.append(f"{name}, {view.name}: {text}")

    page.on("console", lambda message: note(findings.console, f"console: {message.text}"))
    page.on("pageerror", lambda error: note(findings.console, f"error: {error}"))

    def requested(address: str) -> None:
        if address != url and not address.startswith("data:"):
            note(findings.requests, f"request: {address}")

    page.on("request", lambda request: requested(request.url))
    page.goto(url)
    for text in _broken_images(page) + overflow(page, view.width):
        note(findings.overflow, text)
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture(page, PICTURES / f"{name}-{view.name}.png", full_page=True)
    if view.media == "print":
        page.pdf(path=PICTURES / f"{name}.pdf", prefer_css_page_size=True, print_background=True)
    elif view.scheme == "light":
        for text in keyboard(page):
            note(findings.keyboard, text)
    # What is shown on request is checked too.
    page.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)")
    for text in overflow(page, view.width):
        note(findings.overflow, f"all details open: {text}")
    for text in axe(page):
        note(findings.accessibility, text)
    context.close()


def overflow(page: Page, wanted: int) -> list[str]:
    """Return the page's width if it exceeds the view, with the elements that reach beyond it."""
    width = page.evaluate("document.documentElement.scrollWidth")
    if width <= wanted:
        return []
    wide = page.evaluate(
        """width => [...document.querySelectorAll('body *')]
            .filter(it => it.getBoundingClientRect().right > width + 1)
            .slice(0, 5).map(it => it.tagName + ': ' + it.textContent.slice(0, 60))""",
        wanted,
    )
    return [f"the page is {width} pixels wide: {wide}"]


def _broken_images(page: Page) -> list[str]:
    """Return the images that cannot be shown."""
    page.evaluate("Promise.all([...document.images].map(it => it.decode().catch(() => null)))")
    broken = page.evaluate("[...document.images].filter(it => it.naturalWidth === 0).map(it => it.alt)")
    return [f"an image is not shown: {alt}" for alt in broken]


def keyboard(page: Page) -> list[str]:
    """Press the Tab key and return the elements that it does not reach, and those on which the focus is invisible."""
    wanted = page.evaluate(
        """() => {
            window.wanted = [...document.querySelectorAll(
                'a[href], summary, button, select, textarea, input:not([type=hidden], [type=radio]), [tabindex="0"]'
            )].filter(it => it.checkVisibility({visibilityProperty: true}));
            return window.wanted.length;
        }"""
    )
    reached: set[int] = set()
    faults: list[str] = []
    # Twice, because the focus may begin in the middle; boxes of which one is chosen take a key each.
    for _ in range(2 * wanted + 20):
        page.keyboard.press("Tab")
        state = page.evaluate(
            """() => {
                const it = document.activeElement;
                const style = getComputedStyle(it);
                return [window.wanted.indexOf(it), it.tagName + ': ' + it.textContent.slice(0, 40), style.outlineStyle !== 'none'];
            }"""
        )
        if state[0] >= 0 and state[0] not in reached:
            reached.add(state[0])
            if not state[2]:
                faults.append(f"the focus is not visible on {state[1]}")
        if len(reached) == wanted:
            break
    if len(reached) < wanted:
        faults.append(f"the Tab key reaches {len(reached)} of {wanted} elements")
    return faults


def axe(page: Page, rule: str | None = None) -> list[str]:
    """Return the violations that axe-core finds: of all rules, or of one."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    only = {"type": "rule", "values": [rule]} if rule else {"type": "tag", "values": RULES}
    found = page.evaluate("only => axe.run({runOnly: only, preload: false})", only)
    return [
        f"{violation['id']}: {violation['help']}: {node['html'][:200]}"
        for violation in found["violations"]
        for node in violation["nodes"][:3]
    ]
