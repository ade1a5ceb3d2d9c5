"""Reads MLPerf's result tables (summary_results.json): one run a row; the unit of a row says what its figure is.

The unit is wrong in some rows of models that generate tokens (Samples/s or Queries/s): those figures are not taken.
SingleStream is judged by the 90th, MultiStream by the 99th percentile. Source: mlcommons/inference_results_v*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number, is_text, shown

TOOL = "mlperf_summary_results"
RESULT = "Performance_Result"
_RATES: Mapping[str, Key] = {
    "tokens/s": Key("output_tok_s", "tok/s"),
    "samples/s": Key("req_s", "req/s"),
    "queries/s": Key("req_s", "req/s"),
}
_PERCENTILE = {"SingleStream": "p90", "MultiStream": "p99"}
_WITH_TOKENS = re.compile(r"(?i)llama|deepseek|mixtral|mistral|gpt|whisper|qwen")
_ACCURACY = re.compile(r"(?i)\b(?P<name>exact_match|acc|accuracy):\s*(?P<value>[\d.]+)(?=\s|$)")
_LABELS = {
    "Model": "model",
    "Scenario": "scenario",
    "Platform": "system",
    "Accelerator": "gpu",
    "a#": "gpus_per_node",
    "Nodes": "nodes",
    "weight_data_types": "precision",
    "Software": "software",
}


class MlperfResults:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "summary_results.json of v3 to v6"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {f"{RESULT} in {unit}": key for unit, key in _RATES.items()}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for a list of submitters' rows."""
        outline = content.outline
        first = outline[0] if isinstance(outline, list) and outline else None
        return TOOL if isinstance(first, dict) and {"Submitter", "Scenario"} <= first.keys() else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a row."""
        rows = content.document
        if not all(isinstance(row, dict) for row in rows):
            raise Refused("expected a list of objects")
        return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=tuple(_read(row) for row in rows))


def create() -> MlperfResults:
    """Return the parser."""
    return MlperfResults()


def _read(row: Mapping[str, Any]) -> ParsedRun:
    run = RunBuilder()
    run.fact("name", row.get("ID"))
    for own, name in _LABELS.items():
        run.label(name, row.get(own))
    unit, value = row.get("Performance_Units"), row.get(RESULT)
    model, scenario = str(row.get("Model", "")), str(row.get("Scenario", ""))
    with_tokens = _WITH_TOKENS.search(model) is not None
    if not is_text(unit) or not isinstance(value, Number):
        run.reject(RESULT, value, f"expected a number and its unit, found {shown(unit)}")
    elif unit.lower() == "latency (ms)" and scenario in _PERCENTILE:
        family = "e2e" if with_tokens else "latency"
        run.take(RESULT, Key(f"{family}_{_PERCENTILE[scenario]}_ms", "ms"), value)
    elif unit.lower() in _RATES:
        key = _RATES[unit.lower()]
        if with_tokens and key.metric == "req_s":
            run.flag("unit_doubtful")
            run.reject(RESULT, value, f"the unit {unit} cannot be right for {model}, which is scored in tokens", unit)
        else:
            run.take(RESULT, key, value)
    else:
        run.reject(RESULT, value, f"unknown unit {shown(unit)} for the scenario {shown(scenario)}", unit)
    accuracy = _ACCURACY.search(str(row.get("Accuracy", "")))
    if accuracy:
        run.take(accuracy["name"], Key("accuracy", "%"), accuracy["value"])
    return run.build()
