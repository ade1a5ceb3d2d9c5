"""Release-indexed synthetic series with known change points (fixed seeds; regenerate any time).

A series is a list of 1-D arrays, one per *present* release (the repeats of that release).
Truth is a list of (lo, hi, size): any detection index in [lo, hi] is exact; index = first
release of the new level. Missing releases are dropped before indexing (labels keep the numbers).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

SIZES = [0.02, 0.05, 0.10, 0.25, 4.0]  # 4.0 = "5x"
NOISES = ["lognormal", "heavy", "outlier", "bimodal", "ar"]
NOISE_P = [0.50, 0.15, 0.20, 0.08, 0.07]


@dataclass
class Series:
    sid: str
    group: str
    kind: str
    noise: str
    cv: float
    values: list
    truth: list = field(default_factory=list)  # (lo, hi, size)
    snr: list = field(default_factory=list)  # standardised shift per truth (oracle noise)
    labels: np.ndarray | None = None
    edge_at: int | None = None  # for kind == "edge": index of the change


class _Group:
    def __init__(self, rng, gid):
        self.gid = gid
        self.cv = np.exp(rng.uniform(np.log(0.003), np.log(0.08)))
        self.phi = rng.choice([0.1, 0.3, 1.0])  # between-release / within-release variance


def _noise(rng, n, reps, cv, phi, kind):
    """log-noise: list of arrays. Total one-run sd is about cv."""
    sw = cv / np.sqrt(1 + phi)
    sb = sw * np.sqrt(phi)
    if kind == "heavy":
        tb = rng.standard_t(3, n) / np.sqrt(3.0)
        b = sb * tb
        e = [sw * rng.standard_t(3, r) / np.sqrt(3.0) for r in reps]
    else:
        b = sb * rng.standard_normal(n)
        e = [sw * rng.standard_normal(r) for r in reps]
    if kind == "ar":
        z = np.empty(n)
        z[0] = rng.standard_normal()
        for i in range(1, n):
            z[i] = 0.6 * z[i - 1] + 0.8 * rng.standard_normal()
        b = cv * 0.7 * z
        e = [x * 0.7 for x in e]
    if kind == "outlier":
        sign = rng.choice([-1.0, 1.0])  # slow runs: one-sided
        for x in e:
            hit = rng.random(len(x)) < 0.03
            x[hit] += sign * np.log1p(rng.uniform(0.10, 0.60, hit.sum()))
        hit = rng.random(n) < 0.01  # a whole release measured on a bad day
        b[hit] += sign * np.log1p(rng.uniform(0.10, 0.60, hit.sum()))
    if kind == "bimodal":
        p = rng.uniform(0.15, 0.5)
        gap = cv * rng.uniform(2.0, 5.0)
        if rng.random() < 0.5:
            b = b + gap * (rng.random(n) < p)
        else:
            e = [x + gap * (rng.random(len(x)) < p) for x in e]
    return [b[i] + e[i] for i in range(n)]


def _reps(rng, n, nightly=False):
    if nightly:
        base = int(rng.choice([1, 1, 2, 3]))
    else:
        base = int(rng.choice([1, 2, 3, 5, 10], p=[0.3, 0.15, 0.3, 0.15, 0.10]))
    r = np.full(n, base)
    if base > 1:
        less = rng.random(n) < 0.10
        r[less] = rng.integers(1, base, less.sum())
    return r


def _positions(rng, n, k, gap):
    for _ in range(200):
        p = np.sort(rng.choice(np.arange(1, n), size=k, replace=False))
        if (k == 1 or np.min(np.diff(p)) >= gap) and n - p[-1] >= 1:
            return p
    return p[:1]


def _factor(rng, size):
    f = 1 + size
    return f if rng.random() < 0.5 else 1 / f


def make(rng, kind, sid, g, size=None):
    nightly = kind.startswith("nightly")
    n = int(rng.integers(100, 601)) if nightly else round(np.exp(rng.uniform(np.log(5), np.log(60))))
    noise = str(rng.choice(NOISES, p=NOISE_P))
    cv = float(np.clip(g.cv * np.exp(0.35 * rng.standard_normal()), 0.002, 0.10))
    log_level = np.full(n, np.log(np.exp(rng.uniform(np.log(0.5), np.log(5e4)))))
    truth, edge_at = [], None
    if kind in ("step", "nightly_step"):
        kmax = 5 if nightly else max(1, min(3, n // 6))
        k = int(rng.integers(1, kmax + 1))
        for p in _positions(rng, n, k, 10 if nightly else 3):
            s = size if size is not None else float(rng.choice(SIZES))
            log_level[p:] += np.log(_factor(rng, s))
            truth.append([p, p, s])
    elif kind == "gradual":
        n = max(n, 12)
        log_level = np.full(n, log_level[0])
        L = int(rng.integers(3, 6))
        p = int(rng.integers(3, n - L - 1))
        s = float(rng.choice([0.10, 0.25, 0.5]))
        f = np.log(_factor(rng, s))
        log_level[p : p + L] += f * np.arange(1, L + 1) / L
        log_level[p + L :] += f
        truth.append([p, p + L - 1, s])
    elif kind == "drift":
        log_level = log_level + rng.choice([-1, 1]) * np.linspace(0, rng.uniform(0.5, 1.5) * cv, n)
    elif kind == "edge":
        s = size if size is not None else float(rng.choice(SIZES))
        edge_at = n
        n = n + 4
        log_level = np.concatenate([log_level, np.full(4, log_level[-1])])
        log_level[edge_at:] += np.log(_factor(rng, s))
        truth.append([edge_at, edge_at, s])
    reps = _reps(rng, n, nightly)
    e = _noise(rng, n, reps, cv, g.phi, noise)
    vals = [np.exp(log_level[i] + e[i]) for i in range(n)]
    keep = np.ones(n, bool)
    if kind in ("step", "null", "gradual") and n > 8 and rng.random() < 0.3:  # missing releases
        keep = rng.random(n) > 0.12
        keep[[0, n - 1]] = True
    pos = np.cumsum(keep) - 1
    first = np.array([pos[i] if keep[i] else pos[i] + 1 for i in range(n)])
    snr = []
    tr = []
    cuts = [0, *sorted(int(first[t[0]]) for t in truth), int(keep.sum())]
    rr = reps[keep]
    sw2 = cv * cv / (1 + g.phi)
    for lo, hi, s in truth:
        lo2, hi2 = int(first[lo]), int(first[hi])
        tr.append((lo2, hi2, s))
        a = max(c for c in cuts if c < lo2) if lo2 > 0 else 0
        b = min(c for c in cuts if c > hi2)
        W = 1.0 / (sw2 * (g.phi + 1.0 / rr))
        wl, wr = W[a:lo2].sum(), W[lo2:b].sum()
        snr.append(float(np.log1p(s) * np.sqrt(wl * wr / (wl + wr))) if wl > 0 and wr > 0 else 0.0)
    return Series(
        sid,
        g.gid,
        kind,
        noise,
        cv,
        [v for v, k_ in zip(vals, keep, strict=False) if k_],
        tr,
        snr,
        np.flatnonzero(keep),
        edge_at,
    )


def make_fleet(rng, gid, m=20):
    """A group of siblings on the same releases. Half of the groups change at the newest release in
    about 70% of the siblings (similar size); returns m Series with edge_at = newest release index."""
    g = _Group(rng, gid)
    n = round(np.exp(rng.uniform(np.log(8), np.log(60))))
    changed = rng.random() < 0.5
    size = float(rng.choice([0.02, 0.03, 0.05, 0.10]))
    sign = rng.choice([-1.0, 1.0])
    out = []
    for i in range(m):
        noise = str(rng.choice(NOISES, p=NOISE_P))
        cv = float(np.clip(g.cv * np.exp(0.35 * rng.standard_normal()), 0.002, 0.10))
        L = np.full(n + 4, rng.uniform(np.log(0.5), np.log(5e4)))
        tr = []
        if changed and rng.random() < 0.7:
            d = sign * np.log1p(size) * np.exp(0.3 * rng.standard_normal())
            L[n:] += d
            tr = [(n, n, size)]
        reps = _reps(rng, n + 4)
        e = _noise(rng, n + 4, reps, cv, g.phi, noise)
        out.append(
            Series(
                f"{gid}-{i}",
                gid,
                "fleet",
                noise,
                cv,
                [np.exp(L[j] + e[j]) for j in range(n + 4)],
                tr,
                [],
                np.arange(n + 4),
                n,
            )
        )
    return out


COUNTS = {
    "step": 800,
    "null": 1000,
    "drift": 200,
    "gradual": 200,
    "edge": 500,
    "nightly_step": 200,
    "nightly_null": 200,
    "fleet": 600,
}
NIGHTLY_GROUP = 5
SEEDS = {"dev": 20240501, "heldout": 20251117, "confirm": 31415926}


def generate(split="dev", counts=None, group_size=20):
    """dict kind -> list[Series]; deterministic for a split (a name in SEEDS, or any integer as text)."""
    counts = counts or COUNTS
    out = {}
    for ki, (kind, m) in enumerate(COUNTS.items()):
        rng = np.random.default_rng([SEEDS[split] if split in SEEDS else int(split), ki])
        ss, g = [], None
        if kind == "fleet":
            for i in range(min(m, counts.get(kind, 0)) // group_size):
                ss += make_fleet(rng, f"fleet-g{i}", group_size)
            out[kind] = ss
            continue
        for i in range(min(m, counts.get(kind, 0))):
            size_of_group = NIGHTLY_GROUP if kind.startswith("nightly") else group_size
            if i % size_of_group == 0:
                g = _Group(rng, f"{kind}-g{i // size_of_group}")
            size = SIZES[i % 5] if kind == "edge" else None
            ss.append(make(rng, kind, f"{kind}-{i}", g, size))
        out[kind] = ss
    return out


def timing_series(n, seed=7, changes=True):
    rng = np.random.default_rng([seed, n])
    y = np.full(n, 100.0)
    if changes:
        for p in np.linspace(0, n, min(8, max(2, n // 60)) + 1)[1:-1].astype(int):
            y[p:] *= 1.08 if rng.random() < 0.5 else 1 / 1.08
    return y * np.exp(0.02 * rng.standard_normal(n))
