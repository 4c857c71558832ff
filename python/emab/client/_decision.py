"""What is recommended, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._read import Raw, flag, inside, maybe, nested, number, text, whole


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of one action: how often its gain was observed, the mean, and the confidence limits.

    >>> client.study("clinic").open("p1").decision.estimate
    Estimate(action='stop', count=0, mean=None, lower=None, upper=None)
    """

    action: str
    count: int
    mean: float | None
    lower: float | None
    upper: float | None
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> Estimate:
        """From the service's JSON."""
        return cls(
            action=text(raw, "action"),
            count=whole(raw, "count"),
            mean=maybe(number, raw, "mean"),
            lower=maybe(number, raw, "lower"),
            upper=maybe(number, raw, "upper"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class Certificate:
    """How far from the best one-step gain a recommendation can be, or why that cannot be said.

    `within` holds with probability at least 1 - delta, for all decisions of the study at once. It is false
    where there is none; `withheld` then says why.

    >>> certificate = client.study("clinic").open("p1").decision.certificate
    >>> print(certificate)
    withheld: not every action has been observed here
    >>> bool(certificate)
    False
    """

    within: float | None
    withheld: str | None

    def __bool__(self) -> bool:
        """Whether there is one."""
        return self.within is not None

    def __str__(self) -> str:
        """For people."""
        if self.within is not None:
            return f"within {self.within:.4g} of the best one-step gain"
        return f"withheld: {self.withheld or 'this token is not shown it'}"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is recommended at one step of an episode: `action` (`stop` is one), and what that rests on.

    A `blinded` token is shown neither estimates nor certificate: they are None, and `certificate` is false.

    >>> decision = client.study("clinic").open("p1").decision
    >>> decision.step, decision.state, decision.action, decision.is_stop
    (1, 'unknown', 'stop', True)
    """

    study: str
    episode: str
    step: int
    state: str
    action: str
    estimate: Estimate | None
    runner_up: Estimate | None
    certificate: Certificate
    explored: bool | None
    as_of: int
    spec_hash: str
    previous: str
    raw: Raw = field(repr=False, compare=False)

    @property
    def is_stop(self) -> bool:
        """Whether to stop is what is recommended.

        >>> client.study("clinic").open("p1").decision.is_stop
        True
        """
        return self.action == "stop"

    @classmethod
    def of(cls, raw: Raw) -> Decision:
        """From the service's JSON."""
        return cls(
            study=text(raw, "study"),
            episode=text(raw, "episode"),
            step=whole(raw, "step"),
            state=text(raw, "state"),
            action=text(raw, "action"),
            estimate=inside(Estimate.of, raw, "estimate"),
            runner_up=inside(Estimate.of, raw, "runner_up"),
            certificate=Certificate(maybe(number, raw, "certificate"), maybe(text, raw, "withheld")),
            explored=maybe(flag, raw, "explored"),
            as_of=whole(raw, "as_of"),
            spec_hash=text(raw, "spec_hash"),
            previous=text(raw, "previous"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class Replay:
    """A decision made again from the log: `equal` if to the byte; `differs` names what is not.

    >>> client.study("clinic").open("p1").replay(1).equal
    True
    """

    equal: bool
    recorded: Decision
    recomputed: Decision
    differs: tuple[str, ...]
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> Replay:
        """From the service's JSON."""
        return cls(
            equal=flag(raw, "equal"),
            recorded=Decision.of(nested(raw, "recorded")),
            recomputed=Decision.of(nested(raw, "recomputed")),
            differs=tuple(map(str, raw.get("differs") or ())),
            raw=raw,
        )
