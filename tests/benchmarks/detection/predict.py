"""Run as a program: what one detector finds in the sets of one seed, as JSON. Runs in the peers' environment too.

python -m tests.benchmarks.detection.predict SEED NAME SETTING SHARE
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from tests.benchmarks.detection import peers, synth

DELAYS = {"edge": range(2), "fleet": range(2)}


def sets_of(seed, share):
    """Return set name -> series; the sets with a change at the newest release stand at each delay after it."""
    data = synth.generate(seed)
    whole = {}
    for kind, series in data.items():
        few = series[: max(20, int(len(series) * share) // 20 * 20)]
        if kind not in DELAYS:
            whole[kind] = few
            continue
        for delay in DELAYS[kind]:
            whole[f"{kind}{delay}"] = [cut_series(one, delay) for one in few]
    return whole


def cut_series(one, delay):
    """Return a series as it stood `delay` releases after its change."""
    end = one.edge_at + 1 + delay
    return synth.Series(
        one.sid,
        one.group,
        one.kind,
        one.noise,
        one.cv,
        one.values[:end],
        one.truth,
        one.snr,
        one.labels[:end],
        one.edge_at,
    )


def fingerprint(sets):
    """Return a hash of the data: two environments must have drawn the same."""
    digest = hashlib.sha256()
    for series in sets.values():
        for one in series:
            digest.update(np.round(np.log(np.concatenate(one.values)), 6).tobytes())
    return digest.hexdigest()


def timed_fleet(count):
    """Return series of 100 releases, one repeat each, in groups of 20."""
    drawn = [synth.timing_series(100, seed=number).reshape(-1, 1) for number in range(count)]
    return [make_series(list(values), f"g{number // 20}") for number, values in enumerate(drawn)]


def make_series(values, group):
    """Return a series of which only the values are known."""
    return synth.Series("", group, "", "", 0.0, values, [], [], list(range(len(values))), None)


def read_labelled():
    """Return the human-labelled series that CPD_LABELLED names, each with its places and what was said of it."""
    path = os.environ.get("CPD_LABELLED")
    found = []
    for item in json.loads(Path(path).read_text()) if path else []:
        places = [place for place, value in enumerate(item["y"]) if value is not None]
        values = [np.array([float(item["y"][place])]) for place in places]
        found.append((make_series(values, None), places, item))
    return found


def main(seed, name, setting, share):
    """Print predictions, intervals where the detector gives them, seconds and crashes."""
    sets = sets_of(seed, float(share))
    detect = peers.batch(name, json.loads(setting))
    start = time.perf_counter()
    found = {kind: detect(series) for kind, series in sets.items()}
    took = time.perf_counter() - start
    fleet = timed_fleet(10000 if name == "tracker" else 50)
    start = time.perf_counter()
    detect(fleet)
    per_fleet = (time.perf_counter() - start) / len(fleet) * 10000
    labelled = [one[0] for one in read_labelled()]
    answer = {"fleet_seconds": per_fleet, "labelled": detect(labelled) if labelled else []}
    answer |= {"found": found, "seconds": took, "crashes": peers.CRASHES, "data": fingerprint(sets)}
    json.dump(answer, sys.stdout, default=float)


if __name__ == "__main__":
    main(*sys.argv[1:])
