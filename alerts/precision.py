"""How often alerts were right, by what people decided about them, and which threshold would have served better.

Nothing here changes a rule: a suggestion comes with its evidence, and people set thresholds.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

REAL = frozenset({"expected", "fixed", "wont_fix"})
FALSE = frozenset({"false_positive", "infra"})
LEAST_DECISIONS = 8
"""With fewer there is no suggestion."""
WANTED = 0.9
"""Share of right alerts that a suggested threshold reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One change of an alert that people decided about."""

    rule: str
    metric: str
    state: str
    effect_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A smallest effect that would have told right from wrong better, and what it would have cost."""

    min_effect_ratio: float
    false_dropped: int
    real_dropped: int
    precision: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """How often the changes of one rule and metric were real. The interval is Wilson's, 95 %."""

    rule: str
    metric: str
    real: int
    false: int
    precision: float
    low: float
    high: float
    suggestion: Suggestion | None


def measure_precision(judged: Iterable[Judged]) -> list[Precision]:
    """Return one figure for each rule and metric with a decision, the worst first; states of no answer are left out."""
    gathered: dict[tuple[str, str], list[Judged]] = defaultdict(list)
    for one in judged:
        if one.state in REAL | FALSE:
            gathered[one.rule, one.metric].append(one)
    rows = [_measure(rule, metric, found) for (rule, metric), found in gathered.items()]
    return sorted(rows, key=lambda row: (row.precision, row.rule, row.metric))


def _measure(rule: str, metric: str, found: Sequence[Judged]) -> Precision:
    real = sum(one.state in REAL for one in found)
    low, high = wilson(real, len(found))
    return Precision(
        rule=rule,
        metric=metric,
        real=real,
        false=len(found) - real,
        precision=real / len(found),
        low=low,
        high=high,
        suggestion=suggest(found),
    )


def suggest(found: Sequence[Judged]) -> Suggestion | None:
    """Return the smallest threshold that reaches the wanted share of right alerts and keeps half of the real ones.

    None where there are too few decisions, the share is reached already, or no threshold reaches it.
    """
    real = sum(one.state in REAL for one in found)
    if len(found) < LEAST_DECISIONS or not real or real / len(found) >= WANTED:
        return None
    for least in sorted({abs(one.effect_ratio) for one in found}):
        kept = [one for one in found if abs(one.effect_ratio) >= least]
        right = sum(one.state in REAL for one in kept)
        if right / len(kept) >= WANTED and 2 * right >= real:
            wrong = len(found) - real - (len(kept) - right)
            return Suggestion(
                min_effect_ratio=least, false_dropped=wrong, real_dropped=real - right, precision=right / len(kept)
            )
    return None


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share, which holds for few cases too."""
    z = 1.96
    share = hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return max(0.0, middle - half), min(1.0, middle + half)
