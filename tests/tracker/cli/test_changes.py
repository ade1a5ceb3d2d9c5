"""Commands that change something write to the store and to the audit, with or without a daemon."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from pathlib import Path

from sqlalchemy import text

from tests.tracker.cli.conftest import Tracker
from tests.tracker.seed import Seeded
from tracker.daemon import take_folder
from tracker.settings import Settings
from tracker.store.engine import open_store


def test_several_releases_are_triggered_at_once_or_none(seeded: Seeded, tracker: Tracker) -> None:
    words = ("runs", "trigger", "onnxruntime", "1.28.0", "1.27.0", "onnxruntime/1.28.0", "--repeats", "2", "--json")
    assert len(tracker(*words).data["runs"]) == 4
    before = len(tracker("runs", "list", "--json").data["items"])
    assert tracker("runs", "trigger", "onnxruntime", "1.28.0", "9.9.9").code == 2
    assert len(tracker("runs", "list", "--json").data["items"]) == before


def test_a_triggered_release_is_queued_once_for_each_repeat(seeded: Seeded, tracker: Tracker) -> None:
    answer = tracker("runs", "trigger", "onnxruntime", "1.28.0", "--repeats", "3", "--json")
    runs = answer.data["runs"]
    assert len(runs) == 3
    assert tracker("runs", "show", runs[0], "--json").data["run"]["state"] == "queued"
    assert tracker("audit", "--json").data["items"][0]["event"] == "runs:triggered"


def test_what_is_queued_without_a_daemon_says_so(seeded: Seeded, home: Path, tracker: Tracker) -> None:
    assert "no daemon is running" in tracker("runs", "trigger", "onnxruntime", "1.28.0").err
    with take_folder(home):
        assert tracker("runs", "trigger", "onnxruntime", "1.28.0").err == ""


def test_a_run_is_measured_again(seeded: Seeded, tracker: Tracker) -> None:
    run = seeded.runs["1.26.0"][0]
    (new,) = tracker("runs", "rerun", run, "--json").data["runs"]
    old, again = (tracker("runs", "show", one, "--json").data for one in (run, new))
    assert again["run"]["state"] == "queued"
    assert (again["labels"], again["build_digest"]) == (old["labels"], old["build_digest"])


def test_a_queued_run_is_cancelled_and_a_finished_one_is_not(seeded: Seeded, tracker: Tracker) -> None:
    (queued,) = tracker("runs", "trigger", "onnxruntime", "1.28.0", "--repeats", "1", "--json").data["runs"]
    assert tracker("runs", "cancel", queued, "--json").data == {"run": queued, "state": "cancelled"}
    assert tracker("runs", "cancel", seeded.runs["1.26.0"][0]).code == 2


def test_a_decision_is_kept_with_its_reason(seeded: Seeded, tracker: Tracker) -> None:
    alert = seeded.alerts[0]
    assert tracker("alerts", "triage", alert, "expected", "--note", "new scheduler").code == 0
    detail = tracker("alerts", "show", alert, "--json").data
    assert detail["alert"]["state"] == "expected"
    assert detail["decisions"][-1]["note"] == "new scheduler"
    assert tracker("alerts", "triage", alert, "nonsense").code == 2


def test_a_token_is_shown_once_and_kept_as_a_hash(home: Path, tracker: Tracker) -> None:
    token = tracker("tokens", "create", "ci").out.strip()
    assert token.startswith("trk_")
    assert token not in tracker("tokens", "list", "--json").out
    assert token.encode() not in (home / "tracker.db").read_bytes()
    assert tracker("tokens", "create", "ci").code == 2
    assert tracker("tokens", "revoke", "ci").code == 0
    assert tracker("tokens", "list", "--json").data["items"][0]["revoked_at"]


def test_a_release_is_entered_by_hand_once(tracker: Tracker, tmp_path: Path) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "program").write_text("1.99", encoding="utf-8")
    line = ("releases", "add", "onnxruntime", "1.99.0", "--file", str(folder), "--json")
    assert tracker(*line).data["new"] is True
    assert tracker(*line).data["new"] is False
    (item,) = tracker("releases", "list", "--json").data["items"]
    assert (item["identity"], item["obstacle"]) == ("1.99.0", None)


def test_an_image_is_entered_with_its_digest(tracker: Tracker) -> None:
    image = ("--image", "registry.example/trtllm:1.3.0rc4", "--digest", "sha256:" + "0" * 64)
    answer = tracker("releases", "add", "tensorrt-llm", "1.3.0rc4", *image, "--json")
    assert answer.data["release"] == "tensorrt-llm/1.3.0rc4"


def test_a_name_without_a_place_is_not_entered(tracker: Tracker, tmp_path: Path) -> None:
    answer = tracker("releases", "add", "onnxruntime", "latest", "--file", str(tmp_path))
    assert answer.code == 2
    assert "moving tag" in answer.err


def test_sources_are_asked_and_what_is_new_is_planned(folder_suite: Path, tracker: Tracker) -> None:
    answer = tracker("releases", "check", "--suite", str(folder_suite), "--json")
    (item,) = answer.data["items"]
    assert (item["suite"], item["new_builds"], item["planned_runs"]) == (str(folder_suite), 2, 2)
    assert (item["left_out"], item["unreadable"]) == ([], [])
    assert "no daemon is running" in answer.err
    again = tracker("releases", "check", "--suite", str(folder_suite), "--json").data["items"][0]
    assert (again["new_builds"], again["planned_runs"]) == (0, 0)


def age_runs(home: Path, days: int) -> None:
    """Move the end of all runs into the past."""
    store = open_store(f"sqlite:///{home / 'tracker.db'}")
    with store.write() as session:
        moment = "strftime('%Y-%m-%d %H:%M:%f', finished_at, :by)"
        session.connection().execute(text(f"UPDATE run SET finished_at = {moment}"), {"by": f"-{days} days"})
    store.close()


def test_prune_removes_only_what_it_said_and_never_a_measurement(seeded: Seeded, home: Path, tracker: Tracker) -> None:
    before = tracker("series", "export").out
    run = tracker("runs", "show", seeded.runs["1.26.0"][0], "--json").data
    folder = home / "attempts" / run["attempts"][0]["key"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.log").write_text("old", encoding="utf-8")
    (home / "attempts" / "not-ours").mkdir()
    age_runs(home, timedelta(days=5000).days)
    would = tracker("prune", "--dry-run", "--json").data
    assert str(folder) in [item["folder"] for item in would["items"]]
    assert folder.is_dir()
    assert tracker("prune", "--json").code == 2
    assert tracker("prune", "--yes", "--json").data["removed"] is True
    assert not folder.exists()
    assert (home / "attempts" / "not-ours").is_dir()
    assert tracker("series", "export").out == before
    assert tracker("audit", "--json").data["items"][0]["event"] == "outputs:pruned"


def test_a_settings_file_explains_every_setting_and_changes_none(home: Path, tracker: Tracker) -> None:
    assert tracker("init").code == 0
    file = home / "tracker.toml"
    assert file.stat().st_mode & 0o077 == 0, "it may come to hold the Slack token"
    lines = file.read_text(encoding="utf-8").splitlines()
    assert tomllib.loads("\n".join(lines)) == {}
    for name in Settings.model_fields.keys() - {"home"}:
        assert any(line.startswith((f"# {name} = ", f"# [{name}]", f"# [[{name}]]")) for line in lines), name
    assert tracker("runs", "list").code == 0


def test_a_settings_file_is_valid_with_its_marks_taken_away(home: Path, tracker: Tracker) -> None:
    tracker("init")
    file = home / "tracker.toml"
    lines = file.read_text(encoding="utf-8").splitlines()
    keys = [line[2:] for line in lines if " = " in line and not line.endswith('= ""') and line.startswith("# ")]
    opened = [line[2:] if line.startswith("# [") and line.endswith("]") else line for line in lines]
    shown = [line[2:] if line[2:] in keys and line[2].islower() else line for line in opened]
    file.write_text("\n".join(shown), encoding="utf-8")
    answer = tracker("runs", "list")
    assert (answer.code, answer.err.startswith("error")) == (0, False), answer.err


def test_a_settings_file_is_not_written_over_unasked(home: Path, tracker: Tracker) -> None:
    tracker("init")
    (home / "tracker.toml").write_text("port = 9000\n", encoding="utf-8")
    assert tracker("init").code == 2
    assert (home / "tracker.toml").read_text(encoding="utf-8") == "port = 9000\n"
    assert tracker("init", "--force", "--json").data == {"file": str(home / "tracker.toml")}


def test_precision_counts_what_was_decided(tracker: Tracker, seeded: Seeded) -> None:
    assert tracker("alerts", "precision", "--json").code == 0
    listed = tracker("alerts", "list", "--json").data["items"]
    tracker("alerts", "triage", listed[0]["id"], "false_positive")
    rows = tracker("alerts", "precision", "--json").data["items"]
    assert sum(row["false"] for row in rows) >= 1
    assert "right (95 %)" in tracker("alerts", "precision").out


def test_a_release_is_excluded_from_a_series_with_a_reason_and_included_again(tracker: Tracker, seeded: Seeded) -> None:
    item = tracker("series", "list", "--json").data["items"][0]
    name, release = item["fingerprint"], item["trend"][-1]["release"]["identity"]
    done = tracker("series", "exclude", name, release, "--why", "the disk was full", "--json")
    assert (done.code, done.data["series"]) == (0, [name])
    point = next(
        one for one in tracker("series", "show", name, "--json").data["points"] if one["release"]["identity"] == release
    )
    assert point["excluded"] == "the disk was full"
    assert "excluded: the disk" in tracker("series", "show", name).out
    assert "excluded already" in tracker("series", "exclude", name, release, "--why", "again").err

    back = tracker("series", "include", name, release)
    assert (back.code, "counts again in 1 series" in back.err) == (0, True)
    again = tracker("series", "include", name, release)
    assert (again.code, "is not excluded" in again.err) == (2, True)


def test_excluding_needs_a_series_and_a_release_that_exist(tracker: Tracker, seeded: Seeded) -> None:
    for arguments in (("1.2.0",), ("--suite", "none", "a", "b"), ("nothing", "1.0.0")):
        said = tracker("series", "exclude", *arguments, "--why", "x")
        assert said.code == 2
        assert "expected" in said.err or "no series" in said.err, said.err
