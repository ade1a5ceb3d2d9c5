"""Reads vLLM's own benchmarks: serve (benchmark_serving.py before 2025), throughput and latency.

Each as JSON, as records in PyTorch's format (one a metric, several a run) and printed. `failed` exists since late 2025:
before, the number of failed requests is not known. Sources: vllm-project/vllm vllm/benchmarks/{serve,throughput,
latency}.py and lib/utils.py; benchmarks/benchmark_{serving,throughput,latency}.py of 2024.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.parsers import _serving_block as block
from jobs.parsers import _serving_log as log
from jobs.parsers import _vllm_offline as offline
from jobs.parsers._arguments import engine_labels, serving_labels
from jobs.parsers._repeats import without_repeats
from jobs.parsers._serving_json import first_result, keys_of, read_records, read_serving, writer_of_record
from jobs.parsers._vllm_offline import LATENCY, THROUGHPUT

SERVE = block.VLLM
SERVE_KEYS: Mapping[str, Key] = {
    **keys_of("e2el", "_ms", "ms"),
    "total_token_throughput": Key("total_tok_s", "tok/s"),
    "request_inthroughput": Key("req_s", "req/s"),
}
"""`request_inthroughput` is how early 2024 wrote the requests a second."""


class Vllm:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (SERVE, THROUGHPUT, LATENCY)
    reads = "bench serve, throughput, latency of 2024 to 2026: JSON, PyTorch-benchmark JSON, printed"
    landmarks: tuple[str, ...] = (*log.LANDMARKS, *offline.LANDMARKS)
    keys: Mapping[str, Mapping[str, Key]] = {
        SERVE: {**SERVE_KEYS, **block.KEYS, **block.FIRST_KEYS},
        THROUGHPUT: offline.THROUGHPUT_KEYS,
        LATENCY: offline.LATENCY_KEYS,
    }

    def recognises(self, content: Content) -> str | None:
        """Return which of the three benchmarks wrote it."""
        record = first_result(content)
        if record is not None:
            return _kind_of_metric(record) if _is_metric(record) else _kind_of(record)
        found = log.writer_of(content)
        if found:
            return SERVE if found == SERVE else None
        return offline.printed_kind(content.sample)

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a result."""
        record = first_result(content)
        if record is None:
            return log.read_log(content, tool) if tool == SERVE else offline.read_printed(content, tool)
        if _is_metric(record):
            return _read_metrics(content.document, tool)
        if tool == SERVE:
            return read_records(content, tool, _kind_of, lambda one: read_serving(one, SERVE, SERVE_KEYS))
        return read_records(content, tool, _kind_of, lambda one: offline.read_result(one, tool, {}))


def create() -> Vllm:
    """Return the parser."""
    return Vllm()


def _kind_of(record: Mapping[str, Any]) -> str | None:
    found = writer_of_record(record)
    return found if found == SERVE else offline.json_kind(record) if found is None else None


# --- records in PyTorch's format -------------------------------------------------------------------------------


def _dict(value: Any, *path: str) -> Mapping[str, Any]:
    """Return the object at a path of keys, empty where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _is_metric(record: Mapping[str, Any]) -> bool:
    """Return whether it is a record of one metric that vLLM wrote."""
    name = _dict(record, "benchmark").get("name")
    return isinstance(name, str) and name.startswith("vLLM")


def _kind_of_metric(record: Mapping[str, Any]) -> str:
    name = _dict(record, "metric").get("name")
    if name == "latency":
        return LATENCY
    return THROUGHPUT if name in offline.THROUGHPUT_KEYS else SERVE


def _read_metrics(document: Any, tool: str) -> ParseResult:
    """Return one run for all records with the same model, arguments and further values."""
    if not isinstance(document, list) or not all(isinstance(one, dict) and _is_metric(one) for one in document):
        raise Refused("expected a list of records with benchmark, model and metric")
    strangers = sum(_kind_of_metric(record) != tool for record in document)
    groups = _groups([record for record in document if _kind_of_metric(record) == tool])
    runs = without_repeats(run for run in (_read_group(group, tool) for group in groups) if run.metrics)
    if not any(log.is_figure(name) for run in runs for name in run.metrics):
        raise Failed("no record has a usable value")
    return ParseResult(
        tool=tool,
        outcome=ParseOutcome.PARTIAL if strangers else ParseOutcome.OK,
        reason=f"{strangers} records are of another benchmark" if strangers else "",
        runs=runs,
    )


def _groups(records: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the records of each run: a run begins where the surroundings change or a metric comes again."""
    group: list[Mapping[str, Any]] = []
    names: set[str] = set()
    surroundings = ""
    for record in records:
        name = str(_dict(record, "metric").get("name"))
        args = _dict(record, "benchmark", "extra_info", "args")
        around = json.dumps([_dict(record, "model"), args, _dict(record, "metric", "extra_info")], sort_keys=True)
        if group and (name in names or around != surroundings):
            yield group
            group, names = [], set()
        group.append(record)
        names.add(name)
        surroundings = around
    if group:
        yield group


def _read_group(group: Sequence[Mapping[str, Any]], tool: str) -> ParsedRun:
    """Return the run of some records; the further values that stand beside each metric count once."""
    values: dict[str, Any] = dict(_dict(group[0], "metric", "extra_info"))
    for record in group:
        metric = _dict(record, "metric")
        several = metric.get("benchmark_values")
        name = metric.get("name")
        if tool == LATENCY and name == "latency":
            values["latencies"] = several
        elif isinstance(name, str):
            values[name] = several[0] if isinstance(several, list) and len(several) == 1 else None
    args = {
        str(name): str(value)
        for name, value in _dict(group[0], "benchmark", "extra_info", "args").items()
        if isinstance(value, str) and value
    }
    stated = serving_labels(args) if tool == SERVE else engine_labels(args)
    labels: dict[str, object] = {**stated, "model": _dict(group[0], "model").get("name")}
    if tool == SERVE:
        return read_serving(values, SERVE, SERVE_KEYS, labels)
    return offline.read_result(values, tool, labels)
