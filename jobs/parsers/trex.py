"""Reads the metadata that TREx extracts from a trtexec log (`*.profile.metadata.json`).

Source: NVIDIA/TensorRT tools/experimental/trt-engine-explorer utils/parse_trtexec_log.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from jobs.content import Content
from jobs.errors import Refused
from jobs.measurements import Label, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.run_builder import RunBuilder, number_label
from jobs.strict_json import shown

TOOL = "trex"
THROUGHPUT, LATENCY = "performance_summary.Throughput", "performance_summary.Latency"
_PLACES = {
    5: ("min", "max", "mean", "p50", "p99"),
    7: ("min", "max", "mean", "p50", "p90", "p95", "p99"),
}
"""What the numbers of a latency are, by their count: trtexec's own percentiles up to 8.4, and from 8.5 on."""
_CANONICAL = ("mean", "p50", "p90", "p95", "p99")
KEYS: Mapping[str, Key] = {
    THROUGHPUT: Key("req_s", "req/s"),
    **{f"{LATENCY}[{place}]": Key(f"latency_{_PLACES[7][place]}_ms", "ms") for place in range(2, 7)},
}
"""Of seven numbers; of five the last is the 99th percentile."""
OTHER_KEYS = frozenset(
    {
        *("End-to-End Host Latency", "Enqueue Time", "H2D Latency", "GPU Compute Time", "D2H Latency"),
        *("Total Host Walltime", "Total GPU Compute Time"),
    }
)


class Trex:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "*.profile.metadata.json"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where a performance summary stands in an object, or the options of a build."""
        keys = content.outline.keys() if isinstance(content.outline, dict) else set()
        return TOOL if "performance_summary" in keys or {"model_options", "build_options"} <= keys else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return the one result; partial where the log that it was made of lacked a line."""
        document = content.document
        summary = document.get("performance_summary")
        if summary is None:
            raise Refused("build metadata describes how an engine was built, it holds no time")
        if not isinstance(summary, dict) or not {"Throughput", "Latency"} & summary.keys():
            raise Refused(f"expected Throughput and Latency under performance_summary, found {shown(summary)}")
        run = RunBuilder()
        options = {name.strip(): value for name, value in _part(document, "inference_options").items()}
        run.label("gpu", _part(document, "device_information").get("Selected Device"))
        run.label("input_shape", options.get("Input inference shape"))
        if str(batch := options.get("Batch")).isdigit():
            run.label("batch", number_label(str(batch)))
        run.take(THROUGHPUT, KEYS[THROUGHPUT], summary.get("Throughput"))
        _take_latency(run, summary.get("Latency"))
        for name in summary.keys() - OTHER_KEYS - {"Throughput", "Latency"}:
            run.unknown(f"performance_summary.{name}", summary[name], TOOL)
        missing = [name for name in ("Throughput", "Latency") if name not in summary]
        if missing:
            run.flag("truncated")
        return ParseResult(
            tool=TOOL,
            outcome=ParseOutcome.PARTIAL if missing else ParseOutcome.OK,
            reason=f"no {missing[0]} in the performance summary" if missing else "",
            runs=(run.build(),),
        )


def _take_latency(run: RunBuilder, latency: object) -> None:
    """Take the statistics by their place; where the percentiles are not trtexec's own, only mean and median."""
    if latency is None:
        return
    if not isinstance(latency, list) or len(latency) < len(_PLACES[5]) - 1:
        run.reject(LATENCY, latency, "expected a list of min, max, mean, median and percentiles", "ms")
        return
    names = _PLACES.get(len(latency), _PLACES[5][:4])
    for place, (name, value) in enumerate(zip(names, latency, strict=False)):
        if name in _CANONICAL:
            run.take(f"{LATENCY}[{place}]", Key(f"latency_{name}_ms", "ms"), value)
    if len(names) < len(latency):
        run.reject(f"{LATENCY}[4:]", latency[4:], "nobody can tell which percentiles these are", "ms")


def _part(document: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = document.get(name)
    return part if isinstance(part, dict) else {}


def create() -> Trex:
    """Return the parser."""
    return Trex()
