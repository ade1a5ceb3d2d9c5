"""The shipped suites for TensorRT-LLM and TensorRT against the published rows that they follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources

import pytest

from baselines.references import Reference, read_csv
from baselines.references.matching import Measured, find_differences, gpus_used, parallelism_of
from jobs.measurements import Label
from jobs.names import same_model
from jobs.suite import expand, find_suite, load_suite

DATA = resources.files("baselines.references") / "data" / "nvidia-inference-performance.csv"
ROWS = [one for one in read_csv(DATA.read_text(encoding="utf-8")) if not one.printed.mlperf]
TRTLLM = [one for one in ROWS if (one.printed.framework or "").startswith("TensorRT-LLM")]
TENSORRT = [one for one in ROWS if (one.printed.framework or "").startswith("TensorRT ")]
THROUGHPUT = ("trtllm-throughput-fp4", "trtllm-throughput-fp8")
TRTEXEC = ("tensorrt-vision", "tensorrt-detection", "tensorrt-bert")
PIPELINES = {"Stable-Diffusion-XL", "Stable-Video-Diffusion", "Flux Image Generator"}
"""Of several engines: no single call of trtexec measures them."""


def labels_of(names: tuple[str, ...]) -> list[Mapping[str, Label]]:
    suites = [load_suite(find_suite(name)) for name in names]
    return [config.labels for suite in suites for config in expand(suite, python_minor="3.11")]


def answering(one: Reference, configs: list[Mapping[str, Label]]) -> Iterator[Mapping[str, Label]]:
    """Yield the configs whose series would be held against a row, on the row's GPU."""
    for labels in configs:
        if one.model is None or not same_model(one.model, str(labels["model"])):
            continue
        shape = {"input_shape": f"input={labels['batch']}x3"} if labels["tool"] == "trtexec" else {}
        measured = Measured(labels={**labels, **shape}, metric="", value=None, gpu=one.gpu, gpus=8)
        used = gpus_used(measured)
        if not any(find_differences(measured, one, used, parallelism_of(labels, used))):
            yield labels


@pytest.mark.parametrize("one", TRTLLM, ids=lambda one: f"line {one.printed.line}")
def test_each_published_row_of_tensorrt_llm_has_one_config(one: Reference) -> None:
    assert len(list(answering(one, labels_of(THROUGHPUT)))) == 1


@pytest.mark.parametrize("labels", labels_of(THROUGHPUT), ids=lambda labels: f"{labels['model']}-{labels['isl']}")
def test_each_config_of_the_throughput_suites_has_a_published_row(labels: Mapping[str, Label]) -> None:
    assert [one for one in TRTLLM if list(answering(one, [labels]))]


@pytest.mark.parametrize("one", TENSORRT, ids=lambda one: f"line {one.printed.line}")
def test_each_published_row_of_tensorrt_has_one_config_but_for_pipelines(one: Reference) -> None:
    assert len(list(answering(one, labels_of(TRTEXEC)))) == (one.model not in PIPELINES)


def test_the_page_was_read() -> None:
    assert (len(TRTLLM), len(TENSORRT)) == (83, 57)
