"""Runs trtllm-bench of the release under test on requests of fixed lengths; it leaves result.json (--report_json).

Writes the requests (random tokens, the same for every release) and the options of NVIDIA's performance overview of
TensorRT-LLM, then becomes the benchmark. The model is read from MODELS/MODEL. Needs Python alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

REQUESTS = {
    (128, 2048): 3000, (128, 4096): 1500, (500, 500): 3000, (500, 2000): 3000, (1000, 1000): 3000, (1000, 2000): 1500,
    (1024, 8192): 1500, (1024, 32768): 1000, (2048, 128): 3000, (2048, 2048): 1500, (5000, 500): 1500,
    (8192, 1024): 1500, (20000, 2000): 1000, (32768, 1024): 1000, (128, 128): 30000,
}  # fmt: skip
"""Input and output length -> how many requests keep the engine busy; NVIDIA's overview where it states a number."""
OTHER_REQUESTS = 1000
LATENCY_REQUESTS = 20
LOWEST_TOKEN, HIGHEST_TOKEN = 1000, 30_000
"""Ordinary words in the vocabularies of the common models; special tokens lie outside."""
GRAPH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 1024, 2048, 4096, 8192]
DATASET, OPTIONS, REPORT = "requests.jsonl", "options.json", "result.json"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["throughput", "latency"])
    parser.add_argument("--model", required=True, help="the model's name, and its folder in --models")
    parser.add_argument("--models", default="/models")
    parser.add_argument("--precision", required=True, help="fp4 (Blackwell) or fp8 (Hopper, Ada)")
    for name in ("tp", "pp", "ep", "isl", "osl", "warmup"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--requests", type=int, help="how many; without it by their lengths")
    return parser.parse_args()


def options_of(model: str, precision: str, ep: int) -> dict[str, Any]:
    """Return the options for the engine: attention in parallel over data where experts are spread."""
    options: dict[str, Any] = {"cuda_graph_config": {"enable_padding": True, "batch_sizes": GRAPH_SIZES}}
    if ep > 1:
        options["enable_attention_dp"] = True
    if "gpt-oss" in model.lower():
        blackwell = precision == "fp4"
        options["moe_config"] = {"backend": "CUTLASS" if blackwell else "TRITON"}
        options["kv_cache_config"] = {"dtype": "fp8" if blackwell else "auto"}
    return options


def write_requests(path: Path, isl: int, osl: int, count: int) -> None:
    """Write requests of random tokens from a fixed seed, so that every release gets the same work."""
    source, words = random.Random(0), range(LOWEST_TOKEN, HIGHEST_TOKEN + 1)
    with path.open("w", encoding="utf-8") as file:
        for task in range(count):
            tokens = source.choices(words, k=isl)
            file.write(json.dumps({"task_id": task, "input_ids": tokens, "output_tokens": osl}) + "\n")


def command_of(asked: argparse.Namespace, folder: Path) -> list[str]:
    """Return the words of trtllm-bench."""
    words = ["trtllm-bench", "--model", asked.model, "--model_path", str(folder), asked.command]
    words += ["--backend", "pytorch", "--dataset", DATASET, "--warmup", str(asked.warmup), "--report_json", REPORT]
    words += ["--tp", str(asked.tp), "--pp", str(asked.pp)]
    words += ["--ep", str(asked.ep)] if asked.ep > 1 else []
    if asked.command == "throughput":
        return [*words, "--extra_llm_api_options", OPTIONS]
    return [*words, "--concurrency", "1"]


def main() -> None:
    asked = arguments()
    folder = Path(asked.models, asked.model)
    if not folder.is_dir():
        sys.exit(f"no model in {folder}: mount its folder there, or choose other models (`choices` in the settings)")
    usual = LATENCY_REQUESTS if asked.command == "latency" else REQUESTS.get((asked.isl, asked.osl), OTHER_REQUESTS)
    write_requests(Path(DATASET), asked.isl, asked.osl, asked.requests or usual)
    Path(OPTIONS).write_text(json.dumps(options_of(asked.model, asked.precision, asked.ep)), encoding="utf-8")
    words = command_of(asked, folder)
    print("+", *words, flush=True)
    os.execvp(words[0], words)


if __name__ == "__main__":
    main()
