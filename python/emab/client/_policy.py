"""The policy of a study as a table, and episodes that follow it while the service cannot be reached."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._decode import Raw, Record, as_object, read_by
from ._errors import Unexpected
from ._names import valid_name

VERSION = 1


def _next(raw: Raw) -> dict[str, str]:
    return {str(feedback): str(state) for feedback, state in as_object(raw.get("next", {})).items()}


@dataclass(frozen=True, slots=True)
class PolicyChoice(Record):
    """What is recommended in one step and state; `next` has the state after each feedback.

    >>> client.study("clinic").policy().choices[0].action
    'stop'
    """

    step: int
    state: str
    action: str
    next: dict[str, str] = field(metadata=read_by(_next), hash=False)


@dataclass(frozen=True, slots=True)
class PolicyTable(Record):
    """What is recommended to the next episode in every step and state, as of the event `as_of`.

    Keep it for times when the service cannot be reached: `save`, `PolicyTable.load`, `episode`.

    >>> table = client.study("clinic").policy()
    >>> table.action(1, "unknown")
    'stop'
    """

    study: str
    version: int
    as_of: int
    at: str | None
    hash: str
    choices: tuple[PolicyChoice, ...]

    def action(self, step: int, state: str) -> str:
        """Return the action in a step and state, or `stop`; raise `KeyError` if the table does not have them.

        >>> client.study("clinic").policy().action(3, "clear")
        'stop'
        """
        return self._choice(step, state).action

    def _choice(self, step: int, state: str) -> PolicyChoice:
        for choice in self.choices:
            if (choice.step, choice.state) == (step, state):
                return choice
        raise KeyError(f"the policy has no step {step} in state {state!r}")

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the table as JSON. An earlier table in its place is replaced at once, or stays as it is.

        Another file there is a `FileExistsError`.

        >>> client.study("clinic").policy().save(folder / "clinic.json")
        """
        target = Path(file)
        if target.exists():
            try:
                PolicyTable._read(target)
            except ValueError as error:
                raise FileExistsError(f"{error}, and is not replaced") from None
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        beside.write_text(json.dumps(self.raw), encoding="utf-8")
        beside.replace(target)

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> PolicyTable:
        """Read a table that `save` wrote; raise `ValueError` if it was changed.

        >>> table = client.study("clinic").policy()
        >>> table.save(folder / "clinic.json")
        >>> PolicyTable.load(folder / "clinic.json") == table
        True
        """
        table, name = cls._read(file), repr(os.fspath(file))
        if table.version != VERSION:
            raise ValueError(f"{name} has version {table.version}, and this emab reads version {VERSION}")
        if table.hash != _hash(table.raw):
            raise ValueError(f"{name} was changed: its content does not have its hash; fetch the policy again")
        return table

    @classmethod
    def _read(cls, file: str | os.PathLike[str]) -> PolicyTable:
        """Read a table of any version."""
        try:
            return cls.of(as_object(json.loads(Path(file).read_text(encoding="utf-8"))))
        except (ValueError, Unexpected):
            name = repr(os.fspath(file))
            raise ValueError(f"{name} is not a table of a policy, as `PolicyTable.save` writes it") from None

    def episode(self, name: str, *, start: str | None = None) -> OfflineEpisode:
        """Begin an episode that follows the table; `Study.report` reports it later.

        `start` is the state at intake, where the study has several.

        >>> client.study("clinic").policy().episode("p1").action
        'stop'
        """
        starts = [choice.state for choice in self.choices if choice.step == 1]
        if start is None and len(starts) > 1:
            raise ValueError(f"an episode of this study begins in one of {', '.join(starts)}: give `start`")
        if start is not None and start not in starts:
            raise ValueError(f"no episode of this study begins in {start!r}; it has {', '.join(starts)}")
        return OfflineEpisode(self, valid_name("an episode", name), 1, start or starts[0], start)


@dataclass(slots=True)
class OfflineEpisode:
    """An episode that follows a table while the service cannot be reached.

    >>> table = client.study("clinic").policy()
    >>> episode = table.episode("p1")
    >>> episode.step, episode.state, episode.action
    (1, 'unknown', 'stop')
    >>> episode.stop()
    >>> client.study("clinic").report(episode).name
    'p1'
    """

    table: PolicyTable
    name: str
    step: int
    state: str
    start: str | None = None
    steps: list[tuple[str, str]] = field(default_factory=list)
    is_over: bool = False

    @property
    def action(self) -> str:
        """The recommended action, or `stop`.

        >>> client.study("clinic").policy().episode("p1").action
        'stop'
        """
        return self.table.action(self.step, self.state)

    def tell(self, feedback: str) -> str:
        """Record the feedback of the recommended action, and return the next one.

        >>> episode = client.study("clinic").policy().episode("p1")
        >>> episode.tell("positive")
        Traceback (most recent call last):
        ValueError: the table recommends `stop` here: call `stop()`
        """
        choice = self.table._choice(self.step, self.state)
        if self.is_over or choice.action == "stop":
            raise ValueError("the table recommends `stop` here: call `stop()`")
        if feedback not in choice.next:
            raise ValueError(f"{feedback!r} is not a feedback: it is one of {', '.join(choice.next)}")
        self.steps.append((choice.action, feedback))
        self.step, self.state = self.step + 1, choice.next[feedback]
        return self.action

    def stop(self) -> None:
        """End the episode, as the table recommends.

        >>> episode = client.study("clinic").policy().episode("p1")
        >>> episode.stop()
        >>> episode.is_over
        True
        """
        if self.action != "stop":
            raise ValueError(f"the table recommends {self.action!r} here; stop against it once the service is reached")
        self.is_over = True


def check_table(study: str, table: PolicyTable) -> None:
    """Raise `ValueError` if the table is of another study."""
    if table.study != study:
        raise ValueError(f"the table is of study {table.study!r}, not of {study!r}")


def _hash(raw: Raw) -> str:
    """Return the hash of a table, as the service computes it."""
    content = [raw.get("study"), raw.get("as_of"), raw.get("choices")]
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def reference(table: PolicyTable) -> dict[str, Any]:
    """Return the fields of a step that was decided from a table."""
    return {"decided_by": "fallback", "policy": {"as_of": table.as_of, "hash": table.hash}}
