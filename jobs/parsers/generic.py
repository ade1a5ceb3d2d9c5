"""Reads the service's own result format, which any benchmark program can write (see README.md beside this file).

Strict: a value that is unknown, in a wrong unit, not finite or not believable is rejected with its reason and never
becomes a measurement; a file whose shape is not the documented one is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from jobs.content import Content
from jobs.errors import Failed, Refused, UserError
from jobs.fingerprint import canonical_labels
from jobs.labels import LARGEST_COUNT, label_problem
from jobs.measurements import Label, ParsedRun, ParseOutcome, ParseResult, Reading, Rejected
from jobs.metrics import Key, Kind, Metric, find_metric
from jobs.run_builder import plain_value
from jobs.strict_json import Number, is_text, shown
from jobs.units import convert

TOOL = "generic"
KEYS: Mapping[str, Key] = {
    f"{family}_median_ms": Key(f"{family}_p50_ms", "ms") for family in ("ttft", "tpot", "itl", "e2e", "latency")
}
"""Names that stand for a canonical one."""
_DOCUMENT_KEYS = ("tool", "version", "runs", "error")
_RUN_KEYS = ("labels", "facts", "metrics", "flags")
_METRIC_KEYS = ("value", "unit", "samples", "spread")


def _unknown_keys(found: Iterable[str], known: Sequence[str], where: str) -> str | None:
    """Return what is wrong with the keys of one object; None if nothing is."""
    for key in found:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            return f"unknown key {shown(key)!r} in {where}; {hint}"
    return None


def _check_document(document: Mapping[str, Any]) -> list[Any]:
    """Return the runs of a document of the documented shape; raise Refused or Failed otherwise."""
    if is_text(document.get("error")):
        raise Failed(document["error"].strip() or "the tool reports an error without a text")
    problem = _unknown_keys(document, _DOCUMENT_KEYS, "the file")
    if "runs" not in document:
        raise Refused(f"not a generic result: expected the key 'runs', found {shown(', '.join(document)) or 'none'}")
    if problem:
        raise Refused(problem)
    if "error" in document:
        raise Refused(f"'error' must be a text, found {shown(document['error'])}")
    for key in ("tool", "version"):
        value = document.get(key)
        if (value is None and key == "tool") or isinstance(value, Number | dict | list | bool) or value == "":
            raise Refused(f"{key!r} must be a text that is not empty, found {shown(value)}")
    if not isinstance(document["runs"], list):
        raise Refused(f"'runs' must be a list, found {shown(document['runs'])}")
    if not document["runs"]:
        raise Failed("the file holds no results: 'runs' is empty")
    return document["runs"]


def _find_metric(key: str) -> Metric:
    return find_metric(KEYS[key].metric if key in KEYS else key)


def _plain(value: object) -> Label | None:
    """Return a text, number or truth value as plain data; None for anything else."""
    return value if isinstance(value, str) and not isinstance(value, Number) else plain_value(value)


def _read_samples(printed: object) -> int | None:
    if printed is None:
        return None
    samples = _plain(printed)
    if not isinstance(samples, int) or isinstance(samples, bool) or not 1 <= samples <= LARGEST_COUNT:
        raise UserError(f"'samples' must be a whole number from 1 to {LARGEST_COUNT}, found {shown(printed)}")
    return samples


def _read_spread(printed: object, unit: str, metric: Metric) -> float | None:
    if printed is None:
        return None
    if not isinstance(printed, Number):
        raise UserError(f"'spread' must be a number, found {shown(printed)}")
    spread = convert(printed, unit, metric.unit)
    if spread < 0:
        raise UserError(f"'spread' is a standard deviation and cannot be negative, found {printed}")
    return spread


def _read_metric(key: str, printed: object) -> tuple[Metric, Reading]:
    """Return one reading in the catalogue's unit; raise UserError with the reason if it may not enter a series."""
    metric = _find_metric(key)
    entry = printed if isinstance(printed, dict) else {"value": printed}
    if problem := _unknown_keys(entry, _METRIC_KEYS, f"metric {key!r}"):
        raise UserError(problem)
    value, unit = entry.get("value"), entry.get("unit", metric.unit)
    if not isinstance(value, Number):
        raise UserError(f"expected a number, found {shown(value)}")
    if not is_text(unit):
        raise UserError(f"'unit' must be a text, found {shown(unit)}")
    converted = convert(value, unit, metric.unit)
    if doubt := metric.doubt(converted):
        raise UserError(doubt)
    return metric, Reading(
        value=converted,
        unit=metric.unit,
        key=key,
        raw=str(value),
        raw_unit=unit,
        samples=_read_samples(entry.get("samples")),
        spread=_read_spread(entry.get("spread"), unit, metric),
    )


def _printed_value(printed: object) -> object:
    return printed.get("value") if isinstance(printed, dict) else printed


def _is_zero_latency(key: str, printed: object) -> bool:
    try:
        latency = _find_metric(key).kind is Kind.LATENCY
    except UserError:
        return False
    value = _plain(_printed_value(printed))
    return latency and not isinstance(value, bool) and value == 0


