"""Charts of cost and fronts are valid specifications and draw only what is known."""

from __future__ import annotations

from alerts.claim_chart import Bar, RatioRow, parts_spec, ratios_spec
from alerts.cost_chart import CostPanel, cost_spec
from alerts.frontier_chart import FrontierDot, FrontierSide, frontier_spec


def check(spec: dict[str, object]) -> None:
    from altair.vegalite.v6.schema.core import TopLevelSpec

    TopLevelSpec.from_dict(spec, validate=True)


def test_cost_is_drawn_in_both_views_and_what_is_unknown_is_left_out() -> None:
    known = CostPanel(name="a", releases=("1.0", "1.1"), as_priced=(0.2, None), software_only=(0.2, 0.1))
    unknown = CostPanel(name="b", releases=("1.0",), as_priced=(None,), software_only=(None,))
    spec = cost_spec([known, unknown], title="cost", axis="USD/M tokens", lower_is_better=True)
    check(spec)
    drawn, empty = spec["vconcat"]
    assert [(row["view"], row["release"], row["value"]) for row in drawn["data"]["values"]] == [
        ("as priced", "1.0", 0.2), ("software only", "1.0", 0.2), ("software only", "1.1", 0.1),
    ]  # fmt: skip
    assert empty["data"]["values"] == [{"text": "no figure is known"}]


def test_fronts_are_drawn_with_what_lies_between_them_gain_and_loss_apart() -> None:
    dots = (FrontierDot(name="c1", x=10, y=5, on_front=True), FrontierDot(name="c2", x=9, y=4, on_front=False))
    side = FrontierSide(release="1.0", dots=dots, curve=((10, 5), (20, 1)))
    both = [(10.0, 5.0, 6.0), (15.0, 3.0, 3.0), (20.0, 1.0, 0.5)]
    spec = frontier_spec(side, side, both, title="front", said="faster here " * 30)
    check(spec)
    areas = [layer for layer in spec["layer"] if layer["mark"]["type"] == "area"]
    assert len({layer["mark"]["color"] for layer in areas}) == 2
    hollow, full = spec["layer"][-2:]
    assert ([row["config"] for row in hollow["data"]["values"]], len(full["data"]["values"])) == (["c2", "c2"], 2)


def test_fronts_without_a_common_coverage_are_drawn_without_an_area() -> None:
    side = FrontierSide(release="1.0", dots=(), curve=((10, 5), (20, 1)))
    spec = frontier_spec(side, side, [], title="front", said="nothing in common")
    check(spec)
    assert all(layer["mark"]["type"] != "area" for layer in spec["layer"])


def test_a_waterfall_starts_each_part_where_the_last_one_ended() -> None:
    bars = [Bar(name="1.1", times=1.5), Bar(name="price", times=0.5), Bar(name="all", times=0.75, is_total=True)]
    spec = parts_spec(bars, title="a title that is long " * 10, said="said")
    check(spec)
    rows = spec["data"]["values"]
    assert [(row["from"], row["to"], row["tone"]) for row in rows] == [
        (1.0, 1.5, "better"), (1.5, 0.75, "worse"), (1.0, 0.75, "total"),
    ]  # fmt: skip
    assert all(len(line) <= 80 for line in spec["title"]["text"])


def test_what_claims_allow_is_drawn_a_line_each_even_without_any() -> None:
    row = RatioRow(claim="a", figure="usd_per_m_tokens", times=5.5, low=4.2, high=7.7, outcome="holds: software")
    for rows in ([row], []):
        spec = ratios_spec(rows, title="claims", said="said")
        check(spec)
        assert len(spec["data"]["values"]) == len(rows)
