"""What cases cannot say of trtexec: a cut of such a text is another text, or the words matter."""

from __future__ import annotations

from jobs.content import Content
from jobs.measurements import Label, ParseOutcome, ParseResult
from jobs.reading import read_result

SUMMARY = """[07/08/2026-10:00:00] [I] Timing trace has 200 queries over 2 s
[07/08/2026-10:00:00] [I] === Performance summary ===
[07/08/2026-10:00:00] [I] Throughput: 100.5 qps
[07/08/2026-10:00:00] [I] Latency: min = 9 ms, max = 12 ms, mean = 10.5 ms, median = 10.25 ms, percentile(99%) = 11.5 ms
[07/08/2026-10:00:00] [I] Total GPU Compute Time: 1.9 s
"""


def call(number: str, verdict: str, summary: str = SUMMARY) -> str:
    banner = f"TensorRT.trtexec [TensorRT v{number}] # trtexec --loadEngine=a.plan\n"
    return f"&&&& RUNNING {banner}{summary}&&&& {verdict} {banner}"


def read(text: str) -> ParseResult:
    return read_result(Content.of_text(text))


def test_a_call_that_says_failed_gives_no_values_even_with_a_summary() -> None:
    wrong = SUMMARY + "[07/08/2026-10:00:01] [E] Accuracy validation FAILED: one or more tensors exceeded it.\n"
    result = read(call("110100", "FAILED", wrong))
    assert (result.outcome, result.runs, result.version) == (ParseOutcome.FAILED, (), "11.1.0")
    assert "Accuracy validation FAILED" in result.reason


def test_a_trace_of_no_queries_gives_no_values() -> None:
    result = read(call("8401", "PASSED", SUMMARY.replace("has 200 queries", "has 0 queries")))
    assert result.outcome is ParseOutcome.FAILED
    assert "0 queries" in result.reason


def test_calls_of_two_versions_in_one_text_name_no_version() -> None:
    result = read(call("8601", "PASSED") + call("100200", "PASSED", SUMMARY.replace("100.5", "120.5")))
    assert (result.outcome, result.version) == (ParseOutcome.PARTIAL, None)
    assert "8.6.1" in result.reason
    assert [run.metrics["req_s"].value for run in result.runs] == [100.5, 120.5]


def test_the_same_call_printed_twice_is_one_run() -> None:
    result = read(call("8601", "PASSED") * 2)
    assert (result.outcome, len(result.runs)) == (ParseOutcome.OK, 1)


def test_a_value_over_all_inferences_says_so() -> None:
    entries = ", ".join(f'{{"computeMs": {ms}, "latencyMs": {ms}}}' for ms in (1, 2, 6))
    (run,) = read(f"[{entries}]").runs
    reading = run.metrics["latency_mean_ms"]
    assert (reading.value, reading.samples) == (3.0, 3)
    assert reading.raw == "mean of latencyMs over all 3 inferences of the file"


def test_an_inference_without_a_time_refuses_the_list() -> None:
    for entry in ('{"computeMs": 1}', '{"computeMs": 1, "latencyMs": null}', "7", '{"computeMs": 1, "latencyMs": -1}'):
        result = read(f'[{{"computeMs": 1, "latencyMs": 1}}, {entry}]')
        assert result.outcome is ParseOutcome.REFUSED, entry
        assert "inference 2" in result.reason


def test_who_asked_for_a_model_knows_its_name_and_precision_better() -> None:
    options = "=== Model Options ===\n[I] Model: /models/a.onnx\n[I] Precision: FP32+FP16\n"
    text = call("101500", "PASSED", f"[I] {options}{SUMMARY}").replace("--loadEngine=a.plan", "--onnx=a.onnx")
    asked: dict[str, Label] = {"model": "A", "precision": "fp8"}
    assert dict(read_result(Content.of_text(text)).runs[0].labels) == {
        "model": "/models/a.onnx",
        "precision": "FP32+FP16",
    }
    assert dict(read_result(Content.of_text(text), "trtexec", asked).runs[0].labels) == {}
