"""`make bench-detection`: our detector beside tuned peers, written to tests/benchmarks/detection.md.

--quick takes a tenth of every set and the fastest peers, and prints instead of writing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from tests.benchmarks.detection import checks, scoring, synth
from tests.benchmarks.detection.predict import read_labelled, sets_of

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PEERS = ROOT / ".venv-peers" / "bin" / "python"
TARGET = HERE.parent / "detection.md"
SLOW = ("ruptures_pelt_l2", "ruptures_pelt_rbf", "mongo_edivisive", "ruptures_pelt_l1")
"""Minutes a seed each: only with --slow."""
QUICK = ("otava", "ruptures_binseg_l2", "asv")
OURS = (("tracker", {}), ("tracker", {"alone": True}))
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}


def main() -> None:
    """Score every detector on every seed and print or write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", default=f"dev,heldout,confirm,{datetime.now(UTC):%Y%m%d}")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tuned", action="store_true", help="leave the peers' default settings out")
    parser.add_argument("--slow", action="store_true", help=f"with {', '.join(SLOW)}")
    parser.add_argument("--ours", action="store_true", help="measure ours alone again, keep the seeds as they stand")
    asked = parser.parse_args()
    share = 0.1 if asked.quick else 1.0
    seeds = asked.seeds.split(",")[: 1 if asked.quick else None]
    chosen = choose(asked)
    parts = [describe_machine(share, chosen), *checks.report(asked.quick)]
    if asked.ours:
        parts += ["## Seed" + one.rstrip() for one in TARGET.read_text(encoding="utf-8").split("## Seed")[1:]]
    publish(parts, asked.quick)
    for seed in [] if asked.ours else seeds:
        rows = run_all(seed, share, asked.jobs, chosen)
        parts += [f"## Seed {seed}", table_of(seed, share, rows), *differences(seed, share, rows)]
        publish(parts, asked.quick)


def publish(parts: list[str], quick: bool) -> None:
    """Write what is known so far, or print the newest of it."""
    if quick:
        print("\n\n".join(parts[-3:]), flush=True)
    else:
        TARGET.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def choose(asked: argparse.Namespace) -> list[tuple[str, dict]]:
    """Return name and setting of everything that is compared: ours, and each peer tuned and at its default."""
    listed = [(name, setting) for name, setting in json.loads((HERE / "best_settings.json").read_text())]
    peers = [one for one in listed if not one[0].startswith("ours") and (asked.slow or one[0] not in SLOW)]
    if asked.quick or asked.tuned:
        peers = [one for one in peers if one[1] and (asked.tuned or one[0] in QUICK)]
    return [*OURS, *(peers if PEERS.exists() else [])]


def run_all(seed: str, share: float, jobs: int, chosen: list[tuple[str, dict]]) -> dict[str, dict]:
    """Return title -> what a detector found; one that does not run is left out and named."""
    found = {}
    with ThreadPoolExecutor(jobs) as pool:
        for title, answer in pool.map(lambda one: run_one(seed, share, *one), chosen):
            found[title] = answer
    sums = {answer["data"] for answer in found.values() if "data" in answer}
    if len(sums) > 1:
        raise SystemExit("the environments drew different data from one seed: compare nothing")
    return found


