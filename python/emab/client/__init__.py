"""The client of emab's decision service: `Client`, and `AsyncClient` with the same methods.

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

from ._async_client import AsyncClient
from ._async_episode import AsyncEpisode
from ._async_study import AsyncStudy
from ._client import Client
from ._decision import Certificate, Decision, Estimate, Replay
from ._episode import Episode
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
from ._knowledge import EstimateRow, Estimates
from ._log import Event, ImportReport
from ._retry import Retries
from ._study import Study
from ._views import EpisodeView, OutcomeView, StepView, StudyView

__all__ = [
    "AsyncClient",
    "AsyncEpisode",
    "AsyncStudy",
    "Certificate",
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
    "ImportReport",
    "Invalid",
    "NotAllowed",
    "NotFound",
    "OutcomeView",
    "Refused",
    "Replay",
    "Retries",
    "StepView",
    "Study",
    "StudyView",
    "TooMany",
    "Unauthorized",
    "Unavailable",
    "Unexpected",
]

# Tracebacks and `help` shall name them as people import them.
for _name in __all__:
    globals()[_name].__module__ = __name__
