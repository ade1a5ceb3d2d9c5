"""Asking for release notes by hand, beside the sources: what came of it as data and as lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tracker.cli.output import note

if TYPE_CHECKING:
    from jobs.errors import JobsError
    from tracker.app import App


def ask_publishers(app: App) -> tuple[list[dict[str, Any]], JobsError | None]:
    """Return what came of asking for each component's release notes, and the first error that somebody must mend.

    A publisher that is away is told of and is no error: nothing waits for notes.
    """
    from jobs.errors import JobsError, UserError
    from tracker.pipeline.release_notes import NotesLook, ask_for_notes

    asked: list[dict[str, Any]] = []
    wrong: JobsError | None = None
    for entry in app.settings.release_notes:
        note(f"{entry.component}: asking for the release notes of {entry.repository} ...")
        look, problem = NotesLook(), None
        try:
            look = ask_for_notes(app.context, entry, force=True)
        except JobsError as error:
            problem = str(error)
            wrong = wrong or (error if isinstance(error, UserError) else None)
        pairs = {"left_out": look.left_out, "unreadable": look.unreadable}
        others = {key: [{"name": name, "reason": reason} for name, reason in found] for key, found in pairs.items()}
        known = {"notes": look.notes, "new": look.new} if problem is None else {"notes": None, "new": None}
        named = {"component": entry.component, "repository": entry.repository}
        asked.append({**named, **known, **others, "problem": problem})
    return asked, wrong


def tell_of_notes(asked: Iterable[Mapping[str, Any]]) -> None:
    """Say how many releases have notes, one line a component."""
    from alerts.wording import count, join_names

    for one in asked:
        if one["problem"] is not None:
            note(f"release notes of {one['component']}: not known: {one['problem']}")
            continue
        names = [entry["name"] for entry in one["left_out"]]
        apart = f"; no release of it: {join_names(names, 3)}" if names else ""
        note(f"release notes of {one['component']}: {count(one['notes'], 'release')}, {one['new']} new{apart}")
        for entry in one["unreadable"]:
            note(f"not understood: {entry['name']}: {entry['reason']}")
