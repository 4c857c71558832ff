"""Rejected requests and their messages."""

from __future__ import annotations

import pickle
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from live_server import CLINIC, LiveServer

from emab.client import (
    Client,
    Conflict,
    EmabError,
    Invalid,
    NotAllowed,
    NotFound,
    Refused,
    Study,
    Unauthorized,
    Unavailable,
    Unexpected,
)


def test_rejects_an_override_without_a_reason(study: Study) -> None:
    """The message has the error of the service, the place in the body, and the call."""
    episode = study.open("p1")
    with pytest.raises(Invalid) as raised:
        episode.tell("blood", "positive")
    error = raised.value
    assert isinstance(error, ValueError)
    assert isinstance(error, Refused)
    assert isinstance(error, EmabError)
    assert (error.status, error.kind, error.pointer) == (422, "urn:emab:not-possible", "/reason")
    assert str(error) == (
        "`stop` was recommended and `blood` was taken: an override needs a `reason` "
        "(at /reason of POST /v1/studies/clinic/episodes/p1:tell)"
    )
    assert episode.decision is not None
    assert episode.decision.step == 1


def test_rejects_requests_that_contradict_the_log(client: Client, study: Study) -> None:
    """Another study of the same name, another step, other feedback."""
    with pytest.raises(Conflict):
        client.create_study("clinic", {**CLINIC, "horizon": 4})
    episode = study.open("p1")
    episode.tell("blood", "positive", "protocol")
    with pytest.raises(Conflict):
        episode.tell("blood", "negative", "protocol", step=1)
    with pytest.raises(Conflict, match=r"`ask\(\)` returns the decision of the current step") as raised:
        episode.stop(step=3)
    assert raised.value.current_step == 2
    assert episode.stop().status == "stopped"


def test_not_found(client: Client, study: Study) -> None:
    """It is a LookupError."""
    with pytest.raises(LookupError, match="no study `nowhere`"):
        client.study("nowhere").read()
    with pytest.raises(NotFound, match="no episode `nobody`"):
        study.episode("nobody").ask()
    with pytest.raises(NotFound):
        study.open("p1").replay(2)


@pytest.mark.parametrize("name", ["", "a/b", "clinic:export", "..", "ä", "x" * 129, "a b", "a\n"])
def test_rejects_an_invalid_name(client: Client, study: Study, name: str) -> None:
    """It is not sent: in a URL it could be another call."""
    with pytest.raises(ValueError, match="cannot be the name of a study: a name has"):
        client.study(name)
    with pytest.raises(ValueError, match="cannot be the name of an episode: a name has"):
        study.episode(name)
    with pytest.raises(ValueError, match="cannot be the name of an episode: a name has"):
        study.open(name)


def test_requires_a_step_without_a_decision(study: Study) -> None:
    """A handle without a decision has no step."""
    study.open("p1")
    episode = study.episode("p1")
    with pytest.raises(ValueError, match=r"no step: call `ask\(\)` first"):
        episode.tell("blood", "positive", "protocol")
    assert study.read().seq == 2
    episode.ask()
    assert episode.tell("blood", "positive", "protocol").step == 2


def test_tokens_and_roles(server: LiveServer, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """No token, the environment variable, and the roles viewer and blinded."""
    monkeypatch.delenv("EMAB_TOKEN", raising=False)
    with Client(server.url) as anonymous, pytest.raises(Unauthorized, match="EMAB_TOKEN") as raised:
        anonymous.study("clinic").read()
    assert raised.value.status == 401
    monkeypatch.setenv("EMAB_TOKEN", server.token + "\n")
    with Client(server.url) as admin:
        assert admin.study("clinic").read().name == "clinic"
        assert server.token not in repr(admin)
    with Client(server.url, server.new_token("reader", "viewer")) as viewer:
        with pytest.raises(NotAllowed) as forbidden:
            viewer.study("clinic").open("p1")
        assert forbidden.value.status == 403
    with Client(server.url, server.new_token("ward", "blinded")) as ward:
        decision = ward.study("clinic").open("p1").decision
        assert decision is not None
        assert decision.action == "stop"
        assert decision.estimate is None
        assert decision.explored is None
        assert str(decision.certificate) == "withheld: this token is not shown it"


def test_rejects_an_invalid_address() -> None:
    """The constructor rejects it."""
    with pytest.raises(ValueError, match="must begin with http"):
        Client("localhost:8420")


def test_rejects_an_invalid_token(server: LiveServer) -> None:
    """It is rejected without a retry."""
    with Client(server.url, "emab_\none") as client, pytest.raises(EmabError, match="cannot be sent"):
        client.study("clinic").read()


def test_another_server_at_the_address() -> None:
    """A proxy or another program is not mistaken for the service."""

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page, status = (b"<html>hello", 200) if "a" in self.path.rpartition("/")[2] else (b"<html>no", 404)
            self.send_response(status)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    other = HTTPServer(("127.0.0.1", 0), Other)
    Thread(target=other.serve_forever, daemon=True).start()
    with Client(f"http://127.0.0.1:{other.server_port}", "t") as client:
        with pytest.raises(Unexpected, match="is it an `emab serve` that listens at this address"):
            client.study("a").read()
        with pytest.raises(NotFound, match="not by emab: '<html>no'"):
            client.study("b").read()
    other.shutdown()
    other.server_close()


def test_tls(tmp_path: Path) -> None:
    """A self-signed certificate works once it is trusted; otherwise it is rejected without a retry."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=emab"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make.split(), *names], check=True, capture_output=True)
    with LiveServer(tmp_path / "server", "--tls-cert", str(certificate), "--tls-key", str(key)) as server:
        assert server.url.startswith("https://")
        with Client(server.url, server.token, verify=certificate) as client:
            assert client.create_study("clinic", CLINIC).open("p1").decision is not None
        with Client(server.url, server.token) as untrusting:
            with pytest.raises(Unavailable, match=r"CERTIFICATE_VERIFY_FAILED.*pass its file as `verify`") as raised:
                untrusting.study("clinic").read()
            assert raised.value.tries == 1


def test_names_the_extra_without_httpx() -> None:
    """The error names the extra to install."""
    code = "import sys; sys.modules['httpx'] = None\nimport emab.client"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: emab.client needs httpx: pip install 'emab[client]'" in done.stderr


def test_exceptions_can_be_pickled(study: Study) -> None:
    """Pickled exceptions keep their fields."""
    with pytest.raises(Conflict) as refused:
        study.open("p1").stop(step=2)
    with Client("http://127.0.0.1:9", retries=None) as client, pytest.raises(Unavailable) as unavailable:
        client.study("clinic").read()
    for error in (refused.value, unavailable.value):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert vars(copy) == vars(error)
