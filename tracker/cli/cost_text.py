"""Costs for people and for programs: a table a config, the same as data, and the chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.cli.output import Column, drop_shared, note, write, write_table

if TYPE_CHECKING:
    from baselines.cost.books import Rate, Unknown
    from baselines.cost.derived import Figure
    from baselines.cost.releases import ReleaseCost, Setup, View

KINDS = ("output", "total", "input")
SHOWN = ("usd_", "j_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Costed:
    """One config with its costs."""

    component: str
    hardware: str
    name: str
    setup: Setup
    costs: list[ReleaseCost]


def tell(one: Costed, *, first: bool) -> None:
    """Print the table of a config, what its figures rest on, and why there are none where there are none."""
    from baselines.cost.releases import list_book_changes

    where = ", ".join(filter(None, (one.component, one.hardware)))
    write(("" if first else "\n") + (f"{where}: {one.name}" if where else one.name))
    kinds = [kind for kind in KINDS if any(_known(cost, f"usd_per_m_{kind}_tokens") for cost in one.costs)]
    energy = next((kind for kind in KINDS if any(_known(cost, f"j_per_{kind}_token") for cost in one.costs)), None)
    if kinds or energy:
        columns, rows = _lay_out(one.costs, kinds, energy)
        write_table(columns, rows, empty="")
        for line in [*_held(one.costs), *list_book_changes(one.costs), *_mixed(one.costs, energy)]:
            write(f"  {line}")
    for reason in _reasons(one.costs):
        write(f"  no figure: {reason}")


def _known(cost: ReleaseCost, metric: str) -> bool:
    return any(view.figures[metric].value is not None for view in (cost.as_priced, cost.software_only))


def _lay_out(
    costs: Sequence[ReleaseCost], kinds: Sequence[str], energy: str | None
) -> tuple[list[Column], list[tuple[object, ...]]]:
    columns = [Column(title="release"), Column(title="day", drop=True)]
    columns += [Column(title=f"$/M {kind}", right=True, drop=kind != kinds[0]) for kind in kinds]
    columns += [Column(title=f"held $/M {kind}", right=True, drop=kind != kinds[0]) for kind in kinds]
    columns += [Column(title="priced by", drop=True)] if kinds else []
    if energy:
        columns += [Column(title=f"{energy} tok/s/MW", right=True), Column(title=f"J/{energy} token", right=True)]
        columns += [Column(title="power", drop=True)]
    rows = []
    for cost in costs:
        row: list[object] = [cost.release, cost.day]
        row += [_money(cost.as_priced.figures[f"usd_per_m_{kind}_tokens"]) for kind in kinds]
        row += [_money(cost.software_only.figures[f"usd_per_m_{kind}_tokens"]) for kind in kinds]
        row += [_edition(cost.as_priced.price)] if kinds else []
        if energy:
            figures = cost.as_priced.figures
            row += [_plain(figures[f"{energy}_tok_s_per_mw"]), _plain(figures[f"j_per_{energy}_token"])]
            row += [_power(figures[f"j_per_{energy}_token"])]
        rows.append(tuple(row))
    return columns, rows


def format_money(value: float) -> str:
    """Return US dollars with four significant digits, no fewer than two decimals: `0.01234`, `1.950`, `12.35`."""
    return f"{value:,.2f}" if value >= 100 else f"{value:#.4g}"


def _money(figure: Figure) -> str:
    return "unknown" if figure.value is None else format_money(figure.value)


def _plain(figure: Figure) -> str:
    from alerts.wording import format_number

    return "unknown" if figure.value is None else format_number(figure.value)


def _edition(rate: Rate | Unknown) -> str:
    from baselines.cost.books import Unknown

    return "unknown" if isinstance(rate, Unknown) else f"{rate.edition.id} since {rate.edition.valid_from}"


def _power(figure: Figure) -> str:
    if figure.value is None:
        return ""
    return f"book, {', '.join(figure.editions)}" if figure.editions else "measured"


def _held(costs: Sequence[ReleaseCost]) -> list[str]:
    """Return what the software-only view rests on."""
    from baselines.cost.books import Unknown

    held = [
        rate for rate in (costs[0].software_only.price, costs[0].software_only.power) if not isinstance(rate, Unknown)
    ]
    used = "; ".join(rate.words for rate in held)
    return [f"held (software only): {used} throughout"] if used else []


def _mixed(costs: Sequence[ReleaseCost], kind: str | None) -> list[str]:
    """Return a warning where some releases have measured power and others that of the book."""
    figures = [(cost.release, cost.as_priced.figures[f"j_per_{kind}_token"]) for cost in costs] if kind else []
    measured = [release for release, one in figures if one.value is not None and not one.editions]
    if not measured or not any(one.editions for _, one in figures):
        return []
    which = ", ".join(measured[:5])
    return [
        f"power was measured at {which} (the GPU alone), elsewhere it is the book's (all-in): do not compare the two"
    ]


def _reasons(costs: Sequence[ReleaseCost]) -> list[str]:
    """Return why figures are missing, each reason once, with the releases it is said of."""
    found: dict[str, list[str]] = {}
    for cost in costs:
        for figure in cost.as_priced.figures.values():
            if figure.value is None and figure.reason and figure.metric.startswith(SHOWN):
                releases = found.setdefault(figure.reason, [])
                releases += [] if cost.release in releases else [cost.release]
    everywhere = len(costs)
    return [
        reason if len(releases) == everywhere else f"{reason} ({', '.join(releases[:5])})"
        for reason, releases in found.items()
    ]


def describe(one: Costed) -> dict[str, Any]:
    """Return a config's costs as data: every figure with how it was made and by which edition."""
    from baselines.cost.releases import editions_of, list_book_changes

    return {
        "component": one.component or None,
        "hardware": one.hardware or None,
        "name": one.name,
        "gpu": one.setup.gpu,
        "labels": dict(one.setup.labels),
        "releases": [
            {
                "release": cost.release,
                "day": cost.day.isoformat() if cost.day else None,
                "as_priced": _figures(cost.as_priced),
                "software_only": _figures(cost.software_only),
            }
            for cost in one.costs
        ],
        "changes_of_books": list_book_changes(one.costs),
        "editions": [
            {
                "edition": edition.id,
                "kind": kind.value,
                "valid_from": edition.valid_from.isoformat(),
                "valid_to": edition.valid_to.isoformat() if edition.valid_to else None,
                "digest": edition.digest,
                "own": edition.own,
                "source": edition.source,
            }
            for (kind, _), edition in sorted(editions_of(one.costs).items())
        ],
    }


