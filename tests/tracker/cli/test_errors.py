"""Wrong input is exit code 2, something busy or away 3: one plain line on standard error, nothing on the other."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tracker.cli.conftest import Tracker
from tests.tracker.seed import Seeded
from tracker.daemon import take_folder
from tracker.store import engine


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "nonsense"),
        ("runs list --nonsense", "--nonsense"),
        ("runs list --limit many", "--limit"),
        ("runs list --state nonsense", "queued"),
        ("runs show 0123", "no run '0123'"),
        ("runs show 019ad", "several runs"),
        ("runs trigger nonsense 1.28.0", "no suite named 'nonsense'"),
        ("runs trigger onnxruntime 9.9.9", "no release '9.9.9'"),
        ("runs trigger onnxruntime 1.25.1", "wrong symbols"),
        ("runs trigger onnxruntime 1.28.0 --repeats 0", "repeats"),
        ("series show nonsense", "no series 'nonsense'"),
        ("series show prefill", "is said of"),
        ("series export --format xlsx", "csv or json"),
        ("summary 9.9.9", "no release '9.9.9'"),
        ("summary 1.28.0 --format pdf", "text, md, html, json"),
        ("compare 1.26.0 1.27.0 --fail-on sometimes", "regression, unclear"),
        ("alerts show nonsense", "no alert 'nonsense'"),
        ("alerts list --state nonsense", "open"),
        ("releases list --component nonsense", "onnxruntime"),
        ("releases order no-such-file", "no-such-file"),
        ("releases add onnxruntime 2.0.0", "--file"),
        ("releases add onnxruntime 2.0.0 --image x --digest sha256:short", "64"),
        ("releases add onnxruntime 2.0.0 --file no-such-file", "found nothing"),
        ("releases add onnxruntime 2.0.0 --image \udcff --digest sha256:" + "0" * 64, "half a character"),
        ("releases list --text \udcff", "half a character"),
        ("tokens create \udcff", "a token needs a name"),
        ("tokens create page", "choose another name"),
        ("tokens revoke nonsense", "no token named 'nonsense'"),
        ("serve --port 99999", "port"),
        ("serve --suite nonsense", "no suite named 'nonsense'"),
        ("doctor --fail-on sometimes", "warn or fail"),
    ],
)
def test_wrong_input_is_told_in_one_line(line: str, said: str, seeded: Seeded, tracker: Tracker) -> None:
    answer = tracker(*line.split())
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_wrong_input_is_told_the_same_way_to_programs(seeded: Seeded, tracker: Tracker) -> None:
    answer = tracker("runs", "show", "0123", "--json")
    assert (answer.code, answer.out) == (2, "")


def test_a_file_that_is_no_text_is_named(tracker: Tracker, tmp_path: Path) -> None:
    file = tmp_path / "tags.bin"
    file.write_bytes(b"\xff\xfe\x00")
    answer = tracker("releases", "order", str(file))
    assert answer.code == 2
    assert str(file) in answer.err


def test_a_suite_with_mistakes_is_told_with_all_of_them(tracker: Tracker, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('name = "bad"\nnonsense = 1\n', encoding="utf-8")
    answer = tracker("suites", "check", str(file))
    assert answer.code == 2
    assert {"nonsense", "component", "matrix"} <= set(answer.err.replace(":", " ").split())


def test_a_wrong_setting_names_the_right_one(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_PROT", "9000")
    answer = tracker("runs", "list")
    assert answer.code == 2
    assert "TRACKER_PORT" in answer.err


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TRACKER_SLACK", "no json", "TRACKER_SLACK__CHANNEL"),
        ("TRACKER_RULES", "[", '"rules"'),
        ("TRACKER_KEEP_OUTPUTS_DAYS", "999999999999", "less than or equal to 36500"),
        ("TRACKER_WATCH_EVERY_S", "inf", "'watch_every_s'"),
        ("TRACKER_LEASE_S", "nan", "'lease_s'"),
        ("TRACKER_PUBLIC_URL", "http://[x", "'public_url'"),
        ("TRACKER_PUBLIC_URL", "javascript:alert(1)", "https://perf.example.com"),
        ("TRACKER_HOME", "/nowhere/\udcff", "TRACKER_HOME"),
    ],
)
def test_an_impossible_setting_is_told_in_one_line(
    name: str, value: str, said: str, home: Path, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    answer = tracker("runs", "list")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert said in answer.err


@pytest.mark.parametrize("text", ["port = " + "9" * 5000, "a = " + "[" * 100_000, 'host = "a\\u0000"'])
def test_a_settings_file_that_cannot_be_used_is_named(text: str, home: Path, tracker: Tracker) -> None:
    home.mkdir()
    (home / "tracker.toml").write_text(text, encoding="utf-8")
    answer = tracker("runs", "list")
    assert answer.code == 2
    assert str(home / "tracker.toml") in answer.err


@pytest.mark.parametrize("text", ['slack = "xoxb-secret"', "[slack]\ntoken = ['xoxb-secret']"])
def test_a_token_in_the_wrong_place_is_not_shown(text: str, home: Path, tracker: Tracker) -> None:
    home.mkdir()
    (home / "tracker.toml").write_text(text, encoding="utf-8")
    answer = tracker("runs", "list")
    assert answer.code == 2
    assert "slack" in answer.err
    assert "xoxb-secret" not in answer.err


def test_any_folder_name_may_be_the_home(tmp_path: Path, tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "a?b=c#d %20 é"
    monkeypatch.setenv("TRACKER_HOME", str(home))
    assert tracker("runs", "list").code == 0
    assert (home / "tracker.db").is_file()
    assert [path.name for path in tmp_path.iterdir()] == [home.name]


def test_an_error_that_quotes_its_input_cannot_steer_the_terminal(home: Path, tracker: Tracker) -> None:
    answer = tracker("runs", "trigger", "\x1b[2Jnonsense\x9b", "1.28.0", "--\x1b]0;title\x07")
    assert answer.code == 2
    assert not {"\x1b", "\x9b", "\x07"} & set(answer.err)


def test_a_store_of_a_newer_version_is_refused(seeded: Seeded, home: Path, tracker: Tracker) -> None:
    connection = sqlite3.connect(home / "tracker.db")
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    answer = tracker("runs", "list")
    assert answer.code == 2
    assert "newer" in answer.err


def test_a_locked_store_asks_to_try_later(
    seeded: Seeded, home: Path, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_MS", 20)
    connection = sqlite3.connect(home / "tracker.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    answer = tracker("tokens", "create", "ci")
    connection.close()
    assert answer.code == 3
    assert answer.err.startswith("try later: ")
    assert tracker("tokens", "list", "--json").data["items"] == []


def test_a_second_daemon_is_asked_to_try_later_and_names_the_first(home: Path, tracker: Tracker) -> None:
    with take_folder(home):
        for command in ("serve", "daemon"):
            answer = tracker(command)
            assert answer.code == 3
            assert str(os.getpid()) in answer.err


@pytest.mark.parametrize("command", ["serve", "web"])
def test_a_taken_port_is_named_with_what_to_do_before_anything_starts(
    command: str, home: Path, tracker: Tracker
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = tracker(command, "--port", str(port))
    assert answer.code == 2
    assert f"port {port} on 127.0.0.1 is taken" in answer.err
    assert "--port" in answer.err
    assert not (home / "daemon.lock").exists()


def test_a_host_that_is_not_here_is_named(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_HOST", "192.0.2.1")
    answer = tracker("web")
    assert answer.code == 2
    assert "192.0.2.1" in answer.err


def test_a_home_that_cannot_be_made_is_told(tracker: Tracker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("TRACKER_HOME", str(tmp_path / "file" / "home"))
    for line in ("runs list", "init", "daemon --suite onnxruntime"):
        answer = tracker(*line.split())
        assert answer.code == 2
        assert "file" in answer.err


@pytest.mark.parametrize(
    ("line", "code"), [("runs list <&-", 0), ("releases order - <&-", 0), ("runs list >&-", 0), ("runs show x 2>&-", 2)]
)
def test_a_closed_stream_is_an_empty_one(line: str, code: int, home: Path) -> None:
    command = f"exec {sys.executable} -m tracker.cli {line}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, env={**os.environ, "TRACKER_HOME": str(home)})
    assert done.returncode == code
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr


def test_output_that_nobody_reads_any_more_ends_the_command_quietly(seeded: Seeded, home: Path) -> None:
    command = [sys.executable, "-m", "tracker.cli", "series", "export"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TRACKER_HOME": str(home)}
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141
