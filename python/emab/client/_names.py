"""Names in addresses."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def checked(what: str, name: str) -> str:
    """The name, if it can be one.

    What cannot is refused here and not by the service: in an address `x:export` would be another call, not a
    name.
    """
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise ValueError(
        f"{name!r} cannot be the name of {what}: a name has 1 to 128 letters, digits, `.`, `_` and `-`, "
        "beginning with a letter or digit"
    )


def study_path(study: str) -> str:
    """Where a study is."""
    return f"/v1/studies/{checked('a study', study)}"


def episode_path(study: str, episode: str) -> str:
    """Where an episode is."""
    return f"{study_path(study)}/episodes/{checked('an episode', episode)}"
