"""From one release to another: the steps of every config that was measured at both, for claims."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from baselines.claims import MeasuredClaim, Step, measure_claim
from baselines.cost.books import Book
from baselines.cost.derived import TOKENS, Tokens, tokens_per_gpu
from baselines.cost.releases import CostOptions, cost_releases
from tracker.errors import UserError
from tracker.pipeline.comparisons import what_else_differs
from tracker.pipeline.works import ConfigWork, ReleaseWork

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """What became of one config from one release to another."""

    work: ConfigWork
    first: ReleaseWork
    last: ReleaseWork
    kind: Tokens
    claim: MeasuredClaim


def kind_of(metric: str) -> Tokens:
    """Return which tokens a derived metric is of."""
    return next(kind for kind in TOKENS if f"_{kind}_" in f"_{metric}_")


def make_chain(
    work: ConfigWork, start: str, end: str, metric: str, books: Sequence[Book], options: CostOptions
) -> Chain | None:
    """Return the change of a config between two releases or dates; None where it was not measured at both."""
    kind = kind_of(metric)
    rated = [(one, rates) for one in work.releases if (rates := _rates(work, one, kind))]
    ends = [_find([one for one, _ in rated], named, work.component) for named in (start, end)]
    if ends[0] is None or ends[1] is None:
        return None
    if ends[0] == ends[1]:
        if _DAY.fullmatch(start) or _DAY.fullmatch(end):
            return None
        raise UserError(f"expected two different releases, found {start} and {end}")
    if ends[0] > ends[1]:
        raise UserError(f"expected the earlier release first, found {start} and {end}; {end} comes before {start}")
    chosen = rated[ends[0] : ends[1] + 1]
    costs = cost_releases([one.costed for one, _ in chosen], work.setup, books, options)
    steps = [
        Step(
            release=one.release.display,
            rates=rates,
            cost=cost,
            differs=what_else_differs(chosen[place - 1][0].points, one.points) if place else None,
        )
        for place, ((one, rates), cost) in enumerate(zip(chosen, costs, strict=True))
    ]
    first, last = chosen[0][0], chosen[-1][0]
    claim = measure_claim(steps, metric, what_else_differs(first.points, last.points), kind)
    return Chain(work=work, first=first, last=last, kind=kind, claim=claim)


def _rates(work: ConfigWork, one: ReleaseWork, kind: Tokens) -> tuple[float, ...]:
    """Return tokens a second of one GPU of each run that has them."""
    rates = [tokens_per_gpu(run, work.setup.labels, work.setup.hardware)[kind].value for run in one.runs]
    return tuple(float(rate) for rate in rates if rate is not None)


def _find(releases: Sequence[ReleaseWork], named: str, component: str) -> int | None:
    """Return the place of a release by its name, or of the newest one measured by a day."""
    for place, one in enumerate(releases):
        if named in (one.release.display, one.release.identity, f"{component}/{one.release.identity}"):
            return place
    if not _DAY.fullmatch(named):
        return None
    try:
        day = date.fromisoformat(named)
    except ValueError:
        raise UserError(f"expected a release or a day such as 2026-07-01, found {named!r}") from None
    until = [place for place, one in enumerate(releases) if one.day is not None and one.day <= day]
    return until[-1] if until else None
