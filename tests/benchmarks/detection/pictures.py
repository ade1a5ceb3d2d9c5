"""Draw the pictures of the guide's page on detection: python -m tests.benchmarks.detection.pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from alerts.charts import render, trend_spec
from baselines import detect
from tracker.cli.csv_series import CsvSeries
from tracker.cli.detect import PICTURE_WIDTH, make_trend

FOLDER = Path(__file__).parents[3] / "tracker" / "guide" / "pictures"


def main() -> None:
    """Write both pictures."""
    source = np.random.default_rng(4)
    step = np.where(np.arange(24) < 15, 20.0, 21.6)
    step[8] *= 1.25
    wander = np.zeros(40)
    for place in range(1, 40):
        wander[place] = 0.9 * wander[place - 1] + 0.012 * source.standard_normal()
    draw("step.png", "A step, and one bad day before it", step, source)
    draw("wandering.png", "No change, but a machine whose speed wanders", 20 * np.exp(wander), source)


def draw(name: str, title: str, levels: np.ndarray, source: np.random.Generator) -> None:
    """Write the picture of a series with 3 repeats around each level."""
    spread = 1 + 0.008 * source.standard_normal((len(levels), 3))
    values = tuple(map(tuple, (levels[:, None] * spread).tolist()))
    labels = tuple(f"1.{place}" for place in range(len(levels)))
    series = CsvSeries(metric="ttft_p50_ms", labels=labels, values=values, order="", missing=0)
    changes = detect(values)
    print(name, [(labels[change.index], change.reason) for change in changes])
    spec = trend_spec(make_trend(series, changes, "lower", title), width=PICTURE_WIDTH)
    (FOLDER / name).write_bytes(render(spec, "png"))


if __name__ == "__main__":
    main()
