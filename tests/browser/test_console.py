"""The console in a real browser: what people do with it, and what goes wrong meanwhile."""

from __future__ import annotations

import re
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from page_checks import PICTURES, VIEWS, axe, browser, keyboard, overflow, picture
from playwright.sync_api import Browser, BrowserContext, Error, Page, Route
from proxy import Proxy
from service import CLINIC, ROLES, Service, recorded_step, wait_until

MOST_BYTES = 150_000
"""The largest page, in bytes."""

HOSTILE = "><script>alert(1)</script> & مرحبا " + "x" * 93
"""A name of 128 characters with angle brackets and right-to-left text."""

service: Service
chromium: Browser
stack: Any


def setUpModule() -> None:
    """Start a browser, and a service with a study of some cases."""
    global service, chromium, stack
    stack = browser()
    chromium = stack.__enter__()
    service = Service()
    service.done("PUT", "studies/clinic", CLINIC)
    for number in range(1, 13):
        service.treat("clinic", f"a{number:02}", ill=number % 3 == 0)
    service.treat("clinic", "b01", ill=True, upto="stopped")
    service.treat("clinic", "b02", ill=True, upto="told")
    service.treat("clinic", "b03", ill=True, upto="open")
    service.done(
        "POST", "studies/clinic/episodes/a01/outcome:amend", {"rewards": [0.5, None], "reason": "second opinion"}
    )
    service.done("POST", "studies/clinic/episodes/a02:void", {"reason": "entered twice"})
    service.treat("clinic", "b04", ill=True, upto="open")
    service.done("POST", "studies/clinic/episodes/b04:abandon", {"reason": "moved away"})


def tearDownModule() -> None:
    """End both."""
    service.close()
    stack.__exit__(None, None, None)


class Tab:
    """A page of the browser that collects what must not happen."""

    def __init__(self, context: BrowserContext) -> None:
        """Open it."""
        self.page: Page = context.new_page()
        self.faults: list[str] = []
        self.sizes: list[tuple[str, int]] = []
        self.expected: list[str] = []
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", lambda request: self._requested(request.url))
        self.page.on("response", self._answered)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning") and not any(text in message.text for text in self.expected):
            self.faults.append(f"console: {message.text} ({message.location['url']})")

    def _requested(self, address: str) -> None:
        if not address.startswith(("http://127.0.0.1:", "data:")):
            self.faults.append(f"request: {address}")

    def _answered(self, response: Any) -> None:
        if response.request.resource_type == "document" and not response.url.endswith("/docs"):
            self.sizes.append((response.url, int(response.headers.get("content-length", 0))))


@contextmanager
def visitor(token: str | None, *, of: Service | None = None, **options: Any) -> Iterator[Tab]:
    """A person with a browser of their own, signed in; fails if the browser reports a fault."""
    at = of or service
    context = chromium.new_context(base_url=f"{at.url}/", **options)
    tab = Tab(context)
    if token is not None:
        sign_in(tab.page, token)
    yield tab
    context.close()
    assert not tab.faults, tab.faults
    large = [size for size in tab.sizes if size[1] > MOST_BYTES]
    assert not large, large


def sign_in(page: Page, token: str) -> None:
    """Sign in at the start page."""
    page.goto("./")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Studies").wait_for()


def kinds(case: str, study: str = "clinic") -> list[str]:
    """Return the kinds of the events of a case."""
    return [event["kind"] for event in service.events(study) if event["data"].get("episode") == case]


def press_until(page: Page, reached: Callable[[], bool], key: str = "Tab", most: int = 60) -> None:
    """Press a key until something has the focus."""
    for _ in range(most):
        if reached():
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} does not reach it; the focus is on {focused(page)}")


def focused(page: Page) -> str:
    """Return the text of the element with the focus, or its name."""
    text: str = page.evaluate(
        "() => { const it = document.activeElement; return it.textContent.trim() || it.id || it.name || it.tagName; }"
    )
    return text


