"""The identity labels: what makes two measurements belong to one series.

A label that is not stated is simply absent, and a series without it is never merged with one that has it.
What only describes a run (versions, host, driver, measured lengths) is a fact, never a label.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches

from jobs.measurements import Label

_TEXTS = {
    "tool": "the benchmark tool, since the same word means different things in different tools",
    "model": "the model's name",
    "name": "the benchmark's own name, where one file holds many (pytest-benchmark, hyperfine ...)",
    "precision": "number format of the computation (fp32, fp8, nvfp4 ...)",
    "dtype": "number format of the activations, where the tool names it apart",
    "quantization": "how the weights are stored (q8_0, awq ...)",
    "kv_cache_dtype": "number format of the KV cache",
    "spec_decoding": "speculative decoding, by method",
    "offload": "what is kept off the accelerator",
    "dataset": "where the prompts come from",
    "layout": "how prefill, decode and attention are spread over GPUs, where tp, pp and ep do not say it",
    "scenario": "which part of the work (prefill, decode, offline, server ...)",
    "backend": "the engine's backend, or the API that the load generator speaks",
    "framework": "the serving framework, where one tool measures several",
    "device": "what it ran on (cpu, cuda), where the tool names it",
    "input_shape": "shapes of the inputs as the tool writes them",
    "system": "the system as its submitter names it",
    "variant": "variant of the build (cu129, igpu, arch)",
    "python": "minor version of Python, where the benchmark runs in it",
    "pins": "packages held fixed beside the build under test",
}
_COUNTS = {
    "isl": "input tokens asked for",
    "osl": "output tokens asked for",
    "concurrency": "requests in flight",
    "batch": "inputs in one call",
    "threads": "CPU threads used",
    "tp": "tensor parallelism",
    "pp": "pipeline parallelism",
    "ep": "expert parallelism",
    "dp": "data parallelism",
    "gpu_count": "GPUs used, over all nodes",
    "node_count": "machines used, where the suite starts ranks on them ([run.nodes])",
    "prefill_gpus": "GPUs that only prefill, where prefill and decode run apart",
    "decode_gpus": "GPUs that only decode, where prefill and decode run apart",
}
_NUMBERS = {"request_rate": "requests a second offered"}
FACTS: Mapping[str, str] = {
    "concurrency": "requests in flight as measured, where none were asked for",
    "cuda": "version of CUDA",
    "dataset_entries": "prompts in the dataset",
    "date": "when it ran, as the tool writes it",
    "driver": "version of the GPU's driver",
    "gpu": "the GPU's product name",
    "gpu_uuid": "the GPU's UUID",
    "gpus_per_node": "GPUs in one node",
    "image": "the container image as the tool writes it",
    "index": "the GPU's index on its host",
    "isl_mean": "input tokens as measured, mean",
    "loadgen_version": "version of the load generator",
    "nodes": "nodes used",
    "osl_mean": "output tokens as measured, mean",
    "requests": "requests asked for",
    "samples_per_query": "samples in one query",
    "software": "software as its submitter names it",
    "submission": "the submission's id",
}
"""What only describes a run: name -> meaning. A parser that reads a public tool states these and no others."""
IDENTITY_LABELS: Mapping[str, str] = {**_TEXTS, **_COUNTS, **_NUMBERS}
"""Name -> meaning."""
LARGEST_COUNT = 10**12


def label_problem(name: str, value: object) -> str | None:
    """Return what is wrong with an identity label and its value, with the cure; None if nothing is."""
    if name not in IDENTITY_LABELS:
        near = get_close_matches(name, IDENTITY_LABELS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(IDENTITY_LABELS)}"
        return f"unknown identity label {name!r}; {hint}"
    if name in _TEXTS:
        fits, wanted = isinstance(value, str) and bool(value.strip()), "a text that is not empty"
    elif name == "request_rate" and value == "inf":
        return None
    elif name in _COUNTS:
        fits = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST_COUNT
        wanted = f"a whole number from 1 to {LARGEST_COUNT}"
    else:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
        wanted = "a number above 0, or 'inf' for all at once"
    return None if fits else f"label {name!r} must be {wanted}, found {str(value)[:40]!r}"


def series_labels(config: Mapping[str, Label], result: Mapping[str, Label]) -> dict[str, Label]:
    """Return the identity of one result's series: the config's labels, and the result's own, which win."""
    return {**config, **result}
