"""Reads the token-position variant of vLLM's serving JSON that InferenceX writes: keys without `_ms`, in seconds.

`input_throughput` is not the total. Source: SemiAnalysisAI/InferenceX utils/bench_serving.
"""

from __future__ import annotations

from collections.abc import Mapping

from jobs.content import Content
from jobs.errors import Failed
from jobs.measurements import Label, ParseOutcome, ParseResult
from jobs.metrics import Key, statistic_keys
from jobs.parsers import _serving_log as serving
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number

TOOL = "inferencex_token_position"
_WORDS = {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}
KEYS: Mapping[str, Key] = {
    "request_throughput": Key("req_s", "req/s"),
    "output_throughput": Key("output_tok_s", "tok/s"),
    "total_token_throughput": Key("total_tok_s", "tok/s"),
    "completed": Key("requests_ok", "count"),
    **statistic_keys("{}_ttft", "ttft", "s", _WORDS),
    **statistic_keys("{}_tpot", "tpot", "s", _WORDS),
    **statistic_keys("{}_itl", "itl", "s", _WORDS),
    **statistic_keys("{}_e2el", "e2e", "s", _WORDS),
}
_OTHERS = frozenset(
    {
        "num_prompts",
        "request_rate",
        "burstiness",
        "max_concurrency",
        "duration",
        "good_completed",
        "total_input_tokens",
        "total_output_tokens",
        "request_goodput",
        "input_throughput",
    }
)


class TokenPosition:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "serving JSON in seconds"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for a serving result whose latencies have no unit in their keys."""
        outline = content.outline
        if not isinstance(outline, dict) or "num_prompts" not in outline or "tput_per_gpu" in outline:
            return None
        return (
            TOOL
            if {"median_ttft", "median_tpot", "mean_ttft", "input_throughput"} & outline.keys()
            and ("request_throughput" in outline and "mean_ttft_ms" not in outline and "dataset_name" not in outline)
            else None
        )

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return the one result."""
        document = content.document
        run = RunBuilder()
        run.label("model", document.get("model_id"))
        run.label("date", document.get("date"))
        run.fact("requests", document.get("num_prompts"))
        serving.take_label(run, "concurrency", document.get("max_concurrency"))
        serving.take_label(run, "request_rate", document.get("request_rate"))
        for own, value in document.items():
            if own in KEYS:
                run.take(own, KEYS[own], value)
            elif isinstance(value, Number) and own not in _OTHERS and not serving.OTHER_STATISTIC.fullmatch(own):
                run.unknown(own, value, TOOL)
        read = run.build()
        if "requests_ok" in read.metrics and read.metrics["requests_ok"].value == 0:
            raise Failed("no request finished")
        return ParseResult(tool=TOOL, outcome=ParseOutcome.OK, runs=(read,))


def create() -> TokenPosition:
    """Return the parser."""
    return TokenPosition()
