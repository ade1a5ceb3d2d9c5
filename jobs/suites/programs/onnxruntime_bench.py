"""Times onnxruntime on one model in a fresh process and writes result.json (the generic format).

Three shapes: prefill of 128 and of 512 tokens, and decode (one token, no cache). They take turns in rounds, so that
a busy moment of the machine touches each a little instead of one a lot. Needs onnxruntime and numpy only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROUNDS = 6
SHAPES = (("prefill", 128, 10), ("prefill", 512, 2), ("decode", 1, 100))
"""Scenario, tokens in, iterations a round."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="the .onnx file that onnxruntime_model.py wrote")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=3, help="iterations a shape before anything is timed")
    parser.add_argument("--output", default="result.json")
    return parser.parse_args()


def make_session(model: str, threads: int) -> Any:
    """Return a session on the CPU with that many threads and no others."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def make_feed(tokens: list[int], batch: int) -> dict[str, Any]:
    """Return the model's inputs: the tokens for each of the batch, and a causal mask."""
    import numpy as np

    length = len(tokens)
    mask = np.triu(np.full((length, length), -1e9, np.float32), 1)
    return {"ids": np.tile(np.array(tokens, np.int64), (batch, 1)), "mask": mask}


def accuracy_of(session: Any) -> tuple[float, int]:
    """Return the share of positions whose best token agrees with the reference in the model, and their number."""
    metadata = session.get_modelmeta().custom_metadata_map
    expected = json.loads(metadata["check_answers"])
    logits = session.run(["logits"], make_feed(json.loads(metadata["check_tokens"]), 1))[0]
    answers = logits[0].argmax(axis=-1).tolist()
    agreed = [answer == wanted for answer, wanted in zip(answers, expected, strict=True) if wanted >= 0]
    return sum(agreed) / len(agreed), len(agreed)


def time_shapes(session: Any, batch: int, warmup: int) -> list[list[float]]:
    """Return the times of each shape in milliseconds, one list a shape."""
    feeds = [make_feed([i % 2000 for i in range(length)], batch) for _, length, _ in SHAPES]
    for feed in feeds:
        for _ in range(warmup):
            session.run(None, feed)
    times: list[list[float]] = [[] for _ in SHAPES]
    for _ in range(ROUNDS):
        for feed, (_, _, iterations), taken in zip(feeds, SHAPES, times, strict=True):
            for _ in range(iterations):
                began = time.perf_counter_ns()
                session.run(None, feed)
                taken.append((time.perf_counter_ns() - began) / 1e6)
    return times


def describe(times: list[float]) -> dict[str, Any]:
    """Return the latency metrics of one shape with the number of iterations and their spread."""
    behind = {"unit": "ms", "samples": len(times), "spread": statistics.stdev(times)}
    p90 = statistics.quantiles(times, n=10, method="inclusive")[8]
    values = {"mean": statistics.fmean(times), "p50": statistics.median(times), "p90": p90}
    return {f"latency_{name}_ms": {"value": value, **behind} for name, value in values.items()}


LEAST_CPU_SHARE = 0.95
"""Below this share of its cores the process was held up by others, and its times say little."""


def condition_flags(threads: int, cpu_share: float) -> list[str]:
    """Return `unpinned` unless there is one core a thread, and `contended` if other work took part of them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    flags = [] if cores == threads else ["unpinned"]
    return flags if cpu_share >= LEAST_CPU_SHARE else [*flags, "contended"]


def main() -> None:
    asked = arguments()
    import numpy
    import onnxruntime

    began = time.perf_counter()
    session = make_session(asked.model, asked.threads)
    facts: dict[str, Any] = {
        "load_s": round(time.perf_counter() - began, 4),
        "numpy": numpy.__version__,
        "python": sys.version.split()[0],
    }
    accuracy, positions = accuracy_of(session)
    wall_began, cpu_began = time.perf_counter(), time.process_time()
    taken = time_shapes(session, asked.batch, asked.warmup)
    wall_s, cpu_s = time.perf_counter() - wall_began, time.process_time() - cpu_began
    facts["cpu_share"] = round(cpu_s / wall_s / asked.threads, 4)
    flags = condition_flags(asked.threads, facts["cpu_share"])
    runs = []
    for (scenario, length, _), times in zip(SHAPES, taken, strict=True):
        metrics = describe(times)
        if (scenario, length) == ("prefill", 128):
            metrics["accuracy"] = {"value": accuracy, "unit": "fraction", "samples": positions}
        labels = {"scenario": scenario, "isl": length, "batch": asked.batch, "threads": asked.threads}
        runs.append({"labels": labels, "facts": facts, "metrics": metrics, "flags": flags})
    result = {"tool": "onnxruntime_bench", "version": onnxruntime.__version__, "runs": runs}
    Path(asked.output).write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