def kind_of(path: str) -> str:
    """Return the address of a page without the names in it that differ between pages of one kind."""
    return re.sub(r"\?.*", "", re.sub(r"(cases|log|replay|steps|people)/[^/?]+", r"\1/…", path))


class FirstPatient(unittest.TestCase):
    """From signing in to the outcome of a patient."""

    def test_by_keyboard_alone(self) -> None:
        """No mouse is used: Tab, arrow keys, Space, Enter and letters."""
        with visitor(None) as tab:
            page, keys = tab.page, tab.page.keyboard
            page.goto("./")
            wait_until(lambda: focused(page) == "token")  # browsers set it after the page is loaded
            keys.type(service.tokens["operator"])
            keys.press("Enter")
            page.get_by_role("heading", name="Studies").wait_for()
            press_until(page, lambda: focused(page) == "clinic")
            keys.press("Enter")
            page.get_by_role("heading", name="Study clinic").wait_for()
            press_until(page, lambda: focused(page) == "case-id")
            keys.type("k01")
            keys.press("Enter")
            page.get_by_role("heading", name="Case k01").wait_for()
            self.assertEqual(kinds("k01"), ["opened"])
            while page.get_by_role("heading", name=re.compile("Recommended: (blood|scan)")).count():
                before = len(kinds("k01"))
                with recorded_step(page):
                    press_until(page, lambda: focused(page).startswith("action-"))
                    press_until(page, lambda: focused(page).startswith("feedback-"))
                    keys.press("ArrowDown")
                    keys.press("Enter")
                self.assertEqual(len(kinds("k01")), before + 1)
            press_until(page, lambda: focused(page).startswith("Stop at step"))
            keys.press("Enter")
            page.get_by_text("The case is stopped").wait_for()
            press_until(page, lambda: focused(page) == "give-reward-1")
            fields = page.locator("input[id^=give-reward], input[id^=give-cost]").count()
            for _ in range(fields):
                keys.type("0,5")
                keys.press("Tab")
            press_until(page, lambda: focused(page) == "Record the outcome")
            keys.press("Enter")
            page.get_by_text("The outcome is recorded").wait_for()
        self.assertEqual(service.done("GET", "studies/clinic/episodes/k01")["status"], "learned")

    def test_without_javascript(self) -> None:
        """The same with scripts switched off."""
        with visitor(service.tokens["operator"], java_script_enabled=False) as tab:
            page = tab.page
            page.get_by_role("link", name="clinic", exact=True).click()
            page.get_by_label("Id of the case").fill("j01")
            page.get_by_role("button", name="Open the case").click()
            while page.get_by_role("heading", name=re.compile("Recommended: (blood|scan)")).count():
                with recorded_step(page):
                    page.get_by_label("positive").first.check()
                    page.get_by_role("button", name=re.compile("Record step")).click()
            page.get_by_role("button", name=re.compile("Stop at step")).click()
            page.get_by_text("The case is stopped").wait_for()
            for field in page.locator("input[id^=give-reward], input[id^=give-cost]").all():
                field.fill("0.5")
            page.get_by_role("button", name="Record the outcome").click()
            page.get_by_text("The outcome is recorded").wait_for()
            # A correction, a wrong one first.
            page.locator("summary", has_text="Correct the outcome").click()
            page.locator("#amend-reward-1").fill("abc")
            page.locator("#amend-reason").fill("mistyped")
            page.get_by_role("button", name="Record the correction", exact=True).click()
            page.get_by_text("which is not a number").wait_for()
            self.assertEqual(page.locator("#amend-reward-1").input_value(), "abc")
            self.assertEqual(page.locator("#amend-reason").input_value(), "mistyped")
            page.locator("#amend-reward-1").fill("0.25")
            page.get_by_role("button", name="Record the correction", exact=True).click()
            page.get_by_text("The correction is recorded").wait_for()
        self.assertEqual(kinds("j01")[-1], "amended")


