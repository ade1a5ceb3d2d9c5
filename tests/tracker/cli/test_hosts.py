"""Hosts on the command line: this machine probed, others named, states, maintenance, and what is refused as input."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.tracker.cli.conftest import Tracker
from tests.tracker.seed import Seeded
from tracker.app import open_app
from tracker.cli.story import Story
from tracker.store.engine import open_store

HERE = socket.gethostname()
ANSWER = """<nvidia_smi_log><driver_version>571.10.03</driver_version><gpu id="1">
 <product_name>NVIDIA Example</product_name><temperature><gpu_temp>{celsius}</gpu_temp></temperature>
 <processes></processes></gpu></nvidia_smi_log>"""


def put_gpu(folder: Path, monkeypatch: pytest.MonkeyPatch, celsius: str) -> None:
    """Put a program in the place of nvidia-smi, for a machine with one GPU."""
    (folder / "answer.xml").write_text(ANSWER.format(celsius=celsius))
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat {folder / 'answer.xml'}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_without_a_host_the_list_says_how_this_one_is_added(tracker: Tracker) -> None:
    assert tracker("hosts", "list", "--json").data == {"items": [], "next": None}
    answer = tracker("hosts", "list")
    assert (answer.code, answer.out) == (0, "")
    assert "`tracker hosts check` adds this one" in answer.err


def test_a_check_probes_this_machine_and_adds_it(
    tracker: Tracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_gpu(tmp_path, monkeypatch, "41 C")
    answer = tracker("hosts", "check", "--fail-on", "refused")
    assert answer.code == 0
    assert f"{HERE}: this machine, 1x-nvidia-example" in answer.out
    assert "ok       temperature: 41 C" in answer.out
    assert "unknown  ECC errors: not stated" in answer.out
    assert tracker("hosts", "check", "--fail-on", "unknown").code == 1

    (item,) = tracker("hosts", "list", "--json").data["items"]
    assert (item["name"], item["state"], item["health"], item["labels"]["gpu_count"]) == (HERE, "ready", "unknown", 1)


def test_a_machine_that_is_not_fit_is_bad_news_where_asked(
    tracker: Tracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_gpu(tmp_path, monkeypatch, "90 C")
    assert tracker("hosts", "check").code == 0
    answer = tracker("hosts", "check", "--fail-on", "refused", "--json")
    assert (answer.code, answer.data["state"], answer.data["here"]) == (1, "refused", True)
    (bad,) = (one for one in answer.data["findings"] if one["state"] == "refused")
    assert (bad["name"], bad["found"], bad["wanted"]) == ("temperature", "90 C", "at most 65 C")

    monkeypatch.setenv("TRACKER_HEALTH__MAX_TEMPERATURE_C", "95")
    assert tracker("hosts", "check", "--fail-on", "refused").code == 0


def test_another_machine_is_added_by_its_hardware_and_changed_by_what_is_named(tracker: Tracker) -> None:
    words = ("hosts", "add", "far", "--gpu", "NVIDIA Example", "--gpus", "8", "--pool", "b", "--pool", "a")
    first = tracker(*words, "--json").data
    assert (first["new"], first["hardware"], first["slots"], first["pools"]) == (
        True,
        "8x-nvidia-example",
        1,
        ["a", "b"],
    )

    assert "far: known, 8x-nvidia-example, 2 slots, pools a, b" in tracker("hosts", "add", "far", "--slots", "2").out
    assert tracker("hosts", "add", "far", "--pool", "", "--json").data["pools"] == []
    shown = tracker("hosts", "check", "far")
    assert "far: another machine, 8x-nvidia-example" in shown.out
    assert "cannot be probed from here" in shown.err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("hosts add far", "its hardware must be named"),
        ("hosts add far --gpu X", "expected --gpu with --gpus, or --cpu with --cores"),
        (f"hosts add {HERE} --gpu X --gpus 2", "is this machine, whose hardware is probed"),
        ("hosts add --slots 0", "slots: expected 1 to 64, found 0"),
        ("hosts add --pool Loud!", "pool: expected lower-case letters"),
        ("hosts show nowhere", "no host 'nowhere'; `tracker hosts list` shows them"),
        ("hosts cordon nowhere", "no host 'nowhere'"),
        ("hosts check nowhere", "no host 'nowhere'"),
        ("hosts check --fail-on always", "expected unknown or refused, found 'always'"),
        ("hosts maintain here", "expected --from and --to with --why, or --lift NUMBER"),
        ("hosts maintain here --from 2026-12-24 --to 2026-12-25T00:00Z", "from: '2026-12-24' has no zone"),
        ("hosts maintain here --from soon --to later", "from: expected a time such as"),
    ],
)
def test_wrong_input_says_what_was_expected(line: str, words: str, tracker: Tracker) -> None:
    answer = tracker(*line.split())
    assert answer.code == 2
    assert words in answer.err
    assert all(item["name"] == HERE for item in tracker("hosts", "list", "--json").data["items"])


def test_a_host_is_cordoned_drained_and_made_ready_with_who_and_why_on_record(seeded: Seeded, tracker: Tracker) -> None:
    assert "bench-1: cordoned, 1 running" in tracker("hosts", "cordon", "bench-1", "--why", "lent out").out
    assert tracker("hosts", "drain", "bench-1", "--json").data["state"] == "draining"
    shown = tracker("hosts", "show", "bench-1").out
    assert "bench-1 is draining, by " in shown
    assert "host:cordoned  before=ready why=lent out" in shown
    assert tracker("hosts", "uncordon", "bench-1", "--json").data["obstacle"] is None


def test_maintenance_is_planned_shown_and_lifted(seeded: Seeded, tracker: Tracker) -> None:
    words = ("--from", "2030-01-01T06:00+01:00", "--to", "2030-01-01T10:00Z", "--why", "new driver")
    assert "maintenance 1 is planned" in tracker("hosts", "maintain", "bench-1", *words).out
    assert (
        "maintenance 1, 2030-01-01 05:00 to 2030-01-01 10:00 UTC: new driver" in tracker("hosts", "show", "bench-1").out
    )
    again = tracker("hosts", "maintain", "bench-1", *words)
    assert (again.code, "already, as number 1" in again.err) == (2, True)
    assert tracker("hosts", "maintain", "bench-1", "--lift", "1", "--json").data == {"number": 1, "windows": []}
    assert tracker("hosts", "maintain", "bench-1", "--lift", "1").code == 2


def test_a_queued_run_says_what_it_waits_for(seeded: Seeded, home: Path, tracker: Tracker) -> None:
    queued = tracker("runs", "list", "--state", "queued", "--json").data["items"][0]["id"]
    assert tracker("runs", "show", queued, "--json").data["waits_for"] is None
    tracker("hosts", "cordon", "bench-1", "--why", "lent out")
    assert "it waits: host bench-1 is cordoned by " in tracker("runs", "show", queued).out
    assert "lent out" in tracker("runs", "show", queued, "--json").data["waits_for"]


def test_the_doctor_says_that_this_host_starts_nothing(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_SUITES", "")
    tracker("hosts", "check")
    tracker("hosts", "cordon", HERE, "--why", "lent out")
    (check,) = (one for one in tracker("doctor", "--json").data["items"] if one["name"] == "host")
    assert (check["state"], "lent out" in check["found"]) == ("warn", True)
    assert f"tracker hosts uncordon {HERE}" in check["cure"]


def test_what_a_host_says_of_itself_cannot_steer_the_terminal(seeded: Seeded, home: Path, tracker: Tracker) -> None:
    store = open_store(f"sqlite:///{home / 'tracker.db'}")
    with store.write() as session:
        session.execute(text("UPDATE host SET refusal = :words"), {"words": "\x1b[2J hot"})
    store.close()
    assert "\x1b" not in tracker("hosts", "show", "bench-1").out


def test_the_doctor_names_the_pool_that_a_suite_asks_for(
    tracker: Tracker, folder_suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder_suite.write_text(folder_suite.read_text().replace("[output]", '[hardware]\npool = "quiet"\n[output]'))
    monkeypatch.setenv("TRACKER_SUITES", str(folder_suite))
    found = {one["name"]: one for one in tracker("doctor", "--json").data["items"]}["suite tiny"]
    assert (found["state"], "asks for pool quiet" in found["found"]) == ("warn", True)
    tracker("hosts", "add", "--pool", "quiet")
    assert {one["name"]: one["state"] for one in tracker("doctor", "--json").data["items"]}["suite tiny"] == "ok"


def test_what_serve_shows_names_what_the_host_waits_for(
    tracker: Tracker, folder_suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKER_SUITES", str(folder_suite))
    assert tracker("releases", "check").code == 0
    tracker("hosts", "cordon", HERE, "--why", "lent out")
    shown: list[str] = []
    app = open_app()
    try:
        Story(app, say=shown.append, show=shown.append).go_on()
    finally:
        app.close()
    assert any("nothing starts: host " in line and "lent out" in line for line in shown), shown
