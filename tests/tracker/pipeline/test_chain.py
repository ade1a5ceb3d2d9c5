"""From a release at its source to a message: found once, planned once, measured, judged, told."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from tests.tracker.pipeline.kit import FAST, REPEATS, SLOW, Service
from tracker.pipeline.plan import PRIORITY_FIRST, PRIORITY_NEW
from tracker.store.tables import BuildRow, ChangePointRow, MeasurementRow, RunRow


def test_a_slower_release_becomes_one_alert_and_one_message(seasoned: Service):
    before = len(seasoned.console)

    seasoned.publish("1.6.0", level=SLOW)
    seasoned.go()

    assert seasoned.changes() == [("1.6.0", "regressed")]
    assert all("from release 1.6.0" in row.reason for row in seasoned.rows(ChangePointRow))
    (alert,) = seasoned.alerts()
    assert (alert.state, alert.direction) == ("new", "regressed")
    told = [one for one in seasoned.console[before:] if one.kind == "alert"]
    assert len(told) == 1
    assert "1.6.0" in told[0].message.title


def test_every_planned_run_gives_one_value_to_each_series(seasoned: Service):

    assert Counter(seasoned.run_states()) == {"done": 6 * REPEATS}
    per_place = Counter((row.series_id, row.run_id) for row in seasoned.rows(MeasurementRow))
    assert len(per_place) == 6 * REPEATS * 3
    assert set(per_place.values()) == {1}
    assert [len(values) for values in seasoned.points().values()] == [REPEATS] * 6


def test_looking_and_planning_again_finds_and_plans_nothing(service: Service):
    service.publish("1.0.0", "1.1.0")

    assert service.look() == 2 * REPEATS
    assert service.look() == 0
    service.measure()
    assert service.look() == 0
    assert len(service.rows(BuildRow)) == 2


def test_a_second_round_of_judging_changes_nothing(seasoned: Service):
    seasoned.publish("1.6.0", level=SLOW)
    seasoned.go()
    told, summaries = len(seasoned.console), len(seasoned.summaries())

    seasoned.judge()

    assert (len(seasoned.console), len(seasoned.summaries())) == (told, summaries)


def test_the_first_of_a_suite_come_before_new_ones_and_those_before_history(seasoned: Service):
    seasoned.publish("1.6.0", "1.4.1")
    seasoned.look()

    waiting = {run.priority for run in seasoned.rows(RunRow) if run.state == "queued"}
    assert waiting == {PRIORITY_FIRST, PRIORITY_NEW}


def test_repeats_of_releases_of_one_urgency_are_interleaved(service: Service):
    service.write_suite((service.suites / "thing.toml").read_text().replace('["newest"]', '["1.0", "1.1", "1.2"]'))
    service.publish("1.0.0", "1.1.0", "1.2.0")
    service.go()

    order = [job.version for job in service.executor.started.values()]
    assert all(set(order[at : at + 3]) == {"1.0.0", "1.1.0", "1.2.0"} for at in range(0, len(order), 3))
    assert all(one != other for one, other in pairwise(order))


@pytest.mark.parametrize(
    ("tag", "more"),
    [
        ("2.0.0", {"yanked": "it burns"}),
        ("2.0.0", {"misfit": "no wheel for this machine"}),
        ("2.0.0rc1", {}),
        ("2.0.0.dev20261201", {}),
        ("latest", {}),
    ],
    ids=["yanked", "misfit", "candidate", "dev build", "no place"],
)
def test_a_build_that_the_suite_does_not_want_is_known_but_not_measured(service: Service, tag: str, more: dict):
    service.publish("1.0.0")
    service.publish(tag, **more)

    assert service.look() == REPEATS
    assert len(service.rows(BuildRow)) == 2


def test_a_suite_that_asks_for_candidates_measures_them(service: Service):
    text = (service.suites / "thing.toml").read_text()
    service.write_suite(text.replace("[releases]", '[releases]\ntracks = ["stable", "rc"]'))
    service.publish("1.0.0", "2.0.0rc1")

    assert service.look() == 2 * REPEATS


def test_without_backfill_only_the_first_and_the_new_are_measured(make_service):
    service = make_service(backfill=False)
    service.publish("1.0.0", "1.1.0", "1.2.0")
    assert service.look() == REPEATS

    service.publish("1.3.0")
    assert service.look() == REPEATS


def test_a_release_withdrawn_after_it_was_measured_keeps_its_values(seasoned: Service):
    seasoned.withdraw("1.5.0", "it burns")

    assert seasoned.look() == 0
    assert "1.5.0" in seasoned.points()


def test_a_build_pushed_again_is_measured_again_and_takes_the_place_of_the_older(seasoned: Service):
    seasoned.publish("1.5.0", digest="sha256:again")
    seasoned.levels["1.5.0"] = SLOW
    seasoned.go()

    assert ("1.5.0", "regressed") in seasoned.changes()


def test_a_backport_that_arrives_late_stands_where_its_version_belongs(seasoned: Service):
    seasoned.publish("1.6.0", "1.7.0", level=SLOW)
    seasoned.go()
    ids = {alert.public_id for alert in seasoned.alerts()}

    seasoned.publish("1.2.1", level=FAST)
    seasoned.go()

    assert seasoned.changes() == [("1.6.0", "regressed")]
    assert {alert.public_id for alert in seasoned.alerts()} == ids


def test_the_order_of_arrival_changes_neither_changes_nor_verdicts(make_service):
    versions = ["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0"]
    found = []
    for order in (versions, versions[::-1], versions[::2] + versions[1::2]):
        service = make_service()
        service.levels = dict.fromkeys(versions, FAST) | dict.fromkeys(versions[4:6], SLOW)
        for version in order:
            service.publish(version)
            service.go()
        names = service.releases()
        verdicts = sorted((names[v.release_id], v.verdict, v.reason, v.effect_ratio or 0) for v in service.verdicts())
        found.append((service.changes(), verdicts))

    assert found[0][0] == [("1.4.0", "regressed"), ("1.6.0", "improved")]
    assert found[0] == found[1] == found[2]