class WhatGoesWrong(unittest.TestCase):
    """Two persons at once, a failing service, an ended session."""

    def test_two_nurses_on_one_case(self) -> None:
        """The second is told what happened, and keeps what she typed."""
        service.treat("clinic", "n01", ill=True, upto="open")
        for scripts in (True, False):
            nora = service.new_token(f"nora-{scripts}", "operator", "Nora")
            zoe = service.new_token(f"zoe-{scripts}", "operator", "Zoë")
            with visitor(nora) as first, visitor(zoe, java_script_enabled=scripts) as second:
                second.page.goto("studies/clinic/cases/n01")
                first.page.goto("studies/clinic/cases/n01")
                step = int(service.done("GET", "studies/clinic/episodes/n01")["step"])
                for tab, feedback in ((first, "positive"), (second, "negative")):
                    summary = tab.page.locator("summary", has_text="Something else was done")
                    if summary.count():
                        summary.click()
                    tab.page.get_by_role("radio", name="blood").first.check()
                    tab.page.get_by_role("radio", name=feedback).first.check()
                    tab.page.locator("#tell-reason").fill(f"seen by {feedback}")
                first.page.get_by_role("button", name=f"Record step {step}").click()
                first.page.get_by_text("The step is recorded").wait_for()
                second.page.get_by_role("button", name=f"Record step {step}").click()
                second.page.get_by_role("heading", name=f"Meanwhile step {step} was reported").wait_for()
                notice = second.page.locator(".notice", has_text="Meanwhile").inner_text()
                for text in ("Nora", "blood", "positive"):
                    self.assertIn(text, notice)
                typed = second.page.get_by_role("alert").inner_text()
                for text in ("blood", "negative", "seen by negative"):
                    self.assertIn(text, typed)
                # It was for another step.
                if second.page.locator("#tell-reason").count():
                    self.assertEqual(second.page.locator("#tell-reason").input_value(), "")
            told = [
                event
                for event in service.events("clinic")
                if event["kind"] == "told" and event["data"]["episode"] == "n01"
            ]
            self.assertEqual(told[-1]["data"]["feedback"], "positive")

    def test_two_corrections_of_one_outcome(self) -> None:
        """The second does not undo the first, which her page does not show yet."""
        for scripts in (True, False):
            case = f"n02-{scripts}"
            service.treat("clinic", case, ill=True)
            with visitor(service.tokens["operator"], java_script_enabled=scripts) as tab:
                page = tab.page
                page.goto(f"studies/clinic/cases/{case}")
                page.locator("summary", has_text="Correct the outcome").click()
                page.locator("#amend-cost-1").fill("0.1")
                page.locator("#amend-reason").fill("invoice")
                steps = len(service.done("GET", f"studies/clinic/episodes/{case}")["outcome"]["rewards"])
                first = {"rewards": [0.75, *[None] * (steps - 1)], "reason": "second opinion"}
                service.done("POST", f"studies/clinic/episodes/{case}/outcome:amend", first)
                page.get_by_role("button", name="Record the correction", exact=True).click()
                page.get_by_text("The correction is recorded").wait_for()
            outcome = service.done("GET", f"studies/clinic/episodes/{case}")["outcome"]
            self.assertEqual((outcome["costs"][0], outcome["rewards"][0]), (0.1, 0.75))

    def test_a_service_or_proxy_that_cannot_answer(self) -> None:
        """The form stays as it was typed, with the reason, and can be sent again."""
        with visitor(service.tokens["operator"]) as tab:
            page = tab.page
            page.goto("studies/clinic")
            page.get_by_label("Id of the case").fill("busy1")
            tab.expected = ["502", "503"]
            own = '<main id="main"><h1>Service unavailable</h1><p>try again</p></main>'
            for status, body, text in (
                (502, "<h1>Bad gateway</h1>", "cannot answer now (status 502)"),
                (503, own, "Service unavailable: try again."),
            ):
                answer = {"status": status, "body": body, "content_type": "text/html"}
                page.route("**/open", lambda route, _, answer=answer: route.fulfill(**answer))
                page.get_by_role("button", name="Open the case").click()
                page.get_by_text(text).wait_for()
                self.assertIn("What you typed is kept: send it again", page.get_by_role("alert").inner_text())
                self.assertEqual(page.get_by_label("Id of the case").input_value(), "busy1")
                page.unroute("**/open")
            page.get_by_role("button", name="Open the case").click()
            page.get_by_role("heading", name="Case busy1").wait_for()

    def test_links_within_a_page_keep_what_was_typed(self) -> None:
        """Those to the content and to a field with a problem; the back button still works."""
        with visitor(service.tokens["admin"]) as tab:
            page = tab.page
            page.goto("studies/clinic/cases/b03")
            page.locator("summary", has_text="Abandon the case").click()
            page.locator("#abandon-reason").fill("half a sen")
            page.locator("a.skip").focus()
            page.keyboard.press("Enter")
            page.wait_for_timeout(500)
            self.assertTrue(page.url.endswith("#main"))
            self.assertEqual(page.locator("#abandon-reason").input_value(), "half a sen")
            page.goto("new-study")
            page.get_by_label("Or paste it here").fill("horizon = 3")
            page.locator("#found a[href$='#name']").click()
            page.wait_for_timeout(500)
            self.assertEqual(page.get_by_label("Or paste it here").input_value(), "horizon = 3")
            page.go_back()
            page.go_back()
            page.get_by_role("heading", name="Case b03").wait_for()

    def test_killed_between_a_form_and_its_answer(self) -> None:
        """The form is recorded and its answer lost: it is sent again, and recorded once."""
        own = Service()
        own.done("PUT", "studies/clinic", CLINIC)
        try:
            for scripts in (True, False):
                self.kill_at_answer(own, scripts)
        finally:
            own.close()

    def kill_at_answer(self, own: Service, scripts: bool) -> None:
        """Send a form, kill the service before the answer arrives, and send it again."""
        case = f"x-{scripts}"
        with Proxy(own.port) as proxy:
            context = chromium.new_context(base_url=f"{proxy.url}/", java_script_enabled=scripts)
            page = context.new_page()
            sign_in(page, own.tokens["operator"])
            page.goto("studies/clinic")
            page.get_by_label("Id of the case").fill(case)
            proxy.before_answer(own.kill)
            button = page.get_by_role("button", name="Open the case")
            if scripts:
                button.click()
                page.get_by_text("What you typed is kept").wait_for()
                self.assertEqual(page.get_by_label("Id of the case").input_value(), case)
                own.start()
                button.click()
            else:
                with suppress(Error):  # the browser shows its own page
                    button.click()
                    page.wait_for_load_state()
                own.start()
                for _ in range(10):
                    # The page of the browser may still replace the other one.
                    with suppress(Error):
                        page.reload()
                    if page.get_by_role("heading", name=f"Case {case}").count():
                        break
            page.get_by_role("heading", name=f"Case {case}").wait_for()
            context.close()
        opened = [event for event in own.events("clinic") if event["data"].get("episode") == case]
        self.assertEqual([event["kind"] for event in opened], ["opened"])

    def test_an_ended_session_in_the_middle_of_a_form(self) -> None:
        """Signing in again shows what was typed, and sends it."""
        # Long enough for what is done within a session, also on a busy machine.
        own = Service("--session", "10s")
        own.done("PUT", "studies/clinic", CLINIC)
        try:
            for scripts in (True, False):
                with visitor(own.tokens["operator"], of=own, java_script_enabled=scripts) as tab:
                    page = tab.page
                    page.goto("studies/clinic")
                    tab.expected = ["401", "EventSource"]
                    page.get_by_label("Id of the case").fill(f"late-{scripts}")
                    page.wait_for_timeout(10_200)
                    page.get_by_role("button", name="Open the case").click()
                    page.get_by_role("heading", name="Your session has ended").wait_for()
                    page.get_by_label("Token").fill("emab_wrong")
                    page.get_by_role("button", name="Sign in").click()
                    page.get_by_text("unknown, was revoked or has expired").wait_for()
                    page.get_by_label("Token").fill(own.tokens["operator"])
                    found = axe(page) if scripts else []
                    page.get_by_role("button", name="Sign in").click()
                    page.get_by_text(f"late-{scripts}").wait_for()
                    found += axe(page) if scripts else []
                    self.assertEqual(found, [])
                    page.get_by_role("button", name="Send it now").click()
                    page.get_by_role("heading", name=f"Case late-{scripts}").wait_for()
            # Another person at the same browser does not see it.
            zoe = own.new_token("zoe", "operator", "Zoë")
            with visitor(own.tokens["operator"], of=own) as tab:
                page = tab.page
                page.goto("studies/clinic")
                tab.expected = ["401", "EventSource"]
                page.get_by_label("Id of the case").fill("hers")
                page.wait_for_timeout(10_200)
                page.get_by_role("button", name="Open the case").click()
                page.get_by_label("Token").fill(zoe)
                page.get_by_role("button", name="Sign in").click()
                page.get_by_text("is not shown to you").wait_for()
                self.assertNotIn("hers", page.content())
                self.assertEqual(axe(page), [])
        finally:
            own.close()

    def test_a_session_ends_with_its_token_and_by_signing_out(self) -> None:
        """A copied cookie is worth nothing afterwards."""
        for end in ("revoke", "sign out"):
            token = service.new_token(f"short-{end[:4]}", "operator")
            with visitor(token) as tab:
                cookies = tab.page.context.cookies()
                self.assertEqual(
                    [(it["httpOnly"], it["sameSite"], it["path"]) for it in cookies], [(True, "Strict", "/")]
                )
                if end == "revoke":
                    # The page that is open may notice it first, when it connects again to be kept up to date.
                    tab.expected = ["401", "EventSource"]
                    service.emab("token", "revoke", f"short-{end[:4]}")
                else:
                    tab.page.get_by_role("button", name="Sign out").click()
                    tab.page.get_by_label("Token").wait_for()
                    self.assertEqual(tab.page.context.cookies(), [])
                    tab.page.context.add_cookies(cookies)
                tab.page.goto("worklist")
                tab.page.get_by_label("Token").wait_for()

    def test_a_page_that_still_connects_signs_out_without_an_error(self) -> None:
        """Its stream is cancelled before the session ends, where it would be answered with an error."""
        with visitor(service.new_token("slow-out", "operator")) as tab:
            held: list[Route] = []

            def sign_out(route: Route) -> None:
                answer = route.fetch(max_redirects=0)
                for it in held:
                    it.continue_()
                tab.page.wait_for_timeout(300)
                route.fulfill(response=answer)

            tab.page.route(re.compile("/updates"), lambda it: held.append(it))
            tab.page.route("**/sign-out", sign_out)
            tab.page.reload()
            wait_until(lambda: tab.page.wait_for_timeout(50) or held)
            tab.page.get_by_role("button", name="Sign out").click()
            tab.page.get_by_label("Token").wait_for()


