"""Writes a class for each learner of the catalogue, from `emab learners --json` on standard input: see `tools/regenerate`."""

import json
import keyword
import sys

NAMES = {
    "feedbal": "FeedBAL",
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

HEAD = '''"""A class for each learner, by tools/learners.py from the catalogue, which `emab learners` shows."""

from __future__ import annotations

from emab._emab import Learner, Problem, Spec
from emab._learner import line
'''


def name_of(entry: dict) -> str:
    """The class of a learner."""
    default = "".join(word.capitalize() for word in entry["name"].split("-"))
    return NAMES.get(entry["name"], default)


def argument(name: str) -> str:
    """A parameter as a Python name."""
    return f"{name}_" if keyword.iskeyword(name) else name


def sentence(text: str) -> str:
    """A text as a sentence."""
    return text[:1].upper() + text[1:].rstrip(".") + "."


def wrapped(text: str, indent: str, first: str = "") -> list[str]:
    """A text in lines of at most 120 characters."""
    import textwrap

    return textwrap.wrap(text, 120, initial_indent=indent + first, subsequent_indent=indent + ("    " if first else ""))


def main() -> None:
    """Print the module."""
    entries = json.load(sys.stdin)
    print(HEAD)
    for entry in entries:
        where = "Spec | Problem | None" if entry["sees"] == "spec" else "Problem | None"
        parameters = [(p["name"], argument(p["name"]), p["default"], p["about"]) for p in entry["parameters"]]
        print(f"\nclass {name_of(entry)}(Learner):")
        body = wrapped(f'"""{sentence(entry["about"])}', "    ")
        if entry["reference"]:
            body += ["", *wrapped(sentence(entry["reference"]), "    ")]
        if entry["sees"] != "spec":
            body += ["", "    It sees the truth, and so needs the problem, not its spec alone."]
        if parameters:
            body.append("")
            for _, arg, default, about in parameters:
                stated = f" (default: {default})" if default else ""
                body += wrapped(f"{arg}: {about}{stated}", "    ", "- ")
        print("\n".join(body))
        print('    """\n')
        print("    def __new__(")
        print("        cls,")
        print(f"        spec: {where} = None,")
        print("        *,")
        for _, arg, _, _ in parameters:
            print(f"        {arg}: float | str | bool | None = None,")
        print("        seed: int = 0,")
        print("        remember: bool = True,")
        print(f"    ) -> {name_of(entry)}:")
        print('        """Make a learner for a problem, or, without one, a setting for `emab.run`."""')
        if parameters:
            print("        settings = {")
            for name, arg, _, _ in parameters:
                print(f'            "{name}": {arg},')
            print("        }")
        else:
            print("        settings: dict[str, float | int | str | bool | None] = {}")
        print(f'        text = line("{entry["name"]}", settings)')
        print("        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)\n")
    print("\nBY_NAME: dict[str, type[Learner]] = {")
    for entry in entries:
        print(f'    "{entry["name"]}": {name_of(entry)},')
    print("}")
    print('"""The classes by what the command line calls them."""\n')
    # In the order that ruff wants: capitals first.
    names = sorted((name_of(entry) for entry in entries), key=lambda name: (not name.isupper(), name))
    print("__all__ = [")
    for name in ["BY_NAME", *names]:
        print(f'    "{name}",')
    print("]")


if __name__ == "__main__":
    main()
