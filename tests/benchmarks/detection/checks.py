"""What only our detector is asked: false discoveries over a fleet, intervals, speed, the same answer everywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from baselines import SeriesInput, detect, detect_many
from tests.benchmarks.detection import scoring, synth

ROOT = Path(__file__).parents[3]
FIRST_CALL = (
    "import time; s = time.perf_counter(); from baselines import detect; detect([[1.0, 1.1]] * 9);"
    "print(time.perf_counter() - s)"
)
DECIDE = (
    "import json; from tests.benchmarks.detection import peers, synth; s = synth.generate('dev')['step'][:200];"
    "print(json.dumps([[p[0] for p in q] for q in peers.tracker()(s)]))"
)


def report(quick: bool) -> list[str]:
    """Return the lower part of the report."""
    rows = [
        *false_discoveries(*((2000, 1) if quick else (20000, DRAWS))),
        *strangers(),
        *coverage(quick),
        *speed(quick),
        *same_answer(),
        *labelled(),
    ]
    lines = ["| what | found | goal |", "|---|---|---|", *(f"| {a} | {b} | {c} |" for a, b, c in rows)]
    return ["## Ours alone", "\n".join(lines)]


DRAWS = 6
"""Fleets drawn: in one of 20,000 series with 1 % true changes the share of false calls varies by 2 %."""


def false_discoveries(count: int, draws: int):
    """Yield the share of false calls and the power at one release where 1 % of the series changed."""
    for title, alike in (("siblings of like noise", True), ("siblings of unlike noise", False)):
        calls = np.zeros(4)
        tests = []
        for draw in range(draws):
            values, changed = make_fleet_of(count, alike, draw)
            inputs = [SeriesInput(values=one, group=f"g{number // 20}") for number, one in enumerate(values)]
            one = count_calls(detect_many(inputs), changed)
            calls += one
            tests.append(power_of_tests(values, changed, one[0] / max(1, one[1])))
        what = f"{draws} times {count:,} series, 1 % changed, {title}: false calls, power"
        yield what, f"{calls[0] / calls[1]:.1%}, {calls[2] / calls[3]:.1%}", "≤ 6 %"
        yield (
            "the same, a t test of each series with the threshold of as many false calls: power",
            f"{np.mean(tests):.1%}",
            "below ours",
        )
    values, changed = make_fleet_of(count, True, 0)
    calls = count_calls([detect(one) for one in values], changed)
    what = f"{count:,} series, each alone: false calls, power"
    yield what, f"{calls[0] / calls[1]:.1%}, {calls[2] / calls[3]:.1%}", ""


def count_calls(found, changed):
    """Return false calls, calls, true calls and true changes at the newest release."""
    hits = np.array([any(point.index == 19 for point in points) for points in found])
    return np.array([np.sum(hits & ~changed), np.sum(hits), np.sum(hits & changed), np.sum(changed)], float)


def power_of_tests(values, changed, wrong: float) -> float:
    """Return the power at the newest release of a t test of each series alone, were its best threshold known."""
    levels = np.log(np.array(values)).mean(axis=2)
    past = levels[:, :-1]
    score = np.abs(levels[:, -1] - past.mean(axis=1)) / past.std(axis=1, ddof=1)
    hits = changed[np.argsort(-score)]
    shares = np.cumsum(~hits) / np.arange(1, len(hits) + 1)
    good = np.flatnonzero(shares <= wrong)
    return float(np.sum(hits[: good[-1] + 1]) / np.sum(changed)) if len(good) else 0.0


def strangers():
    """Yield F1 where siblings change at releases of their own: lending one another evidence must do no harm."""
    series = synth.generate("dev")["step"]
    for title, grouped in (("as siblings", True), ("as strangers", False)):
        inputs = [
            SeriesInput(values=[list(v) for v in s.values], group=s.group if grouped else None, labels=s.labels)
            for s in series
        ]
        found = [[point.index for point in points] for points in detect_many(inputs)]
        yield (
            f"siblings that change apart, {title}: F1",
            f"{scoring.f1_of(scoring.count_steps(series, found, 1)):.3f}",
            "",
        )


def make_fleet_of(count: int, alike: bool, draw: int):
    """Return 20 releases with 3 repeats of each series, and which of them changed at the newest release."""
    source = np.random.default_rng([20261202, draw])
    changed = source.random(count) < 0.01
    values = []
    spread = 0.0
    for number in range(count):
        if not alike or number % 20 == 0:
            spread = np.exp(source.uniform(np.log(0.003), np.log(0.08)))
        own = spread * np.exp(0.35 * source.standard_normal())
        levels = own * 0.6 * source.standard_normal(20)
        levels[-1] += changed[number] * source.choice([-1, 1]) * source.uniform(3, 8) * own
        values.append(np.exp(levels[:, None] + 0.8 * own * source.standard_normal((20, 3))).tolist())
    return values, changed


def coverage(quick: bool):
    """Yield how often the 95 % interval of a found step holds its true size."""
    held: dict[str, list[bool]] = {"all": [], "10 % and more": []}
    for seed in ("dev",) if quick else ("dev", "heldout", "confirm"):
        series = synth.generate(seed)["step"]
        inputs = [SeriesInput(values=[list(v) for v in s.values], group=s.group) for s in series]
        for one, points in zip(series, detect_many(inputs), strict=True):
            for low, _, size in one.truth:
                for point in points:
                    if point.index == low:
                        edges = sorted(abs(np.log1p(x)) for x in (point.effect_low, point.effect_high))
                        inside = edges[0] <= np.log1p(size) <= edges[1]
                        held["all"].append(inside)
                        if size >= 0.1:
                            held["10 % and more"].append(inside)
    for title, found in held.items():
        yield f"interval holds the true size, steps of {title} ({len(found)})", f"{np.mean(found):.1%}", "93 to 97 %"


def speed(quick: bool):
    """Yield times on one thread."""
    count = 1000 if quick else 10000
    inputs = [
        SeriesInput(values=synth.timing_series(100, seed=n).reshape(-1, 1).tolist(), group=str(n // 20))
        for n in range(count)
    ]
    detect_many(inputs[:50])
    yield f"{count:,} series of 100", f"{taken(lambda: detect_many(inputs), 3):.2f} s", "≤ 0.5 s for 10,000"
    long = synth.timing_series(5000).reshape(-1, 1).tolist()
    yield "one series of 5,000", f"{1000 * taken(lambda: detect(long), 5):.1f} ms", "≤ 3 ms"
    first = subprocess.run([sys.executable, "-c", FIRST_CALL], cwd=ROOT, capture_output=True, text=True, check=True)
    yield "first call in a fresh process", f"{float(first.stdout):.2f} s", "≤ 2 s"


def taken(call, times: int = 1) -> float:
    """Return the median seconds of a call."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return float(np.median(found))


