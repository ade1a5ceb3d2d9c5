"""Result files from elsewhere: shown, kept once, refused with the reason; what is set aside can be let in."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from jobs.metrics import Key
from jobs.parsers import hyperfine
from tests.tracker.cli.conftest import Answer, Tracker

ORIGIN = ("--component", "engine", "--release", "1.2.0", "--host", "box-1")


def timed(command: str, mean: float = 0.5, **more: Any) -> dict[str, Any]:
    return {"command": command, "mean": mean, "median": mean, "times": [mean], "exit_codes": [0], **more}


def write(path: Path, *results: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"results": list(results)}) + "\n")
    return path


def statuses(answer: Answer) -> list[str]:
    return [item["status"] for item in answer.data["items"]]


def test_parse_shows_what_a_file_holds_and_stores_nothing(home: Path, tracker: Tracker, tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", timed("prefill"))
    (found,) = tracker("parse", str(file), "--json").data
    assert (found["path"], found["tool"], found["outcome"]) == (str(file), "hyperfine", "ok")
    assert found["runs"][0]["metrics"]["latency_mean_ms"]["value"] == 500.0
    assert not home.exists()


def test_a_refused_file_is_exit_code_2_and_other_outcomes_only_where_asked(tracker: Tracker, tmp_path: Path) -> None:
    odd = tmp_path / "odd.txt"
    odd.write_text("nothing of ours\n")
    assert tracker("parse", str(odd)).code == 2
    failed = write(tmp_path / "failed.json", {"command": "x", "mean": None})
    assert tracker("parse", str(failed)).code == 0
    assert tracker("parse", str(failed), "--fail-on", "failed,invalid").code == 1
    assert "unknown outcome" in tracker("parse", str(failed), "--fail-on", "broken").err


def test_a_result_is_kept_and_the_same_again_changes_nothing(home: Path, tracker: Tracker, tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", timed("prefill"), timed("decode"))
    first = tracker("ingest", str(file), *ORIGIN, "--json")
    assert (first.code, statuses(first), first.data["items"][0]["values"]) == (0, ["stored"], 4)
    before = tracker("series", "list", "--json").data
    again = tracker("ingest", str(file), *ORIGIN, "--json")
    assert (again.code, statuses(again)) == (0, ["unchanged"])
    assert tracker("series", "list", "--json").data == before
    assert len(tracker("runs", "list", "--json").data["items"]) == 2


def test_other_content_under_the_same_identity_is_refused_unless_it_replaces(
    home: Path, tracker: Tracker, tmp_path: Path
) -> None:
    file = write(tmp_path / "a.json", timed("prefill"), timed("decode"))
    tracker("ingest", str(file), *ORIGIN)
    write(file, timed("prefill", 0.25))
    refused = tracker("ingest", str(file), *ORIGIN, "--json")
    assert (refused.code, statuses(refused)) == (2, ["conflict"])
    assert "--replace" in refused.data["items"][0]["reason"]
    replaced = tracker("ingest", str(file), *ORIGIN, "--replace", "--json")
    assert (replaced.code, statuses(replaced)) == (0, ["replaced"])
    items = tracker("series", "list", "--json").data["items"]
    assert [one["trend"][-1]["level"] for one in items if one["trend"]] == [250.0, 250.0]
    events = [item["event"] for item in tracker("audit", "--json").data["items"]]
    assert "result:replaced" in events
    states = sorted(run["state"] for run in tracker("runs", "list", "--json").data["items"])
    assert states == ["cancelled", "done"]


def test_repeats_under_their_own_names_are_repeats(home: Path, tracker: Tracker, tmp_path: Path) -> None:
    folder = tmp_path / "repeats"
    for number in range(3):
        (folder / str(number)).mkdir(parents=True)
        write(folder / str(number) / "a.json", timed("prefill", 0.5 + number / 100))
    assert statuses(tracker("ingest", str(folder), *ORIGIN, "--json")) == ["stored"] * 3
    assert len(tracker("series", "list", "--json").data["items"]) == 2


def test_one_bad_file_stops_nothing(home: Path, tracker: Tracker, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    write(folder / "a.json", timed("a"))
    (folder / "b.bin").write_bytes(bytes(range(256)) * 20)
    (folder / "c.json").write_text('{"results": [{"command": "c", "mea')
    (folder / "d.json").write_text("")
    write(folder / "e.json", timed("e"))
    answer = tracker("ingest", str(folder), *ORIGIN, "--json")
    assert answer.code == 2
    assert statuses(answer) == ["stored", "refused", "refused", "refused", "stored"]
    assert all(item["reason"] for item in answer.data["items"] if item["status"] == "refused")


def test_archives_are_read_and_names_that_lead_out_are_refused(home: Path, tracker: Tracker, tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", timed("a"))
    packed = tmp_path / "a.json.gz"
    packed.write_bytes(gzip.compress(write(tmp_path / "g.json", timed("g")).read_bytes()))
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as target:
        target.write(file, "sub/a.json")
        target.writestr("../../evil.json", file.read_text())
    answer = tracker("ingest", str(archive), str(packed), *ORIGIN, "--json")
    assert statuses(answer) == ["stored", "refused", "stored"]
    assert "leads out" in answer.data["items"][1]["reason"]
    assert not (tmp_path.parent / "evil.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--label", "modl=x"), "did you mean 'model'"),
        (("--label", "model"), "expected name=value"),
        (("--label", "tp=many"), "whole number"),
        (("--at", "2026-11-30T08:00:00"), "has no zone"),
        (("--at", "yesterday"), "expected a time"),
        (("--image", "latest"), "expected sha256:"),
        (("--tool", "nobody"), "no parser reads 'nobody'"),
    ],
)
def test_a_mistake_is_named_before_anything_is_read(
    home: Path, tracker: Tracker, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    answer = tracker("ingest", str(write(tmp_path / "a.json", timed("a"))), *ORIGIN, *arguments)
    assert answer.code == 2
    assert words in answer.err


def test_a_label_that_contradicts_the_file_is_refused(home: Path, tracker: Tracker, tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", timed("a"))
    answer = tracker("ingest", str(file), *ORIGIN, "--label", "name=b", "--json")
    assert statuses(answer) == ["refused"]
    assert "the file says 'a', --label says 'b'" in answer.data["items"][0]["reason"]


def test_what_cannot_enter_a_series_is_kept_and_can_be_let_in(home: Path, tracker: Tracker, tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", timed("a", median=0, novelty=7, memory_peak=3))
    tracker("ingest", str(file), *ORIGIN)
    held = {item["key"]: item for item in tracker("quarantine", "list", "--json").data["items"]}
    assert set(held) == {"median", "novelty", "memory_peak"}
    assert "plausible range" in held["median"]["reason"]
    assert "unknown key" in held["novelty"]["reason"]
    unknown = tracker("quarantine", "release", str(held["novelty"]["id"]))
    assert (unknown.code, "--metric" in unknown.err) == (2, True)
    unit = tracker("quarantine", "release", str(held["novelty"]["id"]), "--metric", "power_w")
    assert (unit.code, "--unit" in unit.err) == (2, True)
    meant = (str(held["novelty"]["id"]), "--metric", "power_w", "--unit", "W")
    let_in = tracker("quarantine", "release", *meant, "--json")
    assert (let_in.code, let_in.data["value"]) == (0, 7.0)
    again = tracker("quarantine", "release", *meant)
    assert (again.code, "already" in again.err) == (2, True)
    metrics = {item["metric"] for item in tracker("series", "list", "--json").data["items"]}
    assert metrics == {"latency_mean_ms", "power_w"}
    assert tracker("quarantine", "recheck", "--json").data["items"] == []


def test_a_failed_benchmark_is_a_failed_run_without_values(home: Path, tracker: Tracker, tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", {"command": "x", "mean": None, "exit_codes": [1]})
    answer = tracker("ingest", str(file), *ORIGIN, "--json")
    assert (statuses(answer), answer.data["items"][0]["values"]) == (["stored"], 0)
    (run,) = tracker("runs", "list", "--json").data["items"]
    assert run["state"] == "failed"
    assert tracker("series", "list", "--json").data["items"] == []


def test_what_was_measured_elsewhere_cannot_be_run_again_here(home: Path, tracker: Tracker, tmp_path: Path) -> None:
    tracker("ingest", str(write(tmp_path / "a.json", timed("a"))), *ORIGIN)
    (run,) = tracker("runs", "list", "--json").data["items"]
    answer = tracker("runs", "rerun", run["id"])
    assert (answer.code, "handed in" in answer.err) == (2, True)


def test_parsers_are_listed_with_their_keys_and_cases_are_checked(tracker: Tracker, tmp_path: Path) -> None:
    tools = {item["tool"] for item in tracker("parsers", "list", "--json").data["items"]}
    assert {"hyperfine", "trtexec", "vllm_bench_serve"} <= tools
    keys = tracker("parsers", "list", "--keys", "hyperfine", "--json").data["items"]
    assert {(k["key"], k["unit"], k["metric"], k["better"]) for k in keys} >= {
        ("mean", "s", "latency_mean_ms", "lower")
    }
    case = tmp_path / "cases" / "mine"
    case.mkdir(parents=True)
    write(case / "input.json", timed("a"))
    expected = {"tool": "hyperfine", "outcome": "ok", "version": None, "runs": []}
    (case / "expected.json").write_text(json.dumps(expected))
    answer = tracker("parsers", "check", str(tmp_path / "cases"))
    assert (answer.code, "runs: expected 0, found 1" in answer.out) == (1, True)


def test_going_back_to_a_replaced_file_is_a_replacement_too(home: Path, tracker: Tracker, tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", timed("prefill"))
    tracker("ingest", str(file), *ORIGIN)
    write(file, timed("prefill", 0.25))
    tracker("ingest", str(file), *ORIGIN, "--replace")
    write(file, timed("prefill"))
    assert statuses(tracker("ingest", str(file), *ORIGIN, "--json")) == ["conflict"]
    assert statuses(tracker("ingest", str(file), *ORIGIN, "--replace", "--json")) == ["replaced"]
    items = tracker("series", "list", "--json").data["items"]
    assert [one["trend"][-1]["level"] for one in items] == [500.0, 500.0]


def test_two_files_of_one_name_in_one_hand_in_do_not_replace_one_another(
    home: Path, tracker: Tracker, tmp_path: Path
) -> None:
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        write(tmp_path / str(number) / "a.json", timed("prefill", number / 10))
    files = (str(tmp_path / "1" / "a.json"), str(tmp_path / "2" / "a.json"))
    assert statuses(tracker("ingest", *files, *ORIGIN, "--replace", "--json")) == ["stored", "conflict"]


def test_values_of_a_result_whose_label_makes_no_sense_enter_no_series(
    home: Path, tracker: Tracker, tmp_path: Path
) -> None:
    table = tmp_path / "a.csv"
    table.write_text("Concurrency,Inferences/Second,p50 latency\n0,69.5,13000\n")
    answer = tracker("ingest", str(table), *ORIGIN, "--json")
    assert answer.data["items"][0]["values"] == 0
    held = {item["key"]: item["reason"] for item in tracker("quarantine", "list", "--json").data["items"]}
    assert "nobody can say which series" in held["p50 latency"]
    assert tracker("quarantine", "recheck", "--json").data["items"] == []
    assert tracker("series", "list", "--json").data["items"] == []


def test_a_series_of_which_only_the_tool_is_known_is_named_after_it(
    home: Path, tracker: Tracker, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_text(
        "Total inference requests: 40\nAverage inference time cost: 5 ms\nNumber of inferences per second: 199\n"
    )
    assert "--label model=" in tracker("ingest", str(log), *ORIGIN).err
    names = {item["name"] for item in tracker("series", "list", "--json").data["items"]}
    assert names == {"onnxruntime_perf_test"}


def test_an_empty_standard_input_is_called_empty(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    (found,) = tracker("parse", "-", "--json").data
    assert (found["outcome"], found["reason"]) == ("refused", "the file is empty")


def test_a_number_that_no_store_can_hold_is_no_id(home: Path, tracker: Tracker) -> None:
    answer = tracker("quarantine", "release", "99999999999999999999")
    assert (answer.code, "Traceback" in answer.err) == (2, False)


def test_what_a_replaced_file_set_aside_is_gone_with_it(home: Path, tracker: Tracker, tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", timed("a", novelty=7))
    tracker("ingest", str(file), *ORIGIN)
    (held,) = tracker("quarantine", "list", "--json").data["items"]
    write(file, timed("a", 0.25))
    tracker("ingest", str(file), *ORIGIN, "--replace")
    assert tracker("quarantine", "list", "--json").data["items"] == []
    answer = tracker("quarantine", "release", str(held["id"]), "--metric", "power_w", "--unit", "W")
    assert (answer.code, "replaced" in answer.err) == (2, True)


def test_a_value_that_the_catalogue_has_learnt_is_let_in_by_reading_again(
    home: Path, tracker: Tracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker("ingest", str(write(tmp_path / "a.json", timed("a", novelty=7))), *ORIGIN)
    monkeypatch.setitem(hyperfine.KEYS, "novelty", Key("latency_p90_ms", "s"))  # type: ignore[misc]
    (taken,) = tracker("quarantine", "recheck", "--json").data["items"]
    assert (taken["metric"], taken["value"]) == ("latency_p90_ms", 7000.0)
    assert tracker("quarantine", "list", "--json").data["items"] == []
