"""What besides the release moved a series: outliers that people exclude, other hosts, the noise of its history."""

from __future__ import annotations

import pytest

from tests.tracker.pipeline.kit import FAST, OLD, SLOW, Service, hand_in
from tracker.errors import UserError
from tracker.pipeline.exclusions import exclude, include
from tracker.pipeline.triage import triage
from tracker.store.engine import Session
from tracker.store.tables import AlertRow, AuditRow, ChangePointRow, ExclusionRow, VerdictRow
from tracker.store.views.series import Point, list_series, show_series

SUITE_NAME = "ingested-hyperfine"


def measure(service: Service, newest: float, host: str = "elsewhere") -> None:
    """Hand in the old releases and one more."""
    for version in OLD:
        hand_in(service, version, FAST)
    hand_in(service, "1.6.0", newest, host=host)
    service.judge()


def point_at(session: Session, release: str) -> Point:
    """Return the point of the gated series at a release."""
    item = list_series(session, metric="latency_p50_ms").items[0]
    detail = show_series(session, item.fingerprint)
    assert detail is not None
    return next(one for one in detail.points if one.release.identity == release)


def test_an_excluded_release_is_judged_no_more_and_comes_back_when_it_is_included(service: Service) -> None:
    measure(service, SLOW)
    assert service.changes() == [("1.6.0", "regressed")]

    done = exclude(service.context, "1.6.0", suite=SUITE_NAME, who="ada", why="the disk was full")
    service.judge()
    assert done.series
    assert service.changes() == []
    assert {row.verdict for row in service.rows(VerdictRow)} == {"missing"}
    with service.context.store.read() as session:
        assert point_at(session, "1.6.0").excluded == "the disk was full"
        assert point_at(session, "1.6.0").level == pytest.approx(SLOW, rel=0.01)

    include(service.context, "1.6.0", suite=SUITE_NAME, who="bob")
    service.judge()
    assert service.changes() == [("1.6.0", "regressed")]
    assert len(service.rows(ChangePointRow)) == len(done.series), "the change that comes back is the one that was known"
    events = [row.event for row in service.rows(AuditRow) if row.event.startswith("series:")]
    assert sorted(set(events)) == ["series:excluded", "series:included"]


def test_excluding_twice_is_once(service: Service) -> None:
    measure(service, SLOW)
    exclude(service.context, "1.6.0", suite=SUITE_NAME, who="ada", why="the disk was full")
    again = exclude(service.context, "1.6.0", suite=SUITE_NAME, who="bob", why="another reason")
    assert again.series == ()
    assert {row.why for row in service.rows(ExclusionRow)} == {"the disk was full"}


@pytest.mark.parametrize("why", ["", "  ", "a\nb", "x" * 501])
def test_an_exclusion_needs_a_reason(service: Service, why: str) -> None:
    measure(service, SLOW)
    with pytest.raises(UserError, match="why: expected a reason"):
        exclude(service.context, "1.6.0", suite=SUITE_NAME, who="ada", why=why)
    assert service.rows(ExclusionRow) == []


def test_what_was_not_measured_cannot_be_excluded_and_what_counts_cannot_be_included(service: Service) -> None:
    measure(service, SLOW)
    with pytest.raises(UserError, match="no measurement"):
        exclude(service.context, "1.6.0", suite="nothing", who="ada", why="x")
    with pytest.raises(UserError, match="is not excluded"):
        include(service.context, "1.6.0", suite=SUITE_NAME, who="ada")


def test_a_step_where_the_host_changed_for_good_is_confounded_and_says_so(service: Service) -> None:
    measure(service, SLOW, host="another")
    (change, *_) = service.rows(ChangePointRow)
    assert change.confounded_by is not None
    assert "host changed" in change.confounded_by
    assert {row.verdict for row in service.rows(VerdictRow)} == {"confounded"}


def test_a_comparison_knows_the_noise_of_the_releases_before(service: Service) -> None:
    """Repeats that agree by chance prove nothing where releases have always differed by as much."""
    for version, level in zip(OLD, (10.0, 10.5, 9.6, 10.4, 9.7, 10.2), strict=True):
        hand_in(service, version, level)
    hand_in(service, "1.6.0", 10.6)
    service.judge()
    assert service.changes() == []
    assert {row.verdict for row in service.rows(VerdictRow)} == {"noisy"}


def accept(service: Service, state: str = "expected") -> None:
    """Decide about the only alert, and judge again."""
    (alert,) = [one for one in service.rows(AlertRow) if one.state != "recovered"]
    triage(service.context, alert.public_id, state=state, who="ada", note="a new kernel")
    service.judge()


def test_the_level_starts_afresh_at_a_change_that_was_accepted(service: Service) -> None:
    """Two slow releases in a row are a passing disturbance once the old speed is back, unless they were accepted."""
    measure(service, SLOW)
    accept(service)
    hand_in(service, "1.7.0", SLOW)
    hand_in(service, "1.8.0", FAST)
    hand_in(service, "1.9.0", FAST)
    service.judge()
    assert service.changes() == [("1.6.0", "regressed"), ("1.8.0", "improved")]
    regressed = next(row for row in service.rows(AlertRow) if row.direction == "regressed")
    assert regressed.state == "expected"


def test_an_accepted_change_stays_known_although_it_would_be_found_no_more(service: Service) -> None:
    measure(service, SLOW)
    accept(service)
    for version in ("1.7.0", "1.8.0", "1.9.0", "1.10.0", "1.11.0"):
        hand_in(service, version, FAST)
    service.judge()
    assert service.changes()[0] == ("1.6.0", "regressed")


def test_taking_an_acceptance_back_has_the_series_judged_as_before(service: Service) -> None:
    measure(service, SLOW)
    accept(service)
    for version in ("1.7.0", "1.8.0", "1.9.0", "1.10.0", "1.11.0"):
        hand_in(service, version, FAST)
    service.judge()
    assert service.changes() == [("1.6.0", "regressed"), ("1.7.0", "improved")]
    accept_back = next(row for row in service.rows(AlertRow) if row.direction == "regressed")
    triage(service.context, accept_back.public_id, state="new", who="bob")
    service.judge()
    assert service.changes() == []
