"""The doctor finds what is wrong and says what to do."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.ports import free_port
from tests.tracker.cli.conftest import Tracker
from tests.tracker.seed import Seeded
from tracker.cli.starting import cure_engine


@pytest.fixture
def well(folder_suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings under which nothing outside this machine is asked."""
    monkeypatch.setenv("TRACKER_PORT", str(free_port()))
    monkeypatch.setenv("TRACKER_SUITES", str(folder_suite))


def states(answer: Any) -> dict[str, str]:
    """Return the checks' names with their states."""
    return {check["name"]: check["state"] for check in answer.data["items"]}


@pytest.mark.usefixtures("well")
def test_all_is_well_here(tracker: Tracker) -> None:
    answer = tracker("doctor", "--fail-on", "fail", "--json")
    assert answer.code == 0
    found = states(answer)
    assert {"python", "home", "disk", "cpu", "pinning", "gpu", "settings", "store", "port", "slack"} <= found.keys()
    assert (found["releases of tiny"], found["suite tiny"]) == ("ok", "ok")


@pytest.mark.usefixtures("well")
def test_every_problem_comes_with_what_to_do(tracker: Tracker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACKER_SUITES", "nonsense")
    monkeypatch.setenv("TRACKER_SLACK__CHANNEL", "#perf")
    answer = tracker("doctor", "--fail-on", "warn", "--json")
    assert answer.code == 1
    bad = [check for check in answer.data["items"] if check["state"] != "ok" and check["name"] != "load"]
    assert {check["name"] for check in bad} == {"suite nonsense", "slack"}
    assert all(check["cure"] for check in bad)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore leaves the socket to the GC
@pytest.mark.usefixtures("well")
def test_an_engine_that_does_not_answer_is_found_where_a_suite_needs_it(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch, folder_suite: Path
) -> None:
    assert "engine" not in states(tracker("doctor", "--json"))
    folder_suite.write_text(folder_suite.read_text().replace('executor = "local"', 'executor = "docker_engine"'))
    monkeypatch.setenv("TRACKER_DOCKER__ENGINE", "unix:///nonexistent/docker.sock")
    (engine,) = (one for one in tracker("doctor", "--json").data["items"] if one["name"] == "engine")
    assert engine["state"] == "fail"
    assert "the container engine at unix:///nonexistent/docker.sock does not answer" in engine["found"]
    assert "[docker]" in engine["cure"]


def test_wrong_settings_do_not_hide_the_rest(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_PORT", "many")
    found = states(tracker("doctor", "--json"))
    assert (found["settings"], found["python"]) == ("fail", "ok")


@pytest.mark.usefixtures("well")
def test_a_home_that_cannot_be_written_is_found(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path / "file" / "home"))
    assert states(tracker("doctor", "--json"))["home"] == "fail"


@pytest.mark.usefixtures("well")
@pytest.mark.parametrize(("mode", "state"), [(0o600, "ok"), (0o640, "warn"), (0o644, "warn")])
def test_a_token_in_a_file_that_others_can_read_is_found(mode: int, state: str, home: Path, tracker: Tracker) -> None:
    home.mkdir()
    file = home / "tracker.toml"
    file.write_text('[slack]\ntoken = "xoxb-secret"\n', encoding="utf-8")
    file.chmod(mode)
    answer = tracker("doctor", "--json")
    assert states(answer)["settings"] == state
    assert "xoxb-secret" not in answer.out + answer.err


class Slack(BaseHTTPRequestHandler):
    """Answers auth.test as Slack does."""

    def do_POST(self) -> None:
        good = self.headers["Authorization"] == "Bearer xoxb-good"
        body = b'{"ok": true, "team": "Perf"}' if good else b'{"ok": false, "error": "invalid_auth"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def slack_url() -> Iterator[str]:
    """A server on loopback that knows one token."""
    server = HTTPServer(("127.0.0.1", 0), Slack)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.usefixtures("well")
@pytest.mark.parametrize(("token", "state"), [("xoxb-good", "ok"), ("xoxb-bad", "fail")])
def test_slack_is_asked_whether_it_takes_the_token(
    token: str, state: str, slack_url: str, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKER_SLACK__API_URL", slack_url)
    monkeypatch.setenv("TRACKER_SLACK__CHANNEL", "#perf")
    monkeypatch.setenv("TRACKER_SLACK__TOKEN", token)
    answer = tracker("doctor", "--json")
    assert states(answer)["slack"] == state
    assert token not in answer.out + answer.err


@pytest.mark.usefixtures("well")
def test_runs_that_wait_without_a_daemon_are_a_warning(tracker: Tracker, seeded: Seeded) -> None:
    (store,) = (one for one in tracker("doctor", "--json").data["items"] if one["name"] == "store")
    assert store["state"] == "warn"
    assert store["found"].endswith("no daemon works on it, 3 runs wait")
    assert "tracker serve" in store["cure"]


@pytest.mark.usefixtures("well", "seeded")
def test_runs_that_nobody_sees_are_a_warning_with_since_when_and_why(tracker: Tracker, home: Path) -> None:
    with closing(sqlite3.connect(home / "tracker.db")) as store, store:
        store.execute("UPDATE run SET lease_until = '2026-01-01 03:12:00' WHERE state = 'running'")
    (runs,) = (one for one in tracker("doctor", "--json").data["items"] if one["name"] == "runs")
    assert runs["state"] == "warn"
    assert "1 run that is under way is not seen since 2026-01-01 03:12 UTC" in runs["found"]
    assert "no daemon has told of it" in runs["found"]
    assert "nothing was ended" in runs["cure"]

    listed = tracker("runs", "list", "--state", "running").out
    assert "running, not seen" in listed
    (run,) = tracker("runs", "list", "--state", "running", "--json").data["items"]
    assert "is running, not seen since 2026-01-01 03:12 UTC" in tracker("runs", "show", run["id"]).out


@pytest.mark.usefixtures("well")
def test_a_cluster_that_cannot_be_asked_is_found_where_a_suite_needs_it(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch, folder_suite: Path, tmp_path: Path
) -> None:
    folder_suite.write_text(folder_suite.read_text().replace('executor = "local"', 'executor = "slurm"'))
    monkeypatch.setenv("TRACKER_SLURM__BIN", str(tmp_path))
    (cluster,) = (one for one in tracker("doctor", "--json").data["items"] if one["name"].startswith("slurm, "))
    assert cluster["state"] == "fail"
    assert "sbatch was not found" in cluster["found"]
    assert "tracker runs trigger" in cluster["cure"]


@pytest.mark.parametrize(
    ("said", "there", "cure"),
    [
        ("engine at unix:///x.sock: [Errno 13] Permission denied", "unix:///x.sock", "usermod -aG docker"),
        ("engine at unix:///dokcer.sock: No such file", "unix:///docker.sock", "set engine in [docker] to that"),
        ("engine at unix:///x.sock: Connection refused", "unix:///x.sock", "start the engine"),
        ("engine at unix:///x.sock: No such file", None, "correct [docker]"),
        ("4 GB free, images are pulled from 80 GB on (min_free_gb)", None, "lower min_free_gb"),
    ],
)
def test_the_cure_for_an_engine_fits_what_it_said(said: str, there: str | None, cure: str) -> None:
    assert cure in cure_engine(said, there)
