"""Results that were printed again: by other ranks, or into the log and onto the screen."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from jobs.measurements import ParsedRun


def without_repeats(runs: Iterable[ParsedRun]) -> tuple[ParsedRun, ...]:
    """Return the runs in order, each once; one whose end is cut is a repeat where an earlier one says all it says."""
    kept: dict[Hashable, ParsedRun] = {}
    for run in runs:
        content = _content(run)
        cut = "truncated" in run.flags
        if content not in kept and not (cut and any(_says_all_of(earlier, run) for earlier in kept.values())):
            kept[content] = run
    return tuple(kept.values())


def _content(run: ParsedRun) -> Hashable:
    """Return all that a run says, such that equal runs are found without comparing each with each."""
    parts = (frozenset(part.items()) for part in (run.labels, run.facts, run.metrics, run.own))
    return (*parts, run.flags, run.rejected)


def _says_all_of(earlier: ParsedRun, run: ParsedRun) -> bool:
    """Return whether `run`, which is cut, says nothing that `earlier` does not."""
    stated = (earlier.labels.items(), earlier.facts.items(), earlier.metrics.items())
    said = (run.labels.items(), run.facts.items(), run.metrics.items())
    return all(part <= whole for part, whole in zip(said, stated, strict=True))
