"""Which published figure a series may be held against: only where workload, precision, parallelism and count agree.

Nothing is matched by force: where something differs or is not stated, the reference is a near one and the differences
are named.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log2

from baselines.gpu_counts import count_gpus
from baselines.references.reference import Reference
from jobs.measurements import Label
from jobs.names import canonical_model, canonical_precision, name_key, same_gpu, same_model

MOST_NEAR = 3
"""References that are told of where none fits: those that differ in least."""
NOT_STATED = "not stated"
FULL_LOAD = "full load"
NONE_OF_IT = "none"
_PARALLEL = re.compile(r"([A-Z]+)\s*[-=]?\s*([0-9]{1,6})")
_NONE = frozenset({"", "none", "no", "off", "false", "0"})
_LABELS: Mapping[str, str] = {
    "GPU": "gpu", "GPU count": "gpu_count", "precision": "precision", "ISL": "isl", "OSL": "osl", "batch": "batch",
    "scenario": "scenario",
}  # fmt: skip
"""Name of a difference -> the label that states it."""
MLPERF_TOOLS = "mlperf"
"""How the names of the tools begin that read results of MLPerf."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A series as far as it can be held against a page: its labels, its GPUs, its metric and its level."""

    labels: Mapping[str, Label]
    metric: str
    value: float | None
    gpu: str | None = None
    gpus: int | None = None
    """GPUs of the host; how many the series used is in its labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing in which a series and a reference differ, in words; None is what one of them does not state."""

    name: str
    measured: str | None
    published: str | None

    def __str__(self) -> str:
        return f"{self.name} {self.measured or NOT_STATED} instead of {self.published or NOT_STATED}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A reference that would match if it were not for the differences."""

    reference: Reference
    differences: tuple[Difference, ...]

    @property
    def cure(self) -> str:
        """Return what to do so that the series may be held against the reference."""
        lost = [one.name for one in self.differences if one.published is None]
        if lost:
            return f"find a row that states its {', '.join(lost)}"
        unsaid = [_label_of(one) for one in self.differences if one.measured is None]
        other = [_wanted(one) for one in self.differences if one.measured is not None]
        parts = []
        if unsaid:
            parts.append(f"state {', '.join(unsaid)} if that is what was measured")
        if other:
            parts.append(f"measure with {', '.join(other)}")
        return " and ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """A reference that fits a series: its figure in the series' metric, and measured over published."""

    reference: Reference
    published: float | None
    ratio: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """What a series may be held against, and what comes near."""

    exact: tuple[Matched, ...]
    near: tuple[Near, ...]


def group_by_model(references: Iterable[Reference]) -> Mapping[str, Sequence[Reference]]:
    """Return the references by what all names of their model share (`model_key`), in their order."""
    groups: dict[str, list[Reference]] = defaultdict(list)
    for one in references:
        if one.model is not None:
            groups[model_key(one.model)].append(one)
    return groups


def model_key(name: str) -> str:
    """Return what all names of one model share."""
    return name_key(canonical_model(name))


def comparable_metrics(references: Iterable[Reference]) -> frozenset[str]:
    """Return the metrics of series that may be held against one of the references."""
    own = {one.canonical.metric for one in references if one.canonical is not None}
    return frozenset(own | {f"{name}_per_gpu" for name in own} | {name.removesuffix("_per_gpu") for name in own})


def match_series(measured: Measured, references: Sequence[Reference], *, near_too: bool = True) -> Matches:
    """Return the references of the series' model and metric, those that agree in all with their ratios.

    Without `near_too` those that do not are not looked at any further: there are none in the answer.
    """
    model = measured.labels.get("model")
    if not isinstance(model, str):
        return Matches(exact=(), near=())
    used = gpus_used(measured)
    parallelism = parallelism_of(measured.labels, used)
    exact: list[Matched] = []
    near: list[Near] = []
    for one in references:
        if one.model is None or not same_model(one.model, model) or not _comparable(measured.metric, one):
            continue
        found = find_differences(measured, one, used, parallelism)
        first = next(found, None)
        if first is None:
            published = in_queries(figure_in(measured.metric, one), measured.labels)
            ratio = measured.value / published if published and measured.value is not None else None
            exact.append(Matched(reference=one, published=published, ratio=ratio))
        elif near_too:
            near.append(Near(reference=one, differences=(first, *found)))
    near.sort(key=_distance)
    return Matches(exact=tuple(exact), near=() if exact else tuple(near[:MOST_NEAR]))


