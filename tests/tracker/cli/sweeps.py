"""Sweeps over concurrency with invented figures, stored as results of a release or written as a CSV file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.tracker.cli.conftest import Tracker

CURVE = {4: (180.0, 900.0), 16: (140.0, 2500.0), 64: (80.0, 5600.0), 256: (30.0, 9000.0)}
"""Concurrency -> tok/s/user, output tok/s/GPU."""
WOBBLE = (0.995, 1.0, 1.004)


def ingest_sweep(
    tracker: Tracker,
    folder: Path,
    release: str,
    day: str,
    *,
    gain: float | Mapping[int, float] = 1.0,
    gpu: str = "B200",
) -> None:
    """Keep three repeats of the curve, its throughput and speed multiplied by `gain` (of each concurrency)."""
    folder.mkdir(parents=True, exist_ok=True)
    for concurrency, (x, y) in CURVE.items():
        times = gain if isinstance(gain, float) else gain[concurrency]
        for place, wobble in enumerate(WOBBLE):
            entry = {
                "hw": gpu, "conc": concurrency, "model": "acme/tiny-120b", "infmax_model_prefix": "tiny",
                "framework": "trt", "precision": "fp4", "isl": 1024, "osl": 1024, "is_multinode": False, "tp": 8,
                "image": f"img:{release}", "output_tput_per_gpu": y * times * wobble,
                "tput_per_gpu": 2 * y * times * wobble, "median_intvty": x * times * wobble,
            }  # fmt: skip
            (folder / f"{release}-{concurrency}-{place}.json").write_text(json.dumps(entry), encoding="utf-8")
    answer = tracker(
        "ingest", str(folder / f"{release}-*.json"), "--component", "tensorrt-llm", "--release", release,
        "--host", "node-1", "--label", "gpu_count=8", "--at", f"{day}T08:00:00Z",
    )  # fmt: skip
    assert answer.code == 0, answer.out + answer.err


def sweep_csv(*releases: tuple[str, Mapping[int, float]], repeats: int = 3) -> str:
    """Return a CSV of the curve for each release, multiplied by its gain of each concurrency."""
    lines = ["release,concurrency,tok/s/gpu,tok/s/user,repeat"]
    for release, gains in releases:
        for concurrency, (x, y) in CURVE.items():
            for repeat in range(repeats):
                times = gains.get(concurrency, 1.0) * WOBBLE[repeat]
                lines.append(f"{release},{concurrency},{y * times:.6g},{x * times:.6g},{repeat}")
    return "\n".join(lines) + "\n"
