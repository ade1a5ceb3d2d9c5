"""Reads the metadata that TREx extracts from a trtexec log (`*.profile.metadata.json`).

Source: NVIDIA/TensorRT tools/experimental/trt-engine-explorer utils/parse_trtexec_log.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from jobs.content import Content
from jobs.errors import Refused
from jobs.measurements import Label, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.run_builder import RunBuilder
from jobs.strict_json import shown

TOOL = "trex"
THROUGHPUT, LATENCY = "performance_summary.Throughput", "performance_summary.Latency"
KEYS: Mapping[str, Key] = {
    THROUGHPUT: Key("req_s", "req/s"),
    f"{LATENCY}[2]": Key("latency_mean_ms", "ms"),
    f"{LATENCY}[3]": Key("latency_p50_ms", "ms"),
    f"{LATENCY}[4]": Key("latency_p99_ms", "ms"),
}
_FIVE = 5
"""min, max, mean, median and the 99th percentile; with more percentiles nobody can tell which is which."""


class Trex:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "*.profile.metadata.json"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where a performance summary stands in an object."""
        outline = content.outline
        return TOOL if isinstance(outline, dict) and "performance_summary" in outline else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return the one result."""
        document = content.document
        summary = document["performance_summary"]
        if not isinstance(summary, dict) or not {"Throughput", "Latency"} & summary.keys():
            raise Refused(f"expected Throughput and Latency under performance_summary, found {shown(summary)}")
        run = RunBuilder()
        run.label("gpu", _part(document, "device_information").get("Selected Device"))
        run.label("input_shape", _part(document, "inference_options").get("Input inference shape"))
        run.take(THROUGHPUT, KEYS[THROUGHPUT], summary.get("Throughput"))
        latency = summary.get("Latency")
        if isinstance(latency, list) and len(latency) == _FIVE:
            for place in (2, 3, 4):
                run.take(f"{LATENCY}[{place}]", KEYS[f"{LATENCY}[{place}]"], latency[place])
        elif latency is not None:
            run.reject(LATENCY, latency, "expected min, max, mean, median and the 99th percentile")
        return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=(run.build(),))


def _part(document: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = document.get(name)
    return part if isinstance(part, dict) else {}


def create() -> Trex:
    """Return the parser."""
    return Trex()
