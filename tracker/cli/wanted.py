"""Which of the known releases a suite wants, how urgently, and which cannot be measured and why."""

from __future__ import annotations

from typing import Any

from jobs.suite import Suite
from tracker.app import App
from tracker.pipeline.plan import choose_releases, why_not
from tracker.store import catalog


def wanted_releases(app: App, suite: Suite) -> list[dict[str, Any]]:
    """Return the suite's releases, the most urgent first, then those that fit its tracks but cannot be measured."""
    with app.store.read() as session:
        component = catalog.known_component(session, suite.component)
        builds = catalog.current_builds(session, component) if component else []
    wanted = choose_releases(suite, builds, backfill=app.settings.backfill)
    chosen = sorted(wanted, key=lambda one: -one.priority)
    items = [{"release": one.release.identity, "priority": one.priority, "obstacle": None} for one in chosen]
    obstacles = [(r, why_not(r, b)) for r, b in reversed(builds) if r.track in suite.releases.tracks]
    return items + [{"release": r.identity, "priority": None, "obstacle": why} for r, why in obstacles if why]
