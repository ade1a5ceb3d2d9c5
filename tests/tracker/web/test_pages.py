"""The pages: what they say, that they never break, and that nothing in a name becomes markup."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote

import pytest
from sqlalchemy import delete, event, update
from sqlmodel import col, select

from jobs.release_notes.note import ReleaseNote
from tests.tracker.seed import NOW, Seeded, Shape, seed
from tests.tracker.web.client import HTML, SAME_ORIGIN, Client, asked
from tracker.app import App
from tracker.daemon import take_folder
from tracker.store.release_notes import save_notes
from tracker.store.runs import find_run
from tracker.store.tables import (
    AlertRow,
    AttemptRow,
    ChangePointRow,
    ComponentRow,
    CursorRow,
    HostRow,
    ReleaseRow,
    RunRow,
    SummaryRow,
    VerdictRow,
)

LISTS = (
    "/",
    "/releases",
    "/series",
    "/runs",
    "/hosts",
    "/alerts",
    "/compare",
    "/references",
    "/guide/index",
    "/sign-in",
)


def page_paths(seeded: Seeded) -> list[str]:
    return [
        *LISTS,
        "/releases/onnxruntime/1.27.0",
        "/releases/onnxruntime/1.27.0?against=1.25.0",
        "/releases/onnxruntime/1.31.0",
        "/compare?component=onnxruntime&a=1.26.0&b=1.27.0",
        f"/series/{seeded.series[0]}",
        f"/runs/{seeded.runs['1.28.0'][0]}",
        f"/runs/{seeded.runs['1.31.0'][0]}",
        f"/runs/{seeded.runs['1.32.0'][2]}",
        f"/alerts/{seeded.alerts[0]}",
        "/hosts/bench-1",
    ]


def get(client: Client, path: str) -> str:
    answer = client.get(path, headers=HTML)
    assert answer.status_code == 200, (path, answer.text)
    return answer.text


@pytest.mark.parametrize("path", LISTS)
def test_an_empty_store_has_pages_that_say_what_to_do(beginner: Client, path: str) -> None:
    page = get(beginner, path)
    if path in ("/", "/releases", "/runs", "/hosts", "/series", "/compare"):
        assert 'class="empty' in page
        assert "tracker " in page or "/runs" in page


def test_every_page_is_served_without_a_script_in_it(reader: Client, seeded: Seeded) -> None:
    for path in page_paths(seeded):
        if path == "/compare":
            assert reader.get(path, headers=HTML).status_code == 303
            continue
        page = get(reader, path)
        for script in page.split("<script")[1:]:
            assert script.split(">", 1)[1].startswith("</script>"), path
        assert " style=" not in page, path
        assert " onclick" not in page, path


def test_the_overview_says_how_the_newest_release_stands(reader: Client, seeded: Seeded) -> None:
    page = get(reader, "/")
    assert "being measured: 2 of 5 runs finished" in page
    assert "42</span> of <span" in page
    assert "2 queued; they wait until a daemon runs" in page
    assert "asked" in page
    assert page.count('class="spark"') == 3
    assert "worst +15.2 % latency_p50_ms" in page


def test_while_a_daemon_works_the_overview_says_how_long_the_next_runs_take(
    client: Client, app: App, seeded: Seeded
) -> None:
    with take_folder(app.settings.home):
        assert "the next set of 3 is done in about 25 s" in get(client, "/")


def test_a_release_that_could_not_be_judged_is_never_listed_as_unchanged(
    client: Client, app: App, seeded: Seeded
) -> None:
    with app.store.write() as session:
        session.execute(delete(VerdictRow))
        row = session.exec(select(SummaryRow).order_by(col(SummaryRow.id))).first()
        assert row is not None
        row.content = json.dumps({**json.loads(row.content), "counts": {"noisy": 2, "same": 1}})
    assert "2 of 3 gated series without an answer" in get(client, "/releases")
    assert "no change" not in get(client, "/releases")


def test_a_summary_against_an_earlier_reference_is_made_now_and_not_the_old_one(
    client: Client, app: App, seeded: Seeded
) -> None:
    with app.store.write() as session:
        ids = {row.identity: row.id for row in session.exec(select(ReleaseRow))}
        stored = session.exec(select(SummaryRow).where(SummaryRow.release_id == ids["1.27.0"])).one()
        values = stored.model_dump(exclude={"id"})
        session.delete(stored)
        session.flush()
        old = json.dumps({**json.loads(stored.content), "sentence": "as it was last week"})
        session.add(SummaryRow(**{**values, "against_id": ids["1.25.0"], "content": old}))
        session.flush()
        session.add(SummaryRow(**values))
    page = get(client, "/releases/onnxruntime/1.27.0?against=1.25.0")
    assert 'Against <span class="num">1.25.0' in page
    assert "as it was last week" not in page
    assert "as it was last week" not in get(client, "/compare?component=onnxruntime&a=1.25.0&b=1.27.0")


def test_a_source_in_trouble_says_so(client: Client, app: App, seeded: Seeded) -> None:
    with app.store.write() as session:
        session.execute(update(CursorRow).values(problem="the index did not answer within 30 s"))
    assert "the index did not answer within 30 s" in get(client, "/")


def test_recorded_results_are_marked_on_every_page(
    make_app: Callable[..., App], make_client: Callable[..., Client], seeded: Seeded
) -> None:
    assert "Recorded results" not in get(make_client(make_app()), "/")
    client = make_client(make_app(recordings="recordings"))
    for path in page_paths(seeded):
        answer = client.get(path, headers=HTML)
        assert answer.status_code == 303 or "Recorded results" in answer.text, path
    assert "Recorded results" in client.get("/runs/nope", headers=HTML).text


def test_a_release_page_tells_verdicts_in_words(reader: Client, seeded: Seeded) -> None:
    page = get(reader, "/releases/onnxruntime/1.27.0")
    assert "1.27.0 is slower than 1.26.0: 2 of 3 gated series regressed" in page
    assert "▲</span> regressed" in page
    assert "+14.0 % to +16.4 %" in page
    assert "Intel(R) Xeon(R) Platinum 8488C" in page
    assert f"/alerts/{seeded.alerts[0]}" in page


def test_a_release_that_failed_says_so_and_never_shows_a_zero(reader: Client, seeded: Seeded) -> None:
    page = get(reader, "/releases/onnxruntime/1.31.0")
    assert "could not be measured: 5 runs failed" in page
    assert "has not been measured: 5 runs failed" in page


def test_a_release_under_way_is_not_called_unmeasured_without_saying_how_far_it_is(
    reader: Client, seeded: Seeded
) -> None:
    assert "has not been measured: 2 of 5 runs are finished" in get(reader, "/releases/onnxruntime/1.32.0")


def test_a_series_page_names_why_a_release_has_no_value(reader: Client, seeded: Seeded) -> None:
    page = get(reader, f"/series/{seeded.series[0]}")
    for reason in (
        "withdrawn by its publisher: wrong symbols in the wheel",
        "failed: could not be installed: no matching distribution for numpy==1.26.4",
    ):
        assert reason in page
    assert page.count(">Measure again<") == 8


def test_the_search_finds_series_by_their_labels(reader: Client, seeded: Seeded) -> None:
    assert get(reader, "/series?q=prefill+512").count("<tr class=") == 2
    assert get(reader, "/series?q=prefill+512&gated=1").count("<tr class=") == 1
    assert "No series matches" in get(reader, "/series?q=%25")


def test_lists_go_on_behind_the_first_page(client: Client, app: App) -> None:
    seed(app.store, app.settings.home, Shape(repeats=14, scenarios=1))
    first = get(client, "/runs?component=onnxruntime")
    assert "Next page" in first
    address = first.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")
    assert "component=onnxruntime" in address
    second = get(client, address)
    assert first.split('class="id" href="')[1][:60] not in second


def test_a_cursor_made_elsewhere_is_refused_in_words(reader: Client, seeded: Seeded) -> None:
    answer = reader.get("/runs?cursor=abc", headers=HTML)
    assert answer.status_code == 400
    assert "Cursor: expected what an earlier answer gave" in answer.text


@pytest.mark.parametrize(
    "path", ["/runs/nope", "/series/nope", "/alerts/nope", "/releases/x/1", "/guide/nope", "/nope"]
)
def test_what_is_not_there_is_a_page_with_the_way_on(beginner: Client, path: str) -> None:
    answer = beginner.get(path, headers=HTML)
    assert answer.status_code == 404
    assert "<h1>Not found</h1>" in answer.text


def test_a_running_run_shows_its_log_as_it_grows(client: Client, app: App, seeded: Seeded) -> None:
    run = seeded.runs["1.32.0"][2]
    page = get(client, f"/runs/{run}")
    assert "prefill 128: &lt;5.6 ms&gt;" in page
    start = int(page.split('data-start="')[1].split('"')[0])
    with app.store.read() as session:
        key = (
            session.connection()
            .execute(
                AttemptRow.__table__.select().where(col(AttemptRow.outcome).is_(None))  # type: ignore[attr-defined]
            )
            .one()
            .key
        )
    with (app.settings.home / "attempts" / key / "run.log").open("a") as log:
        log.write("decode: <script>\n")
    part = client.get(f"/runs/{run}/log", params={"name": "run.log", "start": start}).json()
    assert part["state"] == "running"
    assert part["log"]["text"] == "decode: <script>\n"
    again = client.get(f"/runs/{run}/log", params={"name": "run.log", "start": part["log"]["next"]}).json()
    assert again["log"]["text"] == ""


def test_outputs_are_kept_not_shown(reader: Client, seeded: Seeded) -> None:
    page = get(reader, f"/runs/{seeded.runs['1.28.0'][0]}")
    address = page.split('<ul class="files"><li><a href="')[1].split('"')[0]
    answer = reader.get(address)
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.text.startswith("installing onnxruntime 1.28.0")
    other = seeded.runs["1.27.0"][0]
    assert reader.get(f"/runs/{other}/outputs/{address.rsplit('/', 1)[1]}").status_code == 404


def test_a_queued_run_can_be_cancelled_and_an_ended_one_cannot(client: Client, app: App, seeded: Seeded) -> None:
    queued, done = seeded.runs["1.32.0"][4], seeded.runs["1.28.0"][0]
    assert ">Cancel</button>" in get(client, f"/runs/{queued}")
    assert client.post(f"/runs/{queued}/cancel", headers=SAME_ORIGIN).status_code == 303
    assert "cancelled by page" in get(client, f"/runs/{queued}")
    assert ">Cancel</button>" not in get(client, f"/runs/{done}")
    refused = client.post(f"/runs/{done}/cancel", headers={**SAME_ORIGIN, **HTML})
    assert refused.status_code == 400
    assert "has ended (done)" in refused.text


def test_a_decision_about_an_alert_is_kept_with_its_note(client: Client, app: App, seeded: Seeded) -> None:
    path = f"/alerts/{seeded.alerts[1]}"
    form = {"state": "expected", "note": "new default kernel\n<b>see</b> 123", "name": "Ada"}
    assert client.post(f"{path}/triage", data=form, headers=SAME_ORIGIN).status_code == 303
    page = get(client, path)
    assert "Ada (page)" in page
    assert "&lt;b&gt;see&lt;/b&gt; 123" in page
    assert client.post(f"{path}/triage", data={}, headers={**SAME_ORIGIN, **HTML}).status_code == 422


def test_measuring_again_from_the_series_page_queues_a_run(client: Client, app: App, seeded: Seeded) -> None:
    series = seeded.series[0]
    answer = client.post(f"/series/{series}/rerun", data={"release": "1.28.0"}, headers=SAME_ORIGIN)
    assert answer.status_code == 303
    assert asked(app) == [("run:rerun", run, "page") for run in seeded.runs["1.28.0"]]


def test_exports_hold_every_measurement(reader: Client, seeded: Seeded) -> None:
    series = seeded.series[0]
    rows = list(csv.DictReader(io.StringIO(reader.get(f"/series/{series}/export.csv").text)))
    assert len(rows) == 7 * 5 + 2
    assert {row["unit"] for row in rows} == {"ms"}
    detail = json.loads(reader.get(f"/series/{series}/export.json").text)
    assert [point["n"] for point in detail["points"]] == [5, 5, 0, 5, 5, 5, 5, 5, 0, 2]
    assert detail["points"][2]["level"] is None
    assert float(rows[0]["value"]) == detail["points"][0]["values"][0]["value"]


def test_a_level_whose_other_runs_are_under_way_is_hollow_and_says_so(reader: Client, seeded: Seeded) -> None:
    points = reader.get(f"/series/{seeded.series[0]}/chart.json").json()["datasets"]["points"]
    assert {row["release"]: row["flags"] for row in points if row["hollow"]} == {"1.32.0": "being measured"}
    assert "median of 2, more runs being measured" in get(reader, f"/series/{seeded.series[0]}")


def test_a_change_that_only_the_newest_release_shows_is_hollow(client: Client, app: App, seeded: Seeded) -> None:
    with app.store.write() as session:
        session.execute(update(ChangePointRow).where(col(ChangePointRow.direction) == "down").values(confirmed=False))
    points = client.get(f"/series/{seeded.series[0]}/chart.json").json()["datasets"]["points"]
    assert {row["release"]: row["flags"] for row in points}["1.30.0"] == "provisional"


def test_the_chart_keeps_a_place_for_every_release(reader: Client, seeded: Seeded) -> None:
    spec = reader.get(f"/series/{seeded.series[0]}/chart.json").json()
    assert {row["release"] for row in spec["datasets"]["missing"]} == {"1.25.1", "1.31.0"}
    assert len(spec["datasets"]["points"]) == 8
    assert [row["verdict"] for row in spec["datasets"]["changes"]] == ["regressed", "improved"]


def test_the_chart_is_a_picture_too(reader: Client, seeded: Seeded) -> None:
    answer = reader.get(f"/series/{seeded.series[0]}/chart.svg")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.text.startswith("<svg")


EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


EVIL_HEALTH = {
    "state": "ok",
    "driver": EVIL,
    "findings": [{"name": EVIL, "state": "ok", "found": EVIL, "wanted": EVIL}],
}


def test_nothing_in_a_name_becomes_markup(client: Client, app: App) -> None:
    seeded = seed(app.store, app.settings.home, replace(Shape(), component=f"c{EVIL}", headline=EVIL))
    with app.store.write() as session:
        session.execute(update(ReleaseRow).values(display=EVIL, no_place_reason=EVIL))
        session.execute(update(RunRow).values(reason=EVIL, requested_by=EVIL))
        session.execute(update(AttemptRow).values(detail=EVIL, flags=EVIL))
        values = {"slug": EVIL, "state": "cordoned", "state_why": EVIL, "state_by": EVIL, "refusal": EVIL}
        session.execute(update(HostRow).values(**values, pools=json.dumps([EVIL]), health=json.dumps(EVIL_HEALTH)))
        session.execute(update(CursorRow).values(source=EVIL, problem=EVIL))
        session.execute(update(AlertRow).values(rule=EVIL))
    paths = [path.replace("/onnxruntime/", f"/{'c' + EVIL}/") for path in page_paths(seeded)]
    paths = [path.replace("/bench-1", f"/{quote(EVIL, safe='')}") for path in paths]
    for path in [*paths, f"/runs?q={EVIL}", f"/series?q={EVIL}&component={EVIL}", f"/runs/{EVIL}", f"/guide/{EVIL}"]:
        page = client.get(path, headers=HTML).text
        assert "<script>alert" not in page, path
        assert "<img src=x" not in page, path


def test_release_names_with_slashes_and_spaces_have_pages(client: Client, app: App, seeded: Seeded) -> None:
    with app.store.write() as session:
        session.execute(
            update(ReleaseRow).where(col(ReleaseRow.identity) == "1.27.0").values(identity="rel/1 27?#%", display="odd")
        )
    link = get(client, "/releases?q=odd").split('strong" href="')[1].split('"')[0]
    assert "odd" in get(client, link)
    assert client.get(f"/api/v1{link}/summary").status_code == 200


def test_a_component_of_any_name_has_pages(client: Client, app: App, seeded: Seeded) -> None:
    with app.store.write() as session:
        session.execute(update(ComponentRow).values(slug="a b&c"))
    link = get(client, "/releases").split('strong" href="')[1].split('"')[0]
    assert "a b&amp;c" in get(client, link)


@pytest.mark.parametrize(("path", "most"), [("/", 22), ("/series", 7), ("/releases", 6), ("/runs", 5), ("/hosts", 8)])
def test_more_data_makes_no_more_statements(client: Client, app: App, seeded: Seeded, path: str, most: int) -> None:
    more = Shape(component="llamacpp", model="llama", versions=("2026.1", "2026.2"), scenarios=9, repeats=2)
    seed(app.store, app.settings.home, more)
    told: list[str] = []
    event.listen(app.store.engine, "before_cursor_execute", lambda *a: told.append(a[2]))
    get(client, path)
    assert 0 < len(told) <= most, told


def test_the_sign_of_life_reads_the_database(reader: Client) -> None:
    assert reader.get("/healthz").json() == {"status": "ok", "running": False, "demo": False, "disk_full": False}


def test_a_bug_is_told_in_words_and_not_shown(client: Client, app: App, seeded: Seeded) -> None:
    with app.store.write() as session:
        session.connection().exec_driver_sql("DROP TABLE quarantine")
    answer = client.get(f"/runs/{seeded.runs['1.28.0'][0]}", headers=HTML)
    assert answer.status_code == 500
    assert "A bug in this service" in answer.text
    assert "quarantine" not in answer.text


def test_a_release_is_left_out_on_the_series_page_with_a_reason_and_judged_again(
    client: Client, app: App, seeded: Seeded
) -> None:
    address = f"/series/{seeded.series[0]}"
    form = {"release": "1.28.0", "why": "the disk was <b>full</b>"}
    assert client.post(f"{address}/exclude", data=form, headers=SAME_ORIGIN).status_code == 303
    assert "the disk was &lt;b&gt;full&lt;/b&gt;" in get(client, address)
    assert client.post(f"{address}/include", data={"release": "1.28.0"}, headers=SAME_ORIGIN).status_code == 303
    assert "the disk was" not in get(client, address)
    refused = client.post(f"{address}/exclude", data=form | {"why": " "}, headers=SAME_ORIGIN)
    assert refused.status_code == 400


def test_a_release_page_links_its_notes_and_shows_them_as_text(client: Client, app: App, seeded: Seeded) -> None:
    url = "https://github.example.com/releases/v1.27.0"
    note = ReleaseNote(
        tag="v1.27.0", url=url, title="<i>Twenty</i> seven", excerpt="## Faster\n<script>alert(1)</script>"
    )
    with app.store.write() as session:
        component = session.exec(select(ComponentRow)).first()
        assert component is not None
        save_notes(session, component.id or 0, {"1.27.0": note}, is_whole=True, now=app.clock.now())
    page = get(client, "/releases/onnxruntime/1.27.0")
    assert f'<a href="{url}" rel="noreferrer">&lt;i&gt;Twenty&lt;/i&gt; seven</a>' in page
    assert "## Faster\n&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "Release notes" not in get(client, "/releases/onnxruntime/1.28.0")


def lose_sight(app: App, run: str) -> None:
    """Have a run be under way and its engine away since four minutes before the pages' present."""
    with app.store.write() as session:
        row = find_run(session, run)
        row.state, row.finished_at, row.lease_until = "running", None, NOW + timedelta(seconds=30)
        row.unseen_since, row.unseen_why = NOW - timedelta(minutes=4), "the container engine does not answer"
        session.add(row)


