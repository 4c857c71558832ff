"""Checks a built site: python check_links.py SITE.

Every link of a page of the book leads to a file of the site, and to an element of it if it has an anchor; every picture
has a text; and nothing is loaded from another place. Links to other sites are not followed.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links, anchors and pictures of a page."""

    def __init__(self, path: Path) -> None:
        """Read a page."""
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.faults: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element refers to."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and "href" in values:
            self.loaded.append(values["href"])
        if "src" in values:
            self.loaded.append(values["src"])
        if tag == "img" and not values.get("alt", "").strip():
            self.faults.append(f"a picture has no text: {values.get('src')}")


@cache
def parsed(path: Path) -> Page:
    """Return a page, read once."""
    return Page(path)


def faults(site: Path, path: Path) -> list[str]:
    """Return what is wrong with a page."""
    page = parsed(path)
    found = list(page.faults)
    for link in page.links + page.loaded:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if link in page.loaded and parts.scheme != "data":
                found.append(f"is loaded from another place: {link}")
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_relative_to(site) or not target.exists():
            found.append(f"the link leads nowhere: {link}")
        elif parts.fragment and target.suffix == ".html":
            anchor = unquote(parts.fragment)
            if anchor not in parsed(target).anchors:
                found.append(f"the anchor does not exist: {link}")
    return found


def main(folder: str) -> None:
    """Check all pages of the book; rustdoc and pdoc write those in `api`."""
    site = Path(folder).resolve()
    pages = sorted(path for path in site.rglob("*.html") if path.relative_to(site).parts[0] != "api")
    found = [f"{path.relative_to(site)}: {fault}" for path in pages for fault in faults(site, path)]
    for fault in found:
        print(fault, file=sys.stderr)
    print(f"links of {len(pages)} pages: {len(found)} faults")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(sys.argv[1])
