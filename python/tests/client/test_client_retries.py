"""Failures: a killed service, lost answers, a rate limit. No event is lost or recorded twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from live_server import CLINIC, LiveServer
from patients import Seen, treat, treat_async
from relay import Relay

from emab.client import AsyncClient, Client, Retries, Study, TooMany, Unavailable
from emab.client._retry import Attempts

QUICK = Retries(first=0.01)


def check(study: Study, server: LiveServer, seen: list[Seen]) -> None:
    """Every patient is recorded once, with the decisions that the client received, and the store is clean."""
    view = study.read()
    assert (view.episodes, view.learned, view.open) == (len(seen), len(seen), 0)
    for number, decisions in enumerate(seen):
        steps = study.episode(f"p{number}").read().steps
        assert steps is not None
        assert [step.decision for step in steps] == decisions
    events = list(study.events())
    tells = sum(len(decisions) - 1 for decisions in seen)
    assert len(events) == view.seq == 1 + 3 * len(seen) + tells
    audit = server.audit()
    assert audit["clean"]
    assert [found["episodes"] for found in audit["studies"]] == [len(seen)]


def test_survives_repeated_kills_of_the_service(
    server: LiveServer, study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    """All threads complete their patients."""
    caplog.set_level("INFO", "emab.client")
    with ThreadPoolExecutor(8) as pool:
        treated = [pool.submit(treat, study, number) for number in range(200)]
        for finished in (10, 40, 70, 100, 130):
            while sum(done.done() for done in treated) < finished:
                time.sleep(0.002)
            server.kill()
            server.start()
    assert caplog.text.count("trying again") >= 5
    check(study, server, [done.result()[1] for done in treated])


def test_asynchronous_client_survives_repeated_kills(
    server: LiveServer, study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    """All tasks complete; the service is down for a while."""
    caplog.set_level("INFO", "emab.client")

    async def story() -> list[Seen]:
        async with AsyncClient(server.url, server.token) as client:
            there = client.study("clinic")
            tasks = [asyncio.ensure_future(treat_async(there, number)) for number in range(60)]
            # All patients proceed together, so that events are counted instead of patients.
            for recorded in (20, 100, 180):
                while study.read().seq < recorded:
                    await asyncio.sleep(0.002)
                server.kill()
                await asyncio.sleep(0.1)
                server.start()
            return [seen for _, seen in await asyncio.gather(*tasks)]

    seen = asyncio.run(story())
    assert caplog.text.count("trying again") >= 3
    check(study, server, seen)


def test_repeats_requests_after_lost_answers(server: LiveServer, study: Study) -> None:
    """The service has acted, the answer is lost, and the request is sent again."""
    with Relay(server.url, lose=3) as relay, Client(relay.url, server.token, retries=QUICK) as client:
        seen = [treat(client.study("clinic"), number)[1] for number in range(20)]
        assert relay.lost > 20
        past = {"actions": [0], "feedbacks": [1], "costs": [0.1], "rewards": [0, 1]}
        for _ in range(3):
            report = client.study("clinic").import_lines([{"id": f"old{i}", **past} for i in range(100)])
            assert report.taken + report.repeated == 100
    for i in range(100):
        assert study.episode(f"old{i}").read().imported
    assert study.read().episodes == 120
    recorded = [study.episode(f"p{i}").read().steps or () for i in range(20)]
    assert [[step.decision for step in steps] for steps in recorded] == seen
    assert server.audit()["clean"]


def test_lost_answer_opens_no_second_episode(server: LiveServer, study: Study) -> None:
    """Also without a name. Without retries the error says that the request may have been recorded."""
    with Relay(server.url, lose=1) as relay, Client(relay.url, server.token, retries=None) as client:
        with pytest.raises(Unavailable, match="may or may not have been recorded") as raised:
            client.study("clinic").open()
        assert (raised.value.status, raised.value.tries) == (None, 1)
    assert study.read().episodes == 1
    with Relay(server.url, lose=2) as relay, Client(relay.url, server.token, retries=QUICK) as client:
        opened = {client.study("clinic").open().name for _ in range(10)}
        assert relay.lost >= 9
    assert len(opened) == 10
    assert study.read().episodes == 11


def test_exports_many_pages_over_lost_connections(server: LiveServer, study: Study) -> None:
    """Each line comes once, although connections are lost."""
    past = {"actions": [0], "feedbacks": [1], "costs": [0.1], "rewards": [0, 1]}
    study.import_lines({"id": f"old{i}", **past} for i in range(10_500))
    whole = list(study.export_lines())
    assert len(whole) == 10_502 == study.read().seq + 1

    async def awaited(url: str) -> list[str]:
        async with AsyncClient(url, server.token) as client:
            return [line async for line in client.study("clinic").export_lines()]

    with Relay(server.url, lose=150) as relay, Client(relay.url, server.token, retries=QUICK) as client:
        while not relay.lost:
            assert list(client.study("clinic").export_lines()) == whole
        assert asyncio.run(awaited(relay.url)) == whole


def test_sends_a_generator_once(server: LiveServer, study: Study) -> None:
    """A generator cannot be sent again after a lost connection; a list can."""
    past = {"actions": [0], "feedbacks": [1], "costs": [0.1], "rewards": [0, 1]}
    lines = [{"id": f"old{i}", **past} for i in range(10)]
    with (
        Relay(server.url, lose=1) as relay,
        Client(relay.url, server.token) as client,
        pytest.raises(Unavailable, match="came from an iterator and cannot be sent again"),
    ):
        client.study("clinic").import_lines(line for line in lines)
    server.kill()

    def restarting() -> Iterator[dict[str, Any]]:
        yield from lines

    # Nothing was read from the generator before the connection, so that it can still be sent.
    with ThreadPoolExecutor(1) as pool, Client(server.url, server.token) as client:
        sent = pool.submit(client.study("clinic").import_lines, restarting())
        time.sleep(0.3)
        server.start()
        assert sent.result().repeated == 10


def test_respects_a_rate_limit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The client waits, or raises TooMany without retries."""
    caplog.set_level("INFO", "emab.client")
    with (
        LiveServer(tmp_path / "limited", "--rate", "5") as server,
        Client(server.url, server.token) as client,
        Client(server.url, server.token, retries=None) as hasty,
    ):
        study = client.create_study("clinic", CLINIC)
        for number in range(15):
            study.open(f"p{number}")
        assert "with 429" in caplog.text
        with pytest.raises(TooMany) as raised:
            [hasty.study("clinic").read() for _ in range(1000)]
        assert raised.value.status == 429
        assert raised.value.retry_after == 1
        assert study.read().episodes == 15


