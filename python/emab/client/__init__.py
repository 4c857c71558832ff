"""Client of the decision service: `Client`, and `AsyncClient` with the same methods.

>>> with Client(client.url, client_token) as service:
...     study = service.study("clinic")
...     episode = study.open("patient-1")
...     print(episode.decision.action)
stop
"""

from __future__ import annotations

try:
    import httpx  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError("emab.client needs httpx: pip install 'emab[client]'") from error

from ._async.client import AsyncClient
from ._async.episode import AsyncEpisode
from ._async.study import AsyncStudy
from ._decision import Certificate, Decision, Estimate, Replay
from ._errors import (
    Conflict,
    EmabError,
    Invalid,
    NotAllowed,
    NotFound,
    Refused,
    TooMany,
    Unauthorized,
    Unavailable,
    Unexpected,
)
from ._estimates import EstimateRow, Estimates
from ._evaluation import PolicyValue, StudyEvaluation, Unsupported, ValueInterval
from ._events import Checkpoint, Event, ImportReport
from ._health import Check, Health, Limits
from ._policy import OfflineEpisode, PolicyChoice, PolicyTable
from ._retry import Retries
from ._sync.client import Client
from ._sync.episode import Episode
from ._sync.study import Study
from ._tables import Table
from ._views import EpisodeView, OutcomeView, Stamp, StepView, StudyChange, StudyView

__all__ = [
    "AsyncClient",
    "AsyncEpisode",
    "AsyncStudy",
    "Certificate",
    "Check",
    "Checkpoint",
    "Client",
    "Conflict",
    "Decision",
    "EmabError",
    "Episode",
    "EpisodeView",
    "Estimate",
    "EstimateRow",
    "Estimates",
    "Event",
    "Health",
    "ImportReport",
    "Invalid",
    "Limits",
    "NotAllowed",
    "NotFound",
    "OfflineEpisode",
    "OutcomeView",
    "PolicyChoice",
    "PolicyTable",
    "PolicyValue",
    "Refused",
    "Replay",
    "Retries",
    "Stamp",
    "StepView",
    "Study",
    "StudyChange",
    "StudyEvaluation",
    "StudyView",
    "Table",
    "TooMany",
    "Unauthorized",
    "Unavailable",
    "Unexpected",
    "Unsupported",
    "ValueInterval",
]

# Tracebacks and `help` show the public module.
for _name in __all__:
    globals()[_name].__module__ = __name__
