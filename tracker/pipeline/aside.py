"""What a parse gave that may not enter a series, and why: the same for our own runs and for those handed in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jobs.fingerprint import canonical_labels
from jobs.measurements import Label, ParsedRun, ParseResult, Reading
from tracker.store.quarantine import SetAside

NOT_IN_CATALOGUE = "no metric of the catalogue has this name; `tracker quarantine release ID --metric NAME` lets it in"


def values_aside(run: ParsedRun, labels: Mapping[str, Label], barred: str | None) -> Iterator[SetAside]:
    """Yield what of one result may not enter a series; all of it where `barred` says why."""
    text = canonical_labels(labels)
    for one in run.rejected:
        yield SetAside(key=one.key, raw=one.raw, unit=one.unit, reason=one.reason, labels=text)
    for reading in run.own.values():
        yield reading_aside(reading, text, NOT_IN_CATALOGUE)
    if barred is not None:
        for reading in run.metrics.values():
            yield reading_aside(reading, text, barred)


def reading_aside(reading: Reading, labels: str, reason: str) -> SetAside:
    """Return a value that was read well and still may not enter a series, under the tool's own key."""
    return SetAside(key=reading.key, raw=reading.raw, unit=reading.raw_unit, reason=reason, labels=labels)


def facts_of(result: ParseResult) -> str:
    """Return what all results of a file say of it and is no identity, as canonical JSON."""
    first, *others = [run.facts for run in result.runs] or [{}]
    shared = {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}
    return canonical_labels({**shared, **({"version": result.version} if result.version else {})})