def _distance(near: Near) -> tuple[float, int]:
    """Return how far a reference is; of two equally far ones, that which differs less in what is not stated is first.

    Each difference counts 1, one of numbers less where they are less than twice apart.
    """
    unsaid = sum(one.measured is None for one in near.differences)
    return sum(min(1.0, _doublings(one.measured, one.published)) for one in near.differences), unsaid


def _doublings(one: str | None, other: str | None) -> float:
    """Return how many doublings lie between two counts; infinite for what is no count."""
    if one is None or other is None or not (one.isdecimal() and other.isdecimal() and int(one) and int(other)):
        return inf
    return abs(log2(int(one)) - log2(int(other)))


def find_differences(
    measured: Measured, one: Reference, used: int | None, parallelism: str | None
) -> Iterator[Difference]:
    """Yield each thing that the reference states and the series does not say alike, and what only the series has.

    `used` and `parallelism` are the series' own (`gpus_used`, `parallelism_of`).
    """
    labels, printed = measured.labels, one.printed
    yield from _differ("GPU", measured.gpu, one.gpu, same_gpu)
    yield from _differ("GPU count", used, printed.gpus)
    yield from _unsaid(measured, one, used, parallelism)
    yield from _differ("precision", _precision(labels), printed.precision, _same_precision)
    yield from _differ("parallelism", parallelism, printed.parallelism, _same_parallelism)
    for name, label, published in (
        ("ISL", "isl", printed.isl),
        ("OSL", "osl", printed.osl),
        ("batch", "batch", printed.batch),
    ):
        yield from _differ(name, labels.get(label), published)
    yield from _differ("scenario", labels.get("scenario"), printed.scenario, _same_scenario)
    tool = str(labels.get("tool", NOT_STATED))
    if printed.mlperf and not tool.startswith(MLPERF_TOOLS):
        yield Difference(name="benchmark", measured=tool, published="MLPerf")
    yield from _beside_the_page(labels)


def _wanted(one: Difference) -> str:
    """Return what to measure with instead, in words."""
    if one.published == FULL_LOAD:
        return f"no limit on {one.name}"
    return f"no {one.name}" if one.published == NONE_OF_IT else f"{one.name} {one.published}"


def _label_of(one: Difference) -> str:
    """Return the label that says what a reference says: `isl=1024`."""
    if one.name == "parallelism":
        return " ".join(f"{name.lower()}={size}" for name, size in _PARALLEL.findall((one.published or "").upper()))
    return f"{_LABELS.get(one.name, one.name)}={one.published}"


def _differ(
    name: str, measured: Label | None, published: str | int | None, same: Callable[[str, str], bool] | None = None
) -> Iterator[Difference]:
    if published is None:
        return
    own = None if measured is None else str(measured)
    if own is None or not (same(own, str(published)) if same else own == str(published)):
        yield Difference(name=name, measured=own, published=str(published))


def _unsaid(measured: Measured, one: Reference, used: int | None, parallelism: str | None) -> Iterator[Difference]:
    """Yield what the row would have to state and does not, as where it has lost a cell: it is not taken for alike.

    GPU and count always; of MLPerf the scenario, which fixes the rest; else the lengths of what makes tokens, and
    whatever the series states.
    """
    labels, printed = measured.labels, one.printed
    tokens = one.canonical is not None and "tok_s" in one.canonical.metric
    wanted: list[tuple[str, object, object, bool]] = [
        ("GPU", measured.gpu, one.gpu, True),
        ("GPU count", used, printed.gpus, True),
        ("scenario", labels.get("scenario"), printed.scenario, printed.mlperf),
    ]
    if not printed.mlperf:
        wanted += [
            ("ISL", labels.get("isl"), printed.isl, tokens),
            ("OSL", labels.get("osl"), printed.osl, tokens),
            ("batch", labels.get("batch"), printed.batch, False),
            ("precision", _precision(labels), printed.precision, False),
            ("parallelism", None if parallelism == "TP1" else parallelism, printed.parallelism, False),
        ]
    for name, own, published, must in wanted:
        if published is None and (must or own is not None):
            yield Difference(name=name, measured=None if own is None else str(own), published=None)