def _figures(view: View) -> Mapping[str, Any]:
    from baselines.cost.derived import DERIVED

    return {
        name: {
            "value": figure.value,
            "unit": DERIVED[name].unit,
            "how": figure.how,
            "reason": figure.reason or None,
            "editions": figure.editions,
        }
        for name, figure in view.figures.items()
    }


def draw(found: Sequence[Costed], file: Path, metric: str | None) -> None:
    """Write the chart of a figure; without a name of the first cost that is known."""
    from alerts.cost_chart import MOST_PANELS, CostPanel, cost_spec
    from baselines.cost.derived import DERIVED
    from tracker.cli.pictures import save_picture

    wanted = metric or _first_known(found)
    drawn = [one for one in found if any(_known(cost, wanted) for cost in one.costs)] or list(found[:1])
    names = [", ".join(filter(None, (one.component, one.hardware, one.name))) for one in drawn[:MOST_PANELS]]
    panels = [
        CostPanel(
            name=name,
            releases=tuple(cost.release for cost in one.costs),
            as_priced=tuple(cost.as_priced.figures[wanted].value for cost in one.costs),
            software_only=tuple(cost.software_only.figures[wanted].value for cost in one.costs),
        )
        for one, name in zip(drawn, drop_shared(names), strict=False)
    ]
    about = DERIVED[wanted]
    shared = [part for part in names[0].split(", ") if all(part in name.split(", ") for name in names)]
    title = about.meaning if len(names) == 1 or not shared else f"{about.meaning}: {', '.join(shared)}"
    spec = cost_spec(panels, title=title, axis=about.unit, lower_is_better=about.direction == "lower")
    said = [line for one in drawn[:MOST_PANELS] for line in _held(one.costs)]
    save_picture(file, spec, title=title, said=list(dict.fromkeys(said)))
    if len(drawn) > MOST_PANELS:
        note(f"the chart shows the first {MOST_PANELS} of {len(drawn)} configs; --text chooses")


def _first_known(found: Sequence[Costed]) -> str:
    names = [f"usd_per_m_{kind}_tokens" for kind in KINDS] + [f"j_per_{kind}_token" for kind in KINDS]
    return next((name for name in names for one in found if any(_known(cost, name) for cost in one.costs)), names[0])
