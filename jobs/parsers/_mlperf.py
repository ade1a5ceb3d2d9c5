"""What the two logs of MLPerf LoadGen share: which scenario gives which values, and how a result may enter a series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jobs.measurements import ParsedRun, ParseOutcome, ParseResult
from jobs.metrics import STATISTICS, Key
from jobs.parsers._repeats import without_repeats

SCENARIOS = frozenset({"SingleStream", "MultiStream", "MultiStreamFree", "Server", "Offline", "Interactive"})
PERCENTILES: Mapping[str, str] = {f"{name[1:]}.00": name for name in STATISTICS if name != "mean"}
"""LoadGen's word for a percentile -> the canonical statistic."""


def latency_keys(pattern: str, mean: str, family: str) -> dict[str, Key]:
    """Return the keys of one family in ns: `pattern` with `{}` for the percentile, and the key of the mean."""
    found = {pattern.format(word): Key(f"{family}_{name}_ms", "ns") for word, name in PERCENTILES.items()}
    return {**found, mean: Key(f"{family}_mean_ms", "ns")}


def of_inference(key: Key) -> Key:
    """Return the key as it is meant where nothing speaks of tokens: end to end is then the latency of one query."""
    return Key(key.metric.replace("e2e_", "latency_"), key.unit)


def result_of(tool: str, runs: Sequence[ParsedRun], cut: str) -> ParseResult:
    """Return the outcome of runs: invalid where LoadGen calls all so, partial where `cut` says what is missing."""
    distinct = without_repeats(runs)
    invalid = sum("invalid_result" in run.flags for run in distinct)
    if invalid == len(distinct):
        outcome, reason = ParseOutcome.INVALID, "Result is : INVALID" + (f"; {cut}" if cut else "")
    elif cut:
        outcome, reason = ParseOutcome.PARTIAL, cut
    elif invalid:
        outcome, reason = ParseOutcome.PARTIAL, f"{invalid} of {len(distinct)} results are INVALID"
    else:
        outcome, reason = ParseOutcome.OK, ""
    return ParseResult(tool=tool, outcome=outcome, reason=reason, runs=distinct)