def _beside_the_page(labels: Mapping[str, Label]) -> Iterator[Difference]:
    """Yield what makes the series another workload than pages publish: throughput at full load, plain decoding."""
    if "concurrency" in labels:
        yield Difference(name="concurrency", measured=str(labels["concurrency"]), published=FULL_LOAD)
    if labels.get("request_rate", "inf") != "inf":
        yield Difference(name="request rate", measured=str(labels["request_rate"]), published=FULL_LOAD)
    for label, name in (("spec_decoding", "speculative decoding"), ("offload", "offload")):
        if str(labels.get(label, "")).casefold() not in _NONE:
            yield Difference(name=name, measured=str(labels[label]), published=NONE_OF_IT)
    if _batch_of_query(labels) is None:
        yield Difference(name="what is counted", measured="batches", published="samples")


def _batch_of_query(labels: Mapping[str, Label]) -> int | None:
    """Return how many samples one counted query of trtexec holds; None where that is not known.

    It counts batches where it was told the shapes, and samples with the `--batch` of old releases.
    """
    batch = labels.get("batch", 1)
    if labels.get("tool") != "trtexec" or not isinstance(batch, int) or batch == 1:
        return 1
    shapes = str(labels.get("input_shape", "")).split(",")
    return batch if any(shape.rpartition("=")[2].startswith(f"{batch}x") for shape in shapes) else None


def in_queries(published: float | None, labels: Mapping[str, Label]) -> float | None:
    """Return a published rate of samples as the series counts it: trtexec's queries are whole batches."""
    batch = _batch_of_query(labels)
    return None if published is None or batch is None else published / batch


def gpus_used(measured: Measured) -> int | None:
    """Return how many GPUs a series used; None where that is not stated and its host has several."""
    return count_gpus(measured.labels, {"gpu_count": measured.gpus} if measured.gpus else None).total


def parallelism_of(labels: Mapping[str, Label], gpus: int | None) -> str | None:
    """Return the parallelism as pages write it (`TP2 PP2`, `DEP4`); None where it is not stated and not implied."""
    sizes = {name: size for name in ("tp", "pp", "ep", "dp") if isinstance(size := labels.get(name), int) and size > 1}
    layout = str(labels.get("layout", "")).casefold()
    spread = sizes.get("ep", 1)
    if spread > 1 and (sizes.get("dp") == spread or "dp" in layout or "dep" in layout):
        rest = f" PP{sizes['pp']}" if "pp" in sizes else ""
        return f"DEP{spread}{rest}"
    if not sizes:
        return "TP1" if gpus == 1 or {"tp", "pp"} & labels.keys() else None
    return " ".join(f"{name.upper()}{size}" for name, size in sizes.items())


def _same_parallelism(one: str, other: str) -> bool:
    sizes = [
        {name: int(size) for name, size in _PARALLEL.findall(text.upper()) if int(size) > 1} for text in (one, other)
    ]
    return sizes[0] == sizes[1]


def _precision(labels: Mapping[str, Label]) -> Label | None:
    return labels.get("precision") or labels.get("quantization") or labels.get("dtype")


def _same_precision(one: str, other: str) -> bool:
    return canonical_precision(one) == canonical_precision(other)


def _same_scenario(one: str, other: str) -> bool:
    return name_key(one) == name_key(other)


def _comparable(metric: str, one: Reference) -> bool:
    return one.canonical is not None and figure_in(metric, one) is not None


def figure_in(metric: str, one: Reference) -> float | None:
    """Return a published figure in a metric: its own, or the same for each GPU or all of them; None for another."""
    canonical, gpus = one.canonical, one.printed.gpus
    if canonical is None:
        return None
    if canonical.metric == metric:
        return canonical.value
    if gpus and metric == f"{canonical.metric}_per_gpu":
        return canonical.value / gpus
    return canonical.value * gpus if gpus and canonical.metric == f"{metric}_per_gpu" else None
