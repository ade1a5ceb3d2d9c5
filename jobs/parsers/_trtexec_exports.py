"""The JSON files that trtexec exports: only the times of single inferences hold a result."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.errors import Refused, UserError
from jobs.measurements import ParsedRun
from jobs.metrics import Key, statistic_keys
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number, shown
from jobs.units import convert

LATENCY = "latencyMs"
TIMES: Mapping[str, Key] = statistic_keys(f"{LATENCY}, {{}}", "latency", "ms")
_PARTS = (("inMs", "computeMs", "outMs"), ("h2dMs", "computeMs", "d2hMs"))
_WITH_WARMUP = ("endToEndMs", "outMs")
"""Keys of TensorRT 7 to 8.2, which exported the warm-up too (so did 8.4; from 8.5 on it is left out)."""
_NO_RESULT = {
    "profile": "--exportProfile holds times per layer, no result of the whole engine",
    "layers": "--exportLayerInfo describes layers, it holds no time",
    "output": "--exportOutput holds output tensors, no time",
    "tuning": "a tuning result holds the GPU's compute time of one route, no latency and no throughput",
}


def export_kind(outline: object) -> str | None:
    """Return which of trtexec's exports a JSON value is: times, profile, layers, output or tuning; None if none."""
    if isinstance(outline, dict):
        if {"Layers", "Bindings"} <= outline.keys():
            return "layers"
        return "tuning" if {"gpu_time_ms", "accuracy_failed"} <= outline.keys() else None
    first = outline[0] if isinstance(outline, list) and outline else None
    if not isinstance(first, dict):
        return None
    keys = first.keys()
    if keys == {"count"} or {"name", "timeMs", "averageMs"} <= keys:
        return "profile"
    if {"name", "dimensions", "values"} <= keys:
        return "output"
    return "times" if "computeMs" in keys or {"startComputeMs", "endComputeMs"} <= keys else None


def read_times(document: Any) -> ParsedRun:
    """Return the latency in ms over all inferences of `--exportTimes`, as trtexec computes it; raise Refused."""
    kind = export_kind(document)
    if kind != "times":
        raise Refused(_NO_RESULT.get(kind or "", "expected the list of inferences of --exportTimes"))
    ordered = sorted(_latency_ms(number, entry) for number, entry in enumerate(document, start=1))
    values = {"mean": statistics.fmean(ordered), "median": statistics.median(ordered)}
    values |= {f"{percent}th percentile": _percentile(ordered, percent) for percent in (90, 95, 99)}
    run = RunBuilder()
    for own, key in TIMES.items():
        statistic = own.removeprefix(f"{LATENCY}, ")
        said = f"{statistic} of {LATENCY} over all {len(ordered)} inferences of the file"
        run.take(own, key, repr(values[statistic]), samples=len(ordered), said=said)
    if any(key in document[0] for key in _WITH_WARMUP):
        run.flag("warmup_included")
    return run.build()


def _latency_ms(number: int, entry: object) -> float:
    """Return the time of one inference: host to device, compute and device to host."""
    if not isinstance(entry, dict):
        raise Refused(f"inference {number} must be an object, found {shown(entry)}")
    parts = next((names for names in ((LATENCY,), *_PARTS) if all(name in entry for name in names)), ())
    found = [entry[name] for name in parts]
    if not found or not all(isinstance(value, Number) for value in found):
        raise Refused(f"inference {number} has no {LATENCY}, nor the three times that it is made of")
    try:
        times = [convert(value, "ms", "ms") for value in found]
    except UserError as error:
        raise Refused(f"inference {number} has no usable time: {error}") from error
    if min(times) < 0:
        raise Refused(f"inference {number} took less than no time: {min(times)} ms")
    return sum(times)


def _percentile(ordered: Sequence[float], percent: int) -> float:
    """Return the percentile as trtexec computes it: the largest value after the slowest share is left out."""
    excluded = int((1 - percent / 100) * len(ordered))
    return ordered[max(len(ordered) - 1 - excluded, 0)]
