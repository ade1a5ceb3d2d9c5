"""Reads the metrics JSON of TorchBench's userbenchmarks test_bench and cpu, also behind printed lines.

`latencies` is the median in ms, `gpu_peak_mem` in GiB; a metric that failed is a text in place of a number.
Source: https://github.com/pytorch/benchmark userbenchmark/test_bench/run.py, cpu/cpu_utils.py, utils.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.run_builder import RunBuilder, number_label
from jobs.strict_json import Number, decode, is_text, shown

TOOL = "torchbench"
KEYS: Mapping[str, Key] = {
    "latencies": Key("latency_p50_ms", "ms"),
    "latency": Key("latency_p50_ms", "ms"),
    "gpu_peak_mem": Key("memory_gb", "GiB"),
}
OTHER_KEYS = frozenset({"cpu_peak_mem", "cmem", "accuracy", "memleak", "ttfb", "model_flops", "pt2_graph_breaks"})
_DRY_RUN = "skip_by_dryrun"
_TEST_BENCH = re.compile(
    r"model=(?P<model>.+?), test=(?P<test>\w+), device=(?P<device>\w+), bs=(?P<batch>\w+), "
    r"extra_args=\[(?P<arguments>.*)\], metric=(?P<metric>\w+)"
)
_CPU = re.compile(r"(?P<name>.+-(?P<test>eval|train))_(?P<metric>latency|throughput|cmem)")
_ARGUMENT = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_START, _END = re.compile(r"^[{\[]", re.MULTILINE), re.compile(r"^[}\]]", re.MULTILINE)


class TorchBench:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "metrics JSON of the userbenchmarks test_bench and cpu"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where an environment with PyTorch's commit stands beside metrics."""
        text = content.sample
        ours = all(f'"{key}"' in text for key in ("environ", "pytorch_git_version", "name"))
        return TOOL if ours or "Running TorchBenchModelConfig(" in text else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a model and configuration; a bisection is read where it holds one result."""
        document = _document(content)
        if isinstance(document, dict) and "result" in document:
            document = _only_digest(document["result"])
        metrics = document.get("metrics") if isinstance(document, dict) else None
        environment = document.get("environ") if isinstance(document, dict) else None
        if not isinstance(metrics, dict) or not isinstance(environment, dict):
            raise Refused(f"expected an object with environ and metrics, found {shown(document)}")
        runs = _read(metrics, environment)
        if not any(run.metrics for run in runs):
            raise _no_result(metrics)
        version = environment.get("pytorch_version")
        return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, version=version if is_text(version) else None, runs=runs)


def _document(content: Content) -> Any:
    """Return the JSON, which may stand between printed lines; raise Failed where only those are left of a crash."""
    text = content.whole()
    start = _START.search(text)
    if start is None:
        last = next((line for line in reversed(text.split("\n")) if line.strip()), "")
        raise Failed(f"no metrics; the last line is {last.strip()[:80]!r}")
    ends = [end.end() for end in _END.finditer(text, start.end())]
    return decode(text[start.start() : ends[-1]] if ends else text[start.start() :])


def _only_digest(entries: object) -> Any:
    """Return the one result of a bisection; raise Refused where it compares two commits."""
    found = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    digests = [value for entry in found for key, value in entry.items() if key.endswith("_digest") and value]
    if len(digests) != 1:
        raise Refused(f"expected the result of one build, found a bisection with {len(digests)}")
    return digests[0]


def _read(metrics: Mapping[str, Any], environment: Mapping[str, Any]) -> tuple[ParsedRun, ...]:
    runs: dict[str, RunBuilder] = {}
    for key, value in metrics.items():
        match = _TEST_BENCH.fullmatch(key) or _CPU.fullmatch(key)
        name = key[: match.start("metric")] if match else ""
        if name not in runs:
            runs[name] = RunBuilder()
            _label(runs[name], match.groupdict() if match else {}, environment)
        _take(runs[name], key, match["metric"] if match else "", value)
    return tuple(run.build() for run in runs.values())


def _label(run: RunBuilder, parts: Mapping[str, str], environment: Mapping[str, Any]) -> None:
    gpu = environment.get("device")
    run.fact("gpu", gpu if is_text(gpu) and gpu not in ("cpu", "cuda") else None)
    if "name" in parts:
        run.label("name", parts["name"])
        run.label("device", "cpu")
        return
    run.label("model", parts.get("model"))
    run.label("device", parts.get("device"))
    if parts.get("test") != "eval":
        run.label("scenario", parts.get("test"))
    batch = parts.get("batch", "None")
    run.label("batch", number_label(batch) if batch.isdigit() else None)
    arguments = [first or second for first, second in _ARGUMENT.findall(parts.get("arguments", ""))]
    for number, argument in enumerate(arguments[:-1]):
        if argument == "--precision":
            run.label("precision", arguments[number + 1])
            del arguments[number : number + 2]
            break
    run.label("backend", " ".join(arguments))


def _take(run: RunBuilder, key: str, metric: str, value: object) -> None:
    if is_text(value):
        run.flag("tool_errors")
        run.reject(key, value, "a text in place of a number: it failed or was not measured")
    elif metric in KEYS and isinstance(value, Number):
        run.take(key, KEYS[metric], value)
    elif metric not in OTHER_KEYS:
        run.unknown(key, value, TOOL)


def _no_result(metrics: Mapping[str, Any]) -> Refused | Failed:
    texts = {key: value for key, value in metrics.items() if is_text(value)}
    if not metrics:
        return Failed("the metrics are empty: no model was run")
    measured = [value for key, value in texts.items() if key.endswith(("latencies", "latency"))]
    if measured and any(value != _DRY_RUN for value in measured):
        return Failed(f"no model gave a latency: {shown(measured[0])}")
    return Refused(f"nothing numeric to take: {', '.join(shown(value) for value in list(metrics.values())[:3])}")


def create() -> TorchBench:
    """Return the parser."""
    return TorchBench()
