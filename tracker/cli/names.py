"""Which run, alert or series is meant: an id, its beginning, or its end, which is what lists show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.errors import UserError

if TYPE_CHECKING:
    from tracker.store.engine import Session

SHOWN_DIGITS = 12
"""Ids made in one moment begin alike, so lists show their ends."""


def shorten(public_id: str) -> str:
    """Return the part of an id that lists show."""
    return public_id[-SHOWN_DIGITS:]


def find_run_id(session: Session, named: str) -> str:
    """Return the id of the run that is meant; UserError when none or several are."""
    from tracker.store.runs import find_run
    from tracker.store.views.runs import list_runs

    text = named.strip().lower()
    found = [run.id for run in list_runs(session, text=text, limit=500).items] if text and " " not in text else []
    ends = [one for one in found if one.endswith(text)]
    return ends[0] if len(ends) == 1 else find_run(session, named).public_id


def find_alert_id(session: Session, named: str) -> str:
    """Return the id of the alert that is meant; UserError when none or several are."""
    from tracker.store.alerts import find_alert
    from tracker.store.views.alerts import list_alerts

    text = named.strip().lower()
    found = [alert.id for alert in collect(list_alerts, session)] if text else []
    ends = [one for one in found if one.endswith(text)]
    return ends[0] if len(ends) == 1 else find_alert(session, named).public_id


def find_series(session: Session, named: str) -> str:
    """Return the fingerprint of the series meant: its beginning, or words that only its name and labels hold."""
    from tracker.store.views.series import list_series

    text = named.strip().lower()
    items = collect(list_series, session)
    begin = [item for item in items if text and item.fingerprint.startswith(text)]
    if not begin and text:
        begin = list(list_series(session, text=named, limit=500).items)
    if len(begin) == 1:
        return str(begin[0].fingerprint)
    if not begin:
        raise UserError(f"no series {named!r}; `tracker series list` shows them")
    several = "; ".join(f"{item.fingerprint}: {item.name} {item.metric}" for item in begin[:5])
    more = f"; and {len(begin) - 5} more" if len(begin) > 5 else ""
    raise UserError(f"{named!r} is said of {len(begin)} series: {several}{more}")


def collect(view: Any, session: Session, **asked: Any) -> list[Any]:
    """Return a whole list, page after page."""
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page = view(session, limit=500, cursor=cursor, **asked)
        found += page.items
        if (cursor := page.next) is None:
            return found