class _RunReader:
    """Reads one entry of `runs`, collecting what it may not use."""

    def __init__(self, entry: object) -> None:
        self._entry: dict[str, Any] = entry if isinstance(entry, dict) else {}
        self._rejected: list[Rejected] = []
        self._flags: list[str] = []
        if not isinstance(entry, dict):
            self._reject("run", entry, "expected an object with labels and metrics")

    def _reject(self, key: str, raw: object, reason: str) -> None:
        self._rejected.append(Rejected(key=key, raw=shown(raw), reason=reason))

    def _part(self, key: str) -> dict[str, Any]:
        part = self._entry.get(key, {})
        if isinstance(part, dict):
            return part
        self._reject(key, part, f"{key!r} must be an object")
        return {}

    def _labels(self) -> dict[str, Label]:
        labels: dict[str, Label] = {}
        for key, printed in self._part("labels").items():
            value = _plain(printed)
            if problem := label_problem(key, value if value is not None else printed):
                self._reject(f"labels.{key}", printed, problem)
            elif value is not None:
                labels[key] = value
        return labels

    def _facts(self) -> dict[str, Label]:
        facts: dict[str, Label] = {}
        for key, printed in self._part("facts").items():
            value = _plain(printed)
            if value is None:
                self._reject(f"facts.{key}", printed, "a fact must be a text, a finite number or true/false")
            else:
                facts[key] = value
        return facts

    def _read_flags(self) -> None:
        printed = self._entry.get("flags", [])
        if not isinstance(printed, list) or not all(is_text(flag) for flag in printed):
            self._reject("flags", printed, "'flags' must be a list of texts")
        else:
            self._flags.extend(printed)

    def _metrics(self) -> dict[str, Reading]:
        readings: dict[str, Reading] = {}
        for key, printed in self._part("metrics").items():
            try:
                metric, reading = _read_metric(key, printed)
            except UserError as error:
                self._reject(key, _printed_value(printed), str(error))
                if _is_zero_latency(key, printed):
                    self._flags.append("implausible_zero")
                continue
            if metric.name in readings:
                self._reject(key, reading.raw, f"{metric.name} is already given as {readings[metric.name].key!r}")
            else:
                readings[metric.name] = reading
        return readings

    def read(self, seen: set[str]) -> ParsedRun:
        """Return the run; without metrics where its identity is in doubt or stands in `seen`, which it joins."""
        if problem := _unknown_keys(self._entry, _RUN_KEYS, "a run"):
            self._reject("run", ", ".join(self._entry), problem)
        labels, facts, metrics = self._labels(), self._facts(), self._metrics()
        self._read_flags()
        identity = canonical_labels(labels)
        if identity in seen:
            self._reject("run", identity, "an earlier run in this file has the same labels")
        seen.add(identity)
        doubtful = any(r.key in ("run", "labels", "flags") or r.key.startswith("labels.") for r in self._rejected)
        return ParsedRun(
            labels=MappingProxyType(labels),
            metrics=MappingProxyType({} if doubtful else metrics),
            facts=MappingProxyType(facts),
            flags=tuple(dict.fromkeys(self._flags)),
            rejected=tuple(self._rejected),
        )


def _reasons(runs: Sequence[ParsedRun]) -> str:
    """Return the first few reasons for rejecting values, and how many more there are."""
    found = [f"{rejected.key}: {rejected.reason}" for run in runs for rejected in run.rejected]
    more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
    return "; ".join(found[:3]) + more


class GenericParser:
    """The parser of the generic format; see `jobs.protocols.Parser`."""

    tools: tuple[str, ...] = (TOOL,)
    reads = "the service's own JSON (see jobs/parsers/README.md)"
    landmarks: tuple[str, ...] = ()
    keys: Mapping[str, Mapping[str, Key]] = {TOOL: KEYS}

    def recognises(self, content: Content) -> str | None:
        """Return the id where the text is of the documented shape, whatever it says."""
        outline = content.outline
        if not isinstance(outline, dict):
            return None
        ours = ("runs" in outline and outline.keys() <= {*_DOCUMENT_KEYS}) or {"runs", "tool"} <= outline.keys()
        return TOOL if ours or (is_text(outline.get("error")) and outline.keys() <= {*_DOCUMENT_KEYS}) else None

    def parse(self, content: Content, tool: str, asked: Mapping[str, Label]) -> ParseResult:
        """Return what the file holds; refused where its tool is not the one that `asked` names."""
        document = content.document
        if not isinstance(document, dict):
            raise Refused(f"expected a JSON object, found {shown(document)}")
        entries = _check_document(document)
        if document["tool"] != asked.get("tool", document["tool"]):
            raise Refused(f"expected a result of {asked['tool']}, found one of {shown(document['tool'])}")
        seen: set[str] = set()
        runs = tuple(_RunReader(entry).read(seen) for entry in entries)
        version, reason = document.get("version"), _reasons(runs)
        if not any(run.metrics for run in runs):
            return ParseResult(
                tool=TOOL,
                outcome=ParseOutcome.FAILED,
                reason=reason or "no run in the file has a metric",
                version=version,
            )
        outcome = ParseOutcome.PARTIAL if reason else ParseOutcome.OK
        return ParseResult(tool=TOOL, outcome=outcome, reason=reason, version=version, runs=runs)


def create() -> GenericParser:
    """Return the parser."""
    return GenericParser()
