"""Tables in HTML for notebooks. Numbers and text tables are rendered natively, as the command prints them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

Rows = Sequence[Sequence[str]]
Cells = tuple[list[str], list[list[str]]]
"""The header and the rows of a table."""


def shorten(names: Sequence[str]) -> str:
    """Return a sequence of actions as text, with repeated actions as a count."""
    runs = [(name, len(list(run))) for name, run in groupby(names)]
    return ", ".join(f"{n} × {name}" if n > 2 else ", ".join([name] * n) for name, n in runs)


def html_table(header: Sequence[str], rows: Rows, *, title: str = "", note: str = "") -> str:
    """Return a table for a notebook; columns of numbers are aligned to the right."""
    right = [all(_is_number(row[i]) for row in rows) for i in range(len(header))]

    def line(row: Sequence[str], tag: str, more: str = "") -> str:
        aligned = (f"text-align: {'right' if r else 'left'}; padding: 0.2em 0.8em; {more}" for r in right)
        cells = zip(row, aligned, strict=True)
        return "".join(f'<{tag} style="{style}">{escape(cell)}</{tag}>' for cell, style in cells)

    caption = (
        f'<caption style="text-align: left; padding: 0.3em 0.8em; font-weight: bold; caption-side: top">'
        f"{escape(title)}</caption>"
    )
    head = f"<thead><tr>{line(header, 'th', 'border-bottom: 1px solid currentColor')}</tr></thead>"
    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    below = f'<p style="margin: 0.2em 0.8em; opacity: 0.75">{escape(note)}</p>' if note else ""
    start = '<table style="border-collapse: collapse; font-variant-numeric: tabular-nums">'
    return f"<div>{start}{caption if title else ''}{head}<tbody>{body}</tbody></table>{below}</div>"


def _is_number(text: str) -> bool:
    return text[:1] in tuple("0123456789-+") and all(not c.isalpha() or c == "e" for c in text)