def same_answer():
    """Yield whether the same data give the same decisions under another unit, order, thread count and BLAS kernel."""
    series = synth.generate("dev")["step"][:200]
    plain = decide(series)
    yield "unit × 1000", word(decide(series, lambda v: v * 1000) == plain), "same"
    yield "repeats in another order", word(decide(series, lambda v: v[::-1]) == plain), "same"
    for name, value in (("OMP_NUM_THREADS", "2"), ("OPENBLAS_NUM_THREADS", "1"), ("OPENBLAS_CORETYPE", "Nehalem")):
        done = subprocess.run(
            [sys.executable, "-c", DECIDE], cwd=ROOT, capture_output=True, text=True, env={**os.environ, name: value}
        )
        yield f"{name}={value}", word(done.returncode == 0 and json.loads(done.stdout) == plain), "same"


def decide(series, change=lambda values: values):
    """Return the indices found in each series, its repeats changed first."""
    inputs = [
        SeriesInput(values=[change(v).tolist() for v in s.values], group=s.group, labels=list(map(str, s.labels)))
        for s in series
    ]
    return [[point.index for point in points] for points in detect_many(inputs)]


def word(same: bool) -> str:
    """Return yes or no in words."""
    return "same" if same else "DIFFERENT"


def labelled():
    """Yield F1 and covering on the human-labelled series that CPD_LABELLED names."""
    path = os.environ.get("CPD_LABELLED")
    if not path:
        yield "labelled series", "not run: CPD_LABELLED names no file", "F1 ≥ 0.75"
        return
    scores: dict[str, list[tuple[float, float]]] = {}
    for item in json.loads(Path(path).read_text()):
        finite = [place for place, value in enumerate(item["y"]) if value is not None]
        points = detect([[item["y"][place]] for place in finite])
        found = [finite[point.index] for point in points]
        cover = scoring.covering(item["annotations"], found, len(item["y"]))
        scores.setdefault(item["source"], []).append((scoring.f1_annotators(item["annotations"], found), cover))
    for source, found in scores.items():
        f1, cover = np.mean(found, axis=0)
        yield f"labelled: {source} ({len(found)} series): F1, covering", f"{f1:.3f}, {cover:.3f}", "F1 ≥ 0.75"
