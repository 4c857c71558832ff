"""The pages of `emab report` and `emab reproduce`, in a browser."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Browser

from page_checks import browser, check

EMAB = os.environ["EMAB"]

SWEEP = """\
problem = "resource"
learners = ["feedbal", "ucb1"]
episodes = 300
runs = 20
[grid]
problem.p = [0.5, 0.8]
problem.beta = [0.8, 0.9, 1.0]
"""


class Reports(unittest.TestCase):
    """Every kind of report."""

    folder: Path
    browser: Browser

    @classmethod
    def setUpClass(cls) -> None:
        """Make results of every kind."""
        resources = ExitStack()
        cls.addClassCleanup(resources.close)
        cls.folder = Path(resources.enter_context(tempfile.TemporaryDirectory()))
        cls.browser = resources.enter_context(browser())
        (cls.folder / "sweep.toml").write_text(SWEEP)
        learners = ["feedbal", "feedbal:width=sound", "ucb1", "benchmark"]
        learners = [word for learner in learners for word in ("--learner", learner)]
        # Few checkpoints: tables of many rows take the browser long and show nothing else.
        size = ["--runs", "60", "--episodes", "1000", "--checkpoints", "10,100,300"]
        cls.emab("run", "feedback-gap", *learners, *size, "--out", "gap")
        cls.emab("run", "treatment", *learners[:4], *size, "--out", "late", "--condition", "delay=20")
        cls.emab("sweep", "sweep.toml", "--out", "sweep")
        cls.emab(
            "arena", "parity", "feedback-gap", *learners[4:], "--episodes", "200", "--runs", "10", "--out", "arena"
        )
        cls.emab("reproduce", "--runs", "2", "--episodes", "20", "--out", "reproduction")

    @classmethod
    def emab(cls, *words: str) -> None:
        """Call the command in the folder."""
        subprocess.run([EMAB, *words], cwd=cls.folder, check=True, capture_output=True)

    def report(self, name: str, *folders: str) -> None:
        """Make the report of folders and check its page."""
        self.emab("report", *folders, "--out", f"{name}.html")
        self.check(self.folder / f"{name}.html", name)

    def check(self, page: Path, name: str) -> None:
        """Check a page."""
        findings = check(self.browser, page.as_uri(), name)
        assert not findings.all(), "\n".join(findings.all())

    def test_run(self) -> None:
        """A run with a learner whose width is not sound."""
        self.report("run", "gap")

    def test_sweep(self) -> None:
        """A sweep over two parameters."""
        self.report("sweep", "sweep")

    def test_arena(self) -> None:
        """An arena on two problems."""
        self.report("arena", "arena")

    def test_several(self) -> None:
        """Results of different kinds and problems side by side."""
        self.report("several", "gap", "late", "arena")

    def test_reproduction(self) -> None:
        """The report of `emab reproduce`."""
        self.check(self.folder / "reproduction" / "report.html", "reproduction")

    def test_faults_are_found(self) -> None:
        """A page with a fault of each kind fails every check."""
        page = self.folder / "faults.html"
        page.write_text(
            """<!doctype html><html><head><title>Faults</title></head><body>
            <img src="http://127.0.0.1:9/picture.png"><p style="width: 900px; color: #ccc">wide and pale</p>
            <a href="#" style="outline: none">here</a><script>throw new Error("fault")</script></body></html>"""
        )
        findings = check(self.browser, page.as_uri(), "faults")
        for kind, faults in vars(findings).items():
            assert faults, f"no fault of {kind} was found"


if __name__ == "__main__":
    unittest.main()
