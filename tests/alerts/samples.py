"""Facts, messages and summaries that several tests share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from alerts.grouping import AlertGroup, ChangeFact, ComparedSeries, ReleaseName, group_changes
from alerts.message import AlertState, Message, build_alert_message
from alerts.rules import Rule
from alerts.summary import ReleaseSummary, RowVerdict, SummaryRow, build_summary
from alerts.trend import MissingRelease, Trend, TrendChange, TrendPoint
from alerts.wording import Change, Direction

DEFAULT_RULE = Rule(name="default", sinks=("console",))
HARDWARE = "Xeon 8481C, 2 cores"
R126 = ReleaseName(identity="1.26.0", display="1.26.0")
R128 = ReleaseName(identity="1.28.0", display="1.28.0")


def make_fact(**changed: Any) -> ChangeFact:
    values: dict[str, Any] = {
        "change_id": "c1",
        "component": "onnxruntime",
        "release": R128,
        "hardware_class": HARDWARE,
        "suite": "onnxruntime",
        "series_id": "s1",
        "series_name": "prefill, isl 128",
        "metric": "latency_p50_ms",
        "unit": "ms",
        "direction": Direction.LOWER,
        "before": 5.58,
        "after": 6.43,
        "effect_ratio": 0.152,
        "effect_low": 0.121,
        "effect_high": 0.183,
        "verdict": Change.REGRESSED,
    }
    return ChangeFact(**(values | changed))


def two_facts() -> list[ChangeFact]:
    second = make_fact(
        change_id="c2",
        series_id="s2",
        series_name="prefill, isl 512",
        before=28.5,
        after=32.3,
        effect_ratio=0.133,
        effect_low=None,
        effect_high=None,
        confirmed=False,
    )
    return [second, make_fact()]


def three_compared() -> list[ComparedSeries]:
    return [
        ComparedSeries(
            component="onnxruntime",
            release="1.28.0",
            hardware_class=HARDWARE,
            suite="onnxruntime",
            series_id=f"s{number}",
            metric="latency_p50_ms",
            gated=True,
        )
        for number in (1, 2, 3)
    ]


def make_group() -> AlertGroup:
    return group_changes(two_facts(), [DEFAULT_RULE], three_compared())[0]


def make_message(**changed: Any) -> Message:
    values: dict[str, Any] = {
        "alert_id": "a-1",
        "state": AlertState.NEW,
        "base_url": "https://perf.example.org",
        "rerun_command": "tracker runs rerun --release 1.28.0",
    }
    return build_alert_message(make_group(), **(values | changed))


def make_row(**changed: Any) -> SummaryRow:
    values: dict[str, Any] = {
        "series_id": "s1",
        "series_name": "prefill, isl 128",
        "suite": "onnxruntime",
        "hardware_class": HARDWARE,
        "metric": "latency_p50_ms",
        "unit": "ms",
        "direction": Direction.LOWER,
        "verdict": RowVerdict.SAME,
        "before": 5.58,
        "after": 5.60,
        "effect_ratio": 0.0036,
    }
    return SummaryRow(**(values | changed))


def slower_row(**changed: Any) -> SummaryRow:
    slower: dict[str, Any] = {"verdict": RowVerdict.REGRESSED, "after": 6.43, "effect_ratio": 0.152}
    return make_row(**(slower | {"effect_low": 0.121, "effect_high": 0.183} | changed))


def missing_row(**changed: Any) -> SummaryRow:
    missing: dict[str, Any] = {"verdict": RowVerdict.MISSING, "after": None, "effect_ratio": None}
    return make_row(**(missing | {"reason": "the run timed out"} | changed))


def make_summary(*rows: SummaryRow, against: ReleaseName | None = R126) -> ReleaseSummary:
    return build_summary(
        "onnxruntime",
        R128,
        against,
        rows,
        measured_from=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
        measured_to=datetime(2026, 3, 1, 10, 5, tzinfo=UTC),
    )


def mixed_summary() -> ReleaseSummary:
    return make_summary(
        make_row(series_id="s3", series_name="decode"),
        slower_row(),
        missing_row(series_id="s4", series_name="prefill, isl 1024"),
        slower_row(series_id="s2", series_name="prefill, isl 512", before=28.5, after=32.3, effect_ratio=0.133),
    )


def make_trend(count: int, *, missing: tuple[int, ...] = (), **changed: Any) -> Trend:
    """Return a trend of `count` releases with a step up in the middle, where it has at least three."""
    step = count // 2
    present = [order for order in range(count) if order not in missing]
    values: dict[str, Any] = {
        "title": "prefill, isl 128",
        "unit": "ms",
        "direction": Direction.LOWER,
        "metric": "latency_p50_ms",
        "points": tuple(_make_point(order, 5.6 if order < step else 6.4) for order in present),
        "missing": tuple(MissingRelease(release=f"1.{order}.0", order=order) for order in missing),
    }
    if step in present and count > 2:
        values["changes"] = (TrendChange(order=step, verdict=Change.REGRESSED, effect_ratio=0.143),)
    return Trend(**(values | changed))


def _make_point(order: int, level: float) -> TrendPoint:
    repeats = tuple(level * factor for factor in (0.99, 1.0, 1.02))
    return TrendPoint(
        release=f"1.{order}.0", order=order, level=level, low=repeats[0], high=repeats[2], n=3, repeats=repeats
    )
