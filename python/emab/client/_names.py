"""Names of studies and episodes, and their paths."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def valid_name(what: str, name: str) -> str:
    """Return a valid name; raise `ValueError` otherwise.

    The client checks this itself: in a URL, `x:export` would be another call and not a name.
    """
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise ValueError(
        f"{name!r} cannot be the name of {what}: a name has 1 to 128 letters, digits, `.`, `_` and `-`, "
        "beginning with a letter or digit"
    )


def study_path(study: str) -> str:
    """Return the path of a study."""
    return f"/v1/studies/{valid_name('a study', study)}"


def episode_path(study: str, episode: str) -> str:
    """Return the path of an episode."""
    return f"{study_path(study)}/episodes/{valid_name('an episode', episode)}"
