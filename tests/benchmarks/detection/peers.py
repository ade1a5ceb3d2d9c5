"""Adapters: each peer is a function (list of repeats per release) -> list of change indices.

`mode` says how a 1-D peer is fed: mean / median (one number per release), logmean / logmedian,
or flat (all repeats in order; a detection is mapped to the nearest release boundary).
No peer code is kept here: packages are imported where installed. `perfherder` and `pct` are our own
re-implementations from the documented behaviour (treeherder is not an installable package).
"""

from __future__ import annotations

import warnings

import numpy as np

warnings.filterwarnings("ignore")
CRASHES: dict = {}


def feed(values, mode):
    if mode in ("flat", "logflat"):
        y = np.concatenate(values).astype(float)
        starts = np.cumsum([0] + [len(v) for v in values])[:-1]
        if mode == "logflat":
            y = _log(y)
        return y, starts
    f = np.median if mode.endswith("median") else np.mean
    y = np.array([f(v) for v in values], float)
    return (_log(y) if mode.startswith("log") else y), None


def _log(y):
    return np.log(y) if np.all(y > 0) else y


def back(cps, starts, n, m):
    cps = [int(c) for c in cps if 0 < int(c) < m]  # ruptures returns the end as last break
    if starts is not None:
        cps = [int(np.argmin(np.abs(starts - c))) for c in cps]
    return sorted({c for c in cps if 0 < c < n})


def _wrap(fn, mode):
    def run(values):
        y, starts = feed(values, mode)
        if len(y) < 2:
            return []
        try:
            cps = fn(y)
        except Exception as e:
            CRASHES[type(e).__name__] = CRASHES.get(type(e).__name__, 0) + 1
            cps = []
        return back(cps, starts, len(values), len(y))

    run.core = fn  # for timing.py: the peer alone, on a ready 1-D array
    return run


def sd_diff(y):
    """Robust noise scale from first differences (MAD / sqrt 2)."""
    d = np.diff(y)
    if len(d) == 0:
        return 1.0
    s = np.median(np.abs(d - np.median(d))) * 1.4826 / np.sqrt(2)
    if s <= 0:
        s = np.std(d) / np.sqrt(2)
    return s if s > 0 else 1.0


# ---- Apache Otava (Hunter) ------------------------------------------------------------------
def otava(window_len=50, max_pvalue=0.001, min_magnitude=0.0, mode="mean"):
    from otava.analysis import compute_change_points

    def fn(y):
        cps, _ = compute_change_points(
            list(map(float, y)), window_len=window_len, max_pvalue=max_pvalue, min_magnitude=min_magnitude
        )
        return [c.index for c in cps]

    return _wrap(fn, mode)


def mongo(pvalue=0.05, permutations=100, mode="mean", max_n=1200):
    from signal_processing_algorithms.energy_statistics.energy_statistics import e_divisive

    def fn(y):
        if len(y) > max_n or len(y) < 3:  # quadratic memory per permutation
            return []
        np.random.seed(1234)
        return e_divisive(y, pvalue=pvalue, permutations=permutations)

    return _wrap(fn, mode)


# ---- ruptures -------------------------------------------------------------------------------
def ruptures(algo="Pelt", model="l2", pen=10.0, scale=None, min_size=2, jump=5, mode="mean", rs=False):
    """pen: number, or scale='bic' -> pen * log(n) * sigma^2 (l2/l1) or pen * log(n) after standardising."""
    if rs:
        import ruptures_rs as rpt
    else:
        import ruptures as rpt

    def fn(y):
        n = len(y)
        if n < 2 * min_size + 1:
            return []
        p = pen
        if scale == "bic":
            y = (y - np.median(y)) / sd_diff(y)
            p = pen * np.log(n)
        try:
            if algo == "KernelCPD":
                a = rpt.KernelCPD(kernel=model, min_size=min_size)
            else:
                a = getattr(rpt, algo)(model=model, min_size=min_size, jump=jump)
            return a.fit(y.reshape(-1, 1)).predict(pen=p)
        except Exception as e:
            if type(e).__name__ in ("BadSegmentationParameters", "NotEnoughPoints"):
                return []
            raise

    return _wrap(fn, mode)


# ---- asv ------------------------------------------------------------------------------------
def asv(threshold=0.0, mode="median", weights=False):
    from asv import step_detect

    def fn_w(values):
        y, starts = feed(values, mode)
        w = None
        if weights:  # asv weights by the inverse spread of the samples
            w = [np.sqrt(len(v)) for v in values]
        st = step_detect.detect_steps(list(map(float, y)), w)
        out = [
            s[0]
            for s, p in zip(st[1:], st[:-1], strict=False)
            if threshold == 0 or abs(s[2] - p[2]) > threshold * abs(p[2])
        ]
        return back(out, starts, len(values), len(y))

    fn_w.core = lambda y: step_detect.detect_steps(y.tolist())
    return fn_w


