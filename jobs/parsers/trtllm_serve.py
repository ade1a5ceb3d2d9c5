"""Reads TensorRT-LLM's benchmark_serving.py, taken over from vLLM: the same block and keys, and user throughput.

Total GPU power is of all GPUs together and no metric. A text of its first versions is the same as vLLM's and is read
as vLLM's, unless it names the script. Source: NVIDIA/TensorRT-LLM tensorrt_llm/serve/scripts/benchmark_serving.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.content import Content
from jobs.measurements import Label, ParsedRun, ParseResult
from jobs.metrics import Key
from jobs.parsers import _serving_block as block
from jobs.parsers import _serving_log as log
from jobs.parsers._serving_json import first_result, keys_of, read_records, read_serving, writer_of_record

TOOL = block.TRTLLM
KEYS: Mapping[str, Key] = {
    **keys_of("e2el", "_ms", "ms"),
    "total_token_throughput": Key("total_tok_s", "tok/s"),
    "user_throughput": Key("tok_s_user", "tok/s/user"),
    "energy.total_energy_j": Key("energy_j", "J"),
}


class TrtllmServe:
    """See `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "benchmark_serving.py of 0.20 to 1.3: printed, JSON"
    landmarks: tuple[str, ...] = log.LANDMARKS
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: {**KEYS, **block.KEYS}}

    def recognises(self, content: Content) -> str | None:
        """Return the tool's id where user throughput or decoded tokens stand beside a serving result."""
        record = first_result(content)
        found = log.writer_of(content) if record is None else writer_of_record(record)
        return TOOL if found == TOOL else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return one run a result."""
        if first_result(content) is not None:
            return read_records(content, tool, writer_of_record, _read)
        return log.read_log(content, tool)


def create() -> TrtllmServe:
    """Return the parser."""
    return TrtllmServe()


def _read(record: Mapping[str, Any]) -> ParsedRun:
    energy = record.get("energy")
    nested = {f"energy.{key}": value for key, value in energy.items()} if isinstance(energy, dict) else {}
    known = {key: value for key, value in nested.items() if key in KEYS}
    return read_serving({**record, **known}, TOOL, KEYS)
