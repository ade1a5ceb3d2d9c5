"""How fast result files are read and kept, beside reading the same file line by line."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

LOG_BYTES = 500 * 2**20
FILES = 10_000
Row = tuple[str, float, str, float | None, str]
PARSE = """
import pathlib, resource, sys, time
from jobs.content import Content
from jobs.reading import all_parsers, read_result
all_parsers()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
found = read_result(Content("log", pathlib.Path(sys.argv[1])), sys.argv[2])
took = time.perf_counter() - start
print(took, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, len(found.runs), found.outcome)
"""
LINES = (
    "import sys, time; t = time.perf_counter(); n = sum(1 for _ in open(sys.argv[1], 'rb')); "
    "print(time.perf_counter() - t)"
)
NOISE = "[11/30/2026-10:00:{:02d}] [V] [TRT] Layer {}: tactic 0x{:08x} time 0.0{}\n"
SUMMARY = """&&&& RUNNING TensorRT.trtexec [TensorRT v101100] # trtexec --onnx=a.onnx
{noise}[11/30/2026-10:00:00] [I] === Performance summary ===
[11/30/2026-10:00:00] [I] Throughput: 130.5 qps
[11/30/2026-10:00:00] [I] Latency: min = 5 ms, max = 13 ms, mean = 7.5 ms, median = 7.25 ms, percentile(99%) = 12 ms
[11/30/2026-10:00:00] [I] Total Host Walltime: 3.0 s
[11/30/2026-10:00:00] [I] Total GPU Compute Time: 2.9 s
&&&& PASSED TensorRT.trtexec [TensorRT v101100] # trtexec --onnx=a.onnx
"""


def reading() -> Iterator[Row]:
    """Yield seconds and memory for a log of 500 MB whose summary comes last, the tool named and found."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "run.log"
        block = "".join(NOISE.format(n % 60, n, n * 7919, n % 10) for n in range(20_000))
        head, tail = SUMMARY.split("{noise}")
        with log.open("w") as file:
            file.write(head)
            for _ in range(LOG_BYTES // len(block)):
                file.write(block)
            file.write(tail)
        floor = float(_run(LINES, str(log)))
        for tool in ("trtexec", "auto"):
            took, extra_mib, runs, outcome = _run(PARSE, str(log), tool).split()
            assert (runs, outcome) == ("1", "ok"), (runs, outcome)
            yield f"500 MB log, {tool}", float(took), "s", floor, "3x"
            yield f"500 MB log, {tool}, memory over the interpreter's", float(extra_mib), "MiB", None, "< 100 MiB"


def keeping() -> Iterator[Row]:
    """Yield files a second when 10,000 small results are handed in to SQLite, beside copying them one by one."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "files"
        files.mkdir()
        for number in range(FILES):
            (files / f"{number}.json").write_text(json.dumps(_serving_result(number)) + "\n")
        start = time.perf_counter()
        for path in files.iterdir():
            copy = Path(folder) / "copies" / path.name[:2]
            copy.mkdir(parents=True, exist_ok=True)
            (copy / f"{path.name}.part").write_bytes(path.read_bytes())
            (copy / f"{path.name}.part").rename(copy / path.name)
        floor = time.perf_counter() - start
        command = [sys.executable, "-m", "tracker.cli", "ingest", str(files), "--component", "vllm", "--release", "1.0"]
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env={"TRACKER_HOME": f"{folder}/home"})
        took = time.perf_counter() - start
        yield "10,000 small results kept", took, "s", floor, "10 s (1,000 a second)"


def _serving_result(number: int) -> dict[str, object]:
    latencies = {
        f"{statistic}_{family}_ms": 10.0 + number % 97
        for family in ("ttft", "tpot", "itl", "e2el")
        for statistic in ("mean", "median", "p99")
    }
    rates = {"request_throughput": 5.0, "output_throughput": 900.0 + number % 31, "total_token_throughput": 1800.0}
    asked = {"model_id": f"model-{number % 20}", "num_prompts": 100, "request_rate": "inf", "max_concurrency": 8}
    return {
        "date": "20261130-100000",
        "backend": "openai",
        **asked,
        "completed": 100,
        "failed": 0,
        **rates,
        **latencies,
    }


def _run(program: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()
