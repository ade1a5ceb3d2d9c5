"""One series over another axis on its page: the versions of what is inside the images, at an address of its own."""

from __future__ import annotations

import pytest
from sqlmodel import select

from tests.tracker.seed import Seeded
from tests.tracker.web.client import HTML, Client
from tracker.app import App
from tracker.store.catalog import save_contents
from tracker.store.tables import BuildRow, ReleaseRow

#: Release -> what its images say is inside; 1.26.0 and 1.30.0 say nothing of cuda.
INSIDE = {
    "1.25.0": {"cuda": "12.9.1", "flashinfer-python": "0.2"},
    "1.27.0": {"cuda": "13.0.1"},
    "1.28.0": {"cuda": "13.0.1"},
    "1.29.0": {"cuda": "13.10.0"},
}


@pytest.fixture
def inside(app: App, seeded: Seeded) -> str:
    """The address of a series of whose builds some say what is inside."""
    with app.store.write() as session:
        rows = session.exec(
            select(ReleaseRow.identity, BuildRow.id).join(BuildRow, BuildRow.release_id == ReleaseRow.id)
        )
        for identity, build in rows.all():
            save_contents(session, build or 0, INSIDE.get(identity, {}))
    return f"/series/{seeded.series[0]}"


def get(client: Client, path: str) -> str:
    answer = client.get(path, headers=HTML)
    assert answer.status_code == 200, (path, answer.text)
    return answer.text


def test_a_series_names_the_axes_it_can_stand_on(client: Client, inside: str):
    page = get(client, inside)
    assert f'<a href="{inside}" aria-current="page">onnxruntime</a>' in page
    assert f'<a href="{inside}?over=cuda">cuda</a>' in page
    assert f'<a href="{inside}?over=flashinfer-python">flashinfer-python</a>' in page


def test_a_series_of_builds_that_say_nothing_offers_no_choice(reader: Client, seeded: Seeded):
    page = get(reader, f"/series/{seeded.series[0]}")
    assert "over=" not in page
    assert "What stands on the axis" not in page


def test_the_chosen_axis_has_its_address_its_chart_and_its_table(client: Client, inside: str):
    page = get(client, f"{inside}?over=cuda")
    assert f'<a href="{inside}?over=cuda" aria-current="page">cuda</a>' in page
    assert f'data-spec="{inside}/chart.json?over=cuda"' in page
    assert f'data-picture="{inside}/chart.svg?over=cuda"' in page
    assert "Versions of the cuda inside" in page
    assert "Against previous" not in page
    assert page.index("not said: not in the chart") < page.index("13.10.0") < page.index("13.0.1</td>")


def test_the_chart_has_the_versions_in_order_each_with_its_runs_and_no_verdict(client: Client, inside: str):
    sets = client.get(f"{inside}/chart.json?over=cuda").json()["datasets"]
    assert [(row["release"], row["order"]) for row in sets["points"]] == [
        ("12.9.1", 0),
        ("13.0.1", 1),
        ("13.10.0", 2),
    ]
    assert [row["runs"] for row in sets["points"]] == [5, 10, 5]
    assert (sets["changes"], sets["missing"]) == ([], [])
    spec = client.get(f"{inside}/chart.json?over=cuda").json()
    assert spec["title"]["subtitle"][0].startswith("median of each cuda version")
    assert "levels" not in [layer["data"]["name"] for layer in spec["layer"]]


def test_the_own_axis_stays_what_it_was(client: Client, reader: Client, inside: str):
    assert client.get(f"{inside}/chart.json").json() == reader.get(f"{inside}/chart.json").json()
    assert client.get(f"{inside}/chart.json?over=").json() == reader.get(f"{inside}/chart.json").json()


@pytest.mark.parametrize("ending", ["", "/chart.json", "/chart.svg"])
def test_an_axis_that_is_not_there_is_told_with_those_that_are(client: Client, inside: str, ending: str):
    answer = client.get(f"{inside}{ending}?over=<b>", headers=HTML)
    assert answer.status_code == 400
    assert "cuda, flashinfer-python" in answer.text
    assert "<b>" not in answer.text
