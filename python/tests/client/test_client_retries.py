"""Real failures: a service that is killed, answers that get lost, a limit. Nothing is lost or doubled."""

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
from relay import Relay
from ward import Seen, treat, treat_async

from emab.client import AsyncClient, Client, Retries, Study, TooMany, Unavailable
from emab.client._retry import Tries

QUICK = Retries(first=0.01)


def check(study: Study, server: LiveServer, seen: list[Seen]) -> None:
    """Every patient is there once, with the decisions that were answered, and the store is clean."""
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


def test_a_service_that_is_killed_again_and_again(
    server: LiveServer, study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    """Threads go on as if nothing had happened."""
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


def test_the_same_awaited(server: LiveServer, study: Study, caplog: pytest.LogCaptureFixture) -> None:
    """Tasks go on, too; here the service is away for a while."""
    caplog.set_level("INFO", "emab.client")

    async def story() -> list[Seen]:
        async with AsyncClient(server.url, server.token) as client:
            there = client.study("clinic")
            tasks = [asyncio.ensure_future(treat_async(there, number)) for number in range(60)]
            # All go forward together, so it is counted in events and not in patients.
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


def test_answers_that_get_lost(server: LiveServer, study: Study) -> None:
    """The service has acted, the answer never comes, the request is sent again."""
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
    told = [study.episode(f"p{i}").read().steps or () for i in range(20)]
    assert [[step.decision for step in steps] for steps in told] == seen
    assert server.audit()["clean"]


def test_an_answer_that_gets_lost_opens_no_second_episode(server: LiveServer, study: Study) -> None:
    """Not even where no name was given; without retries it is said that it may have been recorded."""
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


def test_an_export_of_many_pages(server: LiveServer, study: Study) -> None:
    """Each line once, whatever was cut off on the way."""
    past = {"actions": [0], "feedbacks": [1], "costs": [0.1], "rewards": [0, 1]}
    study.import_lines({"id": f"old{i}", **past} for i in range(10_500))
    whole = list(study.export_lines())
    assert len(whole) == 10_501 == study.read().seq

    async def awaited(url: str) -> list[str]:
        async with AsyncClient(url, server.token) as client:
            return [line async for line in client.study("clinic").export_lines()]

    with Relay(server.url, lose=150) as relay, Client(relay.url, server.token, retries=QUICK) as client:
        while not relay.lost:
            assert list(client.study("clinic").export_lines()) == whole
        assert asyncio.run(awaited(relay.url)) == whole


def test_a_generator_is_sent_once(server: LiveServer, study: Study) -> None:
    """Where it breaks, that is said; a list is sent again."""
    past = {"actions": [0], "feedbacks": [1], "costs": [0.1], "rewards": [0, 1]}
    lines = [{"id": f"old{i}", **past} for i in range(10)]
    with (
        Relay(server.url, lose=1) as relay,
        Client(relay.url, server.token) as client,
        pytest.raises(Unavailable, match="came from an iterator and are gone"),
    ):
        client.study("clinic").import_lines(line for line in lines)
    server.kill()

    def restarting() -> Iterator[dict[str, Any]]:
        yield from lines

    # Nothing was taken of it before there was a connection, so it is not gone.
    with ThreadPoolExecutor(1) as pool, Client(server.url, server.token) as client:
        sent = pool.submit(client.study("clinic").import_lines, restarting())
        time.sleep(0.3)
        server.start()
        assert sent.result().repeated == 10


def test_a_limit_on_calls_is_kept_to(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By waiting; or it is said, where nobody wants to wait."""
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


def test_it_gives_up_at_the_deadline(server: LiveServer, study: Study) -> None:
    """And says where, what, how often and what to do."""
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


def test_what_the_service_says_of_waiting_is_kept_to() -> None:
    """Neither sooner, nor in vain where it is later than the deadline."""
    tries = Tries("GET /", "http://x", Retries(deadline=10.0), None)
    problem = b'{"detail": "the store is full"}'
    for _ in range(5):
        pause = tries.answered(503, {"retry-after": "4"}, problem)
        assert pause is not None
        assert 4.0 < pause < 6.0
    with pytest.raises(Unavailable, match=r"answered GET / with 503: the store is full \(sent 6 times") as raised:
        tries.answered(503, {"retry-after": "11"}, problem)
    assert (raised.value.status, raised.value.tries) == (503, 6)


def test_pauses_double_up_to_a_bound() -> None:
    """And vary, so that clients that failed together do not come back together."""
    tries = Tries("GET /", "http://x", Retries(deadline=10.0, first=0.1, most=1.0), None)
    pauses = [tries.lost(httpx.ConnectError("refused")) for _ in range(8)]
    for pause, longest in zip(pauses, [0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0, 1.0], strict=True):
        assert longest / 2 <= pause <= longest
    assert len(set(pauses[4:])) == 4
