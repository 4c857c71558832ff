"""Numbers and tables for people: as the command prints them, and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

NORMAL_95 = 1.959963984540054
"""Standard errors to each side of a 95 % interval."""

Rows = Sequence[Sequence[str]]


def fixed(value: float, decimals: int) -> str:
    """A number with so many decimals, thousands apart; what rounds to nothing has no sign."""
    text = f"{abs(value):,.{decimals}f}"
    return f"-{text}" if value < 0 and text.strip("0.") else text


def number(value: float) -> str:
    """A number for people: enough digits to compare, thousands apart, no long tails.

    >>> from emab._show import number
    >>> number(1680.4211), number(17.1749), number(7.0), number(-0.00001234)
    ('1,680.4', '17.17', '7', '-1.23e-5')
    """
    size = abs(value)
    if value == 0:
        return "0"
    if not 1e-3 <= size < 1e9:
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{digits}e{int(power)}" if power else digits
    if size == int(size) or size >= 10_000:
        return fixed(value, 0)
    return fixed(value, 1 if size >= 100 else 2 if size >= 10 else 4)


def decimals(stderr: float) -> int | None:
    """How many decimals show two digits of a 95 % interval; none where an ordinary number would be clearer."""
    half = NORMAL_95 * stderr
    if half >= 1e9:
        return None
    return next((n for n in range(6) if half >= 9.95 / 10**n), None)


def confidence(mean: float, stderr: float) -> str:
    """A mean with its 95 % interval: as many digits as the interval bears out.

    >>> from emab._show import confidence
    >>> confidence(366.51, 0.15), confidence(1050.3, 56.9), confidence(0, 0)
    ('366.51 ± 0.29', '1,050 ± 112', '0 ± 0')
    """
    # Less than rounding can explain is nothing.
    stderr = stderr if stderr > 1e-12 * abs(mean) else 0.0
    half, places = NORMAL_95 * stderr, decimals(stderr)
    if places is None:
        return f"{number(mean)} ± {number(half)}"
    return f"{fixed(mean, places)} ± {fixed(half, places)}"


def shorten(names: Sequence[str]) -> str:
    """A sequence in words, a long run of one action as a count."""
    runs = [(name, len(list(run))) for name, run in groupby(names)]
    return ", ".join(f"{n} × {name}" if n > 2 else ", ".join([name] * n) for name, n in runs)


def _is_number(text: str) -> bool:
    return text[:1] in tuple("0123456789-+") and all(not c.isalpha() or c == "e" for c in text)


def _right(header: Sequence[str], rows: Rows) -> list[bool]:
    """Which columns stand to the right: those whose every entry is a number."""
    return [all(_is_number(row[i]) for row in rows) for i in range(len(header))]


def text_table(header: Sequence[str], rows: Rows) -> str:
    """A table with a line under its header."""
    right = _right(header, rows)
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True))
        lines.append((" " + "   ".join(cells)).rstrip())
    return "\n".join([lines[0], "─" * (sum(widths) + 3 * len(widths) - 1), *lines[1:]])


def html_table(header: Sequence[str], rows: Rows, *, title: str = "", note: str = "") -> str:
    """The same for a notebook, in whatever colours that has."""
    right = _right(header, rows)

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
