"""Reads InferenceX's aggregate JSON: seconds, figures per GPU, interactivity as 1 / TPOT.

`median_intvty` is tok_s_user; the other intvty are no statistics of a rate. output_tput_per_gpu divides by the decode
GPUs when prefill and decode are apart. Source: SemiAnalysisAI/InferenceX utils/process_result.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.releases import read_tag
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number, is_text

AGGREGATE, AGENTIC = "inferencex_agg", "inferencex_agentic"
_WORDS = {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}
KEYS: Mapping[str, Key] = {
    "tput_per_gpu": Key("total_tok_s_per_gpu", "tok/s/GPU"),
    "output_tput_per_gpu": Key("output_tok_s_per_gpu", "tok/s/GPU"),
    "median_intvty": Key("tok_s_user", "tok/s/user"),
    "avg_power_w": Key("power_w", "W"),
    **statistic_keys("{}_ttft", "ttft", "s", _WORDS),
    **statistic_keys("{}_tpot", "tpot", "s", _WORDS),
    **statistic_keys("{}_itl", "itl", "s", _WORDS),
    **statistic_keys("{}_e2el", "e2e", "s", _WORDS),
}
_LABELS = {
    "model": "model",
    "hw": "gpu",
    "conc": "concurrency",
    "isl": "isl",
    "osl": "osl",
    "tp": "tp",
    "ep": "ep",
    "pp": "pp",
    "precision": "precision",
    "framework": "framework",
    "spec_decoding": "spec_decoding",
    "image": "image",
    "num_gpus": "gpu_count",
}
_OTHERS = re.compile(
    r"(?:std|mean|median|p[\d.]+)_\w+|input_tput_per_gpu|schema_version|power_\w+|avg_total_gpu_power_w|joules_\w+"
    r"|(?:prefill|decode)_\w+|num_\w+|total_\w+|dp_attention|\w+_energy\w*|\w*_id|run_\w+|\w+_hit_rate|duration\w*"
)
_NONE = frozenset({"none", "null", ""})


class Inferencex:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (AGGREGATE, AGENTIC)
    reads = "aggregate JSON of schema 1 and 2, agentic results with the same keys"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {AGGREGATE: KEYS, AGENTIC: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return which result it is; a list of such results is read too."""
        outline = content.outline
        first = outline[0] if isinstance(outline, list) and outline else outline
        if not isinstance(first, dict) or not {"hw", "framework"} <= first.keys():
            return None
        agentic = str(first.get("scenario", first.get("benchmark_type", ""))).startswith("agent")
        known = {"tput_per_gpu", "conc", "infmax_model_prefix", "model_prefix"} & first.keys()
        return (AGENTIC if agentic else AGGREGATE) if known else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a result."""
        document = content.document
        entries = document if isinstance(document, list) else [document]
        if not all(isinstance(entry, dict) for entry in entries):
            raise Refused("expected an object, or a list of objects")
        runs = tuple(_read(entry, tool) for entry in entries)
        if not any(run.metrics for run in runs):
            raise Failed("no usable value: the benchmark left no figures")
        versions = {_version(entry.get("image")) for entry in entries}
        version = versions.pop() if len(versions) == 1 else None
        return ParseResult(tool=tool, outcome=ParseOutcome.OK, version=version, runs=runs)


def create() -> Inferencex:
    """Return the parser."""
    return Inferencex()


def _read(entry: Mapping[str, Any], tool: str) -> ParsedRun:
    run = RunBuilder()
    for own, name in _LABELS.items():
        value = entry.get(own)
        run.label(name, None if is_text(value) and value.lower() in _NONE else value)
    for own, value in entry.items():
        if own == "avg_power_w" and entry.get("power_valid") is False:
            run.reject(own, value, "the tool calls its power invalid", "W")
        elif own in KEYS:
            run.take(own, KEYS[own], value)
        elif isinstance(value, Number) and own not in _LABELS and not _OTHERS.fullmatch(own):
            run.unknown(own, value, tool)
    return run.build()


def _version(image: Any) -> str | None:
    """Return the version in an image's tag (`repo:v0.21.0`, also `nvcr.io#nvidia/...`); None where it holds none."""
    if not is_text(image):
        return None
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    return read_tag(tag).version if tag else None
