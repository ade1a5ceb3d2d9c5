"""The API: the same facts as the pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tracker.seed import VERSIONS, Seeded
from tests.tracker.web.client import SAME_ORIGIN, Client, asked
from tracker.app import App


@pytest.mark.parametrize("kind", ["releases", "series", "runs", "alerts"])
def test_an_empty_store_answers_empty_lists(beginner: Client, kind: str) -> None:
    assert beginner.get(f"/api/v1/{kind}").json() == {"items": [], "next": None}


@pytest.mark.parametrize(("kind", "total"), [("releases", 11), ("series", 6), ("runs", 45), ("alerts", 2)])
def test_following_next_gives_every_item_once(reader: Client, seeded: Seeded, kind: str, total: int) -> None:
    found, cursor = [], None
    for _ in range(total + 1):
        answer = reader.get(f"/api/v1/{kind}", params={"limit": 4, **({"cursor": cursor} if cursor else {})}).json()
        found += [str(item) for item in answer["items"]]
        cursor = answer["next"]
        if cursor is None:
            break
    assert len(found) == len(set(found)) == total


def test_a_series_counts_releases_with_a_valid_measurement(reader: Client, seeded: Seeded) -> None:
    items = reader.get("/api/v1/series").json()["items"]
    assert {item["n_points"] for item in items} == {8}
    assert [item["gated"] for item in items] == [True] * 3 + [False] * 3
    one = reader.get(f"/api/v1/series/{items[0]['fingerprint']}").json()
    measured = [point for point in one["points"] if point["level"] is not None]
    assert len(measured) == one["series"]["n_points"]
    assert [point["release"]["identity"] for point in one["points"]] == list(VERSIONS)[-len(one["points"]) :]


def test_lists_can_be_narrowed(reader: Client, seeded: Seeded) -> None:
    def count(path: str) -> int:
        return len(reader.get(f"/api/v1/{path}").json()["items"])

    assert count("runs?state=failed") == 5
    assert count("runs?release=1.28.0") == 5
    assert count("releases?measured=false") == 2
    assert count("series?metric=latency_p50_ms&gated=true") == 3
    assert count("alerts?state=open") == 2
    assert count("alerts?state=fixed") == 0
    assert count("series?component=vllm") == 0


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("runs?limit=0", 422, "limit: "),
        ("runs?limit=x", 422, "found 'x'"),
        ("runs?cursor=x", 400, "leave it out"),
        ("runs?state=gone", 400, "expected one of queued, running"),
        ("runs/nope", 404, "/runs lists what there is"),
        ("series/nope", 404, "there is no series 'nope'"),
        ("releases/onnxruntime/9/summary", 404, "/api/v1/releases"),
        ("nope", 404, "Not Found"),
    ],
)
def test_errors_are_json_with_words(reader: Client, seeded: Seeded, path: str, status: int, words: str) -> None:
    answer = reader.get(f"/api/v1/{path}", headers={"accept": "text/html"})
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_a_summary_is_given_for_each_hardware_class(reader: Client, seeded: Seeded) -> None:
    items = reader.get("/api/v1/releases/onnxruntime/1.27.0/summary").json()["items"]
    assert [item["answer"] for item in items] == ["no"]
    assert items[0]["against"]["identity"] == "1.26.0"
    made_now = reader.get("/api/v1/releases/onnxruntime/1.27.0/summary?against=1.24.4").json()["items"]
    assert made_now[0]["against"]["identity"] == "1.24.4"


def test_a_run_tells_its_attempts_and_values(reader: Client, seeded: Seeded) -> None:
    one = reader.get(f"/api/v1/runs/{seeded.runs['1.28.0'][0]}").json()
    assert one["run"]["state"] == "done"
    assert one["run"]["duration_s"] == 8.4
    assert one["attempts"][0]["environment"]["python"] == "3.11.7"
    assert len(one["values"]) == 6
    failed = reader.get(f"/api/v1/runs/{seeded.runs['1.31.0'][0]}").json()
    assert failed["values"] == []
    assert failed["attempts"][0]["outcome"] == "tool_failed"


def test_programs_can_ask_for_runs_and_decide_about_alerts(
    client: Client, app: App, seeded: Seeded, token: str
) -> None:
    program = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    wanted = client.post("/api/v1/runs", json={"suite": "onnxruntime", "release": "1.28.0"}, headers=program)
    assert wanted.status_code == 201
    queued = client.get(f"/api/v1/runs/{wanted.json()['runs'][0]}").json()["run"]
    assert (queued["state"], queued["requested_by"]) == ("queued", "ci")
    wrong = client.post("/api/v1/runs", json={"suite": "onnxruntim", "release": "1.28.0"}, headers=program)
    assert wrong.status_code == 400
    assert "onnxruntime" in wrong.json()["error"]
    unknown = client.post("/api/v1/runs", json={"suite": "onnxruntime", "releases": "1"}, headers=program)
    assert unknown.status_code == 422
    cancelled = client.post(f"/api/v1/runs/{seeded.runs['1.32.0'][4]}/cancel", headers=program).json()
    assert cancelled["run"]["state"] == "cancelled"
    path = f"/api/v1/alerts/{seeded.alerts[1]}/triage"
    decided = client.post(path, json={"state": "infra", "note": "noisy host"}, headers=program).json()
    assert decided["alert"]["state"] == "infra"
    told = {"state": "infra", "who": "ci", "note": "noisy host", "at": "2026-12-01T17:00:00Z"}
    assert decided["decisions"][-1] == told
    assert [event for event, _, _ in asked(app)] == ["runs:triggered", "run:cancelled", "alert:triaged"]


def test_a_suite_is_named_and_never_a_file_of_the_machine(reader: Client, shared: App, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("secret = 1", encoding="utf-8")
    before = asked(shared)
    for path in (str(file), "mine.toml", "../mine.toml"):
        answer = reader.post("/api/v1/runs", json={"suite": path, "release": "1.28.0"}, headers=SAME_ORIGIN)
        assert answer.status_code == 400
        assert "expected the name of a suite" in answer.json()["error"]
    assert asked(shared) == before


def test_the_description_names_every_path(reader: Client) -> None:
    paths = reader.get("/openapi.json").json()["paths"]
    assert {"/api/v1/releases", "/api/v1/series/{fingerprint}", "/api/v1/runs/{run_id}/rerun", "/healthz"} <= set(paths)
    assert not any(path.startswith(("/runs", "/series")) for path in paths)