def test_gives_up_at_the_deadline(server: LiveServer, study: Study) -> None:
    """The error has the address, the request, the number of attempts and a remedy."""
    server.kill()
    with Client(server.url, server.token, retries=Retries(deadline=0.5)) as client:
        with pytest.raises(
            Unavailable, match=r"gave no answer to POST /v1/studies/clinic/episodes: .*refused"
        ) as raised:
            client.study("clinic").open("p1")
        assert 2 < raised.value.tries < 10
        assert "is `emab serve` running there?" in str(raised.value)
        assert not client.alive()
        assert not client.ready()


def test_respects_retry_after() -> None:
    """The client waits that long, and gives up if it is beyond the deadline."""
    attempts = Attempts("GET /", "http://x", Retries(deadline=10.0), None)
    problem = b'{"detail": "the store is full"}'
    for _ in range(5):
        pause = attempts.answered(503, {"retry-after": "4"}, problem)
        assert pause is not None
        assert 4.0 < pause < 6.0
    with pytest.raises(Unavailable, match=r"answered GET / with 503: the store is full \(sent 6 times") as raised:
        attempts.answered(503, {"retry-after": "11"}, problem)
    assert (raised.value.status, raised.value.tries) == (503, 6)


def test_pauses_double_up_to_a_bound() -> None:
    """They have jitter."""
    attempts = Attempts("GET /", "http://x", Retries(deadline=10.0, first=0.1, most=1.0), None)
    pauses = [attempts.lost(httpx.ConnectError("refused")) for _ in range(8)]
    for pause, longest in zip(pauses, [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0, 1.0], strict=True):
        assert longest / 2 <= pause <= longest
    assert len(set(pauses[4:])) == 4
