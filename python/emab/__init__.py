"""Episodic multi-armed bandits: problems, FeedBAL and comparison algorithms, the oracle, and a simulation engine.

>>> import emab
>>> result = emab.run("resource", ["feedbal", emab.UCB1V()], runs=20, episodes=1000, seed=1)
>>> round(emab.solve("resource").benchmark.value, 6)
1.605674

- :func:`load` and :func:`problem`: a problem by name, from a file, or defined in Python.
- :func:`run`, :func:`sweep`, :func:`solve`, :func:`bounds`: the commands of the same names, with the same numbers.
- :func:`replay`, :func:`evaluate`, :func:`fit`: what a log of decisions says of other learners, policies and models.
- :class:`FeedBAL` and the other learners (:mod:`emab.learners`), also for use in your own loop.
- :mod:`emab.plot`: plots. :mod:`emab.gym`: Gymnasium environments. :mod:`emab.client`: client of the decision service.
- :mod:`emab.futures`, :mod:`emab.ray`: runs on executors and on a Ray cluster.
"""

from emab import plot
from emab._emab import Episode, Estimate, Learner, Problem, ProblemError, Spec, __version__
from emab._learner import LearnerLike, OwnLearner, UserLearner, load_learner
from emab._logs import Evaluation, Fit, LogLike, Replay, ReplayedLearner, evaluate, fit, replay
from emab._problem import ProblemLike, load
from emab._problem_builder import problem, spec
from emab._result import Curve, Result
from emab._run import run
from emab._simulator import Simulator, simulate
from emab._single_runs import SingleRuns
from emab._solve import Bound, Bounds, LowerBound, LowerTriplet, Policy, Solution, bounds, lower_bound, solve
from emab._sweep import SweepCell, SweepLike, SweepResult, sweep
from emab._warnings import AssumptionWarning, DeviceWarning, SoundnessWarning
from emab.learners import *  # noqa: F403
from emab.learners import __all__ as _learners

__all__ = [
    "AssumptionWarning",
    "Bound",
    "Bounds",
    "Curve",
    "DeviceWarning",
    "Episode",
    "Estimate",
    "Evaluation",
    "Fit",
    "Learner",
    "LearnerLike",
    "LogLike",
    "LowerBound",
    "LowerTriplet",
    "OwnLearner",
    "Policy",
    "Problem",
    "ProblemError",
    "ProblemLike",
    "Replay",
    "ReplayedLearner",
    "Result",
    "Simulator",
    "SingleRuns",
    "Solution",
    "SoundnessWarning",
    "Spec",
    "SweepCell",
    "SweepLike",
    "SweepResult",
    "UserLearner",
    "__version__",
    "bounds",
    "evaluate",
    "fit",
    "load",
    "load_learner",
    "lower_bound",
    "plot",
    "problem",
    "replay",
    "run",
    "simulate",
    "solve",
    "spec",
    "sweep",
    *[name for name in _learners if name != "BY_NAME"],
]
