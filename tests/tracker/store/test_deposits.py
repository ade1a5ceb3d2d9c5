"""Results that are handed in are kept once, replaced whole, and set aside, on both databases."""

from __future__ import annotations

import json
from pathlib import Path

from jobs.content import Content
from jobs.intake import Arrival
from tests.tracker.pipeline.kit import Service
from tracker.pipeline.deposit import Deposited, deposit
from tracker.pipeline.deposit_rows import Origin
from tracker.pipeline.quarantine import release
from tracker.store.engine import Store
from tracker.store.tables import AttemptRow, MeasurementRow, QuarantineRow, RunRow, SeriesRow

ORIGIN = Origin(component="engine", release="1.2.0", host="box")


def hand_in(service: Service, results: dict[str, list[float]], *, replace: bool = False) -> list[Deposited]:
    """Hand in files of results in seconds, by name, each with a number that no metric means."""
    arriving = []
    for name, means in results.items():
        rows = [{"command": f"c{n}", "mean": mean, "times": [mean], "novelty": n} for n, mean in enumerate(means)]
        text = json.dumps({"results": rows}) + "\n"
        arriving.append(Arrival(name=name, shown=name, content=Content.of_text(text, name)))
    return list(deposit(service.context, ORIGIN, arriving, who="ci", replace=replace))


def test_many_results_are_kept_in_order_and_once(store: Store, tmp_path: Path) -> None:
    service = Service(tmp_path, store)
    files = {f"{number}.json": [0.5 + number / 100, 1.5] for number in range(300)}
    first = hand_in(service, files)
    assert {one.status for one in first} == {"stored"}
    assert [len(one.runs) for one in first] == [2] * 300
    by_id = {run.public_id: run for run in service.rows(RunRow)}
    assert [by_id[one.runs[1]].repeat for one in first] == [2] * 300
    assert {one.status for one in hand_in(service, files)} == {"unchanged"}
    assert len(service.rows(MeasurementRow)) == 600
    assert len(service.rows(SeriesRow)) == 2


def test_a_replaced_file_takes_its_values_and_its_lost_results_with_it(store: Store, tmp_path: Path) -> None:
    service = Service(tmp_path, store)
    hand_in(service, {"a.json": [0.5, 1.5, 2.5]})
    (answer,) = hand_in(service, {"a.json": [0.25, 1.25]}, replace=True)
    assert answer.status == "replaced"
    assert sorted(row.value for row in service.rows(MeasurementRow)) == [250.0, 1250.0]
    assert sorted(service.run_states()) == ["cancelled", "done", "done"]
    assert sorted(row.number for row in service.rows(AttemptRow)) == [1, 1, 1, 2, 2]


def test_what_is_set_aside_can_be_let_in(store: Store, tmp_path: Path) -> None:
    service = Service(tmp_path, store)
    hand_in(service, {"a.json": [0.5]})
    (held,) = service.rows(QuarantineRow)
    release(service.context, held.id, who="me", metric="requests_failed", unit="count")
    (held,) = service.rows(QuarantineRow)
    assert (held.released_as, held.released_by) == ("requests_failed", "me")
    assert sorted(row.value for row in service.rows(MeasurementRow)) == [0.0, 500.0]
