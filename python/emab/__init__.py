"""Episodic multi-armed bandits: problems, FeedBAL and its rivals, the oracle, and an engine for many runs.

>>> import emab
>>> result = emab.run("resource", ["feedbal", emab.UCB1V()], runs=20, episodes=1000, seed=1)
>>> round(emab.solve("resource").benchmark.value, 6)
1.605674

- :func:`load` and :func:`problem`: a problem by name, from a file, or written in Python.
- :func:`run`, :func:`sweep`, :func:`solve`, :func:`bounds`: what the command line does, with the same numbers.
- :class:`FeedBAL` and the others (:mod:`emab.learners`): learners for one's own loop.
- :mod:`emab.gym`, :mod:`emab.ray`, :mod:`emab.futures`, :mod:`emab.client`, :mod:`emab.plot`: see each.
"""

from emab._build import problem, spec
from emab._emab import Episode, Estimate, Learner, Problem, ProblemError, Spec, __version__
from emab._learner import LearnerLike, OwnLearner, load_learner
from emab._problem import ProblemLike, load
from emab._result import Curve, Result
from emab._run import SoundnessWarning, run
from emab._simulate import Simulator, simulate
from emab._solve import Bound, Bounds, Policy, Solution, bounds, solve
from emab.learners import *  # noqa: F403
from emab.learners import __all__ as _learners

__all__ = [
    "Bound",
    "Bounds",
    "Curve",
    "Episode",
    "Estimate",
    "Learner",
    "LearnerLike",
    "OwnLearner",
    "Policy",
    "Problem",
    "ProblemError",
    "ProblemLike",
    "Result",
    "Simulator",
    "Solution",
    "SoundnessWarning",
    "Spec",
    "__version__",
    "bounds",
    "load",
    "load_learner",
    "problem",
    "run",
    "simulate",
    "solve",
    "spec",
    *[name for name in _learners if name != "BY_NAME"],
]
