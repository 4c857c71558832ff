"""The pages of administrators in a real browser: new studies, people and tokens."""

from __future__ import annotations

import unittest

import test_console as console
from page_checks import VIEWS, axe, keyboard, overflow
from playwright.sync_api import Page
from service import wait_until

TOML = """horizon    = 3
states     = ["unknown", "clear", "suspect"]
actions    = ["blood", "scan"]
feedbacks  = ["negative", "positive"]
transition = "1 + f"

[learning]
delta        = 0.05
sigma2       = 0.25
reward_range = [0, 1]
"""


def setUpModule() -> None:
    """Start a browser and a service."""
    console.setUpModule()


def tearDownModule() -> None:
    """End both."""
    console.tearDownModule()


def fill_small_form(page: Page) -> None:
    """Fill in the form for small problems."""
    page.get_by_label("a form, for small problems").check()
    page.get_by_label("States", exact=True).fill("unknown\nclear\nsuspect")
    page.get_by_label("Actions").fill("blood, scan")
    page.get_by_label("Feedbacks").fill("negative, positive")
    page.get_by_label("Next state").fill("1 + f")


def faults_in_all_views(page: Page) -> list[str]:
    """Return what is wrong with a page as it is, in every view of a screen."""
    faults = []
    for view in VIEWS:
        if view.media == "screen":
            page.set_viewport_size({"width": view.width, "height": view.height})
            page.emulate_media(color_scheme=view.scheme)
            faults += [f"{view.name}: {fault}" for fault in overflow(page, view.width) + axe(page)]
    return faults


class NewStudy(unittest.TestCase):
    """A study from a file and from the small form."""

    def test_checked_while_it_is_typed(self) -> None:
        """Errors have a line, a valid file shows the study, and nothing is created before the button."""
        with console.visitor(console.service.tokens["admin"]) as tab:
            page = tab.page
            page.goto("new-study")
            page.get_by_label("Name of the study").fill("typed")
            text = page.get_by_label("Or paste it here")
            text.fill(TOML.replace("1 + f", "1 + g"))
            page.get_by_role("link", name="Problem file, line 5").wait_for()
            self.assertEqual(faults_in_all_views(page), [])
            text.fill(TOML)
            page.get_by_text("No problem was found").wait_for()
            page.get_by_role("cell", name="blood: negative → clear").first.wait_for()
            self.assertEqual(text.input_value(), TOML)
            self.assertEqual(faults_in_all_views(page), [])
            self.assertEqual(keyboard(page), [])
            page.get_by_role("button", name="Create the study").click()
            page.get_by_role("heading", name="Study typed").wait_for()

    def test_without_javascript(self) -> None:
        """The small form, rejected first; an uploaded file."""
        with console.visitor(console.service.tokens["admin"], java_script_enabled=False) as tab:
            page = tab.page
            page.goto("new-study")
            fill_small_form(page)
            page.get_by_role("button", name="Create the study").click()
            page.get_by_role("alert").get_by_text("a study needs a name").wait_for()
            self.assertEqual(page.get_by_label("Actions").input_value(), "blood, scan")
            page.get_by_label("Name of the study").fill("small")
            page.get_by_role("button", name="Check").click()
            page.get_by_text("No problem was found").wait_for()
            page.get_by_role("button", name="Create the study").click()
            page.get_by_role("heading", name="Study small").wait_for()
            page.goto("new-study")
            page.get_by_label("Name of the study").fill("uploaded")
            file = {"name": "a.toml", "mimeType": "application/toml", "buffer": TOML.encode()}
            page.get_by_label("Upload a file").set_input_files(file)
            page.get_by_role("button", name="Check").click()
            page.get_by_text("The uploaded file is in the text below").wait_for()
            page.get_by_role("button", name="Create the study").click()
            page.get_by_role("heading", name="Study uploaded").wait_for()


class Tokens(unittest.TestCase):
    """A token from its creation to its end."""

    def test_created_used_replaced_and_revoked(self) -> None:
        """The secret is shown once, and stays on the page until it is left."""
        with console.visitor(console.service.tokens["admin"]) as tab:
            page = tab.page
            page.goto("people")
            page.get_by_text("Create a token").click()
            page.get_by_label("Name of the token").fill("ward-7")
            page.get_by_label("Person").fill("Zoë Müller")
            page.get_by_label("operator treats cases").check()
            page.get_by_label("only those that are named here").check()
            page.get_by_label("Names of the studies").fill("clinic")
            page.get_by_role("button", name="Create the token").click()
            secret = page.locator("#secret").inner_text()
            self.assertEqual(faults_in_all_views(page), [])
            # A new event does not replace the page.
            console.service.treat("clinic", "t01", ill=True, upto="open")
            page.wait_for_timeout(2500)
            self.assertEqual(page.locator("#secret").inner_text(), secret)
            page.context.grant_permissions(["clipboard-read", "clipboard-write"])
            page.get_by_role("button", name="Copy the secret").click()
            page.get_by_text("Copied.").wait_for()
            self.assertEqual(page.evaluate("navigator.clipboard.readText()"), secret)
            with console.visitor(secret) as ward:
                ward.page.get_by_text("Zoë Müller").wait_for()
                page.goto("people")
                self.assertNotIn(secret, page.content())
                page.get_by_role("link", name="ward-7").click()
                page.get_by_role("button", name="Revoke ward-7").click()
                page.get_by_role("alert").get_by_text("tick the box").wait_for()
                page.get_by_label("Yes, revoke this token").check()
                page.get_by_role("button", name="Revoke ward-7").click()
                page.get_by_text("The token is revoked").wait_for()
                ward.page.goto("./")
                wait_until(lambda: ward.page.get_by_label("Token").count() == 1)


if __name__ == "__main__":
    unittest.main()
