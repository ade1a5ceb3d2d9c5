"""The page of published references: rows, filters, doubts, editions, and own series beside them."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import event

from baselines.references import read_page
from jobs.content import Content
from jobs.intake import Arrival
from tests.tracker.published_page import NEWER, PAGE
from tests.tracker.web.client import HTML, Client
from tracker.app import App
from tracker.pipeline.deposit import deposit
from tracker.pipeline.deposit_rows import Origin
from tracker.pipeline.references import import_page

LABELS = {"model": "GPT-OSS-20B", "precision": "fp8", "isl": 8192, "osl": 1024, "tp": 1, "gpu_count": 1}


def get(client: Client, path: str) -> str:
    answer = client.get(path, headers=HTML)
    assert answer.status_code == 200, answer.text
    return answer.text


def rows(page: str) -> int:
    return page.split("<h2>Editions")[0].count('<tr class="row')


def hand_in(app: App, *values: float, release: str = "1.2.0") -> None:
    """Hand in one result for each value, each of a model of its own but the first."""
    runs = [
        {
            "labels": LABELS if not place else {**LABELS, "isl": place},
            "metrics": {"output_tok_s": {"value": value, "unit": "tok/s"}},
        }
        for place, value in enumerate(values)
    ]
    text = json.dumps({"tool": "bench", "version": release, "runs": runs})
    arriving = [Arrival(name="r.json", shown="r.json", content=Content.of_text(text, "r.json"))]
    origin = Origin(component="engine", release=release, host="box", labels={"gpu": "NVIDIA H200", "gpu_count": 1})
    assert [one.status for one in deposit(app.context, origin, arriving, who="ci")] == ["stored"]


def test_a_new_installation_shows_what_ships(beginner: Client) -> None:
    page = get(beginner, "/references")
    assert '<span class="num">214</span> rows; <span class="num">0</span> with a series of ours' in page
    assert "tracker references compare --release NAME" in page
    assert "2,494,310 tokens/sec" in page
    assert rows(page) == 100
    assert "Next page" in page
    assert '<a href="/references" aria-current="page">References</a>' in page
    assert "shipped" in page.split("<h2>Editions")[1]


def test_rows_are_filtered_by_any_name_and_by_words(beginner: Client) -> None:
    assert rows(get(beginner, "/references?model=openai/gpt-oss-20b&gpu=H200")) == 5
    assert rows(get(beginner, "/references?framework=TensorRT-LLM+0.21.0&q=tp4")) == 7
    assert rows(get(beginner, "/references?metric=latency_p90_ms")) == 4
    page = get(beginner, "/references?q=nothing+of+that+kind")
    assert "No published row matches" in page


def test_a_doubtful_row_says_why_and_a_missing_figure_is_no_zero(beginner: Client) -> None:
    page = get(beginner, "/references?doubtful=yes")
    assert rows(page) == 16
    assert "<summary>out of line</summary><p>at 32768/1024 the 3 other lengths" in page
    assert "no figure" in page
    assert ">0 output tokens" not in page


def test_own_series_stand_beside_the_rows_they_fit(app: App, client: Client) -> None:
    hand_in(app, 3000.0, release="1.1.0")
    hand_in(app, 4416.5, 900.0)
    page = get(client, "/references?model=gpt-oss-20b")
    assert '<span class="num">1</span> with a series of ours' in page
    assert "1.10×</a>" in page
    assert "0.75×" not in page
    assert "engine 1.2.0" in page
    (own,) = [one["own"] for one in client.get("/api/v1/references?model=gpt-oss-20b").json()["items"] if one["own"]]
    assert (own[0]["ratio"], own[0]["release"]) == (pytest.approx(1.1), "1.2.0")


def test_an_older_edition_stays_to_be_looked_at(app: App, client: Client) -> None:
    for text, day in ((PAGE, 1), (NEWER, 2)):
        day_of = app.clock.now().date().replace(day=1)
        import_page(
            app.context, read_page(text), file="vendor", source="vendor", dated=day_of.replace(month=day), who="m"
        )
    assert "5,040 output tokens/sec" in get(client, "/references?q=borealis")
    older = get(client, "/references?edition=vendor/2026-01-01")
    assert "4,200 output tokens/sec" in older
    assert rows(older) == 3
    assert client.get("/references?edition=nobody", headers=HTML).status_code == 400


def test_nothing_that_a_page_says_becomes_markup(app: App, client: Client) -> None:
    evil = PAGE.replace("Borealis 70B", "<script>x</script>&lt;b&gt;B").replace("DGX H200", '"onx="&lt;i&gt;')
    import_page(app.context, read_page(evil), file="<b>", source="vendor", who="<b>mira")
    page = get(client, "/references?edition=vendor")
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;b&gt;mira" in page


def test_the_api_gives_the_rows_in_parts(beginner: Client) -> None:
    first = beginner.get("/api/v1/references?limit=200").json()
    rest = beginner.get("/api/v1/references", params={"limit": 200, "cursor": first["next"]}).json()
    assert (len(first["items"]), len(rest["items"]), rest["next"]) == (200, 14, None)
    assert first["items"][0]["value"] == 2494310
    assert len(beginner.get("/api/v1/references?doubtful=true").json()["items"]) == 16
    assert beginner.get("/api/v1/references?metric=speed").status_code == 400


def test_the_statements_do_not_grow_with_the_series(app: App, client: Client) -> None:
    def count() -> int:
        seen: list[str] = []

        def listen(*told: str) -> None:
            seen.append(told[2])

        event.listen(app.store.engine, "before_cursor_execute", listen)
        get(client, "/references")
        event.remove(app.store.engine, "before_cursor_execute", listen)
        return len(seen)

    hand_in(app, 4000.0)
    few = count()
    hand_in(app, *[4000.0] * 40, release="1.3.0")
    assert count() == few


def test_a_filter_that_is_no_filter_is_refused_and_never_passed_over(beginner: Client) -> None:
    for said in ("maybe", "doubtful"):
        assert beginner.get(f"/references?doubtful={said}").status_code == 422
    assert beginner.get("/references?doubtful=true").status_code == 200
