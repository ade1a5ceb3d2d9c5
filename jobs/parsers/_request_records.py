"""AIPerf's `profile_export.jsonl`: one JSON object a request, from which only counts and means are taken.

Warm-up requests are left out, identical lines count once. A file that ends inside a line gives no values, since a mean
over a part of the requests is not the run's.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.content import Content
from jobs.errors import Cut, Failed, Refused, UserError
from jobs.measurements import ParseOutcome, ParseResult
from jobs.metrics import Key
from jobs.run_builder import RunBuilder
from jobs.strict_json import decode, shown
from jobs.units import convert

_OWN = frozenset({"credit_phase", "benchmark_phase", "x_request_id", "worker_id", "record_processor_id"})
_LARGEST_FILE_BYTES = 2 * 2**30


@dataclass(slots=True)
class _Counts:
    """What was read so far: how many requests ended how, and the values of those that finished."""

    finished: int = 0
    failed: int = 0
    values: dict[str, list[float]] = field(default_factory=dict)
    phase_keys: set[str] = field(default_factory=set)


def is_request_record(value: object) -> bool:
    """Return whether a JSON value is such a record, or the start of one."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return isinstance(metadata, dict) and bool(_OWN & metadata.keys())


def read_request_records(content: Content, tool: str, families: Mapping[str, str]) -> ParseResult:
    """Return one run: counts, and the mean of every tag in `families` (tag -> latency family) in ms.

    Raises Failed where no request finished, Refused for a line that is no record.
    """
    if content.size_bytes > _LARGEST_FILE_BYTES:
        raise Refused(f"the file has {content.size_bytes:,} bytes; at most {_LARGEST_FILE_BYTES:,} are read")
    counts = _Counts()
    try:
        for number, record in _records(content):
            _count(counts, record, families, number)
    except Cut as error:
        return ParseResult(tool=tool, outcome=ParseOutcome.PARTIAL, reason=str(error))
    if not counts.finished:
        raise Failed(f"no request finished; {counts.failed} failed")
    run = RunBuilder()
    run.take("records with error null", Key("requests_ok", "count"), counts.finished)
    run.take("records with error set", Key("requests_failed", "count"), counts.failed)
    for tag, found in counts.values.items():
        key = Key(f"{families[tag]}_mean_ms", "ms")
        mean = repr(statistics.fmean(found))
        run.take(f"metrics.{tag}.value", key, mean, samples=len(found), said="mean of the records")
    return ParseResult(tool=tool, outcome=ParseOutcome.OK, runs=(run.build(),))


def _records(content: Content) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield line number and record, each different line once; raise Cut for a line that does not end."""
    seen: set[bytes] = set()
    for number, line in enumerate(content.lines(), start=1):
        if not line.strip():
            continue
        digest = hashlib.blake2b(line.encode("utf-8", "replace"), digest_size=16).digest()
        if digest in seen:
            continue
        seen.add(digest)
        try:
            record = decode(line)
        except Cut as error:
            raise Cut(f"line {number} is not a whole JSON value; a mean over a part is not the run's") from error
        except Refused as error:
            raise Refused(f"line {number}: {error}") from error
        if not is_request_record(record) or not isinstance(record.get("metrics"), dict):
            raise Refused(f"expected the record of a request in line {number}, found {shown(line)!r}")
        yield number, record


def _count(counts: _Counts, record: Mapping[str, Any], families: Mapping[str, str], number: int) -> None:
    metadata, metrics = record["metadata"], record["metrics"]
    counts.phase_keys |= {"credit_phase", "benchmark_phase"} & metadata.keys()
    if len(counts.phase_keys) > 1:
        raise Refused(f"line {number} was written by another version of the tool: these are records of two runs")
    phase = metadata.get("benchmark_phase", metadata.get("credit_phase", "profiling"))
    if phase == "warmup" or metadata.get("phase_kind") == "warmup":
        return
    if record.get("error") is not None:
        counts.failed += 1
        return
    counts.finished += 1
    for tag in families:
        metric = metrics.get(tag)
        if isinstance(metric, dict) and metric.get("value") is not None:
            counts.values.setdefault(tag, []).append(_milliseconds(metric, tag, number))


def _milliseconds(metric: Mapping[str, Any], tag: str, number: int) -> float:
    try:
        return convert(str(metric["value"]), str(metric.get("unit")), "ms")
    except UserError as error:
        raise Refused(f"line {number}, {tag}: {error}") from error
