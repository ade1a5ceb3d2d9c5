"""Results that were measured elsewhere are judged and told of like those of our own runs."""

from __future__ import annotations

import json

from jobs.content import Content
from jobs.intake import Arrival
from tests.tracker.pipeline.kit import FAST, OLD, REPEATS, SLOW, Recorder, Service, hand_in
from tracker.pipeline.deposit import deposit
from tracker.pipeline.deposit_rows import Origin
from tracker.store.tables import AlertRow, AttemptRow, QuarantineRow, RunRow, SeriesRow


def test_a_slower_release_that_was_handed_in_is_found_and_told_of(service: Service) -> None:
    for version in OLD:
        hand_in(service, version, FAST)
    hand_in(service, "1.6.0", SLOW)
    service.judge()

    assert service.changes() == [("1.6.0", "regressed")]
    assert [alert.direction for alert in service.rows(AlertRow)] == ["regressed"]


def test_handed_in_builds_are_never_planned_here(service: Service) -> None:
    hand_in(service, "1.0.0", FAST)
    assert service.look() == 0
    assert set(service.run_states()) == {"done"}


def test_changes_among_old_results_are_told_on_the_console_only(service: Service) -> None:
    told, console = Recorder("slack"), Recorder("console")
    service.sinks |= {"slack": told, "console": console}
    for place, version in enumerate(OLD):
        hand_in(service, version, SLOW if place in (2, 3) else FAST, history=True)
    service.judge()

    assert [sent for sent in console.sent if sent.kind == "alert"]
    assert [sent for sent in told.sent if sent.kind == "alert"] == []


def test_what_a_result_says_of_its_run_is_kept(service: Service) -> None:
    text = '{"tool": "bench", "version": "1.0.0", "runs": [{"facts": {"numa": 2}, "metrics": {"req_s": 5}}]}\n'
    arrival = Arrival(name="a.json", shown="a.json", content=Content.of_text(text))
    origin = Origin(component="thing", release="1.0.0")
    list(deposit(service.context, origin, [arrival], who="ci"))
    (attempt,) = service.rows(AttemptRow)
    assert json.loads(attempt.facts) == {"numa": 2, "version": "1.0.0"}
    assert service.rows(QuarantineRow) == []


def test_a_file_that_is_killed_half_way_is_handed_in_again_whole(service: Service) -> None:
    first = hand_in(service, "1.0.0", FAST)
    again = hand_in(service, "1.0.0", FAST)
    assert ({one.status for one in first}, {one.status for one in again}) == ({"stored"}, {"unchanged"})
    assert len(service.rows(RunRow)) == REPEATS
    assert len(service.rows(SeriesRow)) == 2