# ---- changeforest ---------------------------------------------------------------------------
def changeforest(method="random_forest", seg="bs", mode="mean"):
    from changeforest import changeforest as cf

    def fn(y):
        if len(y) < 5:
            return []
        return cf(np.ascontiguousarray(y.reshape(-1, 1)), method, seg).split_points()

    return _wrap(fn, mode)


# ---- Perfherder-style windowed t-test (own implementation) ----------------------------------
def perfherder(back_min=12, back_max=24, fore=12, t_threshold=7.0, use="all", min_pct=0.0):
    def run(values):
        vals = [np.asarray(v, float) for v in values] if use == "all" else [np.array([np.mean(v)]) for v in values]
        n = len(vals)
        cnt = np.array([len(v) for v in vals])
        sm = np.array([v.sum() for v in vals])
        sq = np.array([(v * v).sum() for v in vals])
        t = np.zeros(n)
        ok = np.zeros(n, bool)
        rel = np.zeros(n)
        quiet = 0

        def stats(idx):
            k = len(idx)
            w = (k - np.arange(k)) / k
            c = cnt[idx]
            N = c.sum()
            avg = (sm[idx] * w).sum() / (c * w).sum()
            var = (sq[idx].sum() - 2 * avg * sm[idx].sum() + N * avg * avg) / (N - 1) if N > 1 else 0.0
            return avg, max(var, 0.0), N

        for i in range(1, n):
            lim = min(max(quiet, back_min), back_max)
            L = []
            c = 0
            j = i - 1
            while c < back_max and j >= 0 and i - j <= lim:
                L.append(j)
                c += cnt[j]
                j -= 1
            R = []
            d = 0
            j = i
            while d < fore and j < n:
                R.append(j)
                d += cnt[j]
                j += 1
            a1, v1, n1 = stats(np.array(L))
            a2, v2, n2 = stats(np.array(R))
            den = v1 / n1 + v2 / n2
            t[i] = 0.0 if a1 == a2 else (np.inf if den <= 0 else abs(a2 - a1) / np.sqrt(den))
            rel[i] = abs(a2 / a1 - 1) if a1 else np.inf
            ok[i] = c >= back_min and d >= fore
            quiet = 0 if t[i] > t_threshold else quiet + 1
        out = []
        for i in range(1, n):
            if (
                ok[i]
                and t[i] > t_threshold
                and t[i - 1] <= t[i]
                and (i + 1 >= n or t[i + 1] <= t[i])
                and rel[i] >= min_pct
            ):
                out.append(i)
        return out

    return run


# ---- threshold against the previous release (what simple CI gates do) -----------------------
def pct(threshold=0.05, mode="mean"):
    def fn(y):
        return [i for i in range(1, len(y)) if y[i - 1] and abs(y[i] / y[i - 1] - 1) > threshold]

    return _wrap(fn, mode)


def never():
    return lambda values: []


# name -> (default setting, grid of reasonable settings)
PEERS = {
    "otava": otava,
    "mongo_edivisive": mongo,
    **dict.fromkeys(("ruptures_pelt_rbf", "ruptures_pelt_l2", "ruptures_pelt_l1", "ruptures_binseg_l2"), ruptures),
    **dict.fromkeys(("ruptures_kernel_rbf", "ruptures_kernel_linear"), ruptures),
    "asv": asv,
    "perfherder_t": perfherder,
    "changeforest": changeforest,
    "pct_vs_previous": pct,
    "never": never,
}
"""Name in best_settings.json, where the settings that were tuned on dev stand, -> what makes the detector."""


def tracker(alone=False):
    """Return our detector: a set as one family, or every series for itself. Points come with their interval."""
    from baselines import SeriesInput, detect_many

    def run(series):
        inputs = [
            SeriesInput(
                values=[list(map(float, repeats)) for repeats in one.values],
                group=None if alone else one.group,
                labels=list(map(str, one.labels)),
            )
            for one in series
        ]
        found = [detect_many([one])[0] for one in inputs] if alone else detect_many(inputs)
        return [[(p.index, p.effect_low, p.effect_high) for p in points] for points in found]

    return run


def batch(name, setting):
    """Return a detector of many series: ours as it is, a peer one series after another."""
    if name == "tracker":
        return tracker(**setting)
    one = PEERS[name](**setting)
    return lambda series: [[(index, None, None) for index in one(s.values)] for s in series]
