"""Reads the tables of a whole MLPerf Inference round: `summary_results.json` and the submission checker's CSV.

Whether more is better depends on the unit of the row, and some units are wrong: tokens a second under `Samples/s`.
Source: https://github.com/mlcommons/inference tools/submission/generate_final_report.py and submission_checker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.parsers._tables import first_line, read_tables
from jobs.run_builder import RunBuilder, number_label
from jobs.strict_json import Number, is_text

TOOL = "mlperf_summary_results"
UNITS: Mapping[str, Key] = {
    "Tokens/s": Key("output_tok_s", "tok/s"),
    "Samples/s": Key("req_s", "req/s"),
    "Queries/s": Key("req_s", "req/s"),
}
PERCENTILES: Mapping[str, str] = {"SingleStream": "p90", "MultiStream": "p99"}
"""What a latency means in each scenario; the others are never judged by latency."""
ACCURACY = Key("accuracy", "%")
KEYS: Mapping[str, Key] = {**UNITS, "Latency (ms)": Key("latency_p90_ms", "ms"), "exact_match": ACCURACY}
_LATENCY_UNITS = {"Latency (ms)": "ms", "Latency (s)": "s"}
_LABELS = {"Platform": "system", "weight_data_types": "precision"}
_FACTS = {"ID": "name", "Accelerator": "gpu", "a#": "gpus_per_node", "Nodes": "nodes", "Software": "software"}
_CSV_COLUMNS = {
    "Model": "UsedModel",
    "MlperfModel": "Model",
    "accelerator_model_name": "Accelerator",
    "accelerators_per_node": "a#",
    "number_of_nodes": "Nodes",
    "framework": "Software",
}
"""The checker's columns -> the names of the same in the JSON, which the report generator makes from them."""
_SCENARIOS = {name.lower(): name for name in ("SingleStream", "MultiStream", "Server", "Offline", "Interactive")}
_SCORE = re.compile(r"(?i)(?:^|\s)(?P<key>exact_match|acc|accuracy):\s*(?P<value>[-+.\de]+|nan|inf)(?=\s|$)")
_MAKES_TOKENS = re.compile(r"(?i)llama|mixtral|mistral|deepseek|gpt|whisper|qwen")
_RESULT_IS_TOKENS = re.compile(r"(?i)llama|mixtral|mistral|deepseek|gpt-oss|whisper")
_GPTJ_IS_TOKENS_SINCE = (4, 1)


class MlperfResults:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "summary_results.json of v3.0 to v6.1, and the submission checker's summary.csv"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where rows of a round stand."""
        header = first_line(content).split(",")
        if {"Organization", "Platform", "Scenario", "Result", "Units"} <= set(header):
            return TOOL
        outline = content.outline
        first = outline[0] if isinstance(outline, list) and outline else None
        return TOOL if isinstance(first, dict) and {"Submitter", "Scenario"} <= first.keys() else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a row, in the order of the file."""
        rows, cut = _rows(content)
        if not rows:
            raise Failed("the table has no whole row")
        outcome = ParseOutcome.PARTIAL if cut else ParseOutcome.OK
        runs = tuple(_read(row) for row in rows)
        return ParseResult(tool=TOOL, outcome=outcome, reason="a row is cut or foreign" if cut else "", runs=runs)


def _rows(content: Content) -> tuple[list[Mapping[str, Any]], bool]:
    if content.sample.lstrip().startswith("["):
        rows = content.document
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise Refused("expected a list of objects, one a result")
        return rows, False
    tables, cut = read_tables(content)
    ragged = any(table.ragged for table in tables)
    renamed = [{_CSV_COLUMNS.get(k, k): v for k, v in row.items()} for table in tables[:1] for row in table.rows]
    cells: list[Mapping[str, Any]] = [
        {k: _cell(v) for k, v in row.items()} for row in renamed if row.get("Platform") != "Platform"
    ]
    known = [row for row in cells if str(row.get("Scenario")).lower() in _SCENARIOS]
    return known, cut or ragged or len(known) < len(cells)


def _cell(text: str) -> object:
    return Number(text) if number_label(text) is not None else text


def _read(row: Mapping[str, Any]) -> ParsedRun:
    run = RunBuilder()
    model = row.get("Model") if is_text(row.get("Model")) else row.get("UsedModel")
    scenario = _SCENARIOS.get(str(row.get("Scenario")).lower(), "")
    run.label("model", model if is_text(model) else None)
    run.label("scenario", scenario)
    for column, label in _LABELS.items():
        run.label(label, row.get(column) if is_text(row.get(column)) else None)
    for column, fact in _FACTS.items():
        run.fact(fact, row.get(column) if row.get(column) != "-" else None)
    errors = row.get("errors")
    if isinstance(errors, Number) and errors.strip("0.") != "":
        run.flag("tool_errors")
    if row.get("inferred") == "1":
        run.flag("inferred")
    _take_performance(run, row, str(model), scenario)
    if "Power_Result" in row:
        unit = str(row.get("Power_Units"))
        run.reject("Power_Result", row["Power_Result"], "power of the whole system, not of one GPU", unit)
    for key, value in _scores(row.get("Accuracy")):
        run.take(key, ACCURACY, value)
    return run.build()


def _take_performance(run: RunBuilder, row: Mapping[str, Any], model: str, scenario: str) -> None:
    key = "Performance_Result" if "Performance_Result" in row else "Result"
    value, unit = row.get(key), str(row.get("Performance_Units", row.get("Units")))
    if unit in _LATENCY_UNITS and scenario in PERCENTILES:
        family = "e2e" if _MAKES_TOKENS.search(model) else "latency"
        run.take(key, Key(f"{family}_{PERCENTILES[scenario]}_ms", _LATENCY_UNITS[unit]), value)
    elif unit not in UNITS:
        run.reject(key, value, f"expected one of {', '.join(UNITS)} or a latency of a stream, found {unit}", unit)
    elif unit != "Tokens/s" and _is_tokens(model, row):
        run.flag("unit_doubtful")
        run.reject(
            key, value, "the result of this model is tokens a second in its LoadGen log: the unit is wrong", unit
        )
    else:
        run.take(key, UNITS[unit], value)


def _is_tokens(model: str, row: Mapping[str, Any]) -> bool:
    """Return whether the rounds take this model's result in tokens a second, whatever the unit of the row says."""
    version = re.match(r"v?(\d+)\.(\d+)", str(row.get("version")))
    if "gptj" in model.lower():
        return version is None or (int(version[1]), int(version[2])) >= _GPTJ_IS_TOKENS_SINCE
    return _RESULT_IS_TOKENS.search(model) is not None


def _scores(text: object) -> Iterator[tuple[str, str]]:
    """Yield the scores that are a share of right answers: ROUGE, F1, mAP and the scores of images are none."""
    if is_text(text):
        yield from ((match["key"], match["value"]) for match in _SCORE.finditer(text))


def create() -> MlperfResults:
    """Return the parser."""
    return MlperfResults()
