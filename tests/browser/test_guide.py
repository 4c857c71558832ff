"""Follows the second half of docs/clinic.md in a browser, from a new service to the tenth patient, and takes its pictures.

The pictures are written into target/browser/guide, on a desktop only. With the variable EMAB_DOCS_PICTURES they are written into that
folder instead, in every view: `tests/browser/pictures` makes those of the documentation.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import unittest
from pathlib import Path
from typing import Any

from page_checks import PICTURES, axe, browser, picture
from service import EMAB, Service, free_port, recorded_step

GUIDE = Path(__file__).parents[2] / "docs" / "clinic.md"
FOLDER = Path(os.environ.get("EMAB_DOCS_PICTURES", PICTURES / "guide"))

VIEWS: dict[str, tuple[int, int, Any]] = {
    "desktop": (1120, 780, "light"),
    "phone": (360, 640, "light"),
    "dark": (1120, 780, "dark"),
}
if "EMAB_DOCS_PICTURES" not in os.environ:
    VIEWS = {"desktop": VIEWS["desktop"]}


FOLDER.mkdir(parents=True, exist_ok=True)


class Guide(unittest.TestCase):
    """What a new user does, without a terminal after `emab serve`."""

    def setUp(self) -> None:
        """Start a service as a first user does: with an administrator's token and nothing else."""
        self.service = Service(roles=())
        self.stack = browser()
        self.chromium = self.stack.__enter__()
        self.context = self.chromium.new_context(
            base_url=f"{self.service.url}/", viewport={"width": 1120, "height": 780}
        )
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def tearDown(self) -> None:
        """End both."""
        self.stack.__exit__(None, None, None)
        self.service.close()

    def picture(self, name: str, place: str | None = None) -> None:
        """Take the picture of a page in every view, beginning with a heading if one is named."""
        address, state = self.page.url, self.context.storage_state()
        for view, (width, height, scheme) in VIEWS.items():
            context = self.chromium.new_context(
                storage_state=state, viewport={"width": width, "height": height}, color_scheme=scheme
            )
            page = context.new_page()
            page.goto(address)
            if place:
                page.locator(place).first.evaluate("it => { it.scrollIntoView(); scrollBy(0, -16); }")
            picture(page, FOLDER / f"{name}-{view}.png")
            context.close()

    def picture_here(self, name: str, place: str | None = None) -> None:
        """Take the picture of the page as it is, with what was typed, in every view."""
        for view, (width, height, scheme) in VIEWS.items():
            self.page.set_viewport_size({"width": width, "height": height})
            self.page.emulate_media(color_scheme=scheme)
            self.page.evaluate("scrollTo(0, 0)")
            if place:
                self.page.locator(place).first.evaluate("it => { it.scrollIntoView(); scrollBy(0, -16); }")
            picture(self.page, FOLDER / f"{name}-{view}.png")
        self.page.set_viewport_size({"width": 1120, "height": 780})
        self.page.emulate_media(color_scheme="light")

    def sign_in(self, token: str, picture: bool = False) -> None:
        """Sign in, after signing out if necessary."""
        page = self.page
        page.goto("./")
        if page.get_by_role("button", name="Sign out").count():
            page.get_by_role("button", name="Sign out").click()
            page.get_by_label("Token").wait_for()
        if picture:
            self.picture_here("sign-in")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Studies").wait_for()

    def open_case(self, case: str) -> None:
        """Open a case from the page of the study."""
        self.page.goto("studies/clinic")
        self.page.get_by_label("Id of the case").fill(case)
        self.page.get_by_role("button", name="Open the case").click()
        self.page.get_by_role("heading", name=f"Case {case}").wait_for()

    def tell(self, feedback: str, action: str | None = None, reason: str = "") -> None:
        """Report a step."""
        page = self.page
        with recorded_step(page):
            if action:
                page.get_by_role("radio", name=action).first.check()
            page.get_by_role("radio", name=feedback).first.check()
            page.locator("#tell-reason").fill(reason)
            page.get_by_role("button", name=re.compile("Record step")).click()

    def stop(self) -> None:
        """Stop as recommended."""
        self.page.get_by_role("button", name=re.compile("Stop at step")).click()
        self.page.get_by_text("The case is stopped").wait_for()

    def outcome(self, values: dict[str, str]) -> None:
        """Enter an outcome."""
        for field, value in values.items():
            self.page.locator(f"#give-{field}").fill(value)
        self.page.get_by_role("button", name="Record the outcome").click()
        self.page.get_by_text("The outcome is recorded").wait_for()

    def test_to_the_tenth_patient(self) -> None:
        """Every step of the guide."""
        page = self.page
        admin = self.service.tokens["admin"]
        self.sign_in(admin, picture=True)

        page.get_by_role("link", name="New study").click()
        page.get_by_label("Name of the study").fill("clinic")
        page.get_by_label("Or paste it here").fill(study_of_the_guide())
        page.get_by_role("button", name="Check").click()
        page.locator("#preview table").first.wait_for()
        self.picture_here("new-study", "#preview")
        page.get_by_role("button", name="Create the study").click()
        page.get_by_role("heading", name="Study clinic").wait_for()

        page.get_by_role("link", name="People and tokens").click()
        page.locator("summary", has_text="Create a token").click()
        page.get_by_label("Name of the token").fill("ward")
        page.get_by_label("Person", exact=True).fill("Nora Nurse")
        page.locator("#role-operator").check()
        page.locator("#scope-some").check()
        page.get_by_label("Names of the studies").fill("clinic")
        self.picture_here("people")
        page.get_by_role("button", name="Create the token").click()
        ward = page.locator("#secret").inner_text().strip()

        self.sign_in(ward)
        self.open_case("p1")
        page.get_by_role("heading", name="Recommended: blood").wait_for()
        self.picture("case")
        self.tell("positive")
        self.stop()
        self.picture("outcome")
        self.outcome({"reward-1": "0", "reward-2": "1", "cost-1": "0.05"})

        for number in range(2, 11):
            self.open_case(f"p{number}")
            if number == 3:
                self.tell("negative", "scan", "a recent result from another clinic")
            else:
                self.tell("positive" if number % 3 == 0 else "negative")
            if number == 10:
                break
            self.stop()
            if number not in (4, 7):
                ill = number % 3 == 0
                self.outcome(
                    {"reward-1": "0" if ill else "1", "reward-2": "1", "cost-1": "0.2" if number == 3 else "0.05"}
                )
        page.goto("worklist")
        page.get_by_role("link", name="p10").wait_for()
        self.picture("worklist")
        page.get_by_label("Find a case by its id").fill("p5")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Case p5").wait_for()
        page.locator("summary", has_text="Correct the outcome").click()
        page.locator("#amend-reward-2").fill("0.5")
        page.locator("#amend-reason").fill("second opinion: in part")
        page.get_by_role("button", name="Record the correction", exact=True).click()
        page.get_by_text("The correction is recorded").wait_for()

        self.sign_in(admin)
        self.picture("studies")
        page.goto("studies/clinic")
        page.get_by_role("heading", name="Health").wait_for()
        self.picture("study")
        for tab in ("Policy map", "Progress", "Log and audit"):
            page.get_by_role("link", name=tab).click()
            page.get_by_role("heading", name=tab).wait_for()
        self.picture("log")
        page.goto("studies/clinic/cases")
        self.picture("cases")
        page.goto("studies/clinic/log/5")
        self.picture("event")
        page.goto("studies/clinic/policy")
        page.get_by_role("link", name="Page to print").click()
        page.get_by_role("heading", name="Policy of clinic").wait_for()
        self.picture("print")
        page.goto("people")
        page.get_by_role("link", name="ward").click()
        page.get_by_role("heading", name="Replace it").wait_for()
        self.picture("token")
        page.goto("studies/clinic/log")
        page.locator("summary", has_text="Run an audit").click()
        page.get_by_role("button", name="Run the audit").click()
        page.get_by_text("no findings").wait_for()
        self.picture("audit")
        page.goto("studies/clinic/cases/p3")
        self.picture("history", "h2:has-text('History')")
        page.get_by_role("link", name="Replay").first.click()
        page.get_by_text("the same, byte for byte").wait_for()
        self.picture("replay")
        self.assertEqual(axe(page), [])
        self.assertEqual(self.faults, [])
        cases = self.service.done("GET", "studies/clinic")
        self.assertEqual((cases["episodes"], cases["open"], cases["learned"]), (10, 1, 7))


