"""Times llama.cpp (the xllamacpp package) on one GGUF in a fresh process and writes result.json (the generic format).

Two results, taken in turns: prefill (a long prompt, one token out) and decode (a short prompt, many tokens out).
Times are taken here, from streamed chunks: the rates that llama.cpp prints changed their definition between
releases. Only the prompt's own time is llama.cpp's. Needs xllamacpp only.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROUNDS = 6
FIRST_TOKEN, TOKENS = 256, 260
"""Prompts are made of the model's letter pairs."""
SHAPES = (("prefill", 256, 1), ("decode", 16, 64))
"""Scenario, tokens in, tokens out."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="the .gguf file that llamacpp_model.py wrote")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=1, help="requests a shape before anything is timed")
    parser.add_argument("--output", default="result.json")
    return parser.parse_args()


def make_server(model: str, threads: int) -> Any:
    """Return a llama.cpp server in this process: one slot, nothing cached, no GPU."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.n_ctx = 2048
    parameters.n_parallel = 1
    parameters.n_gpu_layers = 0
    parameters.warmup = False
    parameters.verbosity = -1
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    if hasattr(parameters, "cache_ram_mib"):
        parameters.cache_ram_mib = 0
    return xllamacpp.Server(parameters)


def make_request(round_number: int, isl: int, osl: int) -> dict[str, Any]:
    """Return a request whose prompt has exactly `isl` tokens and differs from round to round."""
    return {
        "prompt": [FIRST_TOKEN + (place * 37 + round_number * 11) % TOKENS for place in range(isl)],
        "n_predict": osl,
        "temperature": 0,
        "ignore_eos": True,
        "cache_prompt": False,
        "stream": True,
    }


def text_of(chunk: dict[str, Any]) -> str:
    return "".join(choice.get("text") or "" for choice in chunk.get("choices", []))


def time_request(server: Any, request: dict[str, Any]) -> dict[str, float]:
    """Return what one request took; exit with the reason if it did not do what was asked."""
    chunks: list[tuple[int, Any]] = []

    def take(chunk: Any) -> bool:
        chunks.append((time.perf_counter_ns(), chunk))
        return False

    began = time.perf_counter_ns()
    server.handle_completions(request, take)
    answers = [(at, json.loads(chunk) if isinstance(chunk, str) else chunk) for at, chunk in chunks]
    failed = [answer["error"] for _, answer in answers if "error" in answer]
    if failed:
        sys.exit(f"llama.cpp answered with an error: {failed[0]}")
    token_times = [at for at, answer in answers if text_of(answer)]
    timings: dict[str, float] = next(
        (answer["timings"] for _, answer in reversed(answers) if answer.get("timings")), {}
    )
    asked = (len(request["prompt"]), request["n_predict"])
    found = (timings.get("prompt_n"), timings.get("predicted_n"))
    if found != asked or len(token_times) != asked[1]:
        sys.exit(f"asked for {asked} tokens in and out, llama.cpp did {found} in {len(token_times)} chunks")
    ttft_ms, e2e_ms = (token_times[0] - began) / 1e6, (token_times[-1] - began) / 1e6
    return {"ttft_ms": ttft_ms, "e2e_ms": e2e_ms, "prompt_ms": timings["prompt_ms"]}


def time_shapes(server: Any, warmup: int) -> list[list[dict[str, float]]]:
    """Return the times of every request, one list a shape."""
    taken: list[list[dict[str, float]]] = [[] for _ in SHAPES]
    for round_number in range(warmup + ROUNDS):
        for (_, isl, osl), times in zip(SHAPES, taken, strict=True):
            measured = time_request(server, make_request(round_number, isl, osl))
            if round_number >= warmup:
                times.append(measured)
    return taken


def describe(values: list[float], unit: str) -> dict[str, Any]:
    """Return the median of the requests with their number and spread."""
    return {
        "value": statistics.median(values),
        "unit": unit,
        "samples": len(values),
        "spread": statistics.stdev(values),
    }


def metrics_of(scenario: str, isl: int, osl: int, times: list[dict[str, float]]) -> dict[str, Any]:
    """Return the metrics of one shape: prompt rate and time to first token, or output rate and time per token."""
    if scenario == "prefill":
        return {
            "prompt_tok_s": describe([isl / t["prompt_ms"] * 1e3 for t in times], "tok/s"),
            "ttft_p50_ms": describe([t["ttft_ms"] for t in times], "ms"),
        }
    return {
        "output_tok_s": describe([osl / t["e2e_ms"] * 1e3 for t in times], "tok/s"),
        "tpot_p50_ms": describe([(t["e2e_ms"] - t["ttft_ms"]) / (osl - 1) for t in times], "ms"),
    }


LEAST_CPU_SHARE = 0.95
"""Below this share of its cores the process was held up by others, and its times say little."""


def condition_flags(threads: int, cpu_share: float) -> list[str]:
    """Return `unpinned` unless there is one core a thread, and `contended` if other work took part of them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    flags = [] if cores == threads else ["unpinned"]
    return flags if cpu_share >= LEAST_CPU_SHARE else [*flags, "contended"]


def main() -> None:
    asked = arguments()
    began = time.perf_counter()
    server = make_server(asked.model, asked.threads)
    facts: dict[str, Any] = {"load_s": round(time.perf_counter() - began, 4), "python": sys.version.split()[0]}
    wall_began, cpu_began = time.perf_counter(), time.process_time()
    taken = time_shapes(server, asked.warmup)
    wall_s, cpu_s = time.perf_counter() - wall_began, time.process_time() - cpu_began
    facts["cpu_share"] = round(cpu_s / wall_s / asked.threads, 4)
    flags = condition_flags(asked.threads, facts["cpu_share"])
    runs = []
    for (scenario, isl, osl), times in zip(SHAPES, taken, strict=True):
        labels = {"scenario": scenario, "isl": isl, "osl": osl, "concurrency": 1, "threads": asked.threads}
        metrics = metrics_of(scenario, isl, osl, times)
        runs.append({"labels": labels, "facts": facts, "metrics": metrics, "flags": flags})
    version = importlib.metadata.version("xllamacpp")
    result = {"tool": "llamacpp_bench", "version": version, "runs": runs}
    Path(asked.output).write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