def run_one(seed: str, share: float, name: str, setting: dict) -> tuple[str, dict]:
    """Return a detector's title and what it found, or why it did not run."""
    python = sys.executable if name == "tracker" else str(PEERS)
    command = [python, "-m", "tests.benchmarks.detection.predict", seed, name, json.dumps(setting), str(share)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
    kind = ("alone" if setting else "family") if name == "tracker" else ("tuned" if setting else "default")
    if done.returncode:
        return f"{name} {kind}", {"problem": (done.stderr.strip().splitlines() or ["nothing said"])[-1]}
    return f"{name} {kind}", json.loads(done.stdout)


def measure(sets: dict, found: dict) -> dict[str, np.ndarray]:
    """Return measure -> one row a series, in the order of its set."""
    points = {kind: [[one[0] for one in series] for series in found[kind]] for kind in found}
    alarms = {kind: np.array([bool(one) for one in points[kind]], float) for kind in points}
    rows = {
        "step F1": scoring.count_steps(sets["step"], points["step"], 1),
        "nightly F1": scoring.count_steps(sets["nightly_step"], points["nightly_step"], 5),
        "null": alarms["null"],
        "nightly null": alarms["nightly_null"],
        "drift": alarms["drift"],
    }
    for kind in ("edge0", "edge1", "fleet0"):
        rows[kind] = np.array(
            [any(abs(p - s.edge_at) <= 1 for p in ps) for s, ps in zip(sets[kind], points[kind], strict=True)], float
        )
    late = [any(p >= s.edge_at - 1 for p in ps) for s, ps in zip(sets["fleet0"], points["fleet0"], strict=True)]
    changed = np.array([bool(s.truth) for s in sets["fleet0"]])
    rows["fleet0 alarms"] = np.array(late, float)[~changed]
    rows["fleet0"] = rows["fleet0"][changed]
    return rows


def groups_of(sets: dict, name: str) -> list[str]:
    """Return the sibling group of each row of a measure."""
    if name.startswith("fleet0"):
        return [one.group for one in sets["fleet0"] if bool(one.truth) is ("alarms" not in name)]
    kinds = {"step F1": "step", "nightly F1": "nightly_step", "nightly null": "nightly_null"}
    return [one.group for one in sets[kinds.get(name, name)]]


def summarize(name: str, rows: np.ndarray) -> float:
    """Return the figure of a measure: F1, recall, or alarms per 1000 series."""
    if name.endswith("F1"):
        return scoring.f1_of(rows)
    share = scoring.share_of(rows) if len(rows) else float("nan")
    return share if name in ("edge0", "edge1", "fleet0") else 1000 * share


MEASURES = ("step F1", "null", "nightly F1", "nightly null", "edge0", "edge1", "fleet0", "fleet0 alarms", "drift")


def table_of(seed: str, share: float, answers: dict[str, dict]) -> str:
    """Return the table of one seed, null alarms by kind of noise at the right."""
    sets = sets_of(seed, share)
    titles = [*MEASURES, *(f"null {noise}" for noise in synth.NOISES), "labelled F1", "seconds", "10,000 x 100, s"]
    lines = ["| detector | " + " | ".join(titles) + " |", "|---" * (len(titles) + 1) + "|"]
    for title, answer in answers.items():
        if "problem" in answer:
            lines.append(f"| {title} | did not run: {answer['problem']} |" + " |" * (len(titles) - 1))
            continue
        rows = measure(sets, answer["found"])
        figures = [summarize(name, rows[name]) for name in MEASURES]
        for noise in synth.NOISES:
            figures.append(1000 * float(np.mean(rows["null"][[one.noise == noise for one in sets["null"]]])))
        shown = [f"{figure:.3f}" if abs(figure) <= 1 else f"{figure:.0f}" for figure in figures]
        shown += [score_labelled(answer["labelled"]), f"{answer['seconds']:.1f}", f"{answer['fleet_seconds']:.1f}"]
        lines.append(f"| {title} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def score_labelled(found: list) -> str:
    """Return the mean F1 on the human-labelled series, a dash where there are none."""
    scores = [
        scoring.f1_annotators(item["annotations"], [places[point[0]] for point in points])
        for points, (_, places, item) in zip(found, read_labelled() if found else [], strict=True)
    ]
    return f"{np.mean(scores):.3f}" if scores else "-"


def differences(seed: str, share: float, answers: dict[str, dict]) -> list[str]:
    """Return ours minus the best peer with at most 30 null alarms per 1000, measure by measure."""
    sets = sets_of(seed, share)
    rows = {title: measure(sets, one["found"]) for title, one in answers.items() if "found" in one}
    ours = rows.pop("tracker family")
    rows.pop("tracker alone")
    quiet = {title: one for title, one in rows.items() if summarize("null", one["null"]) <= 30}
    lines = ["| measure | best quiet peer | ours minus it | 95 % (groups drawn again) |", "|---|---|---|---|"]
    for name in ("step F1", "nightly F1", "edge0", "edge1", "fleet0"):
        if not quiet:
            return ["No peer has at most 30 null alarms per 1000."]
        best = max(quiet, key=lambda title: summarize(name, quiet[title][name]))
        gain = summarize(name, ours[name]) - summarize(name, quiet[best][name])
        figure = scoring.f1_of if name.endswith("F1") else scoring.share_of
        low, high = scoring.bootstrap(figure, ours[name], quiet[best][name], groups_of(sets, name))
        lines.append(f"| {name} | {best} | {gain:+.3f} | {low:+.3f} to {high:+.3f} |")
    return ["\n".join(lines)]


def describe_machine(share: float, chosen: list[tuple[str, dict]]) -> str:
    """Return the head of the report: when, on what, with which versions."""
    facts = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":")[1].strip() for line in facts if line.startswith("model name")), "unknown processor")
    missing = sorted(set(SLOW) - {name for name, _ in chosen})
    left_out = f"left out for their time: {', '.join(missing)}" if missing else "none left out"
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    used = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    peers = "installed" if PEERS.exists() else "not installed: `make .venv-peers`"
    return (
        "# Detection beside its peers\n\n"
        f"Written by `make bench-detection` on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {commit.strip()}; {cpu}; "
        f"Python {platform.python_version()}, {used}; share of the sets {share:g}; peers {peers}, {left_out}.\n\n"
        "null, drift, fleet0 alarms: series with an alarm per 1000. edge0, edge1, fleet0: recall at the newest "
        "release, and one later. Nightly sets: 40 groups of 5."
    )


if __name__ == "__main__":
    main()
