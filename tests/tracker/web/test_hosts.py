"""The pages of hosts: what they say, and taking a host out of service and back in."""

from __future__ import annotations

import json
from datetime import timedelta

from sqlalchemy import update

from tests.tracker.seed import NOW, Seeded
from tests.tracker.web.client import HTML, SAME_ORIGIN, Client, asked
from tracker.app import App
from tracker.store import hosts, standing
from tracker.store.tables import HostRow, RunRow

HEALTH = {
    "state": "refused",
    "driver": "571.10.03",
    "findings": [
        {"name": "temperature", "state": "refused", "found": "GPU 1: 81 C", "wanted": "at most 65 C"},
        {"name": "memory repairs", "state": "unknown", "found": "not stated", "wanted": ""},
    ],
}


def get(client: Client, path: str) -> str:
    answer = client.get(path, headers=HTML)
    assert answer.status_code == 200, (path, answer.text)
    return answer.text


def hold(app: App) -> None:
    """Have the host refuse a run, as the gate does."""
    with app.store.write() as session:
        session.execute(update(HostRow).values(health=json.dumps(HEALTH), health_at=NOW, pools='["quiet"]'))
        until = NOW + timedelta(minutes=1)
        standing.hold_host(session, 1, refusal="temperature: GPU 1: 81 C", until=until, now=NOW)


def test_without_a_host_the_page_says_how_one_is_added(beginner: Client) -> None:
    assert "No host yet" in get(beginner, "/hosts")
    assert beginner.get("/api/v1/hosts").json() == {"items": [], "next": None}


def test_the_list_says_what_a_host_is_like_what_runs_there_and_what_it_refused(
    client: Client, app: App, seeded: Seeded
) -> None:
    hold(app)
    page = get(client, "/hosts")
    assert "held after a refusal" in page
    assert "until 2026-12-01 17:01:00 UTC" in page
    assert "temperature: GPU 1: 81 C" in page
    assert '<span class="tag">quiet</span>' in page
    assert 'href="/hosts" aria-current="page"' in page
    item = client.get("/api/v1/hosts").json()["items"][0]
    assert (item["name"], item["state"], item["health"], item["slots"]) == ("bench-1", "held", "refused", 1)
    running = [run for run in client.get("/api/v1/runs?state=running").json()["items"] if run["host"] == "bench-1"]
    assert all(f'href="/runs/{run["id"]}"' in page for run in running)


def test_the_page_of_a_host_shows_every_finding_and_what_is_unknown(client: Client, app: App, seeded: Seeded) -> None:
    hold(app)
    page = get(client, "/hosts/bench-1")
    for words in ("571.10.03", "GPU 1: 81 C", "at most 65 C", "not stated", "unknown", "Last refusal"):
        assert words in page
    detail = client.get("/api/v1/hosts/bench-1").json()
    assert [one["state"] for one in detail["findings"]] == ["refused", "unknown"]


def test_a_host_is_cordoned_with_a_reason_and_uncordoned_on_its_page(client: Client, app: App, seeded: Seeded) -> None:
    form = {"why": "lent <b>out</b>"}
    assert client.post("/hosts/bench-1/cordon", data=form, headers=SAME_ORIGIN).status_code == 303
    page = get(client, "/hosts/bench-1")
    assert "It starts nothing: host bench-1 is cordoned by page: lent &lt;b&gt;out&lt;/b&gt;" in page
    assert "lent &lt;b&gt;out&lt;/b&gt;" in get(client, "/hosts")

    assert client.post("/hosts/bench-1/uncordon", headers=SAME_ORIGIN).status_code == 303
    assert "It starts nothing" not in get(client, "/hosts/bench-1")
    assert asked(app)[-2:] == [("host:cordoned", "bench-1", "page"), ("host:ready", "bench-1", "page")]


def test_a_queued_run_says_what_it_waits_for(client: Client, app: App, seeded: Seeded) -> None:
    app.set_host_state("bench-1", "cordoned", "ann", "lent out")
    with app.store.write() as session:
        session.execute(update(RunRow).where(RunRow.public_id == seeded.runs["1.32.0"][2]).values(state="queued"))
    page = get(client, f"/runs/{seeded.runs['1.32.0'][2]}")
    assert "It waits: host bench-1 is cordoned by ann: lent out" in page


def test_a_host_that_is_not_there_names_the_list(reader: Client) -> None:
    for path in ("/hosts/nowhere", "/api/v1/hosts/nowhere"):
        answer = reader.get(path, headers=HTML)
        assert answer.status_code == 404
        assert "/hosts lists" in answer.text
    assert reader.post("/hosts/nowhere/cordon", headers=SAME_ORIGIN).status_code == 404


def test_somebody_elses_page_cannot_cordon_a_host(client: Client, app: App, seeded: Seeded) -> None:
    before = asked(app)
    headers = {"origin": "http://evil.example", "sec-fetch-site": "cross-site"}
    assert client.post("/hosts/bench-1/cordon", headers=headers).status_code == 403
    assert asked(app) == before


def test_a_host_elsewhere_shows_its_engine_whether_it_answers_and_since_when_not(
    client: Client, app: App, seeded: Seeded
) -> None:
    with app.store.write() as session:
        session.execute(update(HostRow).values(engine="ssh://bench@bench-1", answered_at=NOW))
    for page in (get(client, "/hosts"), get(client, "/hosts/bench-1")):
        assert '<span class="badge good">answers</span>' in page
        assert "ssh://bench@bench-1" in page
    with app.store.write() as session:
        hosts.note_away(session, 1, why="bench-1 does not answer: no route", now=NOW)
    page = get(client, "/hosts")
    assert '<span class="badge bad">away</span>' in page
    assert "by None" not in page
    assert "bench-1 does not answer: no route" in page
    assert "It starts nothing: host bench-1 is away since" in get(client, "/hosts/bench-1")
    item = client.get("/api/v1/hosts").json()["items"][0]
    assert (item["state"], item["reach"], item["engine"]) == ("away", "away", "ssh://bench@bench-1")


def test_what_a_machine_says_of_itself_is_text_on_the_pages_and_nothing_else(
    client: Client, app: App, seeded: Seeded
) -> None:
    evil = "<script>alert(1)</script>&"
    health = {**HEALTH, "findings": [{"name": evil, "state": "refused", "found": evil, "wanted": evil}]}
    with app.store.write() as session:
        values = {"health": json.dumps(health), "health_at": NOW, "away_why": evil, "away_since": NOW, "engine": evil}
        session.execute(update(HostRow).values(**values))
    for page in (get(client, "/hosts"), get(client, "/hosts/bench-1")):
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in page
