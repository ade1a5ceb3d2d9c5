"""Reads TensorRT-LLM's benchmark_serving.py, taken over from vLLM: the same block and keys, and user throughput.

Source: NVIDIA/TensorRT-LLM tensorrt_llm/serve/scripts/benchmark_serving.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from jobs.content import Content
from jobs.errors import Failed
from jobs.measurements import Label, ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.parsers import _serving_log as serving
from jobs.run_builder import RunBuilder
from jobs.strict_json import Number

TOOL = "trtllm_benchmark_serving"
KEYS: Mapping[str, Key] = {
    **serving.json_keys("e2el"),
    "total_token_throughput": Key("total_tok_s", "tok/s"),
    "user_throughput": Key("tok_s_user", "tok/s/user"),
    "failed": Key("requests_failed", "count"),
}
_LABELS = {"model_id": "model", "backend": "backend", "date": "date"}
_OTHERS = frozenset(
    {
        "num_prompts",
        "request_rate",
        "burstiness",
        "max_concurrency",
        "duration",
        "total_input_tokens",
        "total_output_tokens",
        "request_goodput",
        "request_goodput:",
        "avg_decoded_tokens_per_iter",
    }
)


class TrtllmServe:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "benchmark_serving.py of 0.20 to 1.3: printed, JSON"
    landmarks: tuple[str, ...] = (serving.TITLE,)
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {**KEYS, **serving.KEYS}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where user throughput or decoded tokens stand beside a serving result."""
        outline = content.outline
        if isinstance(outline, dict):
            own = {"user_throughput", "avg_decoded_tokens_per_iter"} & outline.keys()
            return TOOL if own and "request_throughput" in outline else None
        return TOOL if serving.writer_of(content.sample) == "trtllm" else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a result."""
        if content.outline is None:
            return serving.read_log(content, tool)
        document = content.document
        run = RunBuilder()
        for own, name in _LABELS.items():
            run.label(name, document.get(own))
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


def create() -> TrtllmServe:
    """Return the parser."""
    return TrtllmServe()
