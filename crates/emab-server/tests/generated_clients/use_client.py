"""Calls a service with the client that openapi-python-client generated: `use_client.py URL TOKEN`."""

import io
import json
import sys

from emab_generated import AuthenticatedClient
from emab_generated.api.audit import export_study, import_study, read_events
from emab_generated.api.episodes import (
    ask_episode,
    give_outcome,
    list_episodes,
    open_episode,
    read_decisions,
    stop_episode,
    tell_episode,
)
from emab_generated.api.operate import metrics
from emab_generated.api.studies import create_study, read_codebook, read_estimates, read_study
from emab_generated.models import ApiError, GiveOutcome, NewStudy, Open, PastEpisodes, Stop, Tell
from emab_generated.types import File

url, token = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token)

spec = NewStudy.from_dict(
    {
        "horizon": 3,
        "states": ["unknown", "clear", "suspect"],
        "actions": ["blood", "scan"],
        "feedbacks": ["negative", "positive"],
        "transition": [[[[1, 2], [1, 2]]] * 3] * 2,
        "allowed": "1",
        "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]},
        "learner": "feedbal:width=sound",
    }
)
assert create_study.sync("ward", client=client, body=spec).study == "ward"
past = {"id": "p0", "actions": ["blood"], "feedbacks": ["positive"], "costs": [0.1], "rewards": [0.0, 0.9]}
report = import_study.sync("ward", client=client, body=PastEpisodes.from_dict({"episodes": [past]}))
assert (report.taken, report.repeated) == (1, 0), report
lines = File(payload=io.BytesIO(json.dumps(past).encode()))
report = import_study.sync("ward", client=client, body=lines)
assert (report.taken, report.repeated) == (0, 1), report

decision = open_episode.sync("ward", client=client, body=Open(id="p1"))
assert ask_episode.sync("ward", "p1", client=client) == decision
tell = Tell(step=1, action="scan", feedback="negative", reason="as the protocol says")
assert tell_episode.sync("ward", "p1", client=client, body=tell).state == "clear"
assert stop_episode.sync("ward", "p1", client=client, body=Stop(step=2, reason="enough")).status == "stopped"
outcome = GiveOutcome(costs=[0.5], rewards=[0.0, None])
assert give_outcome.sync("ward", "p1", client=client, body=outcome).outcome.rewards == [0.0, None]

assert [view.episode for view in list_episodes.sync("ward", client=client).episodes] == ["p0", "p1"]
rows = read_decisions.sync("ward", client=client).decisions
assert [(row.episode, row.step, row.action) for row in rows] == [
    ("p0", 1, "blood"),
    ("p0", 2, "stop"),
    ("p1", 1, "scan"),
    ("p1", 2, "stop"),
]
assert read_estimates.sync("ward", client=client).learned == 1
assert any(column.column == "override" for column in read_codebook.sync(client=client).columns)
study = read_study.sync("ward", client=client)
export = export_study.sync("ward", client=client).payload.read()
assert export.count(b"\n") == 1 + study.seq
assert len(read_events.sync("ward", client=client).splitlines()) == study.seq
assert "emab_" in metrics.sync(client=client)
missing = read_study.sync("nowhere", client=client)
assert isinstance(missing, ApiError) and missing.status == 404, missing
