"""Reads InferenceX's token-position benchmark, after vLLM's: keys and printed lines without `ms`, in seconds.

`input_throughput` is not the total. Source: SemiAnalysisAI/InferenceX experimental/token_position_decode_slo.
"""

from __future__ import annotations

from collections.abc import Mapping

from jobs.content import Content
from jobs.measurements import Label, ParseResult
from jobs.metrics import Key
from jobs.parsers import _serving_block as block
from jobs.parsers import _serving_log as log
from jobs.parsers._serving_json import first_result, keys_of, read_records, read_serving, writer_of_record

TOOL = block.SECONDS
KEYS: Mapping[str, Key] = {
    **keys_of("e2el", "", "s"),
    "total_token_throughput": Key("total_tok_s", "tok/s"),
}


class TokenPosition:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "serving result in seconds: JSON, printed"
    landmarks: tuple[str, ...] = log.LANDMARKS
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {**KEYS, **block.KEYS}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id for a serving result whose latencies are in seconds."""
        record = first_result(content)
        found = log.writer_of(content) if record is None else writer_of_record(record)
        return TOOL if found == TOOL else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a result."""
        if first_result(content) is not None:
            return read_records(content, tool, writer_of_record, lambda record: read_serving(record, TOOL, KEYS))
        return log.read_log(content, tool)


def create() -> TokenPosition:
    """Return the parser."""
    return TokenPosition()
