"""What cases cannot say of TensorRT-LLM's older benchmarks: a cut of such a text is another text."""

from __future__ import annotations

from jobs.content import Content
from jobs.measurements import ParseOutcome
from jobs.reading import read_result

TWO_AT_ONCE = """[BENCHMARK] num_samples 30
[BENCHMARK] num_error_samples 0

[BENCHMARK] num_samples 30
[BENCHMARK] total_latency(ms) 3000.00
[BENCHMARK] total_latency(ms) 3300.00
[BENCHMARK] seq_throughput(seq/sec) 10.00
[BENCHMARK] seq_throughput(seq/sec) 9.09
[BENCHMARK] token_throughput(token/sec) 1280.00
[BENCHMARK] avg_sequence_latency(ms) 800.00
[BENCHMARK] p50_sequence_latency(ms) 790.00
"""


def test_values_of_two_processes_that_print_at_once_are_set_aside() -> None:
    result = read_result(Content.of_text(TWO_AT_ONCE))
    assert result.outcome is ParseOutcome.PARTIAL
    assert "mixed" in result.reason
    (run,) = result.runs
    assert "req_s" not in run.metrics
    assert [rejected.key for rejected in run.rejected] == ["seq_throughput(seq/sec)"]
    assert "truncated" in run.flags


def test_a_text_with_results_of_both_tools_says_what_was_not_read() -> None:
    line = "[BENCHMARK] batch_size 1 input_length 8 output_length 8 latency(ms) 5.00 tokensPerSec 1600.00\n"
    block = TWO_AT_ONCE.replace("[BENCHMARK] total_latency(ms) 3300.00\n", "")
    block = block.replace("[BENCHMARK] seq_throughput(seq/sec) 9.09\n", "")
    result = read_result(Content.of_text(block + line))
    assert (result.tool, result.outcome) == ("gptManagerBenchmark", ParseOutcome.PARTIAL)
    assert "benchmark.py" in result.reason
    assert result.runs[0].metrics["req_s"].value == 10.0