@pytest.mark.parametrize("path", ["/", "/runs", "/runs?state=running", "/runs/{run}"])
def test_a_run_out_of_sight_is_nowhere_shown_as_if_it_were_seen(
    seeded: Seeded, make_app: Callable[..., App], make_client: Callable[..., Client], path: str
):
    app = make_app()
    run = seeded.runs["1.27.0"][0]
    lose_sight(app, run)
    page = make_client(app).get(path.format(run=run)).text

    assert "not seen since" in page
    assert "(4 min): the container engine does not answer" in page
    if path == "/runs/{run}":
        assert ">running</span>" not in page
    if path != "/":
        assert '<span class="badge unknown">running, not seen</span>' in page


def test_the_api_says_why_a_run_is_not_seen_and_null_where_it_is(
    seeded: Seeded, make_app: Callable[..., App], make_client: Callable[..., Client]
):
    app = make_app()
    run = seeded.runs["1.27.0"][0]
    lose_sight(app, run)
    client = make_client(app)

    since = (NOW - timedelta(minutes=4)).isoformat().replace("+00:00", "Z")
    one = client.get(f"/api/v1/runs/{run}").json()["run"]
    assert one["unseen"] == {"since": since, "why": "the container engine does not answer"}
    others = client.get("/api/v1/runs").json()["items"]
    assert {item["id"] for item in others if item["unseen"]} == {run}
    assert client.get(f"/runs/{run}/log").json()["unseen"] is True


def test_a_full_disk_is_said_on_every_page(app: App, client: Client, monkeypatch: pytest.MonkeyPatch):
    assert "disk is full" not in client.get("/").text
    monkeypatch.setattr("tracker.app.FULL_BELOW_BYTES", 2**63)
    for path in LISTS:
        assert "disk is full" in client.get(path).text
