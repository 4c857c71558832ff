"""Real failures: a service that is killed, answers that get lost, a limit. Nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from live_server import CLINIC, LiveServer
from relay import Relay
from ward import Seen, treat, treat_async

from emab.client import AsyncClient, Client, Retries, Study, TooMany, Unavailable

QUICK = Retries(first=0.01)


def check(study: Study, server: LiveServer, seen: list[Seen]) -> None:
    """Every patient is there once, with the decisions that were answered, and the store is clean."""
    view = study.read()
    assert (view.episodes, view.learned, view.open) == (len(seen), len(seen), 0)
    for number, decisions in enumerate(seen):
        steps = study.episode(f"p{number}").read().steps
        assert steps is not None and [step.decision for step in steps] == decisions
    events = list(study.events())
    tells = sum(len(decisions) - 1 for decisions in seen)
    assert len(events) == view.seq == 1 + 3 * len(seen) + tells
    audit = server.audit()
    assert audit["clean"]
    assert [found["episodes"] for found in audit["studies"]] == [len(seen)]


def test_a_service_that_is_killed_again_and_again(server: LiveServer, study: Study) -> None:
    """Threads go on as if nothing had happened."""
    patients = 240
    with ThreadPoolExecutor(8) as pool:
        treated = [pool.submit(treat, study, number) for number in range(patients)]
        kills = 0
        while not all(done.done() for done in treated):
            time.sleep(0.15)
            server.kill()
            kills += 1
            server.start()
    assert kills >= 3
    check(study, server, [done.result()[1] for done in treated])


def test_the_same_awaited(server: LiveServer, study: Study) -> None:
    """Tasks go on, too."""

    async def story() -> list[Seen]:
        async with AsyncClient(server.url, server.token) as client:
            there = client.study("clinic")
            tasks = [asyncio.ensure_future(treat_async(there, number)) for number in range(120)]
            for _ in range(3):
                await asyncio.sleep(0.1)
                assert not all(task.done() for task in tasks)
                server.kill()
                await asyncio.sleep(0.1)
                server.start()
            return [seen for _, seen in await asyncio.gather(*tasks)]

    check(study, server, asyncio.run(story()))


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
    assert len(opened) == 10 and study.read().episodes == 11


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
    with Relay(server.url, lose=1) as relay, Client(relay.url, server.token) as client:
        with pytest.raises(Unavailable, match="came from an iterator and are gone"):
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


def test_a_limit_on_calls_is_kept_to(tmp_path: Path) -> None:
    """By waiting; or it is said, where nobody wants to wait."""
    server = LiveServer(tmp_path / "limited", "--rate", "5")
    with Client(server.url, server.token) as client, Client(server.url, server.token, retries=None) as hasty:
        begun = time.monotonic()
        study = client.create_study("clinic", CLINIC)
        for number in range(15):
            study.open(f"p{number}")
        assert time.monotonic() - begun > 1.5
        with pytest.raises(TooMany) as raised:
            for _ in range(20):
                hasty.study("clinic").read()
        assert raised.value.status == 429 and raised.value.retry_after == 1
        assert study.read().episodes == 15
    server.stop()


def test_it_gives_up_at_the_deadline(server: LiveServer, study: Study) -> None:
    """And says where, what, how often and what to do."""
    server.kill()
    with Client(server.url, server.token, retries=Retries(deadline=0.5)) as client:
        begun = time.monotonic()
        with pytest.raises(
            Unavailable, match=r"gave no answer to POST /v1/studies/clinic/episodes: .*refused"
        ) as raised:
            client.study("clinic").open("p1")
        assert time.monotonic() - begun < 2.0
        assert raised.value.tries > 2 and "is `emab serve` running there?" in str(raised.value)
        assert not client.alive() and not client.ready()
