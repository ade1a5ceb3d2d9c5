"""Cost and energy of one config over its releases: as priced on the day of each, and with the books held still.

The first moves when a price does. The second moves only when the software does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from baselines.cost.books import Book, BookKind, Edition, Rate, Unknown, find_rate, held_rate
from baselines.cost.derived import Figure, derive_cost, derive_energy, derive_interactivity, tokens_per_gpu
from baselines.gpu_counts import LabelValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one config did at one release."""

    release: str
    day: date | None
    """The day it was measured, or published where that is not known: it chooses the edition."""
    values: Mapping[str, float]
    """Measured metric -> median of the repeats."""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One config on one kind of machine."""

    gpu: str | None
    labels: Mapping[str, LabelValue]
    hardware: Mapping[str, LabelValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOptions:
    """Which price, and which editions are held; without a name the oldest that ships, else the oldest."""

    tier: str = "own"
    held_price: str | None = None
    held_power: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The figures of one release in one of the two views, by metric."""

    figures: Mapping[str, Figure]
    price: Rate | Unknown
    power: Rate | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseCost:
    """One release in both views."""

    release: str
    day: date | None
    as_priced: View
    software_only: View


def cost_releases(
    works: Sequence[Work], setup: Setup, books: Sequence[Book], options: CostOptions = CostOptions()
) -> list[ReleaseCost]:
    """Return the cost of each release, in the order given; a figure without a value says why."""
    price, power = BookKind.PRICE, BookKind.POWER
    held = (
        held_rate(books, price, setup.gpu, options.tier, options.held_price),
        held_rate(books, power, setup.gpu, held=options.held_power),
    )
    return [
        ReleaseCost(
            release=work.release,
            day=work.day,
            as_priced=_view(
                work,
                setup,
                find_rate(books, price, setup.gpu, work.day, options.tier),
                find_rate(books, power, setup.gpu, work.day),
            ),
            software_only=_view(work, setup, *held),
        )
        for work in works
    ]


def _view(work: Work, setup: Setup, price: Rate | Unknown, power: Rate | Unknown) -> View:
    rates = tokens_per_gpu(work.values, setup.labels, setup.hardware)
    interactivity = derive_interactivity(work.values)
    figures = {
        **derive_cost(rates, price),
        **derive_energy(rates, work.values, work.flags, power),
        interactivity.metric: interactivity,
    }
    return View(figures=figures, price=price, power=power)


def editions_of(costs: Sequence[ReleaseCost]) -> dict[tuple[BookKind, str], Edition]:
    """Return the editions that any figure was made with, by kind and id."""
    rates = [
        rate for cost in costs for view in (cost.as_priced, cost.software_only) for rate in (view.price, view.power)
    ]
    return {(rate.kind, rate.edition.id): rate.edition for rate in rates if isinstance(rate, Rate)}


def list_book_changes(costs: Sequence[ReleaseCost]) -> list[str]:
    """Return, in words, from which release on "as priced" rests on another edition, and since when that is valid."""
    said = []
    for before, after in pairwise(costs):
        for old, new in (
            (before.as_priced.price, after.as_priced.price),
            (before.as_priced.power, after.as_priced.power),
        ):
            if isinstance(old, Rate) and isinstance(new, Rate) and old.edition != new.edition:
                moved = f"{old.words} -> {new.words}"
                said.append(f"as priced, from {after.release}: {moved}, valid since {new.edition.valid_from}")
    return said
