"""Writes `emab/learners.py`, a class for each registered learner: `python python/tools/learners.py`.

It reads `emab learners --json` of the installed package or, with the argument `-`, from standard input. `--check`
writes nothing and fails if the file differs.
"""

import json
import keyword
import subprocess
import sys
import textwrap

from generate import PYTHON, update

NAMES = {
    "feedbal": "FeedBAL",
    "feedbal-pooled": "FeedBALPooled",
    "feedbal-kl": "FeedBALKL",
    "feedbal-model": "FeedBALModel",
    "feedbal-lookahead": "FeedBALLookahead",
    "ucb1": "UCB1",
    "ucb1v": "UCB1V",
    "ucbvi": "UCBVI",
    "ucrl2": "UCRL2",
    "olp": "OLP",
    "o-reps": "OREPS",
    "oasm": "OASM",
    "psrl": "PSRL",
    "opsrl": "OPSRL",
    "q-learning": "QLearning",
    "td-lambda": "TDLambda",
}

HEAD = '''"""A class for each learner of `emab learners`. Written by tools/learners.py."""

from __future__ import annotations

from emab._emab import Learner, Problem, Spec
from emab._learner import learner_text
'''


def name_of(entry: dict) -> str:
    """Return the class name of a learner."""
    default = "".join(word.capitalize() for word in entry["name"].split("-"))
    return NAMES.get(entry["name"], default)


def argument(name: str) -> str:
    """Return a parameter as a Python name."""
    return f"{name}_" if keyword.iskeyword(name) else name


def sentence(text: str) -> str:
    """Return a text as a sentence."""
    return text[:1].upper() + text[1:].rstrip(".") + "."


def wrapped(text: str, indent: str, first: str = "") -> list[str]:
    """Return a text in lines of at most 120 characters."""
    return textwrap.wrap(text, 120, initial_indent=indent + first, subsequent_indent=indent + ("    " if first else ""))


def catalogue() -> str:
    """Return the learners as JSON."""
    if "-" in sys.argv:
        return sys.stdin.read()
    command = [sys.executable, "-m", "emab", "learners", "--json"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def module() -> str:
    """Return the text of the module."""
    lines: list[str] = []
    add = lines.append
    entries = json.loads(catalogue())
    add(HEAD)
    for entry in entries:
        where = "Spec | Problem | None" if entry["sees"] == "spec" else "Problem | None"
        parameters = [(p["name"], argument(p["name"]), p["default"], p["about"]) for p in entry["parameters"]]
        add(f"\nclass {name_of(entry)}(Learner):")
        body = wrapped(f'"""{sentence(entry["about"])}', "    ")
        if entry["reference"]:
            body += ["", *wrapped(sentence(entry["reference"]), "    ")]
        if entry["sees"] != "spec":
            body += ["", "    It reads the model, and so needs the problem, not only its spec."]
        if parameters:
            body.append("")
            for _, arg, default, about in parameters:
                stated = f" (default: {default})" if default else ""
                body += wrapped(f"{arg}: {about}{stated}", "    ", "- ")
        add("\n".join(body))
        add('    """\n')
        add("    def __new__(")
        add("        cls,")
        add(f"        spec: {where} = None,")
        add("        *,")
        for _, arg, _, _ in parameters:
            add(f"        {arg}: float | str | bool | None = None,")
        add("        seed: int = 0,")
        add("        remember: bool = True,")
        add(f"    ) -> {name_of(entry)}:")
        add('        """Create a learner for a problem or, without one, a setting for `emab.run`."""')
        if parameters:
            add("        settings = {")
            for name, arg, _, _ in parameters:
                add(f'            "{name}": {arg},')
            add("        }")
        settings = "settings" if parameters else "{}"
        add(f'        text = learner_text("{entry["name"]}", {settings})')
        add("        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)\n")
    add("\nBY_NAME: dict[str, type[Learner]] = {")
    for entry in entries:
        add(f'    "{entry["name"]}": {name_of(entry)},')
    add("}")
    add('"""The classes by their name on the command line."""\n')
    # Ruff sorts names in capitals first.
    names = sorted((name_of(entry) for entry in entries), key=lambda name: (not name.isupper(), name))
    add("__all__ = [")
    for name in ["BY_NAME", *names]:
        add(f'    "{name}",')
    add("]")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    update({PYTHON / "emab" / "learners.py": module()}, "tools/regenerate")
