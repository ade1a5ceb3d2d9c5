"""Rules of the serving benchmarks that one case folder cannot show: long files, values that differ, odd JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.content import Content
from jobs.reading import read_result, result_json

TITLE = "============ Serving Benchmark Result ============\n"
RULE = "=" * 50 + "\n"
FIGURES = (
    "Successful requests:                     64        \n"
    "Request throughput (req/s):              4.00      \n"
    "Output token throughput (tok/s):         512.50    \n"
)
LATENCIES = "Mean TTFT (ms):                          40.25     \nP99 TTFT (ms):                           90.75     \n"
RECORD: dict[str, Any] = {
    "date": "20260102-030405",
    "backend": "openai",
    "model_id": "acme/Wren-3B",
    "tokenizer_id": "acme/Wren-3B",
    "num_prompts": 64,
    "request_rate": "inf",
    "max_concurrency": 8,
    "duration": 16.0,
    "completed": 64,
    "request_throughput": 4.0,
    "output_throughput": 512.5,
}


def read(text: str | bytes | Path) -> dict[str, Any]:
    source = text.encode() if isinstance(text, str) else text
    return result_json("result", read_result(Content("result", source)))


def values(run: dict[str, Any]) -> dict[str, float]:
    return {name: metric["value"] for name, metric in run["metrics"].items()}


def test_a_value_printed_twice_with_different_figures_is_set_aside() -> None:
    doubled = "Mean TTFT (ms):                          41.25     \n"
    (run,) = read(TITLE + FIGURES + LATENCIES + doubled + RULE)["runs"]
    assert "ttft_mean_ms" not in run["metrics"]
    assert [rejected["raw"] for rejected in run["quarantined"]] == ["40.25 / 41.25"]


def test_settings_of_the_next_run_end_a_block_that_was_cut() -> None:
    following = "Traffic request rate: 8.0\nBurstiness factor: 1.0 (Poisson process)\nMaximum request concurrency: 4\n"
    found = read(TITLE + FIGURES + following + TITLE + FIGURES + LATENCIES + RULE)
    assert (found["tool"], found["outcome"]) == ("vllm_bench_serve", "partial")
    first, second = found["runs"]
    assert (first["labels"], first["flags"]) == ({}, ["truncated"])
    assert second["labels"] == {"request_rate": 8, "concurrency": 4}


def test_settings_say_nothing_of_the_run_after_a_crash() -> None:
    crashed = "Traffic request rate: 8.0\nTraceback (most recent call last):\nOSError: gone\n"
    (run,) = read(crashed + TITLE + FIGURES + LATENCIES + RULE)["runs"]
    assert run["labels"] == {}


def test_a_block_of_another_tool_in_the_same_text_is_not_read_and_is_told_of() -> None:
    sglang = TITLE + "Backend:                                 sglang    \n" + FIGURES + LATENCIES + RULE
    found = read(sglang + "and with vLLM:\n" + TITLE + FIGURES.replace("512.50", "600.25") + LATENCIES + RULE)
    assert (found["tool"], found["outcome"]) == ("sglang_bench_serving", "partial")
    assert [values(run)["output_tok_s"] for run in found["runs"]] == [512.5]
    assert "not read" in found["reason"]


def test_a_server_that_prints_its_arguments_does_not_label_the_run() -> None:
    server = "Namespace(model='acme/Wren-3B', tensor_parallel_size=2, num_prompts=3, host='::')\n"
    (run,) = read(server + TITLE + FIGURES + LATENCIES + RULE)["runs"]
    assert run["labels"] == {}


def test_a_sweep_in_which_one_rate_failed_gives_the_others_and_says_so() -> None:
    failed = TITLE + FIGURES.replace("64  ", "0   ") + LATENCIES + RULE
    found = read(failed + "\nnext rate\n" + TITLE + FIGURES + LATENCIES + RULE)
    assert (found["outcome"], len(found["runs"])) == ("partial", 1)
    assert "no request finished" in found["reason"]


@pytest.mark.parametrize("prefix", ["[1,0]<stdout>:", "2026-01-02T03:04:05Z ", "INFO 01-02 03:04:05 [x.py:1] ", "> "])
def test_what_a_launcher_writes_before_each_line_is_passed_over(prefix: str) -> None:
    lines = (TITLE + FIGURES + LATENCIES + RULE).splitlines()
    (run,) = read("".join(f"{prefix}{line}\n" for line in lines))["runs"]
    assert values(run) == {
        "requests_ok": 64,
        "req_s": 4.0,
        "output_tok_s": 512.5,
        "ttft_mean_ms": 40.25,
        "ttft_p99_ms": 90.75,
    }


def test_another_benchmarks_block_is_not_claimed() -> None:
    offline = "====== Offline Throughput Benchmark Result =======\n"
    assert read(offline + "Backend:                    engine\n" + FIGURES + LATENCIES + RULE)["tool"] is None


def test_a_result_after_a_long_server_log_is_found(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    noise = b"INFO 01-02 03:04:05 [metrics.py:1] Avg prompt throughput: 1.0 tokens/s, Running: 3 reqs\n" * 60_000
    block = (TITLE + FIGURES + LATENCIES + RULE).encode()
    start = b"Starting initial single prompt test run...\n"
    path.write_bytes(start + noise + block + noise)
    (run,) = read(path)["runs"]
    assert values(run)["output_tok_s"] == 512.5


def test_a_result_saved_in_detail_is_read_from_a_line_of_many_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "detailed.json"
    detail = {"ttfts": [0.04 + n / 1e7 for n in range(400_000)], "itls": [[0.01] * 30] * 20_000}
    path.write_text(json.dumps({**RECORD, **detail, "mean_ttft_ms": 40.25}))
    assert path.stat().st_size > 8 * 2**20
    found = read(path)
    assert found["tool"] == "vllm_bench_serve"
    assert values(found["runs"][0])["ttft_mean_ms"] == 40.25


def test_many_json_lines_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    base = {**RECORD, "dataset_name": "sharegpt", "sharegpt_output_len": None, "total_output_tokens_retokenized": 9}
    with path.open("w") as file:
        for number in range(2_000):
            file.write(json.dumps({**base, "request_rate": number + 1, "generated_texts": ["x" * 3000]}) + "\n")
    assert path.stat().st_size > 4 * 2**20
    found = read(path)
    assert (found["tool"], found["outcome"], len(found["runs"])) == ("sglang_bench_serving", "ok", 2_000)


def test_more_results_than_can_be_held_are_refused() -> None:
    line = json.dumps({"run_name": "a", "batch_size": 1, "prefill_latency": 0.5, "total_latency": 0.75}) + "\n"
    found = read(line * 10_001)
    assert (found["outcome"], found["runs"]) == ("refused", [])
    assert "split it" in found["reason"]


@pytest.mark.parametrize("odd", [[], {}, "", "12", True, None, [1], {"a": 1}, -1, 1e400])
@pytest.mark.parametrize("key", [*RECORD, "server_info", "energy", "benchmark", "metric", "percentiles", "latencies"])
def test_any_json_value_in_any_place_has_an_outcome(key: str, odd: object) -> None:
    latency = {"avg_latency": 1.5, "latencies": [1.5], "percentiles": {"50": 1.5}}
    metric = {"benchmark": {"name": "vLLM benchmark"}, "model": {}, "metric": {"name": "latency"}}
    batch = {"run_name": "a", "batch_size": 1, "prefill_latency": 0.5, "total_latency": 0.75}
    for record in (RECORD, {**RECORD, "user_throughput": 9.5}, latency, metric, batch):
        for text in (json.dumps({**record, key: odd}), json.dumps([{**record, key: odd}])):
            found = read(text)
            assert found["outcome"] == "ok" or found["reason"]
