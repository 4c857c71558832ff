"""Episodes from the first decision to a corrected outcome; lists, imports and exports."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
import time
from pathlib import Path

import pytest
from live_server import CLINIC, LiveServer
from patients import treat, treat_async

from emab.client import (
    AsyncClient,
    Checkpoint,
    Client,
    Conflict,
    Decision,
    Episode,
    Invalid,
    NotFound,
    OfflineEpisode,
    PolicyTable,
    Study,
)


def test_episode_from_first_decision_to_outcome(study: Study) -> None:
    """The record has all decisions, actions and feedbacks."""
    episode = study.open("patient-1")
    first = episode.decision
    assert first is not None
    assert (first.episode, first.step, first.state, first.action) == ("patient-1", 1, "unknown", "stop")
    assert first.estimate is not None
    assert first.estimate.count == 0
    assert first.estimate.mean is None
    assert not first.certificate
    assert first.certificate.withheld == "not every action has been observed here"
    assert episode.ask() == first

    second = episode.tell("blood", "positive", reason="the first ten are tested")
    assert (second.step, second.state) == (2, "suspect")
    assert episode.decision == second == episode.ask()
    ended = episode.stop()
    assert (ended.status, ended.step) == ("stopped", 2)
    learned = episode.outcome(costs=[0.05], rewards=[0, 1])
    assert (learned.status, learned.learned) == ("learned", 0)

    whole = episode.read()
    assert whole.steps is not None
    assert [step.decision for step in whole.steps] == [first, second]
    assert [(s.action, s.feedback, s.overridden) for s in whole.steps] == [
        ("blood", "positive", True),
        ("stop", None, False),
    ]
    assert whole.steps[0].reason == "the first ten are tested"
    assert [event.kind for event in study.events()] == ["created", "opened", "told", "stopped", "outcome"]
    assert study.read().learned == 1


def test_certificate_after_every_action_was_observed(study: Study) -> None:
    """There is one once every action was observed."""
    for number in range(40):
        treat(study, number)
    past = {"id": "s", "actions": ["scan"], "feedbacks": ["positive"], "costs": [0.2], "rewards": [0, 1]}
    study.import_lines([past])
    decision = study.open("next").decision
    assert decision is not None
    assert decision.estimate is not None
    assert decision.estimate.mean is not None
    assert decision.certificate
    assert decision.certificate.within is not None
    assert decision.certificate.within > 0
    assert decision.certificate.withheld is None
    assert decision.estimate.lower is not None
    assert decision.estimate.upper is not None
    assert decision.estimate.lower < decision.estimate.mean < decision.estimate.upper
    assert decision == Decision.of(decision.raw)
    assert hash(decision) == hash(Decision.of(decision.raw))


def test_outcomes_in_parts_and_corrections(study: Study) -> None:
    """Both values stay in the log, and earlier estimates do not change."""
    episode = study.open("p1")
    episode.tell(0, 1, reason="by index")
    episode.stop()
    assert episode.outcome(costs=[0.05]).status == "stopped"
    assert episode.outcome(rewards=[None, 1.0]).status == "stopped"
    view = episode.outcome(rewards=[0.0, None])
    assert view.status == "learned"
    assert view.outcome is not None
    assert (view.outcome.costs, view.outcome.rewards, view.outcome.final) == ((0.05,), (0.0, 1.0), False)
    then = study.read().seq
    before = study.estimates()

    amended = episode.amend(rewards=[None, 0.5], reason="second opinion")
    assert amended.outcome is not None
    assert amended.outcome.rewards == (0.0, 0.5)
    assert study.estimates(as_of=then) == before
    now = study.estimates()
    assert now.as_of == then + 1
    assert now.rows != before.rows
    recorded = [event.data["rewards"] for event in study.events() if event.kind in ("outcome", "amended")]
    assert recorded[-2:] == [[0.0, None], [None, 0.5]]
    assert episode.replay(2).equal


def test_abandoned_episode_is_missing_until_its_outcome(study: Study) -> None:
    """A final outcome may have unknown values."""
    study.open("p1").abandon("moved away")
    episode = study.open("p2")
    episode.tell("scan", "negative", reason="protocol")
    episode.stop()
    assert episode.outcome(rewards=[1, 1], final=True).status == "learned"
    assert study.read().missing == 2
    assert study.episode("p1").outcome(rewards=[0.5]).status == "learned"
    assert study.read().missing == 1


def test_lists_read_all_pages(client: Client, study: Study) -> None:
    """Pages of every size give the same list."""
    for number in range(7):
        study.open(f"p{number}")
    study.episode("p3").stop(step=1)
    for name in ("a", "b"):
        client.create_study(name, CLINIC)
    assert [view.name for view in client.studies(page=1)] == ["a", "b", "clinic"]
    assert [view.name for view in study.episodes(page=2)] == [f"p{i}" for i in range(7)]
    assert [view.name for view in study.episodes(only_open=True, page=7)] == [f"p{i}" for i in (0, 1, 2, 4, 5, 6)]
    assert [event.seq for event in study.events(page=2)] == list(range(1, 10))
    assert [event.seq for event in study.events(after=7, page=1)] == [8, 9]


def test_unnamed_episodes_get_unique_names(study: Study) -> None:
    """The client generates it."""
    one, other = study.open(), study.open()
    assert one.name != other.name
    assert {view.name for view in study.episodes()} == {one.name, other.name}


def test_creates_a_study_from_an_object_with_to_dict(client: Client) -> None:
    """Arguments are added to its fields."""

    class Problem:
        def to_dict(self) -> dict[str, object]:
            return {key: value for key, value in CLINIC.items() if key != "learner"}

    study = client.create_study("s", Problem(), learner="feedbal:width=sound", missing_at_random=True)
    spec = study.read().spec
    assert spec is not None
    assert spec["missing_at_random"] is True
    assert study.close().closed


def test_outliers_and_ids_of_requests(client: Client) -> None:
    """A value out of range needs `outlier` and a reason; the same content with another id is meant anew."""
    study = client.create_study("s", {**CLINIC, "outcome_range": {"reward": [0, 1]}})
    episode = study.open("p1")
    episode.stop()
    with pytest.raises(ValueError, match="outside the range"):
        episode.outcome(rewards=[7])
    assert episode.outcome(rewards=[7], outlier=True, reason="measured twice").status == "learned"
    values = []
    for reward, request in [(1, "a"), (0, "b"), (1, "a"), (1, "c")]:
        view = episode.amend(rewards=[reward], reason="mistyped", request=request)
        assert view.outcome is not None
        values.append(view.outcome.rewards[0])
    assert values == [1, 0, 0, 1]
    with pytest.raises(Conflict, match="another content"):
        episode.amend(rewards=[0.5], reason="mistyped", request="a")


def test_imports_an_export_into_another_service(study: Study, tmp_path: Path) -> None:
    """From a file and from lines, with the same hash; a repeated import changes nothing."""
    treat(study, 1)
    # JSON does not escape this line separator, and `str.splitlines` splits at it.
    study.open("p2").abandon("reason\u2028of two lines")
    count = study.export_file(tmp_path / "clinic.ndjson")
    assert count == study.read().seq
    with pytest.raises(FileExistsError, match=r"clinic\.ndjson exists; force=True replaces it"):
        study.export_file(tmp_path / "clinic.ndjson")
    assert study.export_file(tmp_path / "clinic.ndjson", force=True) == count
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("clinic")] == ["clinic.ndjson"]
    lines = list(study.export_lines())
    assert (tmp_path / "clinic.ndjson").read_bytes() == "".join(line + "\n" for line in lines).encode()

    with LiveServer(tmp_path / "other") as other, Client(other.url, other.token) as there:
        copy = there.study("clinic")
        dry = copy.import_file(tmp_path / "clinic.ndjson", dry_run=True)
        assert (dry.taken, dry.dry_run) == (count, True)
        assert list(there.studies()) == []
        assert copy.import_file(tmp_path / "clinic.ndjson").taken == count
        assert copy.import_lines(study.export_lines()).repeated == count
        assert copy.read().hash == study.read().hash
        assert copy.estimates() == study.estimates()


def test_discards_a_study_that_is_being_restored(study: Study, tmp_path: Path) -> None:
    """Its name is free again, and the service logs who discarded it; a live study is never deleted."""
    treat(study, 1)
    lines = list(study.export_lines())
    with pytest.raises(Conflict, match="never deleted"):
        study.discard()
    with LiveServer(tmp_path / "other") as other, Client(other.url, other.token) as there:
        wrong = there.study("clinic")
        with pytest.raises(NotFound):
            wrong.discard()
        with pytest.raises(Conflict, match="the export ends at event 2"):
            wrong.import_lines(lines[:3])
        assert wrong.read().restoring
        assert wrong.discard() == 2
        with pytest.raises(NotFound):
            wrong.read()
        assert list(there.studies()) == []
        assert wrong.import_lines(lines).taken == len(lines) - 1
        assert wrong.read().hash == study.read().hash
        assert wait_for_checkpoint(wrong).raw["restored"] is not None
        other.audit()
        (line,) = [line for line in other.log() if line["message"].startswith("discarded")]
        last = json.loads(lines[2])
        assert (line["study"], line["seq"], line["hash"]) == ("clinic", 2, last["hash"])
        assert re.fullmatch("[0-9a-f]{8,}", line["by"])


def wait_for_checkpoint(study: Study) -> Checkpoint:
    """Return the checkpoint that covers the last event."""
    while True:
        try:
            if (found := study.checkpoint()).seq == study.read().seq:
                return found
        except NotFound:
            pass
        time.sleep(0.05)


def test_reads_checkpoints(study: Study, server: LiveServer, tmp_path: Path) -> None:
    """Their text is byte for byte what `emab audit --checkpoint` verifies."""
    treat(study, 1)
    checkpoint = wait_for_checkpoint(study)
    assert (checkpoint.study, checkpoint.hash) == ("clinic", study.read().hash)
    (tmp_path / "checkpoints").write_text(checkpoint.text + "\n")
    server.audit("--checkpoint", str(tmp_path / "checkpoints"), "--checkpoint-key-public", checkpoint.key)
    with pytest.raises(NotFound, match="no study"):
        Client(server.url, server.token).study("none").checkpoint()


def test_imports_larger_than_a_chunk(study: Study) -> None:
    """An error in the middle names its line, and the lines before it stay imported."""
    past = [
        {"id": f"old{i}", "actions": [i % 2], "feedbacks": [1], "costs": [0.1], "rewards": [0, 1]} for i in range(3000)
    ]
    assert study.import_lines(iter(past)).taken == 3000
    assert study.read().learned == 3000
    bad = [{**line, "id": f"new{i}"} for i, line in enumerate(past)]
    bad[1700]["actions"] = ["biopsy"]
    with pytest.raises(ValueError, match=r"line 1701.*biopsy"):
        study.import_lines(bad)
    assert study.read().learned == 4700


def test_asynchronous_client(server: LiveServer, tmp_path: Path) -> None:
    """Every call of the asynchronous client, many concurrently."""

    async def story() -> None:
        async with AsyncClient(server.url, server.token) as client:
            assert await client.alive()
            assert await client.ready()
            study = await client.create_study("clinic", CLINIC)
            treated = await asyncio.gather(*(treat_async(study, number) for number in range(20)))
            assert (await study.read()).learned == 20
            assert [view.name async for view in client.studies(page=1)] == ["clinic"]
            assert len([view async for view in study.episodes(page=3)]) == 20
            for episode, seen in treated:
                steps = (await episode.read()).steps
                assert steps is not None
                assert [step.decision for step in steps] == seen
                assert (await episode.replay(1)).equal
            first = treated[0][0]
            known = await study.estimates()
            rewards = [None] * (len(treated[0][1]) - 1) + [0.5]
            await first.amend(rewards=rewards, reason="mistyped")
            assert await study.estimates() != known
            assert await study.estimates(as_of=known.as_of) == known
            late = await study.open()
            assert await late.ask() == late.decision
            assert (await late.abandon("moved away")).status == "abandoned"
            await study.close()
            events = [event async for event in study.events(page=7)]
            assert [event.seq for event in events] == list(range(1, len(events) + 1))

            path = tmp_path / "clinic.ndjson"
            assert await study.export_file(path) == len(events)
            with LiveServer(tmp_path / "other") as other:
                there = AsyncClient(other.url, other.token)
                copy = there.study("clinic")
                assert (await copy.import_file(path, dry_run=True)).taken == len(events)
                assert (await copy.import_lines(study.export_lines())).taken == len(events)
                assert (await copy.import_lines(path.read_text().splitlines())).repeated == len(events)
                assert (await copy.read()).hash == (await study.read()).hash
                with pytest.raises(Conflict, match="never deleted"):
                    await copy.discard()
                await there.close()
            while True:
                with contextlib.suppress(NotFound):
                    if (await study.checkpoint()).seq == len(events):
                        break
                await asyncio.sleep(0.05)

    asyncio.run(story())


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_rejects_values_that_are_not_finite(study: Study, value: float) -> None:
    """The error names the place."""
    episode = study.open("p1")
    episode.tell("blood", "positive", reason="protocol")
    episode.stop()
    with pytest.raises(ValueError, match=r"^/rewards/1 is -?(nan|inf), and must be a finite number"):
        episode.outcome(rewards=[0, value])
    with pytest.raises(ValueError, match=r"^/costs/0 is -?(nan|inf)"):
        episode.amend(costs=[value], reason="mistyped")
    with pytest.raises(ValueError, match=r"^line 1: /costs/0 is -?(nan|inf)"):
        study.import_lines([{"id": "x", "costs": [value]}])
    with pytest.raises(ValueError, match=r"^/learning/delta is -?(nan|inf)"):
        study._client.create_study("x", {"learning": {"delta": value}})
    assert study.read().learned == 0


def test_accepts_numbers_of_other_types(study: Study) -> None:
    """Types that convert to float are accepted, text is not."""
    from fractions import Fraction

    numpy = pytest.importorskip("numpy")
    episode = study.open("p1")
    episode.tell(numpy.int64(0), numpy.int64(1), reason="protocol")
    episode.stop()
    with pytest.raises(ValueError, match=r"/rewards/0 is '1'"):
        episode.outcome(rewards=["1"])  # type: ignore[list-item]
    view = episode.outcome(costs=numpy.array([0.5], dtype="float32"), rewards=[Fraction(1, 4), True])
    assert view.outcome is not None
    assert (view.outcome.costs, view.outcome.rewards) == ((0.5,), (0.25, 1.0))
    past = {"id": "x", "actions": [], "feedbacks": (), "costs": numpy.zeros(0), "rewards": numpy.ones(1)}
    assert study.import_lines([past]).taken == 1


def test_error_of_a_long_import_that_is_rejected_early(study: Study) -> None:
    """The service rejects the import before it has read the body; both clients raise the error."""
    line = '{"id":"x","actions":["biopsy"],"feedbacks":[1],"costs":[0.1],"rewards":[0,1]}'
    lines = [line] * 200_000
    with pytest.raises(Invalid, match=r"line 1: this study has no action `biopsy`"):
        study.import_lines(lines)

    async def awaited() -> None:
        settings = study._client._settings
        async with AsyncClient(settings.url, settings.headers["Authorization"].removeprefix("Bearer ")) as client:
            with pytest.raises(Invalid, match=r"line 1: this study has no action `biopsy`"):
                await client.study("clinic").import_lines(lines)

    asyncio.run(awaited())


def test_corrected_step_and_voided_episode(study: Study) -> None:
    """The recommendation is made anew, and an episode that was entered in error counts for nothing."""
    episode = study.open("patient-1")
    episode.tell("blood", "positive", reason="the first ten are tested")
    assert episode.amend_step(1, feedback="negative", reason="read wrongly").state == "clear"
    assert episode.decision is not None
    assert episode.decision.state == "clear"
    steps = episode.read().steps
    assert steps is not None
    assert (steps[0].feedback, steps[0].corrected) == ("negative", "read wrongly")
    with pytest.raises(NotFound, match="recorded steps 1 to 1"):
        episode.amend_step(2, action="scan", reason="mistyped")
    with pytest.raises(Invalid, match="`action` or a `feedback`"):
        episode.amend_step(1, reason="mistyped")
    assert episode.replay(2).equal
    assert episode.void("entered twice").status == "voided"
    with pytest.raises(Conflict, match="voided"):
        episode.tell("blood", "positive")
    view = study.read()
    assert (view.episodes, view.open, view.missing) == (0, 0, 0)


def test_paused_and_reopened_study(study: Study) -> None:
    """A paused study opens no episodes; requests have an id, so that a repeated one takes effect once."""
    assert study.pause("repair").paused
    with pytest.raises(Conflict, match="paused"):
        study.open("patient-1")
    assert not study.resume("repaired", request="r1").paused
    assert study.pause("repair").paused
    assert study.resume("repaired", request="r1").paused
    assert not study.resume("repaired again").paused
    assert study.close().closed
    assert not study.reopen("too early").closed
    assert study.open("patient-1").decision is not None


def test_first_episodes_follow_the_protocol(client: Client) -> None:
    """A decision says what made it."""
    protocol = {"first": 1, "sequence": ["scan"]}
    study = client.create_study("protocol", CLINIC, protocol=protocol)
    first, second = study.open("a").decision, study.open("b").decision
    assert first is not None
    assert second is not None
    assert (first.action, first.decided_by, second.decided_by) == ("scan", "protocol", "learner")


def test_episode_follows_the_table_while_the_service_is_away(server: LiveServer, tmp_path: Path) -> None:
    """The steps are reported afterwards as decided by fallback, and are no overrides."""
    with Client(server.url, server.token, retries=None) as client:
        study = client.create_study("ward", CLINIC, protocol={"first": 9, "sequence": ["blood", "scan"]})
        study.policy().save(tmp_path / "ward.json")
        table = PolicyTable.load(tmp_path / "ward.json")
        changed = (tmp_path / "ward.json").read_text().replace('"blood"', '"scan"', 1)
        (tmp_path / "changed.json").write_text(changed)
        with pytest.raises(ValueError, match="was changed"):
            PolicyTable.load(tmp_path / "changed.json")
        (tmp_path / "other.json").write_text("hello")
        with pytest.raises(ValueError, match=r"other\.json.* is not a table"):
            PolicyTable.load(tmp_path / "other.json")
        table.save(tmp_path / "changed.json")
        assert PolicyTable.load(tmp_path / "changed.json") == table
        with pytest.raises(FileExistsError, match=r"other\.json.* is not a table .*, and is not replaced"):
            table.save(tmp_path / "other.json")
        assert (tmp_path / "other.json").read_text() == "hello"
        with pytest.raises(TypeError, match="`spec` must be a dict, or an object with"):
            client.create_study("s", "clinic.json")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="of study 'ward', not of 'clinic'"):
            client.study("clinic").open_with_fallback("patient-1", table)
        server.stop()
        offline = study.open_with_fallback("patient-1", table)
        assert isinstance(offline, OfflineEpisode)
        assert (offline.state, offline.action) == ("unknown", "blood")
        assert offline.tell("positive") == "scan"
        with pytest.raises(ValueError, match="one of negative, positive"):
            offline.tell("maybe")
        with pytest.raises(ValueError, match="recommends 'scan'"):
            offline.stop()
        assert offline.tell("negative") == "stop"
        offline.stop()
        server.start()
        for _ in range(2):
            episode = study.report(offline)
        view = episode.read()
        assert view.status == "stopped"
        assert view.steps is not None
        assert [step.decided_by for step in view.steps] == ["fallback"] * 3
        assert not any(step.overridden for step in view.steps)
        assert isinstance(study.open_with_fallback("patient-2", table), Episode)
