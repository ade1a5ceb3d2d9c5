"""Results that were printed again: by other ranks, or into the log and onto the screen."""

from __future__ import annotations

from collections.abc import Iterable

from jobs.measurements import ParsedRun


def without_repeats(runs: Iterable[ParsedRun]) -> tuple[ParsedRun, ...]:
    """Return the runs in order, each once; one whose end is cut is a repeat where an earlier one says all it says."""
    kept: list[ParsedRun] = []
    for run in runs:
        if not any(_says_all_of(earlier, run) for earlier in kept):
            kept.append(run)
    return tuple(kept)


def _says_all_of(earlier: ParsedRun, run: ParsedRun) -> bool:
    """Return whether `run` repeats `earlier`, or the part of it that stands before a cut."""
    if "truncated" not in run.flags:
        return earlier == run
    stated = (earlier.labels.items(), earlier.facts.items(), earlier.metrics.items())
    said = (run.labels.items(), run.facts.items(), run.metrics.items())
    return all(part <= whole for part, whole in zip(said, stated, strict=True))