class WhatPeopleSee(unittest.TestCase):
    """Every page for every role, in every view."""

    @staticmethod
    @cache
    def pages(role: str) -> list[str]:
        """Follow the links of the console from the start page and return the pages, one of each kind."""
        seen: dict[str, str] = {}
        waiting = [
            "/",
            "/studies/clinic/cases/b01",
            "/studies/clinic/cases/b02",
            "/studies/clinic/cases/b03",
            "/studies/clinic/cases/b04",
        ]
        waiting += ["/studies/clinic/cases/a01", "/studies/clinic/cases/a02", "/worklist?of=everyone"]
        with visitor(service.tokens[role]) as tab:
            kept = {path: path for path in waiting[1:]}
            while waiting:
                path = waiting.pop()
                kind = kept.get(path) or kind_of(path)
                if kind in seen or re.search(r"/(download|docs)", path):
                    continue
                seen[kind] = path
                answer = tab.page.goto(f".{path}")
                assert answer and answer.status == 200, (role, path, answer and answer.status)
                links = tab.page.eval_on_selector_all("a[href]", "all => all.map(it => it.href)")
                here = [link.removeprefix(service.url).split("#")[0] for link in links if link.startswith(service.url)]
                waiting += sorted(set(here))
        return sorted(seen.values())

    def test_every_page_is_accessible_in_every_role(self) -> None:
        """No violation of WCAG 2.2 AA, nothing beyond the width of the view; pictures are kept to be looked at."""
        faults = []
        for role in ROLES:
            pages = self.pages(role)
            self.assertGreater(len(pages), 7, pages)
            for view in VIEWS:
                if role != "admin" and view.name != "phone":
                    continue
                size: Any = {"width": view.width, "height": view.height}
                with visitor(service.tokens[role], viewport=size, color_scheme=view.scheme) as tab:
                    tab.page.emulate_media(media=view.media, color_scheme=view.scheme)
                    for path in pages:
                        tab.page.goto(f".{path}")
                        name = re.sub(r"[^a-z0-9]+", "-", path).strip("-") or "studies"
                        picture(tab.page, PICTURES / f"console-{role}-{name}-{view.name}.png", full_page=True)
                        tab.page.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)")
                        found = overflow(tab.page, view.width)
                        # Colours are all that differs in the dark, and paper has no focus.
                        if view.media == "screen":
                            found += axe(tab.page, "color-contrast" if view.scheme == "dark" else None)
                        faults += [f"{role}, {path}, {view.name}: {fault}" for fault in found]
        self.assertEqual("\n".join(faults), "")

    def test_zoom_of_400_percent(self) -> None:
        """At a width of 320 CSS pixels nothing but tables scrolls sideways."""
        faults = []
        with visitor(service.tokens["admin"], viewport={"width": 320, "height": 256}) as tab:
            for path in self.pages("admin"):
                tab.page.goto(f".{path}")
                faults += [f"{path}: {fault}" for fault in overflow(tab.page, 320)]
        self.assertEqual("\n".join(faults), "")

    def test_the_tab_key_reaches_everything(self) -> None:
        """And the focus is visible."""
        faults = []
        with visitor(service.tokens["admin"]) as tab:
            for path in ("/", "/worklist", "/studies/clinic", "/studies/clinic/cases/b02", "/studies/clinic/cases/b01"):
                tab.page.goto(f".{path}")
                faults += [f"{path}: {fault}" for fault in keyboard(tab.page)]
        self.assertEqual("\n".join(faults), "")

    def test_nothing_moves_for_those_who_asked_for_it(self) -> None:
        """With reduced motion there is no animation and no smooth scrolling."""
        with visitor(service.tokens["admin"], reduced_motion="reduce") as tab:
            for path in ("/", "/studies/clinic/cases/b02", "/docs"):
                tab.page.goto(f".{path}")
                self.assertEqual(tab.page.evaluate("document.getAnimations().length"), 0)
                style = tab.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior")
                self.assertEqual(style, "auto")

    def test_a_blinded_person_tries_every_address(self) -> None:
        """Pages that the API denies are denied; the others show no estimate, outcome, hash or shadow learner."""
        outcome = service.done("GET", "studies/clinic/episodes/a03")["outcome"]
        self.assertIsNotNone(outcome)
        texts = ["estimated gain", "Certificate", "feedbal-pooled", "second opinion", "entered twice"]
        texts += [event["hash"] for event in service.events("clinic")]
        # A cost counts as a whole number only: the time 10:20:10.053 also holds the characters 0.05.
        secrets = re.compile("|".join([*map(re.escape, texts), r"(?<![\d.])0\.05(?!\d)"]))
        self.assertEqual(secrets.findall('feedbal-pooled,0.05,"0.05",10:20:10.053'), ["feedbal-pooled", "0.05", "0.05"])
        pages = set(self.pages("blinded"))
        allowed = {kind_of(path) for path in pages}
        with visitor(service.tokens["blinded"]) as tab:
            tab.expected = ["403", "404"]
            for path in sorted(pages | set(self.pages("admin"))):
                answer = tab.page.goto(f".{path}")
                assert answer
                self.assertEqual(answer.status, 200 if kind_of(path) in allowed else 403, path)
                self.assertEqual(secrets.findall(tab.page.content()), [], path)
            for table in ("episodes.csv", "decisions.csv", "estimates.csv", "log.ndjson"):
                answer = tab.page.request.get(f"{service.url}/studies/clinic/download/{table}")
                if answer.status == 200:
                    self.assertEqual(secrets.findall(answer.text()), [], table)

    def test_hostile_names_are_text(self) -> None:
        """Names of states, actions, feedbacks and persons, and reasons, are shown as they are."""
        study = {
            **CLINIC,
            "states": [HOSTILE, "clear", "suspect"],
            "actions": [HOSTILE, "scan"],
            "feedbacks": ["negative", HOSTILE],
        }
        study.pop("protocol")
        service.done("PUT", "studies/hostile", study)
        person = "\"><img src=x onerror=alert(1)>' " + "ש" * 90
        token = service.new_token("hostile", "admin", person)
        with visitor(token) as tab:
            page = tab.page
            page.on("dialog", lambda dialog: tab.faults.append(f"dialog: {dialog.message}"))
            page.goto("studies/hostile")
            page.get_by_label("Id of the case").fill("h1")
            page.get_by_role("button", name="Open the case").click()
            page.get_by_role("heading", name="Case h1").wait_for()
            page.locator("summary", has_text="Something else was done").click()
            page.get_by_role("radio", name=HOSTILE).first.check()
            page.get_by_role("radio", name=HOSTILE).last.check()
            page.locator("#tell-reason").fill(f'"{HOSTILE}"')
            page.get_by_role("button", name="Record step 1").click()
            page.get_by_text("The step is recorded").wait_for()
            self.assertIn(HOSTILE, page.locator("table").first.inner_text())
            self.assertIn(person, page.locator("header").inner_text())
            for path in ("/", "/worklist", "/studies/hostile", "/studies/hostile/cases", "/studies/hostile/cases/h1"):
                page.goto(f".{path}")
                self.assertEqual(page.locator("img[src=x], main script").count(), 0)
                self.assertEqual(overflow(page, 1280), [])

    def test_a_wrong_address_is_a_page_for_people(self) -> None:
        """And problem details for programs."""
        with visitor(None) as tab:
            tab.expected = ["404"]
            tab.page.goto("no/such/page")
            tab.page.get_by_role("heading", name="Not found").wait_for()
            self.assertEqual(axe(tab.page), [])
            tab.page.get_by_role("link", name="Go to the studies").click()
            tab.page.get_by_label("Token").wait_for()
            answer = tab.page.request.get(f"{service.url}/no/such/page", headers={"Accept": "*/*"})
            self.assertEqual(answer.headers["content-type"], "application/problem+json")

    def test_below_a_path_of_a_proxy(self) -> None:
        """Links, forms, style, script and cookies work below `/clinic-service/`."""
        with Proxy(service.port, prefix="/clinic-service") as proxy:
            context = chromium.new_context(base_url=f"{proxy.url}/clinic-service/")
            tab = Tab(context)
            sign_in(tab.page, service.tokens["operator"])
            self.assertEqual([it["path"] for it in context.cookies()], ["/clinic-service"])
            tab.page.get_by_role("link", name="clinic", exact=True).click()
            tab.page.get_by_label("Id of the case").fill("sub1")
            tab.page.get_by_role("button", name="Open the case").click()
            tab.page.get_by_role("heading", name="Case sub1").wait_for()
            self.assertTrue(tab.page.url.startswith(f"{proxy.url}/clinic-service/studies/clinic/cases/sub1"))
            self.assertEqual(tab.page.evaluate("getComputedStyle(document.querySelector('.card')).borderRadius"), "8px")
            # After a rejected form the links still lead below the path.
            tab.page.locator("#tell-reason").fill("")
            tab.page.locator("summary", has_text="Abandon the case").click()
            tab.page.locator("#abandon-reason").evaluate("it => it.required = false")
            tab.page.get_by_role("button", name="Abandon the case").click()
            tab.page.get_by_text("Not recorded").wait_for()
            addresses = tab.page.eval_on_selector_all(
                "a[href], form[action]", "all => all.map(it => it.href || it.getAttribute('action'))"
            )
            inside = f"{proxy.url}/clinic-service/"
            self.assertEqual([it for it in addresses if it.startswith("http") and not it.startswith(inside)], [])
            # And so does signing in again, after the session has ended.
            tab.expected = ["401", "EventSource"]
            context.clear_cookies()
            tab.page.locator("#abandon-reason").fill("moved away")
            tab.page.get_by_role("button", name="Abandon the case").click()
            tab.page.get_by_label("Token").wait_for()
            action = tab.page.locator("form").evaluate("it => new URL(it.getAttribute('action'), location).href")
            self.assertEqual(action, f"{inside}sign-in")
            tab.page.get_by_label("Token").fill(service.tokens["operator"])
            tab.page.get_by_role("button", name="Sign in").click()
            tab.page.get_by_role("button", name="Send it now").click()
            tab.page.get_by_text("The case is abandoned").wait_for()
            tab.page.get_by_role("button", name="Sign out").click()
            tab.page.get_by_label("Token").wait_for()
            context.close()
            self.assertEqual(tab.faults, [])

    def test_the_worklist_follows_the_log(self) -> None:
        """Although its search has the focus; the focus stays where it is."""
        token = service.new_token("wanda", "operator", "Wanda")
        service.tokens["wanda"] = token
        service.treat("clinic", "w1", ill=True, upto="open", role="wanda")
        with visitor(token) as tab:
            page = tab.page
            page.goto("worklist")
            self.assertEqual(focused(page), "find")
            service.treat("clinic", "w2", ill=True, upto="open", role="wanda")
            page.get_by_role("link", name="w2").wait_for()
            self.assertEqual(focused(page), "find")
            page.get_by_role("link", name="w1").focus()
            service.treat("clinic", "w3", ill=True, upto="open", role="wanda")
            page.get_by_role("link", name="w3").wait_for()
            self.assertEqual(focused(page), "w1")
            page.keyboard.press("ArrowDown")
            self.assertEqual(focused(page), "w2")

    def test_health_follows_the_log(self) -> None:
        """It is computed after the page was shown, which then shows it."""
        with visitor(service.tokens["admin"]) as tab:
            tab.page.goto("studies/clinic")
            service.treat("clinic", "health1", ill=True)
            last = len(service.events("clinic"))
            tab.page.locator(f"p.hint:text-is('As of event {last}.')").wait_for()

    def test_pages_follow_the_log(self) -> None:
        """An open page shows a new event without a reload, says when it cannot, and does not take away what is typed."""
        service.treat("clinic", "live1", ill=True, upto="open")
        with visitor(service.tokens["operator"]) as reader, visitor(service.tokens["operator"]) as writer:
            reader.page.goto("studies/clinic/cases?show=open&id=live")
            reader.page.get_by_role("link", name="live1").wait_for()
            writer.page.goto("studies/clinic/cases/live1")
            writer.page.locator("#tell-reason").fill("half a sen")
            service.treat("clinic", "live2", ill=True, upto="open")
            reader.page.get_by_role("link", name="live2").wait_for()
            writer.page.get_by_text("Something was recorded meanwhile").wait_for()
            self.assertEqual(writer.page.locator("#tell-reason").input_value(), "half a sen")
