"""How likely a change at one release is for each series, from what its siblings did at that release.

Loaded at the first detection (NumPy, SciPy). Siblings often change together, and then in one direction; whether they
do is learnt from the family itself. What a series itself shows has no part in its own weight but for its direction,
which says nothing of whether it changed: so the weights are fit for a weighted correction of p values (Genovese,
Roeder and Wasserman 2006; by odds as in Hu, Zhao and Zhou 2010).
"""

from __future__ import annotations

import numpy as np
from scipy import special

from baselines.detection.rows import Floats, Ints

GROUP = 5
"""Smaller groups say nothing of their own."""
CHANGE_VARIANCE = 9.0
"""Variance of the z of a change, in that of noise: three standard errors are usual among those worth finding."""
RARE = 0.01
"""Share of changed series that is assumed where a family says nothing."""
AGREEING = 0.9
"""Share of a group's changes that go its way, where it has one."""
LARGEST_SCORE = 6.0
MOST_LIKELY = 0.75
"""No series is taken for changed beyond this before its own values are looked at."""
SHARES = special.expit(np.linspace(-7, 4, 34))
"""Shares of changed series in a group that are weighed."""
CONCENTRATIONS = np.array([1.0, 4.0, 16.0, 64.0])
"""How alike the shares of groups are: each counts like so many series. Beyond these: all have the family's share."""
CONCENTRATION_PRIOR = np.array([0.3, 0.3, 0.2, 0.1, 0.1])
STEPS = 30
LEAST = 1e-250
"""Nothing is wholly unbelievable: many series together may say the contrary."""
BLOCK = 4096
"""So many series are weighed at a time: memory does not grow with the family."""


def weigh_series(p: Floats, sign: Floats, groups: Ints, labels: list[str]) -> list[float] | None:
    """Return the weight of each p value; None where no group is large enough to say anything.

    `sign` is the direction each series shows (0: none), `groups` the number of its sibling group (-1: none), `labels`
    the name of the release asked about: siblings count together where they are at the same release.
    """
    numbers: dict[tuple[int, str], int] = {}
    key = np.array([numbers.setdefault(one, len(numbers)) for one in zip(groups.tolist(), labels, strict=True)], int)
    size = np.bincount(key, minlength=len(numbers))
    usable = (size >= GROUP) & (np.array([group for group, _ in numbers]) >= 0)
    if not np.any(usable):
        return None
    ratio, agree = compare_explanations(p, sign)
    together = gather_evidence(ratio, agree, key, len(size))
    overall, prior = learn_shares(together[:, :, usable], size[usable], len(p))
    likely = np.full(len(p), overall)
    asked = np.flatnonzero(usable[key])
    for begin in range(0, len(asked), BLOCK):
        some = asked[begin : begin + BLOCK]
        others = together[:, :, key[some]] - weigh_shares(ratio[some], agree[:, some])
        belief = spread_belief(others, prior)
        changed = np.einsum("khn,k,hn->n", belief, SHARES, agree[:, some])
        likely[some] = changed / (changed + np.einsum("khn,k->n", belief, 1 - SHARES))
    likely = np.clip(likely, 1e-4, MOST_LIKELY)
    weights: list[float] = (likely / (1 - likely) / np.mean(likely)).tolist()
    return weights


def compare_explanations(p: Floats, sign: Floats) -> tuple[Floats, Floats]:
    """Return how much likelier a change makes each p than noise does, and the factor of each direction of its group.

    A change makes z normal with a greater variance. Directions (rows): none, up, down.
    """
    score = np.minimum(-special.ndtri(np.maximum(p, 1e-12) / 2), LARGEST_SCORE)
    more = CHANGE_VARIANCE / (1 + CHANGE_VARIANCE)
    lean = (2 * AGREEING - 1) * sign
    ratio = np.exp(score**2 / 2 * more) / np.sqrt(1 + CHANGE_VARIANCE)
    return ratio, np.stack([np.ones(len(p)), 1 + lean, 1 - lean])


def weigh_shares(ratio: Floats, agree: Floats) -> Floats:
    """Return the log likelihood of each series (axis 2), relative to no change, by share (0) and direction (1)."""
    return np.asarray(np.log1p(SHARES[:, None, None] * (ratio * agree - 1)))


def gather_evidence(ratio: Floats, agree: Floats, key: Ints, count: int) -> Floats:
    """Return the same summed over each of `count` groups, a block of series at a time."""
    together = np.zeros((len(SHARES), 3, count))
    for begin in range(0, len(ratio), BLOCK):
        some = slice(begin, begin + BLOCK)
        rows = weigh_shares(ratio[some], agree[:, some]).reshape(-1, len(key[some]))
        sums = [np.bincount(key[some], row, minlength=count) for row in rows]
        together += np.array(sums, dtype=np.float64).reshape(together.shape)
    return together


def learn_shares(evidence: Floats, size: Ints, count: int) -> tuple[float, Floats]:
    """Return the share of changed series in the family of `count`, and how believable each of `SHARES` is in a group.

    The share is the likeliest one, with `RARE` counting like as many series as make one change.
    """
    overall, prior = RARE, np.zeros(len(SHARES))
    likelihood = np.exp(evidence - np.max(evidence, axis=(0, 1))).sum(axis=1)
    for _ in range(STEPS):
        shapes = np.maximum(shape_shares(overall), LEAST)
        fit = np.log(CONCENTRATION_PRIOR) + np.log(shapes @ likelihood).sum(axis=1)
        weight = np.exp(fit - np.max(fit))
        prior = weight / weight.sum() @ shapes
        mean = (SHARES * prior) @ likelihood / (prior @ likelihood)
        found = float(mean @ size) + overall * (count - float(size.sum()))
        before, overall = overall, (found + 1) / (count + 1 / RARE)
        if abs(np.log(overall / before)) < 1e-3:
            break
    return overall, prior


def shape_shares(overall: float) -> Floats:
    """Return, per concentration, how believable each of `SHARES` is: Beta around `overall`, at last `overall` alone."""
    first, second = CONCENTRATIONS[:, None] * overall, CONCENTRATIONS[:, None] * (1 - overall)
    logs = first * np.log(SHARES) + second * np.log1p(-SHARES)
    spread = np.exp(logs - np.max(logs, axis=1, keepdims=True))
    places = special.logit(SHARES)
    alone = np.stack([np.interp(special.logit(overall), places, row) for row in np.eye(len(SHARES))])
    return np.vstack([spread / spread.sum(axis=1, keepdims=True), alone])


def spread_belief(evidence: Floats, prior: Floats) -> Floats:
    """Return how believable each share and direction is for each column of the evidence."""
    logs = np.log(prior)[:, None, None] + evidence
    belief = np.exp(logs - np.max(logs, axis=(0, 1)))
    return np.asarray(belief / np.sum(belief, axis=(0, 1)))
