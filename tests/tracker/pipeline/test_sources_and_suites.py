"""A source that is away and a suite that changes cost nothing that is known or planned."""

from __future__ import annotations

import pytest

from jobs.errors import TryLater, UserError
from tests.tracker.pipeline.kit import REPEATS, SUITE, Service
from tracker.pipeline.execute import advance
from tracker.pipeline.plan import plan
from tracker.pipeline.watch import watch
from tracker.store.tables import CursorRow, ReleaseRow, RunRow, SuiteRevisionRow


@pytest.mark.parametrize("trouble", [TryLater("the index does not answer"), UserError("no package named 'thing'")])
def test_a_source_in_trouble_is_noted_and_nothing_is_lost(service: Service, trouble: Exception):
    service.publish("1.0.0")
    service.look()
    service.clock.advance(4000)
    service.source.trouble = trouble

    assert watch(service.context, "thing") == 0
    assert service.rows(CursorRow)[0].problem == str(trouble)
    assert len(service.rows(ReleaseRow)) == 1

    service.clock.advance(4000)
    service.source.trouble = None
    service.publish("1.1.0")
    assert watch(service.context, "thing") == 1
    assert service.rows(CursorRow)[0].problem is None


def test_asked_for_by_a_person_a_source_in_trouble_is_their_error(service: Service):
    service.source.trouble = TryLater("the index does not answer")

    with pytest.raises(TryLater):
        watch(service.context, "thing", force=True)


def test_a_source_is_asked_once_in_its_time(service: Service):
    for _ in range(3):
        watch(service.context, "thing")
    assert service.source.asked == 1

    service.clock.advance(3600)
    watch(service.context, "thing")
    assert service.source.asked == 2


def test_entries_that_cannot_be_read_do_not_keep_the_others_out(service: Service):
    service.publish("1.0.0")
    service.source.unreadable = (("thing-??.whl", "no version in the name"),)

    assert service.look() == REPEATS


def test_what_a_source_listed_at_first_is_history_what_comes_later_is_not(service: Service):
    service.publish("1.0.0", "1.1.0")
    service.look()
    service.publish("1.2.0")
    service.look()

    assert {row.identity: row.historic for row in service.rows(ReleaseRow)} == {
        "1.0.0": True,
        "1.1.0": True,
        "1.2.0": False,
    }


def test_a_suite_edited_after_planning_leaves_planned_runs_as_they_were(service: Service):
    service.publish("1.0.0")
    service.look()
    service.write_suite(SUITE.replace('arguments = ["{version}"]', 'arguments = ["--new", "{version}"]'))
    service.measure()

    assert {job.arguments for job in service.executor.started.values()} == {("1.0.0",)}


def test_a_suite_with_more_repeats_plans_only_what_is_missing(service: Service):
    service.publish("1.0.0")
    service.go()
    service.write_suite(SUITE.replace("repeats = 5", "repeats = 7"))

    assert service.look() == 2


def test_limits_and_titles_make_no_new_revision_but_other_arguments_do(service: Service):
    service.publish("1.0.0")
    service.look()
    service.write_suite(SUITE.replace("timeout_s = 30", "timeout_s = 60").replace("A thing", "The thing"))
    service.look()
    assert len(service.rows(SuiteRevisionRow)) == 1

    service.write_suite(SUITE.replace('"{version}"', '"--new"'))
    service.look()
    assert len(service.rows(SuiteRevisionRow)) == 2


def test_a_suite_removed_after_planning_is_still_measured_and_read(service: Service):
    service.publish("1.0.0")
    service.look()
    (service.suites / "thing.toml").unlink()
    service.measure()
    service.judge()

    assert service.run_states() == ["done"] * REPEATS


def test_a_program_removed_after_planning_fails_the_runs_in_plain_words(make_service):
    service = make_service(max_attempts=1)
    service.publish("1.0.0")
    service.look()
    (service.suites / "programs" / "bench.py").unlink()
    service.measure()

    assert service.run_states() == ["failed"] * REPEATS
    assert "no script 'bench.py'" in service.reasons()[0]


def test_a_suite_for_hardware_that_is_not_here_plans_nothing(service: Service):
    service.write_suite(SUITE + "[hardware]\ngpus = 8\n")
    service.publish("1.0.0")

    assert service.look() == 0


def test_a_suite_that_cannot_be_read_says_so(service: Service):
    service.write_suite("name = ")

    with pytest.raises(UserError, match="is not TOML"):
        plan(service.context, "thing")


def test_a_killed_look_is_repeated_without_doubling_anything(service: Service):
    service.publish("1.0.0")
    watch(service.context, "thing", force=True)
    watch(service.context, "thing", force=True)
    assert plan(service.context, "thing") == REPEATS
    assert plan(service.context, "thing") == 0
    advance(service.context)
    assert plan(service.context, "thing") == 0
    assert len(service.rows(RunRow)) == REPEATS


def test_a_service_killed_while_it_waits_for_a_source_asks_again_at_once(service: Service):
    service.publish("1.0.0")
    service.source.trouble = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        watch(service.context, "thing")

    service.source.trouble = None
    assert watch(service.context, "thing") == 1
