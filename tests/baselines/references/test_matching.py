"""A series that says what a row says is held against it; change one thing and it is not, but the row is told of."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines.references import (
    Measured,
    Reference,
    comparable_metrics,
    group_by_model,
    match_series,
    model_key,
    read_csv,
    read_page,
)
from baselines.references.reference import Printed, derive
from jobs.measurements import Label

DATA = resources.files("baselines.references") / "data" / "nvidia-inference-performance.csv"
SHIPPED = [one for one in read_csv(DATA.read_text(encoding="utf-8")) if one.canonical is not None]
GROUPS = group_by_model(SHIPPED)


def twin(one: Reference, times: float = 1.0) -> Measured:
    """Return a series that states all that a published row states, at `times` its figure."""
    printed, canonical = one.printed, one.canonical
    assert canonical is not None
    labels: dict[str, str | int] = {"model": str(one.model), "gpu_count": printed.gpus or 1}
    stated = {"isl": printed.isl, "osl": printed.osl, "batch": printed.batch, "precision": printed.precision}
    labels |= {name: value for name, value in stated.items() if value is not None}
    for kind, size in re.findall(r"([A-Z]+)(\d+)", printed.parallelism or ""):
        labels |= {"ep": int(size), "dp": int(size)} if kind == "DEP" else {kind.lower(): int(size)}
    if printed.mlperf:
        labels |= {"tool": "mlperf_loadgen_summary", "scenario": str(printed.scenario).title()}
    return Measured(
        labels=labels, metric=canonical.metric, value=canonical.value * times, gpu=f"NVIDIA {one.gpu}", gpus=8
    )


@pytest.mark.parametrize("one", SHIPPED, ids=lambda one: f"line {one.printed.line}")
def test_a_series_that_says_what_a_row_says_is_held_against_it(one: Reference) -> None:
    found = match_series(twin(one, 1.25), GROUPS[model_key(str(one.model))])
    assert [matched.reference.printed.line for matched in found.exact] == [one.printed.line]
    assert found.exact[0].ratio == pytest.approx(1.25, rel=1e-12)
    assert found.near == ()


@given(
    one=st.sampled_from(SHIPPED),
    change=st.sampled_from(["isl", "osl", "batch", "precision", "gpu_count", "scenario", "concurrency", "gpu"]),
    leave_out=st.booleans(),
)
def test_whatever_is_changed_or_left_out_is_named_and_never_matched(
    one: Reference, change: str, leave_out: bool
) -> None:
    series = twin(one)
    before = series.labels.get(change)
    if change == "gpu":
        series = replace(series, gpu=None if leave_out else "NVIDIA T4")
    elif change == "concurrency":
        series = replace(series, labels={**series.labels, "concurrency": 8})
    elif before is None:
        return
    elif leave_out:
        series = replace(series, labels={name: v for name, v in series.labels.items() if name not in (change, "tp")})
    else:
        other = before + 7919 if isinstance(before, int) else "another"
        series = replace(series, labels={**series.labels, change: other})
    found = match_series(series, SHIPPED)
    assert one.printed.line not in {matched.reference.printed.line for matched in found.exact}
    assert found.exact or found.near
    for near in found.near:
        assert near.differences
        assert near.cure


PAGE = """
| Model | Parallelism | Input Length | Output Length | Throughput | GPU | Server | Precision | Framework |
|---|---|---|---|---|---|---|---|---|
| Borealis 70B | TP2 | 1000 | 1000 | 4,000 output tokens/sec | 2x H200 | DGX H200 | FP8 | TensorRT-LLM 1.1 |
| Borealis 70B | TP2 | 1024 | 8192 | 2,000 output tokens/sec/gpu | 2x H200 | DGX H200 | FP8 | TensorRT-LLM 1.1 |
"""
LABELS = {"model": "org/borealis-70b", "tp": 2, "isl": 1000, "osl": 1000, "precision": "fp8"}


def match(metric: str = "output_tok_s", value: float | None = 4400.0, **labels: str | int):
    series = Measured(labels={**LABELS, **labels}, metric=metric, value=value, gpu="NVIDIA H200", gpus=8)
    return match_series(series, read_page(PAGE).references)


def test_figures_of_the_system_and_of_one_gpu_are_converted() -> None:
    assert match().exact[0].ratio == pytest.approx(1.1)
    assert match("output_tok_s_per_gpu", 2200.0).exact[0].ratio == pytest.approx(1.1)
    assert match("output_tok_s", 4400.0, isl=1024, osl=8192).exact[0].published == 4000.0
    assert match("total_tok_s").near == match("latency_p50_ms").near == ()


def test_a_series_without_a_value_has_no_ratio() -> None:
    (found,) = match(value=None).exact
    assert (found.published, found.ratio) == (4000.0, None)


def test_the_nearest_row_is_the_one_whose_numbers_lie_nearest() -> None:
    near = match(isl=1024, osl=1024).near[0]
    assert [str(one) for one in near.differences] == ["ISL 1024 instead of 1000", "OSL 1024 instead of 1000"]
    assert near.cure == "measure with ISL 1000, OSL 1000"


def test_what_to_do_tells_apart_what_is_not_stated_and_what_differs() -> None:
    series = Measured(labels={"model": "borealis 70b", "concurrency": 8}, metric="output_tok_s", value=1.0)
    assert match_series(series, read_page(PAGE).references).near[0].cure == (
        "state gpu=H200, gpu_count=2, precision=FP8, tp=2, isl=1000, osl=1000 if that is what was measured"
        " and measure with no limit on concurrency"
    )


def test_nobody_else_than_mlperf_is_held_against_mlperf() -> None:
    row = next(one for one in SHIPPED if one.printed.mlperf)
    series = twin(row)
    other = replace(series, labels={**series.labels, "tool": "vllm"})
    near = match_series(other, [row]).near[0]
    assert [str(one) for one in near.differences] == ["benchmark vllm instead of MLPerf"]


def test_metrics_that_convert_are_comparable() -> None:
    assert comparable_metrics(read_page(PAGE).references) >= {"output_tok_s", "output_tok_s_per_gpu"}
    assert "total_tok_s" not in comparable_metrics(SHIPPED)


def test_batches_of_trtexec_are_held_against_samples_where_the_shape_says_how_many() -> None:
    one = derive(
        Printed(line=1, table=1, model="HF ViT Base", number="4000", unit="samples/sec", gpus=1,
                gpu="H200", batch=16, precision="FP8")
    )  # fmt: skip
    labels: dict[str, Label] = {
        "tool": "trtexec", "model": "HF-ViT-Base", "batch": 16, "precision": "fp8", "gpu_count": 1,
        "input_shape": "mask=1x1,pixel_values=16x3x4x4",
    }  # fmt: skip
    found = match_series(Measured(labels=labels, metric="req_s", value=275.0, gpu="NVIDIA H200"), [one])
    assert [(match.published, match.ratio) for match in found.exact] == [(250.0, 1.1)]
    for shape in ("", "pixel_values=160x3x4x4", "pixel_values=3x16"):
        other = Measured(labels={**labels, "input_shape": shape}, metric="req_s", value=275.0, gpu="NVIDIA H200")
        (near,) = match_series(other, [one]).near
        assert [difference.name for difference in near.differences] == ["what is counted"]


@pytest.mark.parametrize("name", ["isl", "osl", "gpus", "gpu", "precision", "parallelism"])
def test_a_row_that_lost_what_it_would_have_to_state_is_never_matched(name: str) -> None:
    whole = next(one for one in SHIPPED if one.printed.isl and one.printed.parallelism == "TP4")
    lost = derive(replace(whole.printed, **{name: None}, **({"gpu_version": None} if name == "gpu" else {})))
    if lost.canonical is None:
        pytest.fail("the figure itself is not touched")
    found = match_series(twin(whole), [lost])
    assert found.exact == ()
    assert [one.published for one in found.near[0].differences] == [None]
    assert found.near[0].cure.startswith("find a row that states its ")


def test_a_row_of_mlperf_without_a_scenario_is_never_matched() -> None:
    whole = next(one for one in SHIPPED if one.printed.mlperf)
    assert match_series(twin(whole), [derive(replace(whole.printed, scenario=None))]).exact == ()