class Demo(unittest.TestCase):
    """`emab demo` within a minute: both studies, with hundreds of cases."""

    def test_shows_every_page_of_a_study(self) -> None:
        """Signs in with the printed token; takes the pictures that need many cases."""
        command = [EMAB, "demo", "--listen", f"127.0.0.1:{free_port()}", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo, browser() as chromium:
            assert demo.stdout
            text = ""
            while not text.endswith("\n}\n"):
                text += demo.stdout.readline()
            printed = json.loads(text)
            token = next(it["token"] for it in printed["tokens"] if it["role"] == "admin")
            for view, (width, height, scheme) in VIEWS.items():
                size: Any = {"width": width, "height": height}
                context = chromium.new_context(base_url=f"{printed['address']}/", viewport=size, color_scheme=scheme)
                page = context.new_page()
                page.goto("./")
                page.get_by_label("Token").fill(token)
                page.get_by_role("button", name="Sign in").click()
                page.get_by_role("link", name="tutoring", exact=True).wait_for()
                page.get_by_role("link", name="clinic", exact=True).click()
                figures = {}
                for tab, name in (("Policy map", "policy"), ("Progress", "progress"), ("Evaluation", "evaluation")):
                    page.get_by_role("link", name=tab, exact=True).click()
                    page.get_by_role("heading", name=tab, exact=True).wait_for()
                    picture(page, FOLDER / f"{name}-{view}.png")
                    figures[name] = page.locator("figure img").count()
                self.assertEqual(figures["progress"], 5)
                self.assertGreater(page.get_by_role("row").count(), 1)
                context.close()
            demo.send_signal(signal.SIGINT)
            self.assertEqual(demo.wait(timeout=20), 0)


def study_of_the_guide() -> str:
    """Return the problem file of the guide."""
    found = re.search(
        r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8").split("## The same in a browser")[1], re.DOTALL
    )
    assert found
    return found.group(1)
