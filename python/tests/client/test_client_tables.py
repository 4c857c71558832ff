"""Following the log, and tables."""

from __future__ import annotations

import asyncio
import csv
import io
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from live_server import CLINIC, LiveServer
from relay import Relay

from emab.client import AsyncClient, Client, NotAllowed, NotFound, Retries, Study, Unauthorized, Unavailable, Unexpected
from emab.client._follow import Follower

QUICK = Retries(first=0.01)


def test_follows_events_as_they_are_recorded(study: Study) -> None:
    """Past ones first, then new ones; an idle log ends the iteration."""
    seen = []
    for event in study.follow(timeout=1.0):
        seen.append((event.seq, event.kind))
        if event.seq < 4:
            study.open(f"p{event.seq}")
    assert seen == [(1, "created"), (2, "opened"), (3, "opened"), (4, "opened")]
    assert [event.seq for event in study.follow(after=3, timeout=0.5)] == [4]
    assert list(study.follow(after=4, timeout=0.5)) == []


def test_the_time_of_the_caller_does_not_count(study: Study) -> None:
    """A slow loop still gets all events."""
    for name in ("p1", "p2"):
        study.open(name)
    seen = []
    for event in study.follow(timeout=0.4):
        seen.append(event.seq)
        time.sleep(0.6)
    assert seen == [1, 2, 3]


def test_continues_after_the_service_was_killed(server: LiveServer, study: Study) -> None:
    """Every event comes once."""
    count = 40

    def work() -> None:
        with Client(server.url, server.token, retries=QUICK) as client:
            for number in range(count):
                client.study("clinic").open(f"p{number}")
                if number % 15 == 10:
                    server.kill()
                    server.start()

    thread = threading.Thread(target=work)
    thread.start()
    with Client(server.url, server.token, retries=QUICK) as client:
        events = client.study("clinic").follow()
        seen = [next(events).seq for _ in range(count + 1)]
    thread.join()
    assert seen == list(range(1, count + 2))


def test_continues_after_lost_connections(server: LiveServer, study: Study) -> None:
    """A relay drops parts of the stream."""
    for number in range(50):
        study.open(f"p{number}")
    with Relay(server.url, 3) as relay, Client(relay.url, server.token, retries=QUICK) as client:
        seen = [event.seq for event in client.study("clinic").follow(timeout=1.5)]
        # The first answer of a connection may be the whole log.
        for number in range(4):
            study.open(f"q{number}")
            seen += [event.seq for event in client.study("clinic").follow(after=seen[-1], timeout=0.6)]
    assert seen == list(range(1, 56))
    assert relay.lost > 0


def test_async_follows(server: LiveServer, study: Study) -> None:
    """Two followers at once, and a cancelled one."""

    async def main() -> list[list[str]]:
        async with AsyncClient(server.url, server.token) as client:
            study = client.study("clinic")

            async def follow() -> list[str]:
                return [event.kind async for event in study.follow(timeout=1.0)]

            async def endless() -> None:
                async for _ in study.follow():
                    pass

            waiting = asyncio.create_task(endless())
            tasks = [asyncio.create_task(follow()) for _ in range(2)]
            await asyncio.sleep(0.3)
            await study.open("p1")
            found = await asyncio.gather(*tasks)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            return list(found)

    assert asyncio.run(main()) == [["created", "opened"]] * 2


def test_a_follower_that_may_not_read_the_log(server: LiveServer, study: Study) -> None:
    """Rejections are not repeated."""
    with Client(server.url, server.new_token("ward", "operator")) as client, pytest.raises(NotAllowed):
        next(client.study("clinic").follow())
    with Client(server.url, "emab_x") as client, pytest.raises(Unauthorized):
        next(client.study("clinic").follow())
    with Client(server.url, server.token) as client, pytest.raises(NotFound):
        next(client.study("nowhere").follow())
    with Client("http://127.0.0.1:9", "x", retries=None) as client, pytest.raises(Unavailable):
        next(client.study("clinic").follow())
    for wrong in ({"after": -1}, {"timeout": 0.0}, {"timeout": float("nan")}):
        arguments: Any = wrong
        with pytest.raises(ValueError, match=next(iter(wrong))):
            study.follow(**arguments)


def stream(server: LiveServer, study: Study) -> bytes:
    """The log as server-sent events."""
    lines = list(study.export_lines())[1:]
    return "".join(f"id: {number}\ndata: {line}\n\n" for number, line in enumerate(lines, start=1)).encode()


