"""A gain whose answers became worse is told as a quality regression, never as an improvement."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from jobs.content import Content
from jobs.intake import Arrival
from tests.tracker.pipeline.kit import OLD, REPEATS, Service, spread
from tracker.pipeline.deposit import deposit
from tracker.pipeline.deposit_rows import Origin
from tracker.pipeline.reports import summaries_of
from tracker.store.tables import AlertRow

SLOW, FAST = 1000.0, 1300.0
RIGHT = {1: 0.94, 2: 0.941, 4: 0.939, 8: 0.94}
"""Tensor parallelism -> accuracy."""


def hand_in(service: Service, version: str, speed: float, accuracy: Mapping[int, float]) -> None:
    """Hand in the repeats of a release, one config for each parallelism."""

    def arriving() -> Iterator[Arrival]:
        for repeat in range(1, REPEATS + 1):
            value = spread(speed, version, repeat)
            runs = [
                {
                    "labels": {"model": "gpt-oss-120b", "tp": tp},
                    "metrics": {
                        "output_tok_s": {"value": value * tp, "unit": "tok/s"},
                        "accuracy": {"value": right, "unit": "fraction"},
                    },
                }
                for tp, right in accuracy.items()
            ]
            name = f"{repeat}.json"
            text = json.dumps({"tool": "tiny", "runs": runs}) + "\n"
            yield Arrival(name=name, shown=name, content=Content.of_text(text, name))

    origin = Origin(component="thing", release=version, host="elsewhere")
    done = list(deposit(service.context, origin, arriving(), who="ci", tool="generic"))
    assert {one.status for one in done} == {"stored"}


def verdicts(service: Service, release: str) -> dict[str, tuple[str, str]]:
    """Return the verdict and reason of each throughput series against the release before, by its name."""
    (summary,) = summaries_of(service.context, release)
    return {row.series_name: (row.verdict.value, row.reason) for row in summary.rows if row.metric == "output_tok_s"}


def test_a_gain_at_a_broken_parallelism_is_a_quality_regression_and_its_neighbours_improve(service: Service) -> None:
    hand_in(service, "1.0.0", SLOW, RIGHT)
    hand_in(service, "1.1.0", FAST, RIGHT | {4: 0.0})
    found = verdicts(service, "1.1.0")
    assert {name: word for name, (word, _) in found.items()} == {
        "gpt-oss-120b, tp 1": "improved", "gpt-oss-120b, tp 2": "improved", "gpt-oss-120b, tp 4": "regressed",
        "gpt-oss-120b, tp 8": "improved",
    }  # fmt: skip
    said = "quality regression: accuracy 0 where 1.0.0 had 0.939 (tolerance 0.02)"
    assert found["gpt-oss-120b, tp 4"][1] == said


def test_what_was_always_broken_shows_against_its_neighbours(service: Service) -> None:
    broken = RIGHT | {4: 0.0}
    hand_in(service, "1.0.0", SLOW, broken)
    hand_in(service, "1.1.0", FAST, broken)
    word, reason = verdicts(service, "1.1.0")["gpt-oss-120b, tp 4"]
    assert (word, reason) == (
        "regressed", "quality regression: accuracy 0 where 3 neighbours had 0.94 (tolerance 0.02)",
    )  # fmt: skip


def test_without_accuracy_a_gain_is_a_gain(service: Service) -> None:
    hand_in(service, "1.0.0", SLOW, {1: 0.94})
    hand_in(service, "1.1.0", FAST, {1: 0.93})
    assert verdicts(service, "1.1.0")["gpt-oss-120b, tp 1"][0] == "improved"


def test_nobody_is_told_of_a_gain_that_lost_its_quality(service: Service) -> None:
    for version in OLD:
        hand_in(service, version, SLOW, {1: 0.94})
    hand_in(service, "1.6.0", FAST, {1: 0.0})
    service.judge()
    directions = {alert.direction for alert in service.rows(AlertRow)}
    assert "improved" not in directions
    stored = {(row.release_id, row.verdict) for row in service.verdicts() if "quality regression" in row.reason}
    assert {word for _, word in stored} == {"regressed"}


def test_a_gain_that_kept_its_quality_is_told(service: Service) -> None:
    for version in OLD:
        hand_in(service, version, SLOW, {1: 0.94})
    hand_in(service, "1.6.0", FAST, {1: 0.94})
    service.judge()
    assert {alert.direction for alert in service.rows(AlertRow)} == {"improved"}
