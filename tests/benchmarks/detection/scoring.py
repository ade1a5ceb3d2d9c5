"""Scores. F1 and covering follow the definitions of van den Burg & Williams (2020), own code."""

from __future__ import annotations

import itertools

import numpy as np


def _tp(true, pred, margin):
    """Number of `true` points matched one-to-one by `pred` within `margin`."""
    pred = sorted(pred)
    used = set()
    n = 0
    for t in sorted(true):
        best = None
        for i, p in enumerate(pred):
            if i in used or abs(p - t) > margin:
                continue
            if best is None or abs(p - t) < abs(pred[best] - t):
                best = i
        if best is not None:
            used.add(best)
            n += 1
    return n


def f1_annotators(annotations, pred, margin=5):
    """annotations: dict user -> list; index 0 is added to all sets, as in the benchmark."""
    X = {int(p) for p in pred} | {0}
    T = {k: set(v) | {0} for k, v in annotations.items()}
    union = set().union(*T.values())
    prec = _tp(union, X, margin) / len(X)
    rec = np.mean([_tp(t, X, margin) / len(t) for t in T.values()])
    return 0.0 if prec + rec == 0 else float(2 * prec * rec / (prec + rec))


def _parts(cps, n):
    c = [0, *sorted({int(x) for x in cps if 0 < x < n}), n]
    return list(itertools.pairwise(c))


def covering(annotations, pred, n):
    P = _parts(pred, n)

    def one(t):
        s = 0.0
        for a, b in _parts(t, n):
            best = 0.0
            for c, d in P:
                inter = max(0, min(b, d) - max(a, c))
                if inter:
                    best = max(best, inter / (max(b, d) - min(a, c)))
            s += (b - a) * best
        return s / n

    return float(np.mean([one(t) for t in annotations.values()]))


def match(truth, pred, margin):
    """truth: (lo, hi, size). Returns (list of hit flags, exact flags, number of false positives)."""
    pred = sorted({int(p) for p in pred})
    used = [False] * len(pred)
    cand = []
    for ti, (lo, hi, _s) in enumerate(truth):
        for pi, p in enumerate(pred):
            d = 0 if lo <= p <= hi else min(abs(p - lo), abs(p - hi))
            if d <= margin:
                cand.append((d, ti, pi))
    hit = [False] * len(truth)
    exact = [False] * len(truth)
    for d, ti, pi in sorted(cand):
        if hit[ti] or used[pi]:
            continue
        hit[ti] = True
        exact[ti] = d == 0
        used[pi] = True
    fp = 0
    for pi, p in enumerate(pred):
        if used[pi]:
            continue
        if any(hi > lo and lo - margin <= p <= hi + margin for lo, hi, _ in truth):
            continue  # further steps of one ramp are not false
        fp += 1
    return hit, exact, fp


def prf(tp, fp, fn):
    p = tp / (tp + fp) if tp + fp else 1.0
    r = tp / (tp + fn) if tp + fn else 1.0
    return p, r, (2 * p * r / (p + r) if p + r else 0.0)


def count_steps(series, found, margin):
    """Return rows (true positives, false positives, misses), one a series."""
    rows = []
    for one, points in zip(series, found, strict=True):
        hit, _, false = match(one.truth, points, margin)
        rows.append((sum(hit), false, len(hit) - sum(hit)))
    return np.array(rows, float)


def f1_of(rows):
    """Return the F1 of summed rows."""
    return prf(*rows.sum(axis=0))[2]


def share_of(rows):
    """Return the mean of one column: a recall or an alarm rate."""
    return float(np.mean(rows))


def bootstrap(measure, ours, theirs, groups, times=1000):
    """Return the 95 % interval of a paired difference, whole sibling groups drawn again."""
    source = np.random.default_rng(1)
    places = [np.flatnonzero(np.array(groups) == name) for name in dict.fromkeys(groups)]
    drawn = []
    for _ in range(times):
        rows = np.concatenate([places[i] for i in source.integers(0, len(places), len(places))])
        drawn.append(measure(ours[rows]) - measure(theirs[rows]))
    return tuple(np.quantile(drawn, (0.025, 0.975)))
