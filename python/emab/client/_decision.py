"""Recommendations and their certificates."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._decode import Raw, Record, read_by, typed


@dataclass(frozen=True, slots=True)
class Estimate(Record):
    """The estimate of one action: how often its gain was observed, the mean, and the confidence limits.

    >>> client.study("clinic").open("p1").decision.estimate
    Estimate(action='stop', count=0, mean=None, lower=None, upper=None)
    """

    action: str
    count: int
    mean: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class Certificate:
    """How far a recommendation can be from the best action, or why no such bound is given.

    `within` bounds how far the recommended action is below the best one: in one-step gain, or for a learner of the
    optimal policy in the value of everything that follows. It holds with
    probability at least 1 - delta, for all decisions of the study at once. Without a bound the certificate is false and
    `withheld` is the reason.

    >>> certificate = client.study("clinic").open("p1").decision.certificate
    >>> print(certificate)
    withheld: not every action has been observed here
    >>> bool(certificate)
    False
    """

    within: float | None
    withheld: str | None

    def __bool__(self) -> bool:
        """Return whether there is a bound."""
        return self.within is not None

    def __str__(self) -> str:
        """Return the bound or the reason in words."""
        if self.within is not None:
            return f"within {self.within:.4g} of the best action"
        return f"withheld: {self.withheld or 'this token is not shown it'}"


def _certificate(raw: Raw) -> Certificate:
    bound, reason = raw.get("certificate"), raw.get("withheld")
    return Certificate(
        None if bound is None else typed(raw, "certificate", float),
        None if reason is None else typed(raw, "withheld", str),
    )


@dataclass(frozen=True, slots=True)
class Decision(Record):
    """The recommendation at one step of an episode: an `action`, which may be `stop`, and its basis.

    `decided_by` is `learner` or `protocol`, and None in studies of earlier versions.
    A `blinded` token is shown neither estimates nor certificate nor hashes: they are None, and `certificate` is false.

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
    certificate: Certificate = field(metadata=read_by(_certificate))
    explored: bool | None
    as_of: int
    at: str | None
    spec_hash: str | None
    previous: str | None
    decided_by: str | None

    @property
    def is_stop(self) -> bool:
        """Whether the recommendation is to stop.

        >>> client.study("clinic").open("p1").decision.is_stop
        True
        """
        return self.action == "stop"


@dataclass(frozen=True, slots=True)
class Replay(Record):
    """A decision recomputed from the log. `equal` is byte equality; `differs` lists the fields that differ.

    >>> client.study("clinic").open("p1").replay(1).equal
    True
    """

    equal: bool
    recorded: Decision
    recomputed: Decision
    differs: tuple[str, ...] = field(metadata=read_by(lambda raw: tuple(map(str, raw.get("differs") or ()))))