def test_detects_a_changed_log(server: LiveServer, study: Study) -> None:
    """Numbers, hashes and the chain are checked, wherever the stream is cut."""
    study.open("p0")
    episode = study.open("p1")
    episode.tell("blood", "positive", reason="line\u2028separator\x85 = one event")
    whole = stream(server, study)

    def read(data: bytes, size: int = 1 << 20, after: int = 0) -> list[int]:
        follower = Follower("clinic", after, None)
        parts = (data[at : at + size] for at in range(0, len(data), size))
        return [event.seq for part in parts for event in follower.feed(part)]

    for size in (1, 7, 1 << 20):
        assert read(whole, size) == [1, 2, 3, 4]
    events = whole.split(b"id: ")[1:]
    for changed, match in (
        (whole.replace(b'"p1"', b'"p2"'), "its hash is not that of its content"),
        (b"".join([*events[:1], *events[2:]]), "event 2 is expected"),
        (whole + whole, "event 5 is expected"),
    ):
        with pytest.raises(Unexpected, match=match):
            read(changed)
    # Another log whose hashes are right.
    with Client(server.url, server.token) as client:
        other = client.create_study("other", CLINIC)
        for name in ("a", "b", "c"):
            other.open(name)
        others = stream(server, other).split(b"id: ")[1:]
    with pytest.raises(Unexpected, match="its `previous` is not the hash of event 1"):
        read(events[0] + others[1])
    assert read(others[1], after=1) == [2]


def test_tables(study: Study, tmp_path: Path) -> None:
    """The same rows in memory, in a file, as CSV and as Parquet."""
    episode = study.open("p1")
    episode.tell("blood", "positive", reason="=1+1")
    episode.stop()
    episode.outcome(costs=[0.1], rewards=[0, 1 / 3])
    seq = study.read().seq
    text = study.table("decisions", format="csv")
    assert text.seq == seq
    rows = list(csv.DictReader(io.StringIO(text.data.decode())))
    assert [(row["action"], row["reward"] and float(row["reward"])) for row in rows] == [
        ("blood", 0.0),
        ("stop", 1 / 3),
    ]
    assert rows[0]["reason"] == "'=1+1"
    table = study.table("decisions")
    frame = table.to_pandas()
    assert frame["reason"][0] == "=1+1"
    assert frame["reward"].tolist() == [0.0, 1 / 3]
    assert frame["override"].dtype == bool
    assert table.to_arrow().column_names == list(rows[0])
    for name in ("decisions.csv", "decisions.parquet"):
        assert study.table_file("decisions", tmp_path / name) == seq
    assert (tmp_path / "decisions.csv").read_bytes() == text.data
    assert (tmp_path / "decisions.parquet").read_bytes() == table.data
    assert study.table("estimates").to_arrow().num_rows > 0
    with pytest.raises(ValueError, match="format='parquet'"):
        text.to_arrow()
    with pytest.raises(FileExistsError, match=r"decisions\.csv exists; force=True replaces it"):
        study.table_file("decisions", tmp_path / "decisions.csv")
    assert study.table_file("decisions", tmp_path / "decisions.csv", force=True) == seq
    with pytest.raises(ValueError, match=r"there is no table 'episods' \(did you mean `episodes`\?\)"):
        study.table_file("episods", "x.csv")
    for arguments in (("cases", "x.csv"), ("episodes", "x.txt")):
        with pytest.raises(ValueError, match="there is no"):
            study.table_file(*arguments)
    with pytest.raises(NotFound):
        study._client.study("nowhere").table_file("episodes", tmp_path / "none.csv")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["decisions.csv", "decisions.parquet"]


def test_a_table_is_read_again_after_a_lost_connection(server: LiveServer, study: Study, tmp_path: Path) -> None:
    """The file is whole."""
    past = {"actions": [0], "feedbacks": [1], "costs": [0.2], "rewards": [0, 1]}
    study.import_lines([{"id": f"p{number:03}", **past} for number in range(100)])
    whole = study.table("decisions", format="csv").data
    with Relay(server.url, 5) as relay, Client(relay.url, server.token, retries=QUICK) as client:
        for number in range(8):
            file = tmp_path / f"{number}.csv"
            client.study("clinic").table_file("decisions", file)
            assert file.read_bytes() == whole
    assert relay.lost > 0


def test_a_service_without_tables(study: Study, tmp_path: Path) -> None:
    """An answer that does not state its event is not a table."""

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=b"{}")

    with Client("http://127.0.0.1:9", "x") as client:
        client._http = httpx.Client(transport=httpx.MockTransport(answer))
        with pytest.raises(Unexpected, match="emab-seq"):
            client.study("clinic").table("episodes")
