"""One series on another axis: the same runs, by the version of a component that is inside their images."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from sqlalchemy import select
from sqlmodel import Session

from jobs.releases import read_tag
from tracker.errors import UserError
from tracker.store.trust import trust
from tracker.store.views.levels import ReleaseName
from tracker.store.views.plain import table
from tracker.store.views.series import SeriesDetail, Value

RUN, CONTAINS, MEASUREMENT, SERIES = table("run"), table("contains"), table("measurement"), table("series")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What was measured with one version of a component inside."""

    version: str | None
    """As the images say it; None where they say nothing of the component."""
    releases: tuple[ReleaseName, ...]
    """The releases that hold it, oldest first."""
    level: float
    low: float
    high: float
    n: int
    values: tuple[float, ...]
    """Each run, by release."""


def list_inside(session: Session, fingerprint: str) -> tuple[str, ...]:
    """Return the components whose versions the images of a series' runs tell, by name."""
    rows = session.execute(
        select(CONTAINS.c.component)
        .join(RUN, RUN.c.build_id == CONTAINS.c.build_id)
        .join(MEASUREMENT, MEASUREMENT.c.run_id == RUN.c.id)
        .join(SERIES, SERIES.c.id == MEASUREMENT.c.series_id)
        .where(SERIES.c.fingerprint == fingerprint)
        .distinct()
        .order_by(CONTAINS.c.component)
    )
    return tuple(rows.scalars())


def place_inside(session: Session, detail: SeriesDetail, component: str) -> tuple[Place, ...]:
    """Return the series' runs by the version of a component inside, in version order; unknown ones come last.

    What is not judged is left out as on the series' own axis. UserError where no image says anything of the component.
    """
    inside = _versions_inside(session, detail.series.fingerprint)
    versions = {run: names[component] for run, names in inside.items() if component in names}
    if not versions:
        known = ", ".join(sorted({name for names in inside.values() for name in names})) or "nothing"
        raise UserError(
            f"no build of this series says which {component!r} is inside; what they say: {known}. Images say it in "
            "their variables, wheels and folders do not"
        )
    values: dict[str | None, list[Value]] = defaultdict(list)
    releases: dict[str | None, dict[ReleaseName, None]] = defaultdict(dict)
    for point in detail.points:
        for value in trust(point.values) if point.excluded is None else ():
            version = versions.get(value.run)
            values[version].append(value)
            releases[version].setdefault(point.release)
    return tuple(_make_place(name, values[name], tuple(releases[name])) for name in sorted(values, key=_rank))


def _versions_inside(session: Session, fingerprint: str) -> Mapping[str, Mapping[str, str]]:
    """Return run -> component inside its build -> version."""
    rows = session.execute(
        select(RUN.c.public_id, CONTAINS.c.component, CONTAINS.c.version)
        .join(CONTAINS, CONTAINS.c.build_id == RUN.c.build_id)
        .join(MEASUREMENT, MEASUREMENT.c.run_id == RUN.c.id)
        .join(SERIES, SERIES.c.id == MEASUREMENT.c.series_id)
        .where(SERIES.c.fingerprint == fingerprint)
    )
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for run, component, version in rows:
        found[run][component] = version
    return found


def _make_place(version: str | None, values: Sequence[Value], releases: tuple[ReleaseName, ...]) -> Place:
    numbers = [value.value for value in values]
    return Place(
        version=version,
        releases=releases,
        level=median(numbers),
        low=min(numbers),
        high=max(numbers),
        n=len(numbers),
        values=tuple(numbers),
    )


def _rank(version: str | None) -> tuple[int, str, str]:
    """Return what versions are sorted by: their place, those without one after them, unknown ones last."""
    if version is None:
        return 2, "", ""
    key = read_tag(version).sort_key
    return (0, key, version) if key is not None else (1, "", version)
